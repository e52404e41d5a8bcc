// SPDX-License-Identifier: BSD-2-Clause
/*
 * Against real processes: this one, and small programs that are compiled here in the shapes that
 * linkers make (non-PIE, text at offset 0 of the file, stripped). Who says what is right: nm, dladdr
 * and pprof, which must find the same names again with nothing but our mappings and addresses.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "object/object.h"
#include "record/symbolize.h"
#include "temp.h"
#include "unit/judge.h"
#include "unit/parser_case.h"

/* An address inside a function, past its prologue's first byte. */
#define INSIDE(function) ((uint64_t)(uintptr_t)(function) + 1)

struct fixture {
	struct files *files;
	struct tasks *tasks;
	struct parser *parser;
	struct kallsyms *kallsyms;
	int nr_kallsyms_reads;
	struct symbolizer *symbolizer;
	struct profile *profile;
	char *folder;
};

static __attribute__((noinline)) void a_known_function(void)
{
	__asm__ volatile("nop; nop; nop; nop");
}

/* As /proc/kallsyms has it: a symbol of the kernel, one of a module, the end of the text. */
static struct kallsyms *kallsyms_of(const char *text)
{
	struct kallsyms *kallsyms = NULL;
	int fd = memfd_create("kallsyms", 0);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(kallsyms_read(fd, &kallsyms), 0);
	close(fd);
	return kallsyms;
}

static const struct kallsyms *read_kallsyms(void *ctx)
{
	struct fixture *fixture = ctx;

	fixture->nr_kallsyms_reads++;
	return fixture->kallsyms;
}

static int set_up(void **state)
{
	struct fixture *fixture = xcalloc(1, sizeof(*fixture));

	fixture->folder = temp_folder();
	fixture->files = files_new("/proc");
	fixture->tasks = tasks_new("/proc", fixture->files);
	fixture->parser = parser_case_open();
	fixture->kallsyms = kallsyms_of("ffffffff81000000 T _text\n"
					"ffffffff81000100 T do_syscall_64\n"
					"ffffffff81000400 T _etext\n"
					"ffffffffc0000000 t ext4_sync\t[ext4]\n");
	fixture->symbolizer = symbolizer_new(fixture->tasks, fixture->files, fixture->parser);
	symbolizer_use_kallsyms(fixture->symbolizer, read_kallsyms, fixture);
	fixture->profile = profile_new();
	profile_add_type(fixture->profile, "samples", "count");
	profile_add_type(fixture->profile, "cpu", "nanoseconds");
	profile_set_period(fixture->profile, "cpu", "nanoseconds", 10);
	fixture->profile->default_type = profile_string(fixture->profile, "cpu");
	fixture->profile->time_ns = 1700000000000000000;
	vec_push(&fixture->profile->comments, profile_string(fixture->profile, "test"));
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	profile_free(fixture->profile);
	symbolizer_free(fixture->symbolizer);
	kallsyms_free(fixture->kallsyms);
	parser_close(fixture->parser);
	tasks_free(fixture->tasks);
	files_free(fixture->files);
	free(fixture->folder);
	free(fixture);
	return 0;
}

static struct image *own_image(struct fixture *fixture)
{
	assert_int_equal(tasks_snapshot(fixture->tasks, getpid()), 0);
	return tasks_image(fixture->tasks, getpid(), 0, clock_monotonic_ns());
}

static uint32_t user(struct fixture *fixture, struct image *image, uint64_t ip, bool is_return)
{
	return symbolize_user(fixture->symbolizer, fixture->profile, image, ip,
			      clock_monotonic_ns(), is_return);
}

static const struct profile_location *location(struct fixture *fixture, uint32_t id)
{
	assert_in_range(id, 1, fixture->profile->locations.nr);
	return &fixture->profile->locations.at[id - 1];
}

static const struct profile_mapping *mapping_of(struct fixture *fixture, uint32_t id)
{
	const struct profile_location *at = location(fixture, id);
	const struct profile_mapping *mapping = &fixture->profile->mappings.at[at->mapping - 1];

	assert_in_range(at->address, mapping->start, mapping->limit - 1);
	return mapping;
}

static const struct profile_function *function_of(struct fixture *fixture, uint32_t id)
{
	assert_int_equal(location(fixture, id)->nr_lines, 1);
	return &fixture->profile->functions.at[location(fixture, id)->lines[0].function - 1];
}

static const char *name_of(struct fixture *fixture, uint32_t id)
{
	return strtab_get(&fixture->profile->strings, function_of(fixture, id)->name);
}

static const char *path_of(struct fixture *fixture, uint32_t id)
{
	return strtab_get(&fixture->profile->strings, mapping_of(fixture, id)->path);
}

/* Puts location into a sample of its own, so that the profile has something to be judged by. */
static void add_sample(struct fixture *fixture, uint32_t id)
{
	struct profile *profile = fixture->profile;
	struct profile_label labels[] = {
		{.key = profile_string(profile, "pid"), .num = 1},
		{.key = profile_string(profile, "comm"), .str = profile_string(profile, "x")},
	};
	struct profile_sample sample = {.locations = &id,
					.nr_locations = 1,
					.labels = labels,
					.nr_labels = 2,
					.values = (int64_t[]){1, 10}};

	profile_add_sample(profile, &sample);
}

/* The address that nm gives a symbol of a file. */
static uint64_t nm_address(const char *path, const char *symbol)
{
	char *command scoped(freep) =
		xasprintf("nm '%s' | awk '$3 == \"%s\" { print $1 }'", path, symbol);
	int status;
	char *said scoped(freep) = judge_run(command, &status);

	assert_true(strlen(said) > 1);
	return strtoull(said, NULL, 16);
}

static void test_own_code(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = own_image(fixture);
	uint32_t id = user(fixture, image, INSIDE(a_known_function), false);
	char exe[256] = "";

	assert_string_equal(name_of(fixture, id), "a_known_function");
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_int_equal(location(fixture, id)->address, nm_address(exe, "a_known_function") + 1);
	assert_string_equal(path_of(fixture, id), exe);
	assert_true(mapping_of(fixture, id)->has_functions);
	/* this program is compiled with -g */
	assert_true(mapping_of(fixture, id)->has_filenames);
	assert_true(mapping_of(fixture, id)->has_line_numbers);
	assert_true(location(fixture, id)->lines[0].line > 0);
	assert_string_equal(symbolize_mapping_name(fixture->symbolizer, image,
						   INSIDE(a_known_function), UINT64_MAX - 1),
			    strrchr(exe, '/') + 1);
}

static void test_a_return_address_is_the_call(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = own_image(fixture);
	uint64_t start = (uintptr_t)a_known_function;
	uint32_t id = user(fixture, image, start + 2, true);

	/* The same place, however it was come by. */
	assert_int_equal(user(fixture, image, start + 1, false), id);
	/* A call that ends its function returns into the next one. */
	assert_string_not_equal(name_of(fixture, user(fixture, image, start, true)),
				"a_known_function");
	assert_string_equal(name_of(fixture, user(fixture, image, start, false)),
			    "a_known_function");
}

static void test_a_library(void **state)
{
	struct fixture *fixture = *state;
	uint32_t id = user(fixture, own_image(fixture), INSIDE(qsort), false);
	char *path scoped(freep) = NULL;
	Dl_info info;

	assert_true(dladdr((void *)(uintptr_t)qsort, &info));
	assert_string_equal(name_of(fixture, id), info.dli_sname);
	assert_int_equal(location(fixture, id)->address,
			 (uintptr_t)qsort + 1 - (uintptr_t)info.dli_fbase);
	path = realpath(info.dli_fname, NULL);
	assert_string_equal(path_of(fixture, id), path);
	assert_true(mapping_of(fixture, id)->build_id != 0);
}

static void test_the_vdso(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = own_image(fixture);
	uint64_t start = getauxval(AT_SYSINFO_EHDR), addr = 0;
	struct objects *objects = objects_new();
	bool is_ifunc;
	struct symbol symbol;
	uint32_t id;

	if (!start || !symtab_lookup(object_symtab(objects_vdso(objects)), "__vdso_clock_gettime",
				     &symbol, &is_ifunc)) {
		objects_free(objects);
		skip();
	}
	objects_free(objects); /* the symbol's name with them */
	addr = start + symbol.elf_addr;
	id = user(fixture, image, addr + 1, false);
	assert_non_null(strstr(name_of(fixture, id), "clock_gettime"));
	assert_string_equal(path_of(fixture, id), "[vdso]");
	assert_int_equal(location(fixture, id)->address, symbol.elf_addr + 1);
	assert_true(mapping_of(fixture, id)->has_functions);
	/* The ELF header is no function: its name is made up, which takes the flag from none. */
	id = user(fixture, image, start + 4, false);
	assert_string_equal(name_of(fixture, id), "[vdso]+0x4");
	assert_int_equal(function_of(fixture, id)->system_name, 0);
	assert_true(mapping_of(fixture, id)->has_functions);
}

static void test_code_without_a_file(void **state)
{
	struct fixture *fixture = *state;
	unsigned char *jit = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct image *image;
	char expected[64];
	uint32_t id;

	assert_ptr_not_equal(jit, MAP_FAILED);
	image = own_image(fixture);
	id = user(fixture, image, (uintptr_t)jit + 0x10, false);
	snprintf(expected, sizeof(expected), "[anon]+0x%lx", (unsigned long)jit + 0x10);
	assert_string_equal(name_of(fixture, id), expected);
	assert_string_equal(path_of(fixture, id), "//anon");
	assert_int_equal(location(fixture, id)->address, (uintptr_t)jit + 0x10);
	assert_int_equal(function_of(fixture, id)->system_name, 0);
	assert_true(mapping_of(fixture, id)->has_functions);
	munmap(jit, 4096);
}

static void test_code_nowhere(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = own_image(fixture);
	static const uint64_t ips[] = {0, 1, 0x10, 0xffffffff81000110, UINT64_MAX};
	uint32_t id;

	for (size_t i = 0; i < sizeof(ips) / sizeof(*ips); i++) {
		id = user(fixture, image, ips[i], false);
		assert_string_equal(path_of(fixture, id), "[unknown]");
		id = user(fixture, image, ips[i], true);
		assert_string_equal(path_of(fixture, id), "[unknown]");
	}
	id = user(fixture, image, 0x10, false);
	assert_string_equal(name_of(fixture, id), "[unknown]+0x10");
	assert_int_equal(function_of(fixture, id)->system_name, 0);
	assert_string_equal(
		symbolize_mapping_name(fixture->symbolizer, image, 0x10, UINT64_MAX - 1),
		"[unknown]");
}

static uint32_t kernel(struct fixture *fixture, uint64_t ip, bool is_return)
{
	return symbolize_kernel(fixture->symbolizer, fixture->profile, ip, 0, is_return);
}

static void test_the_kernel(void **state)
{
	struct fixture *fixture = *state;
	uint32_t id;

	assert_string_equal(path_of(fixture, kernel(fixture, 0, true)), "[unknown]");
	assert_int_equal(fixture->nr_kallsyms_reads, 0); /* they are many, and none was asked for */
	id = kernel(fixture, 0xffffffff81000110, false);
	assert_string_equal(name_of(fixture, id), "do_syscall_64");
	assert_string_equal(path_of(fixture, id), "[kernel.kallsyms]");
	assert_string_equal(name_of(fixture, kernel(fixture, 0xffffffff81000400, true)),
			    "do_syscall_64");
	id = kernel(fixture, 0xffffffffc0000010, false);
	assert_string_equal(name_of(fixture, id), "ext4_sync");
	assert_int_equal(function_of(fixture, id)->path, 0);
	assert_true(mapping_of(fixture, id)->has_functions);
	id = kernel(fixture, 0xffffffff90000000, false);
	assert_string_equal(name_of(fixture, id), "[kernel]+0xffffffff90000000");
	assert_int_equal(function_of(fixture, id)->system_name, 0);
	assert_true(mapping_of(fixture, id)->has_functions);
	assert_string_equal(path_of(fixture, kernel(fixture, UINT64_MAX, false)),
			    "[kernel.kallsyms]");
	assert_int_equal(fixture->nr_kallsyms_reads, 1);
}

static void test_without_kallsyms(void **state)
{
	struct fixture *fixture = *state;
	struct symbolizer *blind = symbolizer_new(fixture->tasks, fixture->files, fixture->parser);
	uint32_t id = symbolize_kernel(blind, fixture->profile, 0xffffffff81000110, 0, false);

	assert_string_equal(name_of(fixture, id), "[kernel]+0xffffffff81000110");
	symbolizer_free(blind);
}

static void test_notes(void **state)
{
	struct fixture *fixture = *state;
	uint32_t a = symbolize_note(fixture->symbolizer, fixture->profile, "[truncated: a %s]");
	uint32_t b = symbolize_note(fixture->symbolizer, fixture->profile, "[truncated: b]");

	assert_int_not_equal(a, b);
	assert_int_equal(symbolize_note(fixture->symbolizer, fixture->profile, "[truncated: a %s]"),
			 a);
	assert_string_equal(name_of(fixture, a), "[truncated: a %s]");
	assert_string_equal(path_of(fixture, a), "[cprof]");
	assert_int_equal(function_of(fixture, a)->system_name, 0);
	assert_true(mapping_of(fixture, a)->has_functions);
}

static void test_each_profile_has_its_own_ids(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = own_image(fixture);
	struct profile *first = fixture->profile;

	kernel(fixture, 0xffffffff81000110, false);
	user(fixture, image, INSIDE(a_known_function), false);
	fixture->profile = profile_new();
	assert_int_equal(user(fixture, image, INSIDE(a_known_function), false), 1);
	assert_string_equal(name_of(fixture, 1), "a_known_function");
	profile_free(first);
}

/* What there was no time for is counted and noted, and looked up for the next profile if there is time then. */
static void test_no_time(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = own_image(fixture);
	struct profile *profile = fixture->profile, *second = profile_new();
	uint32_t id, noted;

	symbolizer_until(fixture->symbolizer, 1);
	id = user(fixture, image, INSIDE(a_known_function), false);
	kernel(fixture, 0xffffffff81000110, false);
	assert_non_null(strstr(name_of(fixture, id), "+0x"));
	assert_int_not_equal(mapping_of(fixture, id)->build_id, 0);
	assert_int_equal(symbolizer_nr_unnamed(fixture->symbolizer), 1);
	symbolize_note_left_out(fixture->symbolizer, profile);
	assert_int_equal(profile->comments.nr, 2);
	noted = profile->comments.at[1];
	assert_string_equal(strtab_get(&profile->strings, noted),
			    "1 of 1 addresses were not looked up, or not wholly: time was up");

	symbolizer_until(fixture->symbolizer, clock_monotonic_ns() + 3600 * NSEC_PER_SEC);
	fixture->profile = second;
	id = user(fixture, image, INSIDE(a_known_function), false);
	assert_string_equal(name_of(fixture, id), "a_known_function");
	assert_int_equal(symbolizer_nr_unnamed(fixture->symbolizer), 0);
	symbolize_note_left_out(fixture->symbolizer, second);
	assert_int_equal(second->comments.nr, 0);
	profile_free(profile);
}

static void test_the_main_mapping(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = own_image(fixture), nothing = {.comm = "kworker/0:1"};
	char exe[256] = "";
	uint32_t id;

	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	kernel(fixture, 0xffffffff81000110, false);
	symbolize_main_mapping(fixture->symbolizer, fixture->profile, image);
	assert_string_equal(
		strtab_get(&fixture->profile->strings, fixture->profile->mappings.at[0].path), exe);
	/* Nothing in it yet; of profiles that are merged pprof takes the flags of the first. */
	assert_true(fixture->profile->mappings.at[0].has_functions);
	id = user(fixture, image, INSIDE(a_known_function), false);
	assert_int_equal(location(fixture, id)->mapping, 1); /* the very one */
	assert_true(fixture->profile->mappings.at[0].has_functions);
	assert_int_equal(fixture->profile->mappings.nr, 2);

	symbolize_main_mapping(fixture->symbolizer, fixture->profile, &nothing);
	assert_string_equal(
		strtab_get(&fixture->profile->strings, fixture->profile->mappings.at[0].path),
		"[kworker/0:1]");
}

/* Starts a program that says where its main() is and then waits. */
static pid_t start(const char *path, uint64_t *main_addr)
{
	char line[64] = "";
	int ends[2];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child) {
		dup2(ends[1], STDOUT_FILENO);
		execl(path, path, NULL);
		_exit(9);
	}
	close(ends[1]);
	assert_true(read(ends[0], line, sizeof(line) - 1) > 0);
	close(ends[0]);
	*main_addr = strtoull(line, NULL, 16);
	return child;
}

static void stop(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Compiles a waiting program; its path in *path. */
static void compile(struct fixture *fixture, const char *flags, char **path)
{
	char *command scoped(freep) = NULL;

	*path = xasprintf("%s/a program", fixture->folder);
	command = xasprintf("printf '#include <stdio.h>\\n#include <unistd.h>\\n"
			    "int main(void) { printf(\"%%%%lx\\\\n\", (unsigned long)main); "
			    "fflush(stdout); return pause(); }\\n' | gcc -x c %s -o '%s' -",
			    flags, *path);
	assert_int_equal(system(command), 0);
}

/*
 * Compiled with flags, its main() gets the address nm says; and pprof, forced to forget our names
 * and to look into the file with our mapping, finds main() again. So its base is 0.
 */
static void check_shape(struct fixture *fixture, const char *flags, bool is_judged)
{
	char *path scoped(freep) = NULL, *file scoped(freep) = NULL;
	uint64_t main_addr;
	struct image *image;
	uint32_t id;
	pid_t child;

	compile(fixture, flags, &path);
	child = start(path, &main_addr);
	assert_int_equal(tasks_snapshot(fixture->tasks, child), 0);
	image = tasks_image(fixture->tasks, child, 0, clock_monotonic_ns());
	stop(child);
	symbolize_main_mapping(fixture->symbolizer, fixture->profile, image);
	id = user(fixture, image, main_addr + 4, false);
	add_sample(fixture, id);
	assert_string_equal(name_of(fixture, id), "main");
	assert_int_equal(location(fixture, id)->address, nm_address(path, "main") + 4);
	assert_int_equal(location(fixture, id)->mapping, 1);
	assert_string_equal(path_of(fixture, id), path);

	file = xasprintf("%s/p.pb.gz", fixture->folder);
	judge_write(fixture->profile, file);
	judge_contract(file);
	judge_pprof_says("-top", file, "100%  main\n");
	if (is_judged && judge_has("addr2line"))
		judge_pprof_says("-symbolize=local:force -top", file, "100%  main");
}

static void test_pie(void **state)
{
	check_shape(*state, "-g -fPIE -pie", true);
}

static void test_non_pie(void **state)
{
	check_shape(*state, "-g -fno-PIE -no-pie", true);
}

static void test_text_at_offset_0(void **state)
{
	check_shape(*state, "-g -fPIE -pie -Wl,-z,noseparate-code", true);
}

static void test_non_pie_text_at_offset_0(void **state)
{
	check_shape(*state, "-g -fno-PIE -no-pie -Wl,-z,noseparate-code", true);
}

static void test_text_off_its_offset(void **state)
{
	/* p_vaddr - p_offset is not 0: what lld does by default, and ld where told. */
	check_shape(*state, "-g -fPIE -pie -Wl,-Ttext-segment=0x7654000", true);
}

static void test_static(void **state)
{
	check_shape(*state, "-static -fno-PIE -no-pie", false);
}

/* Without symbols and without call frame information there is nothing but the address. */
static void test_stripped_of_everything(void **state)
{
	struct fixture *fixture = *state;
	char *path scoped(freep) = NULL, *name scoped(freep) = NULL;
	uint64_t main_addr;
	struct image *image;
	uint32_t id, other;
	pid_t child;

	compile(fixture, "-s -fno-asynchronous-unwind-tables", &path);
	child = start(path, &main_addr);
	assert_int_equal(tasks_snapshot(fixture->tasks, child), 0);
	image = tasks_image(fixture->tasks, child, 0, clock_monotonic_ns());
	stop(child);
	id = user(fixture, image, main_addr + 4, false);
	name = xasprintf("a program+0x%lx", (unsigned long)location(fixture, id)->address);
	assert_string_equal(name_of(fixture, id), name);
	other = user(fixture, image, main_addr + 5, false);
	assert_ptr_not_equal(function_of(fixture, other), function_of(fixture, id));
}

/* Stripped: no name, but the file's own mapping, with its build-id, which pprof does not try to name. */
static void test_stripped(void **state)
{
	struct fixture *fixture = *state;
	char *path scoped(freep) = NULL, *file scoped(freep) = NULL, *name scoped(freep) = NULL;
	char *twice scoped(freep) = NULL, *marked scoped(freep) = NULL;
	uint32_t id, other, guessed;
	uint64_t main_addr;
	struct image *image;
	pid_t child;

	compile(fixture, "-s", &path);
	child = start(path, &main_addr);
	assert_int_equal(tasks_snapshot(fixture->tasks, child), 0);
	image = tasks_image(fixture->tasks, child, 0, clock_monotonic_ns());
	stop(child);
	assert_int_equal(unlink(path), 0); /* gone: who does not ask for it does not complain */
	symbolize_main_mapping(fixture->symbolizer, fixture->profile, image);
	id = user(fixture, image, main_addr + 4, false);
	add_sample(fixture, id);
	add_sample(fixture, kernel(fixture, 0xffffffff90000000, false));
	add_sample(fixture, user(fixture, image, 0x10, false));
	add_sample(fixture,
		   symbolize_note(fixture->symbolizer, fixture->profile, "[truncated: x]"));
	/* main() has no name, but it begins where its entry in .eh_frame says. */
	name = xasprintf("a program+0x%lx", (unsigned long)location(fixture, id)->address - 4);
	assert_string_equal(name_of(fixture, id), name);
	assert_string_equal(path_of(fixture, id), path);
	assert_int_equal(function_of(fixture, id)->system_name, 0);
	other = user(fixture, image, main_addr + 9, true);
	assert_int_not_equal(other, id);
	assert_int_equal(location(fixture, other)->address, location(fixture, id)->address + 4);
	assert_ptr_equal(function_of(fixture, other), function_of(fixture, id));
	guessed = user(fixture, image, (main_addr + 4) | IP_GUESSED, false);
	marked = xasprintf("%s [guessed]", name);
	assert_string_equal(name_of(fixture, guessed), marked);
	assert_int_equal(function_of(fixture, guessed)->system_name, 0);
	assert_true(mapping_of(fixture, id)->has_functions);
	assert_int_not_equal(mapping_of(fixture, id)->build_id, 0);
	assert_int_equal(location(fixture, id)->mapping, 1); /* the main one */

	file = xasprintf("%s/p.pb.gz", fixture->folder);
	judge_write(fixture->profile, file);
	judge_contract(file);
	judge_pprof_says("-top", file, name);
	judge_pprof_says("-raw", file, name);
	/* Two of them merge: pprof compares mappings then, and asks for the flags again. */
	twice = xasprintf("-top '%s'", file);
	judge_pprof_says(twice, file, name);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_own_code),
		TEST(test_a_return_address_is_the_call),
		TEST(test_a_library),
		TEST(test_the_vdso),
		TEST(test_code_without_a_file),
		TEST(test_code_nowhere),
		TEST(test_the_kernel),
		TEST(test_without_kallsyms),
		TEST(test_notes),
		TEST(test_each_profile_has_its_own_ids),
		TEST(test_no_time),
		TEST(test_the_main_mapping),
		TEST(test_pie),
		TEST(test_non_pie),
		TEST(test_text_at_offset_0),
		TEST(test_non_pie_text_at_offset_0),
		TEST(test_text_off_its_offset),
		TEST(test_static),
		TEST(test_stripped),
		TEST(test_stripped_of_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
