// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a builder keeps of the lives of blocks: peaks of processes that have had one tgid, and timelines, up to a limit; and
 * what is one stack of a leak.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>

#include "unit/builder_case.h"

#define REUSED 0x3fffff0u /* above all pids */

static void apply(struct fixture *fixture, enum task_event_kind kind, uint64_t time_ns)
{
	struct task_event event = {.kind = kind,
				   .time_ns = time_ns,
				   .tgid = REUSED,
				   .tid = REUSED,
				   .parent_tgid = getpid()};

	tasks_apply(fixture->tasks, &event);
}

/* 10 blocks of a process that began at start_ns. */
static void take_of(struct fixture *fixture, uint64_t id, uint64_t start_ns)
{
	struct record record = own_record(id);

	record.tgid = REUSED;
	record.start_ns = start_ns;
	record.time_ns = start_ns + 5;
	record.size_bytes = 100;
	take(fixture->builder, &record, 10, 0);
}

static void hand_in_peak(struct fixture *fixture, uint64_t bytes, uint64_t at_ns)
{
	builder_peak(fixture->builder,
		     &(struct peak){.tgid = REUSED, .bytes = bytes, .at_ns = at_ns});
}

static void test_a_tgid_is_used_again(void **state)
{
	struct fixture *fixture = *state;
	struct built_peak peak;
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t starts_ns[] = {now_ns, now_ns + 1000};
	const struct process *processes[2];

	start(fixture, PROFILE_HEAP, false);
	apply(fixture, TASK_FORK, starts_ns[0]);
	apply(fixture, TASK_EXIT, starts_ns[0] + 500);
	apply(fixture, TASK_FORK, starts_ns[1]);
	for (int i = 0; i < 2; i++)
		processes[i] =
			tasks_image(fixture->tasks, REUSED, starts_ns[i], starts_ns[i])->process;
	assert_ptr_not_equal(processes[0], processes[1]);
	take_of(fixture, 1, starts_ns[0]);
	take_of(fixture, 2, starts_ns[1]);
	hand_in_peak(fixture, 1000, starts_ns[0] + 50);
	hand_in_peak(fixture, 2000, starts_ns[0] + 60);
	hand_in_peak(fixture, 2000, starts_ns[0] + 60);
	hand_in_peak(fixture, 1500, starts_ns[1] + 70); /* of the other one: lower, then higher */
	hand_in_peak(fixture, 5000, starts_ns[1] + 80);
	for (int i = 0; i < 2; i++) {
		peak = builder_peak_of(fixture->builder, processes[i]);
		assert_int_equal(peak.at_ns, starts_ns[i] + (i ? 80 : 60));
		assert_ptr_equal(peak.image->process, processes[i]);
	}
	assert_int_equal(builder_peak_of(fixture->builder, NULL).at_ns, 0);
}

/* One whose peak is not known shows what it held at the end. */
static void test_no_peak(void **state)
{
	struct fixture *fixture = *state;
	struct record record = own_record(1);
	struct built built;

	start(fixture, PROFILE_HEAP, false);
	record.size_bytes = 100;
	take(fixture->builder, &record, 10, 4);
	hand_in_peak(fixture, 1000, clock_monotonic_ns()); /* somebody else's */
	built = build_view(fixture, NULL, VIEW_PEAK);
	assert_int_equal(built.peak.at_ns, 0);
	assert_null(built.peak.image);
	assert_int_equal(built.nr_written, 6);
	assert_int_equal(built.nr_gone, 4);
	profile_free(built.profile);
}

static void find_leaks(struct fixture *fixture)
{
	builder_find_leaks(fixture->builder, fixture->symbolizer, &(struct build_order){0}, 0);
}

/*
 * Two stacks that differ in the allocator's function alone, which the profile does not show, are one leak: a block of
 * either in turn, a second apart.
 */
static void test_stacks_that_look_the_same(void **state)
{
	enum {
		NR = 64
	};
	struct fixture *fixture = *state;
	void *libc = dlopen("libc.so.6", RTLD_LAZY); /* a sanitizer has a malloc of its own */
	uint64_t ips[][2] = {{(uintptr_t)dlsym(libc, "malloc") + 1, user_ips[0]},
			     {(uintptr_t)dlsym(libc, "calloc") + 1, user_ips[0]}};
	struct record record = own_record(1);
	uint64_t now_ns = clock_monotonic_ns();
	const struct built_leak *leaks;
	struct built built;
	size_t nr;

	start(fixture, PROFILE_HEAP, false);
	builder_keep_timelines(fixture->builder, now_ns);
	record.size_bytes = 100;
	for (int i = 0; i < NR; i++) {
		builder_advance(fixture->builder, now_ns + (i + 1) * NSEC_PER_SEC);
		record.id = i % 2 + 1;
		record.user_ips = ips[i % 2];
		take(fixture->builder, &record, 1, 0);
		builder_block(fixture->builder, record.id, now_ns + i * NSEC_PER_SEC);
	}
	find_leaks(fixture);
	leaks = builder_leaks(fixture->builder, &nr);
	assert_int_equal(nr, 1);
	assert_in_range(leaks[0].nr_blocks, NR / 2 - 2, NR / 2 + 2);
	built = build_view(fixture, NULL, VIEW_LEAKS);
	assert_int_equal(built.profile->samples.nr, 1);
	assert_int_equal(built.profile->samples.at[0].values[0], leaks[0].score);
	profile_free(built.profile);
	dlclose(libc);
}

static size_t nr_leaks(struct fixture *fixture)
{
	size_t nr;

	find_leaks(fixture);
	builder_leaks(fixture->builder, &nr);
	return nr;
}

/* A block of each of nr sizes at once, ids from first on. */
static void take_sizes(struct fixture *fixture, struct record *record, uint64_t first, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		record->id = first + i;
		take(fixture->builder, record, 1, 0);
		builder_block(fixture->builder, record->id, record->time_ns);
	}
}

/*
 * A leak of which many sizes came in time is judged without those that came too late, which are few. A stack all of whose
 * records came too late is not judged; one that came without a count is none.
 */
static void test_too_many_timelines(void **state)
{
	enum {
		NR = 64
	};
	struct fixture *fixture = *state;
	struct record record = own_record(1);
	uint64_t now_ns = clock_monotonic_ns();

	start(fixture, PROFILE_HEAP, false);
	builder_keep_timelines(fixture->builder, now_ns);
	record.size_bytes = 100;
	for (uint32_t i = 0; i < NR; i++) {
		record.time_ns = now_ns + i * NSEC_PER_SEC;
		builder_advance(fixture->builder, now_ns + (i + 1) * NSEC_PER_SEC);
		take_sizes(fixture, &record, 1 + i * (BUILDER_TIMELINES / NR),
			   BUILDER_TIMELINES / NR);
	}
	assert_int_equal(nr_leaks(fixture), 1);
	assert_int_equal(builder_unjudged(fixture->builder), 0);
	take_sizes(fixture, &record, BUILDER_TIMELINES + 1, BUILDER_TIMELINES / NR);
	assert_int_equal(nr_leaks(fixture), 1);
	assert_int_equal(builder_unjudged(fixture->builder), 0);
	record.id++;
	record.nr_user = 1;
	builder_record(fixture->builder, &record);
	assert_int_equal(nr_leaks(fixture), 1);
	assert_int_equal(builder_unjudged(fixture->builder), 0);
	take(fixture->builder, &record, 1, 0);
	assert_int_equal(nr_leaks(fixture), 1);
	assert_int_equal(builder_unjudged(fixture->builder), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_tgid_is_used_again),
		TEST(test_no_peak),
		TEST(test_stacks_that_look_the_same),
		TEST(test_too_many_timelines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
