// SPDX-License-Identifier: BSD-2-Clause
/* Rings that the test writes in the kernel's place. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/sideband.h"

#define RING_DATA_BYTES (1 << 20)
#define NR_RINGS	2

struct fixture {
	struct sideband sideband;
	char said[200];
};

/* The clock stands still but for what a test does. */
static uint64_t now_ns = NSEC_PER_SEC;

int clock_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	*ts = (struct timespec){.tv_sec = (time_t)(now_ns / NSEC_PER_SEC),
				.tv_nsec = (long)(now_ns % NSEC_PER_SEC)};
	return 0;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	for (int i = 0; i < NR_RINGS; i++) {
		void *ring = mmap(NULL, RING_DATA_BYTES + sysconf(_SC_PAGESIZE),
				  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (ring == MAP_FAILED)
			return -1;
		vec_push(&f->sideband.rings, ring);
	}
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	sideband_release(&f->sideband);
	free(f);
	return 0;
}

/* Appends a record: its body, then the trailer. */
static void announce(struct fixture *f, size_t ring, uint32_t type, const void *body,
		     size_t len_bytes, uint64_t time_ns)
{
	struct perf_event_mmap_page *control = f->sideband.rings.at[ring];
	char *to = (char *)control + sysconf(_SC_PAGESIZE) + control->data_head;
	struct perf_event_header header = {.type = type};
	struct {
		uint32_t pid, tid;
		uint64_t time;
	} trailer = {.time = time_ns};

	header.size = sizeof(header) + len_bytes + sizeof(trailer);
	memcpy(to, &header, sizeof(header));
	memcpy(to + sizeof(header), body, len_bytes);
	memcpy(to + sizeof(header) + len_bytes, &trailer, sizeof(trailer));
	control->data_head += header.size;
}

static void announce_fork(struct fixture *f, size_t ring, uint32_t tgid, uint64_t time_ns)
{
	struct {
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
	} body = {tgid, 99, tgid, 99, time_ns};

	announce(f, ring, PERF_RECORD_FORK, &body, sizeof(body), time_ns);
}

static void announce_map(struct fixture *f, size_t ring, uint32_t tgid, const char *path,
			 uint64_t time_ns)
{
	struct {
		uint32_t pid, tid;
		uint64_t addr, len, pgoff;
		uint32_t maj, min;
		uint64_t ino, ino_generation;
		uint32_t prot, flags;
		char filename[32];
	} body = {.pid = tgid, .tid = tgid, .addr = 0x1000, .len = 0x1000, .prot = PROT_EXEC};

	strcpy(body.filename, path);
	announce(f, ring, PERF_RECORD_MMAP2, &body, sizeof(body), time_ns);
}

static void say(void *ctx, const struct task_event *event)
{
	struct fixture *f = ctx;
	size_t len = strlen(f->said);

	snprintf(f->said + len, sizeof(f->said) - len, "%s%u ",
		 event->kind == TASK_MAP ? event->map.path : "fork", event->tgid);
}

static const char *drained(struct fixture *f)
{
	f->said[0] = '\0';
	sideband_drain(&f->sideband, say, f);
	return f->said;
}

static void in_the_order_of_time(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(drained(f), "");
	announce_fork(f, 0, 2, now_ns - 2);
	announce_fork(f, 1, 1, now_ns - 3);
	announce_map(f, 1, 2, "/a", now_ns - 1);
	assert_string_equal(drained(f), "fork1 fork2 /a2 ");
	assert_string_equal(drained(f), "");
}

/* The ring with the fork was read before it was there, that with what the child did after it. */
static void what_comes_meanwhile_is_for_the_next_time(void **state)
{
	struct fixture *f = *state;
	uint64_t later_ns = now_ns + 200;

	announce_fork(f, 1, 1, 1000);
	announce_map(f, 1, 2, "/child", later_ns);
	assert_string_equal(drained(f), "fork1 ");
	assert_string_equal(drained(f), "");
	announce_fork(f, 0, 2, later_ns - 1);
	announce_map(f, 1, 3, "/other", 2000);
	assert_string_equal(drained(f), "/other3 ");
	now_ns = later_ns - 2;
	assert_string_equal(drained(f), "");
	now_ns = later_ns;
	assert_string_equal(drained(f), "fork2 /child2 ");
	assert_int_equal(f->sideband.pending.events.nr, 0);
}

/* As when tables are made meanwhile: the rings are emptied, and what they held is delivered later. */
static void gathered_before_it_is_delivered(void **state)
{
	struct fixture *f = *state;
	const struct perf_event_mmap_page *control = f->sideband.rings.at[0];

	announce_fork(f, 0, 2, 2000);
	sideband_gather(&f->sideband);
	assert_int_equal(control->data_tail, control->data_head);
	announce_fork(f, 1, 1, 1000);
	announce_map(f, 0, 2, "/a", 3000);
	sideband_gather(&f->sideband);
	announce_map(f, 0, 2, "/b", 4000);
	assert_string_equal(drained(f), "fork1 fork2 /a2 /b2 ");
	assert_string_equal(drained(f), "");
}

/* The receiver of an event looks into files, which may last: more is read, and stays what it is. */
static void say_and_gather(void *ctx, const struct task_event *event)
{
	struct fixture *f = ctx;

	for (int i = 0; event->tgid == 1 && i < 100; i++)
		announce_map(f, 0, 7, "/later", 5000);
	sideband_gather(&f->sideband);
	say(ctx, event);
}

static void gathered_while_others_are_delivered(void **state)
{
	struct fixture *f = *state;

	announce_fork(f, 1, 1, 1000);
	announce_map(f, 1, 2, "/a", 2000);
	announce_map(f, 1, 3, "/b", 3000);
	sideband_drain(&f->sideband, say_and_gather, f);
	assert_string_equal(f->said, "fork1 /a2 /b3 ");
	assert_int_equal(f->sideband.pending.events.nr, 100);
	assert_int_equal(strncmp(drained(f), "/later7 /later7 ", 16), 0);
	assert_int_equal(f->sideband.pending.events.nr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(in_the_order_of_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(gathered_before_it_is_delivered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(gathered_while_others_are_delivered, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_comes_meanwhile_is_for_the_next_time, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
