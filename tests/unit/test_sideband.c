// SPDX-License-Identifier: BSD-2-Clause
/* Rings that the test writes in the kernel's place, and CPUs that come and go. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/smallfile.h"
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

/* perf_event_open(2): for each CPU the -errno that it fails with; 0: a file that reads as an event whose clock stands still. */
static int open_errors[NR_RINGS];

long syscall(long number, ...)
{
	va_list ap;
	int cpu, fd;

	va_start(ap, number);
	va_arg(ap, void *);
	va_arg(ap, int);
	cpu = va_arg(ap, int);
	va_end(ap);
	assert_int_equal(number, SYS_perf_event_open);
	if (open_errors[cpu]) {
		errno = -open_errors[cpu];
		return -1;
	}
	fd = memfd_create("event", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, RING_DATA_BYTES + sysconf(_SC_PAGESIZE)), 0);
	lseek(fd, 0, SEEK_END);
	return fd;
}

int libbpf_num_possible_cpus(void)
{
	return NR_RINGS;
}

/* What /sys says of CPUs. */
static const char *online;

bool smallfile_line(const char *path, char *text, size_t text_bytes)
{
	assert_string_equal(path, "/sys/devices/system/cpu/online");
	snprintf(text, text_bytes, "%s", online);
	return true;
}

/* How many rings this user has, and may have: that is how much memory it may lock. */
static int nr_mapped, most_mapped;

static bool is_ring(size_t len)
{
	return len == RING_DATA_BYTES + (size_t)sysconf(_SC_PAGESIZE);
}

void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *(*map)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, "mmap");

	if (is_ring(len) && nr_mapped >= most_mapped) {
		errno = EPERM;
		return MAP_FAILED;
	}
	nr_mapped += is_ring(len);
	return map(addr, len, prot, flags, fd, offset);
}

int munmap(void *addr, size_t len)
{
	int (*unmap)(void *, size_t) = dlsym(RTLD_NEXT, "munmap");

	nr_mapped -= is_ring(len);
	return unmap(addr, len);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	memset(open_errors, 0, sizeof(open_errors));
	online = "0-1";
	nr_mapped = 0;
	most_mapped = NR_RINGS;
	for (int i = 0; i < NR_RINGS; i++) {
		void *ring = mmap(NULL, RING_DATA_BYTES + sysconf(_SC_PAGESIZE),
				  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (ring == MAP_FAILED)
			return -1;
		vec_push(&f->sideband.rings, ring);
		vec_push(&f->sideband.events.fds, open("/dev/null", O_RDONLY | O_CLOEXEC));
		vec_push(&f->sideband.events.cpus, i);
		vec_push(&f->sideband.enabled_ns, 0);
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

/* nr: the how manyth event of its CPU this ring is of; size says so, and nothing is written there. */
static void announce_code(struct fixture *f, const char *name, bool is_gone, int nr,
			  uint64_t time_ns)
{
	struct perf_event_mmap_page *control = f->sideband.rings.at[0];
	char *header = (char *)control + sysconf(_SC_PAGESIZE) + control->data_head;
	struct {
		uint64_t addr;
		uint32_t len;
		uint16_t type, flags;
		char name[32];
	} body = {.addr = 0xffffffffc0000000, .len = 0x40, .type = 1, .flags = is_gone};
	uint16_t more = 16 * (nr - 1);

	strcpy(body.name, name);
	announce(f, 0, PERF_RECORD_KSYMBOL, &body, 16 + (strlen(name) / 8 + 1) * 8, time_ns);
	((struct perf_event_header *)header)->size += more;
	memset((char *)control + sysconf(_SC_PAGESIZE) + control->data_head, 0x55, more);
	control->data_head += more;
}

static void say(void *ctx, const struct task_event *event)
{
	struct fixture *f = ctx;
	size_t len = strlen(f->said);

	if (event->kind == KERNEL_CODE_CAME || event->kind == KERNEL_CODE_WENT) {
		assert_true(event->code.start == 0xffffffffc0000000);
		assert_true(event->code.limit == event->code.start + 0x40);
		snprintf(f->said + len, sizeof(f->said) - len, "%c%s@%lu ",
			 event->kind == KERNEL_CODE_CAME ? '+' : '-', event->code.name,
			 (unsigned long)event->time_ns);
		return;
	}

	snprintf(f->said + len, sizeof(f->said) - len, "%s%u ",
		 event->kind == TASK_MAP    ? event->map.path
		 : event->kind == TASK_LOST ? "lost"
					    : "fork",
		 event->tgid);
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

/* The record of a second event of the same CPU is too long. Names of all lengths, since they are padded. */
static void code_of_the_kernel(void **state)
{
	struct fixture *f = *state;

	for (int nr = 1; nr <= 4; nr++) {
		announce_code(f, "a", false, nr, 10);
		announce_code(f, "seven77", false, nr, 20);
		announce_code(f, "eight888", true, nr, 30);
		announce_code(f, "fifteen15151515", false, nr, 40);
		announce_code(f, "", true, nr, 50);
		announce_fork(f, 0, 2, 60);
		assert_string_equal(
			drained(f),
			"+a@10 +seven77@20 -eight888@30 +fifteen15151515@40 -@50 fork2 ");
	}
}

static void code_is_gathered(void **state)
{
	struct fixture *f = *state;

	announce_code(f, "early", false, 1, 10);
	announce_code(f, "later", true, 1, now_ns + 5);
	assert_string_equal(drained(f), "+early@10 ");
	now_ns += 10;
	assert_non_null(strstr(drained(f), "-later@"));
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

static void say_cpu(void *ctx, int cpu, int err)
{
	struct fixture *f = ctx;
	size_t len = strlen(f->said);

	snprintf(f->said + len, sizeof(f->said) - len, "cpu%d:%d ", cpu, err);
}

/* What is said of CPUs at the next look. All events of this fixture stand still. */
static const char *looked(struct fixture *f, unsigned int nr_opened)
{
	now_ns += NSEC_PER_SEC;
	f->said[0] = '\0';
	assert_int_equal(sideband_look(&f->sideband, say_cpu, f), nr_opened);
	return f->said;
}

/* What the old ring still held is delivered, and that something is missing. */
static void a_cpu_that_is_back(void **state)
{
	struct fixture *f = *state;

	open_errors[0] = -ENODEV;
	announce_fork(f, 1, 5, now_ns);
	assert_string_equal(looked(f, 1), "cpu1:0 ");
	assert_string_equal(drained(f), "fork5 lost0 ");
	assert_int_equal(f->sideband.rings.nr, NR_RINGS);
}

/* It is offline, or has never been there: no word. */
static void a_cpu_that_is_offline(void **state)
{
	struct fixture *f = *state;

	open_errors[0] = open_errors[1] = -ENODEV;
	assert_string_equal(looked(f, 0), "");
	online = "5-9,1";
	open_errors[0] = -EMFILE;
	assert_string_equal(looked(f, 0), "");
	assert_string_equal(drained(f), "");
}

/* No memory is left to lock beside the rings that there are: the old one of a CPU makes room for the new one. */
static void at_the_limit_of_locked_memory(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(looked(f, 2), "cpu0:0 cpu1:0 ");
	assert_int_equal(nr_mapped, NR_RINGS);
}

/* It is tried again at each look, and said once; when it works in the end, that is said. */
static void a_cpu_that_is_refused(void **state)
{
	char expected[64];
	struct fixture *f = *state;

	open_errors[0] = -EMFILE;
	open_errors[1] = -ENODEV;
	snprintf(expected, sizeof(expected), "cpu0:%d ", -EMFILE);
	assert_string_equal(looked(f, 0), expected);
	assert_string_equal(looked(f, 0), "");
	open_errors[0] = 0;
	assert_string_equal(looked(f, 1), "cpu0:0 ");
	open_errors[0] = -EMFILE;
	assert_string_equal(looked(f, 0), expected);
}

/* Others use the memory that the old ring gave back: the CPU has none until there is some again. */
static void a_ring_that_cannot_be_mapped(void **state)
{
	char expected[64];
	struct fixture *f = *state;

	open_errors[0] = -ENODEV;
	most_mapped = 1;
	announce_fork(f, 1, 5, now_ns);
	snprintf(expected, sizeof(expected), "cpu1:%d ", -EPERM);
	assert_string_equal(looked(f, 0), expected);
	sideband_gather(&f->sideband);
	assert_string_equal(drained(f), "fork5 ");
	assert_string_equal(looked(f, 0), "");
	most_mapped = NR_RINGS;
	assert_string_equal(looked(f, 1), "cpu1:0 ");
	assert_string_equal(drained(f), "lost0 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(in_the_order_of_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(code_of_the_kernel, set_up, tear_down),
		cmocka_unit_test_setup_teardown(code_is_gathered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(gathered_before_it_is_delivered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(gathered_while_others_are_delivered, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_comes_meanwhile_is_for_the_next_time, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_cpu_that_is_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_cpu_that_is_offline, set_up, tear_down),
		cmocka_unit_test_setup_teardown(at_the_limit_of_locked_memory, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_cpu_that_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_ring_that_cannot_be_mapped, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
