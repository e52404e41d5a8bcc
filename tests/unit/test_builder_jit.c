// SPDX-License-Identifier: BSD-2-Clause
/* Code that takes the place of other code while this process is profiled: names are those of the time of each sample. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/mman.h>

#include "unit/builder_case.h"

static uint64_t t; /* the times of a test are this and a few more: after that of the mapping */

struct code {
	uint64_t ip; /* of the page */
	struct image *image;
	int fd[NR_JITSYMFILES];
};

static void write_to(int fd, const void *bytes, size_t len)
{
	assert_int_equal(write(fd, bytes, len), len);
}

/* Another line of the perf map. */
static void tell(const struct code *code, uint64_t start, unsigned int len, const char *name)
{
	char *line scoped(freep) = xasprintf("%lx %x %s\n", (unsigned long)start, len, name);

	write_to(code->fd[JITSYMFILE_PERF_MAP], line, strlen(line));
}

static void tell_dump(const struct code *code, uint64_t time_ns, const char *name)
{
	uint32_t size = (uint32_t)(16 + 40 + strlen(name) + 1);
	const uint32_t head[] = {0, size};
	const uint64_t body[] = {time_ns, 1, code->ip, code->ip, 0x1000, 1};

	write_to(code->fd[JITSYMFILE_JITDUMP], head, sizeof(head));
	write_to(code->fd[JITSYMFILE_JITDUMP], body, sizeof(body));
	write_to(code->fd[JITSYMFILE_JITDUMP], name, strlen(name) + 1);
}

static void measure(struct fixture *fixture, uint64_t time_ns)
{
	tasks_measure_jitsyms(fixture->tasks, time_ns);
}

/* A page of code, and the files about it, empty. */
static struct code make_code(struct fixture *fixture, bool has_dump)
{
	void *page = mmap(NULL, 0x1000, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct code code = {.ip = (uintptr_t)page, .fd = {-1, -1}};
	static const uint32_t header[] = {0x4a695444, 1, 40, 62, 0, 1, 0, 0, 0, 0};

	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(tasks_snapshot(fixture->tasks, getpid()), 0);
	code.image = tasks_image(fixture->tasks, getpid(), 0, clock_monotonic_ns());
	t = clock_monotonic_ns() + 1;
	code.image->jitsym_files = xcalloc(1, sizeof(*code.image->jitsym_files));
	for (int i = 0; i < NR_JITSYMFILES; i++) {
		bool is_there = has_dump == (i == JITSYMFILE_JITDUMP);

		if (is_there)
			code.fd[i] = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		code.image->jitsym_files->fds[i] = code.fd[i]; /* which closes it */
	}
	if (has_dump)
		write_to(code.fd[JITSYMFILE_JITDUMP], header, sizeof(header));
	start(fixture, PROFILE_CPU, false);
	return code;
}

/* A drain at time_ns, in which the record has nr ticks; its files are looked at before. */
static void drain(struct fixture *fixture, const struct record *record, uint64_t time_ns,
		  uint64_t nr)
{
	measure(fixture, time_ns);
	builder_advance(fixture->builder, time_ns + 1);
	if (nr)
		take(fixture->builder, record, nr, 0);
}

static struct record record_at(const uint64_t *ip, uint64_t id, uint64_t time_ns)
{
	struct record record = own_record(id);

	record.user_ips = ip;
	record.nr_user = 1;
	record.time_ns = time_ns;
	return record;
}

/* How many ticks a function has. */
static uint64_t ticks_of(const struct profile *profile, const char *name)
{
	uint64_t nr = 0;

	vec_for_each(&profile->samples, sample) {
		const struct profile_location *location =
			&profile->locations.at[sample->locations[0] - 1];
		uint32_t id = profile->functions.at[location->lines[0].function - 1].name;

		if (!strcmp(strtab_get(&profile->strings, id), name))
			nr += sample->values[0];
	}
	return nr;
}

static void expect(struct fixture *fixture, const char *const *names, const uint64_t *ticks,
		   size_t nr)
{
	size_t nr_processes;
	const struct built_process *processes = builder_processes(fixture->builder, &nr_processes);
	struct built built;
	uint64_t sum = 0;

	assert_int_equal(nr_processes, 1);
	built = build_view(fixture, processes[0].process, VIEW_ALL);
	for (size_t i = 0; i < nr; i++) {
		if (ticks_of(built.profile, names[i]) != ticks[i])
			fail_msg("%s: %lu", names[i],
				 (unsigned long)ticks_of(built.profile, names[i]));
		sum += ticks[i];
	}
	assert_int_equal(built.nr_written, sum);
	profile_free(built.profile);
}

/* One record, whose stack goes on while a perf map says three times what is there. */
static void test_a_perf_map_grows(void **state)
{
	static const char *const names[] = {"first", "second", "third"};
	struct fixture *fixture = *state;
	struct code code = make_code(fixture, false);
	struct record record = record_at(&code.ip, 7, t + 1);

	tell(&code, code.ip, 0x40, "first");
	measure(fixture, t);
	drain(fixture, &record, t + 10, 1);
	drain(fixture, &record, t + 20, 2);
	tell(&code, code.ip + 0x80, 0x40, "elsewhere");
	drain(fixture, &record, t + 30, 4);
	expect(fixture, names, (const uint64_t[]){7, 0, 0}, 3);
	tell(&code, code.ip, 0x80, "second");
	drain(fixture, &record, t + 40, 8); /* some of these may be second's: it is not known */
	drain(fixture, &record, t + 50, 16);
	expect(fixture, names, (const uint64_t[]){15, 16, 0}, 3);
	tell(&code, code.ip, 0x10, "third");
	drain(fixture, &record, t + 60, 32);
	drain(fixture, &record, t + 70, 64);
	drain(fixture, &record, t + 80, 128);
	expect(fixture, names, (const uint64_t[]){15, 48, 192}, 3);
}

/* Records that come anew are of what was written by the next look: code is made before it runs. */
static void test_new_stacks(void **state)
{
	static const char *const names[] = {"first", "second", "third"};
	struct fixture *fixture = *state;
	struct code code = make_code(fixture, false);
	struct record records[] = {record_at(&code.ip, 1, t + 5), record_at(&code.ip, 2, t + 15),
				   record_at(&code.ip, 3, t + 35)};

	tell(&code, code.ip, 0x40, "first");
	measure(fixture, t);
	drain(fixture, &records[0], t + 10, 1);
	tell(&code, code.ip, 0x40, "second");
	drain(fixture, &records[1], t + 20, 2);
	drain(fixture, &records[1], t + 30, 4);
	tell(&code, code.ip, 0x40, "third"); /* looked at last when the run is over */
	drain(fixture, &records[2], t + 40, 8);
	expect(fixture, names, (const uint64_t[]){1, 6, 8}, 3);
}

/* A map that is written at the end names what is in it. */
static void test_a_late_perf_map(void **state)
{
	static const char *const names[] = {"late"};
	struct fixture *fixture = *state;
	struct code code = make_code(fixture, false);
	struct record record = record_at(&code.ip, 1, t + 5);

	measure(fixture, t);
	drain(fixture, &record, t + 10, 1);
	drain(fixture, &record, t + 20, 2);
	tell(&code, code.ip, 0x40, "late");
	drain(fixture, &record, t + 30, 0);
	expect(fixture, names, (const uint64_t[]){3}, 1);
}

/* A map that becomes shorter is another one. */
static void test_a_map_written_anew(void **state)
{
	static const char *const names[] = {"first", "second"};
	struct fixture *fixture = *state;
	struct code code = make_code(fixture, false);
	struct record record = record_at(&code.ip, 1, t + 5);

	tell(&code, code.ip, 0x40, "first with a long name");
	measure(fixture, t);
	assert_int_equal(ftruncate(code.fd[JITSYMFILE_PERF_MAP], 0), 0);
	lseek(code.fd[JITSYMFILE_PERF_MAP], 0, SEEK_SET);
	tell(&code, code.ip, 0x40, "second");
	drain(fixture, &record, t + 10, 1);
	expect(fixture, names, (const uint64_t[]){0, 1}, 2);
}

/* Its records have times; what a stack's ticks are of is known by the drains. */
static void test_a_jitdump_grows(void **state)
{
	static const char *const names[] = {"first", "second", "third"};
	struct fixture *fixture = *state;
	struct code code = make_code(fixture, true);
	struct record record = record_at(&code.ip, 7, t + 5);
	struct record later = record_at(&code.ip, 8, t + 38);

	tell_dump(&code, t + 1, "first");
	measure(fixture, t + 2);
	drain(fixture, &record, t + 10, 1);
	drain(fixture, &record, t + 20, 2);
	expect(fixture, names, (const uint64_t[]){3, 0, 0}, 3);
	tell_dump(&code, t + 25, "second");
	tell_dump(&code, t + 37, "third");
	drain(fixture, &later, t + 40, 4);
	expect(fixture, names, (const uint64_t[]){3, 0, 4}, 3);
	drain(fixture, &record, t + 50, 8);
	expect(fixture, names, (const uint64_t[]){3, 0, 12}, 3);
}

/* A jitdump with times of a CPU's counter says nothing of when: what is written late has its name all the same. */
static void test_a_jitdump_without_times(void **state)
{
	static const char *const names[] = {"late"};
	struct fixture *fixture = *state;
	struct code code = make_code(fixture, true);
	struct record record = record_at(&code.ip, 7, t + 5);
	const struct process *process;
	const uint64_t flags = 1;
	size_t nr_processes;

	assert_int_equal(pwrite(code.fd[JITSYMFILE_JITDUMP], &flags, sizeof(flags), 32),
			 sizeof(flags));
	measure(fixture, t);
	drain(fixture, &record, t + 10, 1);
	process = builder_processes(fixture->builder, &nr_processes)->process;
	profile_free(build_view(fixture, process, VIEW_ALL).profile); /* it has nothing yet */
	tell_dump(&code, 12345, "late");
	drain(fixture, &record, t + 20, 2);
	expect(fixture, names, (const uint64_t[]){3}, 1);
}

/* More growths than are kept: the first and the last are told apart still. */
static void test_many_growths(void **state)
{
	static const char *const names[] = {"first", "last"};
	struct fixture *fixture = *state;
	struct code code = make_code(fixture, false);
	struct record record = record_at(&code.ip, 7, t + 1);
	uint64_t time_ns = t + 10;

	tell(&code, code.ip, 0x40, "first");
	measure(fixture, t);
	drain(fixture, &record, time_ns, 1);
	for (int i = 0; i < 3 * JITSYMFILES_MAX_MARKS; i++) {
		tell(&code, code.ip + 0x800, 0x40, "elsewhere");
		measure(fixture, time_ns += 10);
	}
	assert_true(code.image->jitsym_files->marks.nr <= JITSYMFILES_MAX_MARKS);
	tell(&code, code.ip, 0x40, "last");
	drain(fixture, &record, time_ns += 10, 2);
	drain(fixture, &record, time_ns + 10, 4);
	expect(fixture, names, (const uint64_t[]){3, 4}, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_perf_map_grows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_new_stacks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_late_perf_map, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_map_written_anew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_jitdump_grows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_jitdump_without_times, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many_growths, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
