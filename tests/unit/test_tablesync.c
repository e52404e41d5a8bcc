// SPDX-License-Identifier: BSD-2-Clause
/*
 * This very process and a child of it, in a session that only keeps books: whose vmas are written, and
 * when tables are built. A stack that is finished here is judged by backtrace(3).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <execinfo.h>

#include "feed/tablesync.h"
#include "unit/feed_case.h"
#include "unit/ownregs.h"

#define COPY_BYTES (64 * 1024)

extern void *__libc_stack_end;

struct fixture {
	struct feed_case c;
	struct tablesync *sync;
	pid_t child; /* of the same program */
	bool child_ended;
};

static int set_up(void **state)
{
	struct fixture *fixture = xcalloc(1, sizeof(*fixture));

	fixture->child = fork();
	if (!fixture->child) {
		pause();
		_exit(0);
	}
	feed_case_init(&fixture->c);
	fixture->sync = tablesync_new(&fixture->c.session, fixture->c.tasks, fixture->c.files,
				      fixture->c.parser, &fixture->c.budget);
	*state = fixture;
	return 0;
}

static void end_child(struct fixture *fixture)
{
	if (fixture->child_ended)
		return;
	kill(fixture->child, SIGKILL);
	waitpid(fixture->child, NULL, 0);
	fixture->child_ended = true;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	end_child(fixture);
	tablesync_free(fixture->sync);
	feed_case_release(&fixture->c);
	free(fixture);
	return 0;
}

static struct task_event event_of(enum task_event_kind kind, pid_t pid)
{
	return (struct task_event){.kind = kind,
				   .tgid = pid,
				   .tid = pid,
				   .time_ns = clock_monotonic_ns(),
				   .comm = "x"};
}

static bool is_written(struct fixture *fixture, pid_t pid)
{
	return session_case_process(&fixture->c.session, pid);
}

/* Has the vma of this program's own code a table? */
static bool has_table(struct fixture *fixture)
{
	return session_case_has_table(&fixture->c.session,
				      feed_case_vma(&fixture->c, FEED_CASE_IP)->table);
}

static void test_only_the_followed_are_written(void **state)
{
	struct fixture *fixture = *state;
	struct task_event map = event_of(TASK_MAP, getpid());

	tablesync_event(fixture->sync, &map);
	tablesync_sync(fixture->sync);
	assert_int_equal(fixture->c.session.nr_written, 0);
	tablesync_follow(fixture->sync, getpid(), TABLESYNC_WHEN_MET);
	tablesync_sync(fixture->sync);
	assert_true(is_written(fixture, getpid()) && !is_written(fixture, fixture->child));
	assert_false(has_table(fixture));
	/* A mapping is news, and so is nothing else. */
	tablesync_sync(fixture->sync);
	fixture->c.session.nr_written = 0;
	tablesync_follow(fixture->sync, getpid(), TABLESYNC_WHEN_MET);
	tablesync_sync(fixture->sync);
	assert_int_equal(fixture->c.session.nr_written, 0);
	tablesync_event(fixture->sync, &map);
	tablesync_sync(fixture->sync);
	assert_int_equal(fixture->c.session.nr_written, 1);
	tablesync_on_map(fixture->sync, &(struct process){.tgid = getpid()});
	tablesync_sync(fixture->sync);
	assert_int_equal(fixture->c.session.nr_written, 2);
}

/* It grows, and never shrinks. */
static void test_eagerness(void **state)
{
	struct fixture *fixture = *state;

	tablesync_follow(fixture->sync, getpid(), TABLESYNC_WHEN_MET);
	tablesync_sync(fixture->sync);
	assert_false(has_table(fixture));
	tablesync_follow(fixture->sync, getpid(), TABLESYNC_NOW);
	tablesync_follow(fixture->sync, getpid(), TABLESYNC_WHEN_MET);
	assert_true(tablesync_sync(fixture->sync)); /* something was built */
	assert_true(has_table(fixture));
	assert_false(tablesync_sync(fixture->sync));
}

static void test_after_exec(void **state)
{
	struct fixture *fixture = *state;
	struct task_event exec = event_of(TASK_EXEC, getpid());

	tablesync_follow(fixture->sync, getpid(), TABLESYNC_AFTER_EXEC);
	tablesync_sync(fixture->sync);
	assert_false(has_table(fixture));
	/* What it runs now is what is mapped: this program, as far as /proc says. */
	tablesync_event(fixture->sync, &exec);
	tablesync_sync(fixture->sync);
	assert_true(has_table(fixture));
}

/* The child of one that is followed is, too. */
static void test_fork(void **state)
{
	struct fixture *fixture = *state;
	struct task_event event = event_of(TASK_FORK, fixture->child);

	event.parent_tgid = getpid();
	tasks_apply(fixture->c.tasks, &event);
	tablesync_event(fixture->sync, &event);
	tablesync_sync(fixture->sync);
	assert_false(is_written(fixture, fixture->child));
	tablesync_follow(fixture->sync, getpid(), TABLESYNC_NOW);
	tablesync_event(fixture->sync, &event);
	tablesync_sync(fixture->sync);
	assert_true(is_written(fixture, fixture->child));
	/* It maps the same files: no table is there twice. */
	assert_int_equal(session_case_vma(&fixture->c.session, fixture->child, FEED_CASE_IP)->table,
			 feed_case_vma(&fixture->c, FEED_CASE_IP)->table);
}

static void test_exit(void **state)
{
	struct fixture *fixture = *state;
	struct task_event thread = event_of(TASK_EXIT, getpid());

	tablesync_follow(fixture->sync, getpid(), TABLESYNC_NOW);
	tablesync_sync(fixture->sync);
	thread.tid++;
	tablesync_event(fixture->sync, &thread);
	assert_true(is_written(fixture, getpid()));
	thread.tid--;
	tablesync_event(fixture->sync, &thread);
	assert_false(is_written(fixture, getpid()));
	tablesync_on_map(fixture->sync, &(struct process){.tgid = getpid()});
	tablesync_sync(fixture->sync);
	assert_false(is_written(fixture, getpid()));
	tablesync_follow(fixture->sync, getpid(), TABLESYNC_WHEN_MET);
	tablesync_sync(fixture->sync);
	assert_true(is_written(fixture, getpid()));
}

/* One that there is no room for does not keep others out. */
static void test_no_room(void **state)
{
	struct fixture *fixture = *state;

	fixture->c.session.vmas_err = -ENOSPC;
	tablesync_follow(fixture->sync, getpid(), TABLESYNC_WHEN_MET);
	tablesync_sync(fixture->sync);
	fixture->c.session.vmas_err = 0;
	tablesync_follow(fixture->sync, fixture->child, TABLESYNC_WHEN_MET);
	tablesync_sync(fixture->sync);
	assert_false(is_written(fixture, getpid()));
	assert_true(is_written(fixture, fixture->child));
}

/* Stacks ----------------------------------------------------------------------------------------- */

struct capture {
	struct stack_copy copy;
	uint8_t bytes[COPY_BYTES];
	void *judge[64]; /* the same stack */
	int nr_judge;
};

/* Other functions' frames are read: no sanitizer shall mind. */
static __attribute__((no_sanitize("address"))) void copy_stack(struct capture *capture)
{
	const volatile uint8_t *from = (const uint8_t *)(uintptr_t)capture->copy.sp;
	size_t len = (uintptr_t)__libc_stack_end + sizeof(void *) - capture->copy.sp;

	capture->copy.len_bytes = len < COPY_BYTES ? len : COPY_BYTES;
	capture->copy.is_cut = len > COPY_BYTES;
	for (size_t i = 0; i < capture->copy.len_bytes; i++)
		capture->bytes[i] = from[i];
	capture->copy.bytes = capture->bytes;
}

static __attribute__((noinline)) void capture_here(struct capture *capture)
{
	struct stack_copy *copy = &capture->copy;

	*copy = (struct stack_copy){.ip_exact = true, .extra_known = true};
	OWNREGS_HERE(copy->ip, copy->sp, copy->fp, copy->extra);
	copy_stack(capture);
	capture->nr_judge = backtrace(capture->judge, 64);
}

static struct record record_of(const struct capture *capture)
{
	return (struct record){.tgid = getpid(),
			       .time_ns = clock_monotonic_ns(),
			       .user_ips = &capture->copy.ip,
			       .nr_user = 1,
			       .end = END_UNKNOWN_CODE,
			       .copy = &capture->copy};
}

static void test_complete(void **state)
{
	struct fixture *fixture = *state;
	struct capture *capture = xcalloc(1, sizeof(*capture));
	struct record record;
	int nr_more = 0;

	capture_here(capture);
	record = record_of(capture);
	tablesync_complete(fixture->sync, &record);
	assert_int_equal(record.end, END_ROOT);
	assert_null(record.copy);
	assert_int_equal(record.user_ips[0], capture->copy.ip);
	assert_true(record.nr_user > 1);
	/* The judge begins in this function, or, under a sanitizer, in its own frame. */
	while (nr_more + 1 < capture->nr_judge &&
	       record.user_ips[1] != (uintptr_t)capture->judge[nr_more + 1])
		nr_more++;
	assert_in_range(nr_more, 0, 1);
	assert_int_equal(record.nr_user, capture->nr_judge - nr_more);
	for (uint32_t i = 1; i < record.nr_user; i++)
		assert_int_equal(record.user_ips[i], (uintptr_t)capture->judge[nr_more + i]);
	assert_int_equal(tablesync_nr_completed(fixture->sync), 1);
	assert_int_equal(tablesync_nr_unknown(fixture->sync), 0);
	/* BPF has at once what was met, so that the next sample needs no copy. */
	assert_true(has_table(fixture));
	free(capture);
}

/* A record of a process whose exit was announced before it: BPF does not keep its vmas for ever. */
static void test_a_record_after_the_exit(void **state)
{
	struct fixture *fixture = *state;
	struct capture *capture = xcalloc(1, sizeof(*capture));
	struct task_event event = event_of(TASK_EXIT, fixture->child);
	struct record record;

	assert_int_equal(tasks_snapshot(fixture->c.tasks, fixture->child), 0);
	capture_here(capture);
	tasks_apply(fixture->c.tasks, &event);
	for (int round = 0; round < 2; round++) {
		record = record_of(capture);
		record.tgid = fixture->child;
		tablesync_complete(fixture->sync, &record);
		assert_true(is_written(fixture, fixture->child));
		if (round) /* of the first one the other threads live on */
			end_child(fixture);
		usleep(600000);
		tablesync_sync(fixture->sync);
		assert_int_equal(is_written(fixture, fixture->child), !round);
	}
	free(capture);
}

static void test_an_exit_that_was_lost(void **state)
{
	struct fixture *fixture = *state;
	struct task_event lost = event_of(TASK_LOST, 0);

	assert_int_equal(tasks_snapshot(fixture->c.tasks, fixture->child), 0);
	tablesync_follow(fixture->sync, fixture->child, TABLESYNC_WHEN_MET);
	tablesync_follow(fixture->sync, getpid(), TABLESYNC_WHEN_MET);
	tablesync_sync(fixture->sync);
	assert_true(is_written(fixture, fixture->child));
	end_child(fixture);
	tablesync_event(fixture->sync, &lost);
	tablesync_sync(fixture->sync);
	assert_false(is_written(fixture, fixture->child));
	assert_true(is_written(fixture, getpid()));
}

/* Entries are freed in between: those of running processes stay. */
static void test_many_that_are_gone(void **state)
{
	struct fixture *fixture = *state;
	struct task_event event = event_of(TASK_EXIT, getpid());

	for (uint32_t i = 0; i < 5000; i++) {
		struct task_event other = event_of(TASK_EXIT, 1u << 30 | i);

		if (i == 1500)
			tablesync_follow(fixture->sync, getpid(), TABLESYNC_WHEN_MET);
		tablesync_follow(fixture->sync, other.tgid, TABLESYNC_WHEN_MET);
		tablesync_event(fixture->sync, &other);
		if (i % 500 == 0)
			tablesync_sync(fixture->sync);
	}
	tablesync_sync(fixture->sync);
	assert_true(is_written(fixture, getpid()));
	tablesync_event(fixture->sync, &event);
	assert_false(is_written(fixture, getpid()));
}

static bool always(void)
{
	return true;
}

static void test_no_patience(void **state)
{
	struct fixture *fixture = *state;
	struct capture *capture = xcalloc(1, sizeof(*capture));
	struct record record;

	capture_here(capture);
	record = record_of(capture);
	workbudget_limit(&fixture->c.budget, NSEC_PER_SEC, always);
	tablesync_complete(fixture->sync, &record);
	assert_int_equal(record.end, END_UNKNOWN_CODE);
	assert_int_equal(record.nr_user, 1);
	assert_int_equal(tablesync_nr_completed(fixture->sync), 1);
	assert_int_equal(tablesync_nr_unknown(fixture->sync), 1);
	free(capture);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_only_the_followed_are_written),
		CASE(test_eagerness),
		CASE(test_after_exec),
		CASE(test_fork),
		CASE(test_exit),
		CASE(test_no_room),
		CASE(test_complete),
		CASE(test_no_patience),
		CASE(test_a_record_after_the_exit),
		CASE(test_an_exit_that_was_lost),
		CASE(test_many_that_are_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
