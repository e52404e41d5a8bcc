// SPDX-License-Identifier: BSD-2-Clause
/* Records of samples and blocks, added up into one profile per process: values, labels, views and what is lost. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "unit/builder_case.h"

/* The names of a sample, leaf first, joined by " < ". Borrowed until the next call. */
static const char *stack_of(const struct profile *profile, const struct profile_sample *sample)
{
	static char names[1024];
	size_t used = 0;

	for (uint32_t i = 0; i < sample->nr_locations; i++) {
		const struct profile_location *location =
			&profile->locations.at[sample->locations[i] - 1];
		uint32_t name = profile->functions.at[location->lines[0].function - 1].name;

		used += snprintf(names + used, sizeof(names) - used, "%s%s", i ? " < " : "",
				 strtab_get(&profile->strings, name));
	}
	return names;
}

/* "pid=42 comm=own": the labels of a sample as text. Borrowed until the next call. */
static const char *labels_of(const struct profile *profile, const struct profile_sample *sample)
{
	static char text[256];
	size_t used = 0;

	for (uint32_t i = 0; i < sample->nr_labels; i++) {
		const struct profile_label *label = &sample->labels[i];
		const char *key = strtab_get(&profile->strings, label->key);

		if (label->str)
			used += snprintf(text + used, sizeof(text) - used, "%s=%s ", key,
					 strtab_get(&profile->strings, label->str));
		else
			used += snprintf(text + used, sizeof(text) - used, "%s=%ld ", key,
					 (long)label->num);
	}
	return text;
}

static void judge(struct fixture *fixture, const struct profile *profile, const char *words)
{
	judge_write(profile, fixture->file);
	judge_contract(fixture->file);
	judge_pprof_says("-raw", fixture->file, words);
	judge_pprof_says("-top", fixture->file, "leaf_function");
}

static void test_cpu(void **state)
{
	struct fixture *fixture = *state;
	struct builder *builder = start(fixture, PROFILE_CPU, false);
	struct record plain = own_record(7), in_kernel = own_record(8);
	char labels[64];
	struct built built;

	in_kernel.kernel_ips = kernel_ips;
	in_kernel.nr_kernel = NR(kernel_ips);
	take(builder, &plain, 3, 0);
	take(builder, &in_kernel, 2, 0);
	take(builder, &plain, 1, 0); /* its record again: from another CPU */
	built = build(fixture, NULL);

	assert_int_equal(built.nr_written, 6);
	assert_int_equal(built.profile->samples.nr, 2);
	assert_string_equal(stack_of(built.profile, &built.profile->samples.at[0]),
			    "leaf_function < calling_function");
	assert_int_equal(built.profile->samples.at[0].values[0], 4);
	assert_int_equal(built.profile->samples.at[0].values[1], 4 * PERIOD_NS);
	/* The kernel's caller is stepped back into, the user's interrupted ip is not. */
	assert_string_equal(stack_of(built.profile, &built.profile->samples.at[1]),
			    "[kernel]+0xffffffff81000110 < [kernel]+0xffffffff8100021f < "
			    "leaf_function < calling_function");
	assert_int_equal(built.profile->samples.at[0].locations[0],
			 built.profile->samples.at[1].locations[2]);
	snprintf(labels, sizeof(labels), "pid=%d comm=own ", getpid());
	assert_string_equal(labels_of(built.profile, &built.profile->samples.at[0]), labels);
	assert_int_equal(built.profile->duration_ns, 1000000000);
	judge(fixture, built.profile, "samples/count cpu/nanoseconds[dflt]");
	profile_free(built.profile);
}

static void test_threads(void **state)
{
	struct fixture *fixture = *state;
	struct builder *builder = start(fixture, PROFILE_CPU, true);
	struct record one = own_record(1), other = own_record(2);
	struct image *image = tasks_image(fixture->tasks, getpid(), 0, clock_monotonic_ns());
	char labels[96];
	struct built built;

	one.tid = getpid();
	strcpy(one.comm, "first \xff");
	other.tid = 4000000;
	other.comm[0] = '\0'; /* prctl(PR_SET_NAME, "") */
	take(builder, &one, 1, 0);
	take(builder, &other, 1, 0);
	built = build(fixture, NULL);
	snprintf(labels, sizeof(labels), "pid=%d comm=%s tid=%d thread=first \\xff ", getpid(),
		 image->comm, getpid());
	assert_string_equal(labels_of(built.profile, &built.profile->samples.at[0]), labels);
	snprintf(labels, sizeof(labels), "pid=%d comm=%s tid=4000000 thread=? ", getpid(),
		 image->comm);
	assert_string_equal(labels_of(built.profile, &built.profile->samples.at[1]), labels);
	judge(fixture, built.profile, "tid");
	profile_free(built.profile);
}

/* The records of the formula's own test, as sizes of one stack: scaled each, added, then rounded. */
static void test_heap(void **state)
{
	struct fixture *fixture = *state;
	struct builder *builder = start(fixture, PROFILE_HEAP, false);
	static const struct {
		uint64_t size_bytes, nr_taken, nr_freed;
	} cases[] = {{1024, 4, 1}, {RATE_BYTES, 1, 0}, {RATE_BYTES, 1, 1}};
	static const int64_t expected[] = {2050 + 3, 2099200 + 2 * 829411 + 1, 1537 + 2,
					   1574400 + 829411};
	struct built built;

	for (size_t i = 0; i < NR(cases); i++) {
		struct record record = own_record(i + 1);

		record.size_bytes = cases[i].size_bytes;
		take(builder, &record, cases[i].nr_taken, cases[i].nr_freed);
	}
	built = build(fixture, NULL);
	assert_int_equal(built.nr_written, 6);
	assert_int_equal(built.profile->samples.nr, 1);
	for (size_t i = 0; i < NR(expected); i++)
		assert_int_equal(built.profile->samples.at[0].values[i], expected[i]);
	assert_int_equal(built.profile->period, RATE_BYTES);
	judge(fixture, built.profile, "inuse_space/bytes[dflt]");
	profile_free(built.profile);
}

static void test_more_freed_than_taken(void **state)
{
	struct fixture *fixture = *state;
	struct builder *builder = start(fixture, PROFILE_HEAP, false);
	struct record record = own_record(1);
	struct built built;

	record.size_bytes = 64;
	take(builder, &record, 1, 3);
	built = build(fixture, NULL);
	assert_true(built.profile->samples.at[0].values[0] > 0);
	assert_int_equal(built.profile->samples.at[0].values[2], 0);
	assert_int_equal(built.profile->samples.at[0].values[3], 0);
	profile_free(built.profile);
}

/* taken = written + dropped, for every reason and any order of arrival. */
static void test_every_sample_is_accounted_for(void **state)
{
	struct fixture *fixture = *state;
	struct builder *builder = start(fixture, PROFILE_HEAP, false);
	struct record late = own_record(1), empty = own_record(2), idle = own_record(4);
	struct built built;

	late.size_bytes = idle.size_bytes = 100;
	builder_count(builder, &(struct count){.id = 1, .nr_taken = 5});
	builder_count(builder, &(struct count){.id = 3, .nr_taken = 7}); /* never comes */
	builder_record(builder, &late);
	builder_record(builder, &idle); /* not counted: not shown */
	take(builder, &empty, 11, 0);
	built = build(fixture, NULL);
	assert_int_equal(built.nr_written, 5);
	assert_int_equal(builder_dropped(builder, DROP_NO_RECORD), 7);
	assert_int_equal(builder_dropped(builder, DROP_ZERO_SIZE), 11);
	assert_int_equal(builder_taken(builder), 5 + 7 + 11);
	assert_int_equal(built.profile->samples.nr, 1);
	assert_string_equal(drop_reason_text(DROP_ZERO_SIZE), "allocation of 0 bytes");
	profile_free(built.profile);

	/* What comes after a build is in the next one. */
	builder_count(builder, &(struct count){.id = 4, .nr_taken = 2});
	built = build(fixture, NULL);
	assert_int_equal(built.nr_written, 7);
	profile_free(built.profile);
}

static void test_stacks_that_are_not_whole(void **state)
{
	struct fixture *fixture = *state;
	struct builder *builder = start(fixture, PROFILE_CPU, false);
	struct record cut = own_record(1), nothing = own_record(2), no_user = own_record(3);
	const struct built_end *ends;
	struct built built;
	size_t nr_ends;

	cut.end = END_NO_CFI;
	nothing.nr_user = 0;
	nothing.user_ips = NULL;
	nothing.end = END_NO_USER;
	no_user = nothing;
	no_user.id = 3;
	no_user.end = END_NO_REGISTERS;
	take(builder, &cut, 1, 0);
	take(builder, &nothing, 1, 0);
	take(builder, &no_user, 1, 0);
	built = build(fixture, NULL);
	assert_string_equal(
		stack_of(built.profile, &built.profile->samples.at[0]),
		"leaf_function < calling_function < [truncated: no unwind info for test_builder]");
	assert_string_equal(stack_of(built.profile, &built.profile->samples.at[1]), "[no stack]");
	assert_string_equal(stack_of(built.profile, &built.profile->samples.at[2]),
			    "[truncated: user registers not found]");
	judge(fixture, built.profile, "[truncated: no unwind info for test_builder]");
	profile_free(built.profile);
	ends = builder_ends(builder, &nr_ends);
	/* A kernel thread has no user stack that could be whole or not. */
	assert_int_equal(nr_ends, 3);
	assert_int_equal(ends[0].nr, 0);
	assert_null(ends[0].why);
	assert_int_equal(ends[1].nr + ends[2].nr, 2);
}

static void test_processes(void **state)
{
	struct fixture *fixture = *state;
	struct builder *builder = start(fixture, PROFILE_CPU, false);
	struct record own = own_record(1), child = own_record(2), gone = own_record(3);
	const struct built_process *processes;
	struct built built;
	uint64_t nr_written = 0;
	size_t nr;

	child.tgid = fixture->child;
	gone.tgid = 4194304 + 5; /* above every pid there can be */
	take(builder, &own, 5, 0);
	take(builder, &child, 9, 0);
	take(builder, &gone, 1, 0);
	processes = builder_processes(builder, &nr);
	assert_int_equal(nr, 3);
	assert_int_equal(processes[0].process->tgid, fixture->child);
	assert_int_equal(processes[0].nr_taken, 9);
	assert_int_equal(processes[1].process->tgid, getpid());
	assert_string_equal(processes[1].comm, processes[0].comm);
	assert_int_equal(processes[2].process->tgid, gone.tgid);
	assert_true(processes[1].process->is_sampled);

	for (size_t i = 0; i < nr; i++) {
		built = build(fixture, processes[i].process);
		assert_int_equal(built.nr_written, processes[i].nr_taken);
		assert_int_equal(built.profile->samples.nr, 1);
		judge_write(built.profile, fixture->file);
		judge_contract(fixture->file);
		nr_written += built.nr_written;
		profile_free(built.profile);
	}
	assert_int_equal(nr_written, builder_taken(builder));

	/* Of all: the same code in two processes is one location, not one sample. */
	built = build(fixture, NULL);
	assert_int_equal(built.nr_written, 15);
	assert_int_equal(built.profile->samples.nr, 3);
	assert_int_equal(built.profile->samples.at[0].locations[0],
			 built.profile->samples.at[1].locations[0]);
	judge(fixture, built.profile, "leaf_function");
	profile_free(built.profile);
}

static void test_nothing_at_all(void **state)
{
	struct fixture *fixture = *state;
	struct built built;
	size_t nr;

	start(fixture, PROFILE_CPU, false);
	assert_int_equal((builder_processes(fixture->builder, &nr), nr), 0);
	built = build(fixture, NULL);
	assert_int_equal(built.nr_written, 0);
	assert_int_equal(built.profile->samples.nr, 0);
	profile_free(built.profile);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_cpu),
		TEST(test_threads),
		TEST(test_heap),
		TEST(test_more_freed_than_taken),
		TEST(test_every_sample_is_accounted_for),
		TEST(test_stacks_that_are_not_whole),
		TEST(test_processes),
		TEST(test_nothing_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
