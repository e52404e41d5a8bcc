// SPDX-License-Identifier: BSD-2-Clause
/*
 * The GOT of this very process, judged by the dynamic linker: an IFUNC's address is that of the implementation that this
 * process uses. Where libc has a debug file, its symbols are asked as well.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "parser_case.h"
#include "record/ifuncnames.h"

struct fixture {
	struct files *files;
	struct tasks *tasks;
	struct parser *parser;
	struct ifuncnames *names;
	struct workbudget budget;
	uint64_t base; /* where libc is */
	uint32_t file; /* which one it is */
};

/* libc's own, whatever comes before it, as a sanitizer's library does. */
static void *libc_symbol(const char *name)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), *symbol;

	assert_non_null(libc);
	symbol = dlsym(libc, name);
	dlclose(libc);
	return symbol;
}

static int set_up(void **state)
{
	struct fixture *fixture = xcalloc(1, sizeof(*fixture));
	const struct mapping *map;
	Dl_info info;

	fixture->files = files_new("/proc");
	fixture->tasks = tasks_new("/proc", fixture->files);
	fixture->parser = parser_case_open();
	fixture->names = ifuncnames_new(fixture->tasks, fixture->files, fixture->parser);
	assert_int_equal(tasks_snapshot(fixture->tasks, getpid()), 0);
	assert_true(dladdr(libc_symbol("getpid"), &info));
	fixture->base = (uintptr_t)info.dli_fbase;
	map = tasks_mapping(fixture->tasks,
			    tasks_image(fixture->tasks, getpid(), 0, clock_monotonic_ns()),
			    (uintptr_t)info.dli_saddr, clock_monotonic_ns());
	assert_non_null(map);
	fixture->file = map->file;
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	ifuncnames_free(fixture->names);
	parser_close(fixture->parser);
	tasks_free(fixture->tasks);
	files_free(fixture->files);
	free(fixture);
	return 0;
}

static struct image *image_now(const struct fixture *fixture)
{
	return tasks_image(fixture->tasks, getpid(), 0, clock_monotonic_ns());
}

/* A sample in libc. */
static void sample(struct fixture *fixture)
{
	uint64_t ip = (uintptr_t)libc_symbol("getpid");
	struct record record = {
		.tgid = getpid(), .time_ns = clock_monotonic_ns(), .user_ips = &ip, .nr_user = 1};

	ifuncnames_look(fixture->names, &record, &fixture->budget);
}

static const char *find(const struct fixture *fixture, const struct image *image, uint64_t ip)
{
	return ifuncnames_find(fixture->names, image, fixture->file, ip - fixture->base);
}

static void test_names_of_libc(void **state)
{
	static const char *const functions[] = {"memcpy", "memmove", "memset", "memchr", "memcmp",
						"strlen", "strchr",  "strcmp", "strcpy", "strnlen"};
	struct fixture *fixture = *state;
	const struct image *image = image_now(fixture);
	size_t nr = 0;

	assert_false(ifuncnames_has(fixture->names, image, fixture->file));
	sample(fixture);
	assert_true(ifuncnames_has(fixture->names, image, fixture->file));
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *implementation = libc_symbol(functions[i]);
		const char *name = find(fixture, image, (uintptr_t)implementation);

		if (!name) /* libc itself does not call it */
			continue;
		assert_ptr_equal(libc_symbol(name), implementation);
		nr++;
	}
	assert_true(nr >= 5);
	assert_null(find(fixture, image, (uintptr_t)libc_symbol("getpid")));
	assert_null(find(fixture, image, (uintptr_t)libc_symbol("strlen") + 1));
}

/* "__memmove_avx512_unaligned_erms" is one of memmove. */
static bool is_variant(const char *symbol, const char *name)
{
	while (*symbol == '_')
		symbol++;
	while (*name == '_')
		name++;
	return !strncmp(symbol, name, strlen(name)) &&
	       (!symbol[strlen(name)] || symbol[strlen(name)] == '_');
}

struct counts {
	size_t nr_agree, nr_disagree;
};

/* Each line is an address and the names of the symbols there. */
static struct counts compare(const struct fixture *fixture, FILE *symbols)
{
	const struct image *image = image_now(fixture);
	struct counts counts = {0};
	char line[4096], *save;

	while (fgets(line, sizeof(line), symbols)) {
		char *word = strtok_r(line, " \n", &save);
		uint64_t start = strtoull(word, NULL, 16);
		const char *name = ifuncnames_find(fixture->names, image, fixture->file, start);
		bool agrees = false;

		if (!name)
			continue;
		while ((word = strtok_r(NULL, " \n", &save)))
			agrees = agrees || is_variant(word, name);
		if (!agrees)
			print_message("%s is not at %#" PRIx64 "\n", name, start);
		counts.nr_agree += agrees;
		counts.nr_disagree += !agrees;
	}
	return counts;
}

static void test_names_of_the_debug_file(void **state)
{
	struct fixture *fixture = *state;
	FILE *symbols = popen(
		"id=$(readelf -n /lib/x86_64-linux-gnu/libc.so.6 | awk '/Build ID/ {print $3}'); "
		"f=/usr/lib/debug/.build-id/$(echo $id | cut -c1-2)/$(echo $id | cut -c3-).debug; "
		"[ -e $f ] && nm $f | awk '$2 ~ /[tTiW]/ {at[$1] = at[$1] \" \" $3} "
		"END {for (a in at) print a at[a]}'",
		"r");
	struct counts counts;

	sample(fixture);
	counts = compare(fixture, symbols);
	pclose(symbols);
	if (!counts.nr_agree && !counts.nr_disagree)
		skip(); /* libc6-dbg is not installed */
	print_message("agree %zu, disagree %zu\n", counts.nr_agree, counts.nr_disagree);
	assert_int_equal(counts.nr_disagree, 0);
	assert_true(counts.nr_agree > 10);
}

/* An exec that had happened when the memory was read, and is announced later. */
static void test_what_was_read_after_an_exec(void **state)
{
	struct fixture *fixture = *state;
	const struct task_event before = {.kind = TASK_EXEC,
					  .time_ns = clock_monotonic_ns(),
					  .tgid = getpid(),
					  .tid = getpid(),
					  .comm = "other"};
	uint64_t strlen_ip = (uintptr_t)libc_symbol("strlen");
	struct image *image = image_now(fixture);

	image->process->is_sampled = true;
	sample(fixture);
	assert_non_null(find(fixture, image, strlen_ip));
	tasks_apply(fixture->tasks, &before);
	assert_ptr_not_equal(image_now(fixture), image);
	assert_null(find(fixture, image, strlen_ip));
}

/* One that came after it. */
static void test_what_was_read_before_an_exec(void **state)
{
	struct fixture *fixture = *state;
	struct task_event after = {
		.kind = TASK_EXEC, .tgid = getpid(), .tid = getpid(), .comm = "other"};
	uint64_t strlen_ip = (uintptr_t)libc_symbol("strlen");
	struct image *image = image_now(fixture);

	image->process->is_sampled = true;
	sample(fixture);
	after.time_ns = clock_monotonic_ns() + 1;
	tasks_apply(fixture->tasks, &after);
	assert_string_equal(find(fixture, image, strlen_ip), "strlen");
	assert_null(find(fixture, image_now(fixture), strlen_ip));
}

/* A process that is gone costs the names only. */
static void test_a_process_that_is_gone(void **state)
{
	struct fixture *fixture = *state;
	const struct task_event map = {
		.kind = TASK_MAP, .tgid = 0x7ffffff0, .tid = 0x7ffffff0, .time_ns = 1};
	uint64_t ip = 0x401000;
	struct record record = {
		.tgid = 0x7ffffff0, .time_ns = clock_monotonic_ns(), .user_ips = &ip, .nr_user = 1};

	tasks_apply(fixture->tasks, &map);
	ifuncnames_look(fixture->names, &record, &fixture->budget);
	assert_false(ifuncnames_has(fixture->names,
				    tasks_image(fixture->tasks, 0x7ffffff0, 0, record.time_ns),
				    fixture->file));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names_of_libc, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_names_of_the_debug_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_was_read_after_an_exec, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_what_was_read_before_an_exec, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_process_that_is_gone, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
