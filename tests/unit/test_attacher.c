// SPDX-License-Identifier: BSD-2-Clause
/*
 * Against real attachers, forked and confined, that attach nothing: what becomes of links that are made, refused, kept, late
 * or never made.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "collect/attacher.h"
#include "collect/attacher_serve.h"

#define LATE_NS 300000000

/* What a link does, by its tgid. */
enum {
	WORKS = 1,
	REFUSED,
	INVALID, /* as a kernel says of an instruction that it cannot probe */
	LATE,
	DIES
};

/*
 * In the attacher, in place of the kernel's. Its first three descriptors are /dev/null, so there are three links to be had. A
 * kernel that attaches cannot be interrupted; neither can this, since all signals are blocked.
 */
int uprobelink_make(const struct uprobe_link *link, int program_fd, int file_fd, int *fds)
{
	static int nr_made;

	if (program_fd < 0 || file_fd < 0)
		return -EBADF;
	if (link->tgid == REFUSED)
		return -EIO;
	if (link->tgid == INVALID)
		return -EINVAL;
	if (link->tgid == DIES)
		_exit(1);
	if (link->tgid == LATE)
		ppoll(NULL, 0, &(struct timespec){.tv_nsec = LATE_NS}, NULL);
	for (uint32_t i = 0; i < link->nr; i++)
		fds[i] = nr_made++;
	return (int)link->nr;
}

static struct attacher *open_attacher(void)
{
	struct attacher *attacher = NULL;
	uint32_t missing = 0;

	assert_int_equal(attacher_open(attacher_serve, &attacher), 0);
	assert_int_equal(attacher_handshake(attacher, &missing), 0);
	assert_int_equal(missing & CONFINE_NEEDED, 0);
	return attacher;
}

static bool at_once(void *ctx)
{
	++*(unsigned int *)ctx;
	return true;
}

/* Asks for a link; the program and the file are this one's standard input. */
static int ask(struct attacher *attacher, uint32_t tgid, bool is_held, uint32_t nr, int *link_fd,
	       uint32_t *nr_held)
{
	const struct uprobe_link link = {
		.tgid = tgid, .is_held = is_held, .held = *nr_held, .nr = nr};

	return attacher_link(attacher, &link, STDIN_FILENO, STDIN_FILENO, link_fd, nr_held);
}

static void a_link_comes_back(void **state)
{
	struct attacher *attacher = open_attacher();
	uint32_t nr_held = 0;
	int link_fd = -1;

	(void)state;
	assert_int_equal(ask(attacher, WORKS, false, 1, &link_fd, &nr_held), 0);
	assert_true(fcntl(link_fd, F_GETFD) & FD_CLOEXEC);
	close(link_fd);
	assert_int_equal(ask(attacher, REFUSED, false, 1, &link_fd, &nr_held), -EIO);
	assert_int_equal(link_fd, -1);
	assert_int_equal(ask(attacher, WORKS, false, 1, &link_fd, &nr_held), 0);
	close(link_fd);
	assert_int_equal(nr_held, 0);
	attacher_close(attacher);
}

/* One that is refused costs those of its file: of the two that it keeps, one. */
static void links_are_kept_and_dropped(void **state)
{
	struct attacher *attacher = open_attacher();
	uint32_t nr_held = 0, first;
	int link_fd = -1;

	(void)state;
	assert_int_equal(ask(attacher, WORKS, true, 1, &link_fd, &nr_held), 0);
	assert_int_equal(link_fd, -1);
	assert_int_equal(nr_held, 1);
	first = nr_held;
	assert_int_equal(ask(attacher, WORKS, true, 1, &link_fd, &nr_held), 0);
	assert_int_equal(nr_held, 2);
	nr_held = first;
	assert_int_equal(ask(attacher, REFUSED, true, 1, &link_fd, &nr_held), -EIO);
	assert_int_equal(nr_held, 1);
	assert_int_equal(ask(attacher, WORKS, true, ALLOC_MAX_SITES + 1, &link_fd, &nr_held),
			 -EINVAL);
	assert_int_equal(attacher_drop(attacher), 0);
	attacher_close(attacher);
}

/* A refusal is an answer as any other: it comes at once, however often, and costs what was kept of its file alone. */
static void refusals_are_not_waited_for(void **state)
{
	struct attacher *attacher = open_attacher();
	uint64_t began_ns = clock_monotonic_ns();
	uint32_t nr_held = 0;
	int link_fd = -1;

	(void)state;
	for (int i = 0; i < 200; i++) {
		assert_int_equal(ask(attacher, INVALID, i % 2, 1 + i % 3, &link_fd, &nr_held),
				 -EINVAL);
		assert_int_equal(link_fd, -1);
		assert_int_equal(nr_held, 0);
	}
	assert_true(clock_monotonic_ns() - began_ns < 200 * ATTACHER_STALL_NS / 10);
	assert_int_equal(ask(attacher, WORKS, true, 1, &link_fd, &nr_held), 0);
	assert_int_equal(nr_held, 1);
	assert_int_equal(attacher_drop(attacher), 0);
	attacher_close(attacher);
}

/* An attacher that has attached one link, and is late with another; nr_asked: how often it was asked whether to wait. */
static struct attacher *open_late(unsigned int *nr_asked)
{
	struct attacher *attacher = open_attacher();
	uint32_t nr_held = 0;
	int link_fd = -1;

	assert_int_equal(ask(attacher, WORKS, false, 1, &link_fd, &nr_held), 0);
	close(link_fd);
	attacher_while_waiting(attacher, (struct peer_idle){at_once, nr_asked});
	assert_int_equal(ask(attacher, LATE, false, 1, &link_fd, &nr_held), -EINPROGRESS);
	assert_int_equal(link_fd, -1);
	return attacher;
}

/* It is waited for as long as the caller likes, and asked nothing else until its answer has come. */
static void a_late_link(void **state)
{
	unsigned int nr_asked = 0;
	struct attacher *attacher = open_late(&nr_asked);
	uint32_t nr_held = 0;
	int link_fd = -1, err;

	(void)state;
	assert_true(nr_asked > 0);
	assert_int_equal(attacher_late(attacher, &link_fd, &nr_held), -EINPROGRESS);
	assert_int_equal(ask(attacher, WORKS, false, 1, &link_fd, &nr_held), -EBUSY);
	while ((err = attacher_late(attacher, &link_fd, &nr_held)) == -EINPROGRESS)
		;
	assert_int_equal(err, 0);
	assert_true(link_fd >= 0);
	close(link_fd);
	attacher_while_waiting(attacher, (struct peer_idle){0});
	assert_int_equal(ask(attacher, WORKS, false, 1, &link_fd, &nr_held), 0);
	close(link_fd);
	attacher_close(attacher);
}

/* A link that comes after the end is the attacher's to close: it cannot be sent. */
static void a_late_link_at_the_end(void **state)
{
	unsigned int nr_asked = 0;
	struct attacher *attacher = open_late(&nr_asked);
	uint32_t nr_held = 0;
	int link_fd = -1, err;

	(void)state;
	attacher_hang_up(attacher, &link_fd);
	assert_int_equal(link_fd, -1);
	ppoll(NULL, 0, &(struct timespec){.tv_nsec = LATE_NS}, NULL);
	err = attacher_late(attacher, &link_fd, &nr_held);
	assert_int_equal(err, -ENOTCONN);
	attacher_close(attacher);
}

static void one_that_dies_is_replaced(void **state)
{
	struct attacher *attacher = open_attacher();
	uint32_t nr_held = 0;
	int link_fd = -1;

	(void)state;
	assert_int_equal(ask(attacher, WORKS, false, 1, &link_fd, &nr_held), 0);
	close(link_fd);
	assert_int_equal(ask(attacher, DIES, false, 1, &link_fd, &nr_held), -ENOTCONN);
	assert_int_equal(ask(attacher, WORKS, false, 1, &link_fd, &nr_held), 0);
	close(link_fd);
	attacher_close(attacher);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_link_comes_back),
		cmocka_unit_test(links_are_kept_and_dropped),
		cmocka_unit_test(refusals_are_not_waited_for),
		cmocka_unit_test(a_late_link),
		cmocka_unit_test(a_late_link_at_the_end),
		cmocka_unit_test(one_that_dies_is_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
