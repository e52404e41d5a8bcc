// SPDX-License-Identifier: BSD-2-Clause
/* When a JVM's memory is read: by a clock that stands still between the steps of a test, and a worker that counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "feed/codemap.h"
#include "feed/jvm.h"
#include "sandbox/jvmparser.h"
#include "unit/feed_case.h"

#define HEAP	   0x7f0000000000ull
#define HEAP_LIMIT 0x7f0000100000ull
#define MS	   1000000ull

struct fixture {
	struct feed_case c;
	struct codemap_rooms rooms;
	struct jvm *jvm;
};

static uint64_t fake_now_ns;
static unsigned int nr_reads;

/* The clock ------------------------------------------------------------------------------------- */

uint64_t clock_monotonic_ns(void)
{
	return fake_now_ns;
}

uint64_t clock_realtime_ns(void)
{
	return fake_now_ns;
}

uint64_t clock_thread_cpu_ns(void)
{
	return 0; /* so that a look takes no time by the fake clock */
}

uint64_t clock_process_cpu_ns(void)
{
	return 0;
}

uint64_t clock_suspended_ns(void)
{
	return 0;
}

int64_t clock_realtime_offset_ns(void)
{
	return 0;
}

/* The worker ------------------------------------------------------------------------------------ */

int parser_variables(struct parser *parser, uint32_t key, int fd,
		     uint64_t elf_addrs[MESSAGE_NR_VARIABLES])
{
	(void)parser;
	(void)key;
	(void)fd;
	memset(elf_addrs, 0, MESSAGE_NR_VARIABLES * sizeof(*elf_addrs));
	return 0;
}

/* One heap, whose table is never new. */
int parser_look(struct parser *parser, const struct jvm_subject *jvm, const struct jvm_wish *wish,
		struct reply_look *look)
{
	(void)parser;
	(void)jvm;
	*look = (struct reply_look){.missing = "", .nr_heaps = 1};
	look->heaps[0] =
		(struct reply_heap){.start = HEAP, .limit = HEAP_LIMIT, .reserved = HEAP_LIMIT};
	nr_reads += !!(wish->what & MESSAGE_LOOK_READ);
	return 0;
}

int parser_code(struct parser *parser, const struct jvm_subject *jvm, uint64_t ip,
		struct reply_code **code)
{
	(void)parser;
	(void)jvm;
	(void)ip;
	*code = NULL;
	return -ENOENT;
}

int parser_methods(struct parser *parser, const struct jvm_subject *jvm,
		   const struct jvm_sample *sample, const uint64_t *ips, size_t nr,
		   struct reply_method **methods, size_t *nr_methods)
{
	(void)parser;
	(void)jvm;
	(void)sample;
	(void)ips;
	(void)nr;
	*methods = NULL;
	*nr_methods = 0;
	return 0;
}

void parser_leave_out_jvm(struct parser *parser, uint32_t tgid, int err)
{
	(void)parser;
	(void)tgid;
	(void)err;
}

/* Tests ----------------------------------------------------------------------------------------- */

/* A JVM that was just looked at. */
static int set_up(void **state)
{
	struct fixture *fixture = xcalloc(1, sizeof(*fixture));

	fake_now_ns = NSEC_PER_SEC;
	feed_case_init(&fixture->c);
	fixture->rooms = (struct codemap_rooms){
		.session = &fixture->c.session,
		.tasks = fixture->c.tasks,
		.files = fixture->c.files,
		.parser = fixture->c.parser,
		.tablecache = tablecache_new(&fixture->c.session, fixture->c.files,
					     fixture->c.parser, &fixture->c.budget),
	};
	fixture->jvm = jvm_new(&fixture->rooms, getpid(), 0, 0);
	jvm_sync(fixture->jvm, true);
	nr_reads = 0;
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	jvm_free(fixture->jvm);
	tablecache_free(fixture->rooms.tablecache);
	feed_case_release(&fixture->c);
	free(fixture);
	return 0;
}

static void check(struct fixture *fixture, uint64_t time_ns, enum stack_end end,
		  const uint64_t *ips, uint32_t nr)
{
	const struct record record = {
		.time_ns = time_ns, .user_ips = ips, .nr_user = nr, .end = end};

	jvm_check(fixture->jvm, &record);
}

/* How often it is read within ms milliseconds, if somebody asks for each of them. */
static unsigned int reads_in(struct fixture *fixture, unsigned int ms)
{
	unsigned int before = nr_reads;

	for (unsigned int i = 0; i < ms; i++) {
		fake_now_ns += MS;
		jvm_sync(fixture->jvm, false);
	}
	return nr_reads - before;
}

static void test_idle(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(reads_in(fixture, 999), 0);
	assert_int_equal(reads_in(fixture, 1), 1);
}

/* In the code itself, or one step by its rules led astray. Then the second look is far off again. */
static void test_a_stack_that_breaks_off(void **state)
{
	static const uint64_t in[] = {0x1000, IP_EXACT | (HEAP + 5)}, astray[] = {HEAP + 5, 0x1000};
	struct fixture *fixture = *state;

	fake_now_ns += MS;
	check(fixture, fake_now_ns, END_NO_CFI, in, 2);
	assert_int_equal(reads_in(fixture, 150), 1);
	assert_int_equal(reads_in(fixture, 500), 0);
	check(fixture, fake_now_ns, END_UNREADABLE, astray, 2);
	assert_int_equal(reads_in(fixture, 1), 1);
	check(fixture, fake_now_ns + MS, END_NO_ROOT, (uint64_t[]){IP_GUESSED | (HEAP + 5)}, 1);
	assert_int_equal(reads_in(fixture, 150), 1);
}

/* Code whose rules nobody can know has a price that is bounded. */
static void test_stacks_that_always_break_off(void **state)
{
	static const uint64_t ip = HEAP + 5;
	struct fixture *fixture = *state;
	unsigned int nr = 0;

	for (int i = 0; i < 1000; i++) {
		check(fixture, fake_now_ns + MS, END_NO_CFI, &ip, 1);
		nr += reads_in(fixture, 1);
	}
	assert_in_range(nr, 8, 12);
}

static void test_other_stacks(void **state)
{
	static const uint64_t whole[] = {HEAP + 5, 0x1000},
			      elsewhere[] = {HEAP + 5, 0x1000, 0x2000};
	struct fixture *fixture = *state;
	uint64_t looked_ns = fake_now_ns;

	fake_now_ns += MS;
	check(fixture, fake_now_ns, END_ROOT, whole, 2);
	check(fixture, fake_now_ns, END_TOO_DEEP, whole, 2);
	check(fixture, fake_now_ns, END_BEYOND_COPY, whole, 2);
	check(fixture, fake_now_ns, END_NO_CFI, elsewhere, 3);
	check(fixture, fake_now_ns, END_NO_CFI, NULL, 0);
	/* the last look was later */
	check(fixture, looked_ns, END_NO_CFI, whole, 2);
	assert_int_equal(reads_in(fixture, 900), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_idle, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_stack_that_breaks_off, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stacks_that_always_break_off, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_other_stacks, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
