// SPDX-License-Identifier: BSD-2-Clause
/*
 * The vmas of this very process, in a session that only keeps books: against /proc/self/maps, dladdr(3)
 * and the bytes of its own code.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "feed/codemap.h"
#include "unit/feed_case.h"

struct fixture {
	struct feed_case c;
	struct codemap_rooms rooms;
	uint32_t unread_said;
	struct codemap *code;
	void *jit; /* code that is in no file, a page */
};

static int set_up(void **state)
{
	struct fixture *fixture = xcalloc(1, sizeof(*fixture));

	fixture->jit = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(fixture->jit, MAP_FAILED);
	feed_case_init(&fixture->c);
	fixture->rooms = (struct codemap_rooms){
		.session = &fixture->c.session,
		.tasks = fixture->c.tasks,
		.files = fixture->c.files,
		.parser = fixture->c.parser,
		.unread_said = &fixture->unread_said,
		.tablecache = tablecache_new(&fixture->c.session, fixture->c.files,
					     fixture->c.parser, &fixture->c.budget),
	};
	fixture->code = codemap_new(&fixture->rooms, getpid());
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	codemap_free(fixture->code);
	tablecache_free(fixture->rooms.tablecache);
	feed_case_release(&fixture->c);
	munmap(fixture->jit, sysconf(_SC_PAGESIZE));
	free(fixture);
	return 0;
}

static void write_all(struct fixture *fixture)
{
	codemap_changed(fixture->code);
	assert_int_equal(codemap_sync(fixture->code, false), 0);
}

static struct image *image_now(struct fixture *fixture)
{
	return tasks_image(fixture->c.tasks, getpid(), 0, clock_monotonic_ns());
}

/* What runs is in vmas, and nothing else. */
static void test_executable_mappings_are_written(void **state)
{
	struct fixture *fixture = *state;
	unsigned long start, limit;
	char line[4096], mode[5];
	uint32_t nr = 0;
	FILE *maps;

	assert_int_equal(codemap_sync(fixture->code, true), 0);
	assert_int_equal(fixture->c.session.nr_written, 0); /* nothing has changed yet */
	write_all(fixture);
	maps = fopen("/proc/self/maps", "r");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		assert_int_equal(sscanf(line, "%lx-%lx %4s", &start, &limit, mode), 3);
		if (mode[2] != 'x' || start >> 63)
			continue;
		assert_true(feed_case_vma(&fixture->c, start)->start <= start);
		assert_true(feed_case_vma(&fixture->c, start)->limit >= limit);
		nr++;
	}
	fclose(maps);
	assert_true(nr >= 3);
	assert_int_equal(session_case_process(&fixture->c.session, getpid())->vmas.nr, nr);
}

/* Not before it is met: but for the vdso, which every process has and all share. */
static void test_tables_are_built_when_met(void **state)
{
	struct fixture *fixture = *state;
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR);

	write_all(fixture);
	assert_int_equal(feed_case_vma(&fixture->c, FEED_CASE_IP)->table, TABLE_UNBUILT);
	assert_int_equal(feed_case_vma(&fixture->c, (uintptr_t)fixture->jit)->table, TABLE_NO_CFI);
	if (vdso) {
		assert_int_equal(feed_case_vma(&fixture->c, vdso)->bias, vdso);
		assert_true(session_case_has_table(&fixture->c.session,
						   feed_case_vma(&fixture->c, vdso)->table));
	}
	assert_int_equal(session_case_nr_tables(&fixture->c.session), vdso ? 1 : 0);
}

static void test_eager(void **state)
{
	struct fixture *fixture = *state;
	Dl_info own, libc;

	assert_true(dladdr((void *)(uintptr_t)FEED_CASE_IP, &own) && dladdr((void *)getenv, &libc));
	codemap_set_eager(fixture->code, true);
	write_all(fixture);
	assert_true(session_case_has_table(&fixture->c.session,
					   feed_case_vma(&fixture->c, FEED_CASE_IP)->table));
	assert_int_equal(feed_case_vma(&fixture->c, FEED_CASE_IP)->bias, (uintptr_t)own.dli_fbase);
	assert_int_equal(feed_case_vma(&fixture->c, (uintptr_t)getenv)->bias,
			 (uintptr_t)libc.dli_fbase);
	assert_int_not_equal(feed_case_vma(&fixture->c, FEED_CASE_IP)->table,
			     feed_case_vma(&fixture->c, (uintptr_t)getenv)->table);
}

/* They are written when something changed, or when a table that they lack may have been built. */
static void test_written_when_something_changed(void **state)
{
	struct fixture *fixture = *state;
	struct unwind_rule rule;
	bool by_fp;

	write_all(fixture);
	assert_int_equal(codemap_sync(fixture->code, false), 0);
	assert_int_equal(fixture->c.session.nr_written, 1);
	assert_int_equal(codemap_rule(fixture->code, image_now(fixture), FEED_CASE_IP,
				      clock_monotonic_ns(), &rule, &by_fp),
			 CODE_FOUND);
	assert_int_equal(rule.kind, UNWIND_FRAME); /* at its entry: CFA = sp + 8 */
	assert_int_equal(rule.cfa_reg, X86_REG_SP);
	assert_int_equal(rule.cfa_off, 8);
	assert_false(by_fp);
	assert_true(tablecache_poll(fixture->rooms.tablecache));
	assert_int_equal(feed_case_vma(&fixture->c, FEED_CASE_IP)->table, TABLE_UNBUILT);
	assert_int_equal(codemap_sync(fixture->code, true), 0);
	assert_int_equal(fixture->c.session.nr_written, 2);
	assert_true(session_case_has_table(&fixture->c.session,
					   feed_case_vma(&fixture->c, FEED_CASE_IP)->table));
	/* Where every file has its table, news are of others. */
	codemap_set_eager(fixture->code, true);
	write_all(fixture);
	assert_int_equal(codemap_sync(fixture->code, true), 0);
	assert_int_equal(fixture->c.session.nr_written, 3);
}

static void test_rules_where_there_is_no_file(void **state)
{
	struct fixture *fixture = *state;
	uint64_t now_ns = clock_monotonic_ns();
	struct unwind_rule rule;
	bool by_fp;

	assert_int_equal(codemap_rule(fixture->code, image_now(fixture), (uintptr_t)fixture->jit,
				      now_ns, &rule, &by_fp),
			 CODE_FOUND);
	assert_int_equal(rule.kind, UNWIND_GAP);
	assert_false(by_fp);
	assert_int_equal(codemap_rule(fixture->code, image_now(fixture), 16, now_ns, &rule, &by_fp),
			 CODE_NONE);
}

static bool always(void)
{
	return true;
}

static void test_no_patience(void **state)
{
	struct fixture *fixture = *state;
	struct unwind_rule rule;
	bool by_fp;

	workbudget_limit(&fixture->c.budget, NSEC_PER_SEC, always);
	assert_int_equal(codemap_rule(fixture->code, image_now(fixture), FEED_CASE_IP,
				      clock_monotonic_ns(), &rule, &by_fp),
			 CODE_NOT_YET);
}

static void test_forget(void **state)
{
	struct fixture *fixture = *state;

	codemap_set_eager(fixture->code, true);
	write_all(fixture);
	codemap_changed(fixture->code);
	codemap_forget(fixture->code);
	assert_null(session_case_process(&fixture->c.session, getpid()));
	assert_int_equal(codemap_sync(fixture->code, true), 0); /* it is not written any more */
	assert_null(session_case_process(&fixture->c.session, getpid()));
	/* The tgid is used again: its tables are still there. */
	write_all(fixture);
	assert_int_equal(fixture->c.session.nr_removed, 0);
	assert_true(session_case_has_table(&fixture->c.session,
					   feed_case_vma(&fixture->c, FEED_CASE_IP)->table));
}

/* What BPF had before refers to tables that nobody holds for it: it has nothing then. */
static void test_no_room(void **state)
{
	struct fixture *fixture = *state;

	write_all(fixture);
	fixture->c.session.vmas_err = -ENOSPC;
	codemap_changed(fixture->code);
	assert_int_equal(codemap_sync(fixture->code, false), -ENOSPC);
	assert_null(session_case_process(&fixture->c.session, getpid()));
	fixture->c.session.vmas_err = 0;
	assert_int_equal(codemap_sync(fixture->code, false), 0); /* not before something changes */
	assert_null(session_case_process(&fixture->c.session, getpid()));
	write_all(fixture);
	assert_non_null(session_case_process(&fixture->c.session, getpid()));
}

/* Only what runs now can be read. */
static void test_read(void **state)
{
	struct fixture *fixture = *state;
	struct image *before = image_now(fixture);
	struct task_event exec = {
		.kind = TASK_EXEC, .tgid = getpid(), .tid = getpid(), .comm = "x"};
	uint8_t bytes[16];

	assert_true(codemap_read(fixture->code, before, FEED_CASE_IP, bytes, sizeof(bytes)));
	assert_memory_equal(bytes, (void *)(uintptr_t)FEED_CASE_IP, sizeof(bytes));
	assert_false(codemap_read(fixture->code, before, 16, bytes, sizeof(bytes)));
	exec.time_ns = clock_monotonic_ns();
	tasks_apply(fixture->c.tasks, &exec);
	assert_ptr_not_equal(image_now(fixture), before);
	assert_false(codemap_read(fixture->code, before, FEED_CASE_IP, bytes, sizeof(bytes)));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_executable_mappings_are_written),
		CASE(test_tables_are_built_when_met),
		CASE(test_eager),
		CASE(test_written_when_something_changed),
		CASE(test_rules_where_there_is_no_file),
		CASE(test_no_patience),
		CASE(test_forget),
		CASE(test_no_room),
		CASE(test_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
