// SPDX-License-Identifier: BSD-2-Clause
/*
 * Tables of real shared objects, made here, in a session that only keeps books: which files share
 * one, when it is copied in, and when it is thrown away.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "feed/tablecache.h"
#include "unwind/tablebuild.h"
#include "elf_judge.h"
#include "unit/parser_case.h"
#include "unit/session_case.h"

#define MOST_UNUSED 1024 /* as in feed/tablecache.c */

struct fixture {
	struct session session;
	struct files *files;
	struct parser *parser;
	struct workbudget budget;
	struct tablecache *tables;
};

static int build_files(void **state)
{
	(void)state;
	judge_dir = temp_folder();
	judge_run(
		"echo 'int one(int x) { return x + 1; }' >one.c;"
		"echo 'int two(int x) { return x * 2; }' >two.c;"
		"so='gcc -shared -fPIC -nostdlib -s'; $so -o one.so one.c && $so -o two.so two.c &&"
		"cp one.so copy.so && $so -Wl,--build-id=none -o none.so one.c && cp none.so "
		"none2.so &&"
		"$so -fno-asynchronous-unwind-tables -o bare.so two.c && echo '#!/bin/sh' >script");
	return 0;
}

static int set_up(void **state)
{
	struct fixture *fixture = xcalloc(1, sizeof(*fixture));

	fixture->files = files_new("/proc");
	fixture->parser = parser_case_open();
	fixture->tables = tablecache_new(&fixture->session, fixture->files, fixture->parser,
					 &fixture->budget);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	tablecache_free(fixture->tables);
	parser_close(fixture->parser);
	files_free(fixture->files);
	session_case_release(&fixture->session);
	free(fixture);
	return 0;
}

/* The number of a file in judge_dir. */
static uint32_t number_of(struct fixture *fixture, const char *name)
{
	char *path scoped(freep) = xasprintf("%s/%s", judge_dir, name);
	struct map_event map = {.path = path};
	struct stat st;
	uint32_t file;

	assert_int_equal(stat(path, &st), 0);
	map.dev_major = major(st.st_dev);
	map.dev_minor = minor(st.st_dev);
	map.inode = st.st_ino;
	file = files_of(fixture->files, getpid(), &map);
	assert_true(files_fd(fixture->files, file) >= 0);
	return tablecache_get(fixture->tables, file);
}

static uint32_t built(struct fixture *fixture, const char *name)
{
	uint32_t number = number_of(fixture, name);

	tablecache_build(fixture->tables, number);
	return number;
}

static void test_get(void **state)
{
	struct fixture *fixture = *state;
	uint32_t one = number_of(fixture, "one.so"), two = number_of(fixture, "two.so");

	assert_int_not_equal(one, two);
	assert_int_equal(number_of(fixture, "one.so"), one);
	assert_false(tablecache_at(fixture->tables, one)->is_built);
	assert_int_equal(tablecache_id(fixture->tables, one), TABLE_UNBUILT);
	assert_null(tablecache_rules(fixture->tables, one));
	assert_false(tablecache_poll(fixture->tables));
	assert_int_equal(fixture->session.nr_added, 0);
}

static void test_build(void **state)
{
	struct fixture *fixture = *state;
	uint32_t one = built(fixture, "one.so"), id = tablecache_id(fixture->tables, one);
	const struct codefile *codefile = tablecache_at(fixture->tables, one);
	const struct unwind_table *rules = tablecache_rules(fixture->tables, one);
	struct unwind_rule rule;

	assert_true(codefile->is_built && codefile->elf && !codefile->gap_by_fp);
	assert_true(session_case_has_table(&fixture->session, id));
	assert_non_null(rules);
	assert_true(unwind_table_find(rules, rules->start + X86_PAGE_BYTES - 1, &rule));
	assert_true(tablecache_poll(fixture->tables));
	assert_false(tablecache_poll(fixture->tables));
	/* It is built once. */
	tablecache_build(fixture->tables, one);
	assert_int_equal(fixture->session.nr_added, 1);
	assert_false(tablecache_poll(fixture->tables));
}

static void test_a_build_id_has_one_table(void **state)
{
	struct fixture *fixture = *state;
	uint32_t one = built(fixture, "one.so"), copy, none, none2;

	assert_true(tablecache_poll(fixture->tables));
	copy = built(fixture, "copy.so");
	assert_int_not_equal(copy, one);
	assert_int_equal(tablecache_id(fixture->tables, copy), tablecache_id(fixture->tables, one));
	assert_ptr_equal(tablecache_rules(fixture->tables, copy),
			 tablecache_rules(fixture->tables, one));
	assert_int_equal(fixture->session.nr_added, 1);
	assert_true(tablecache_poll(fixture->tables)); /* its vmas can be written now */
	none = built(fixture, "none.so");
	none2 = built(fixture, "none2.so");
	assert_int_not_equal(tablecache_id(fixture->tables, none),
			     tablecache_id(fixture->tables, none2));
	assert_int_equal(fixture->session.nr_added, 3);
}

static void test_no_unwind_information(void **state)
{
	struct fixture *fixture = *state;
	uint32_t bare = built(fixture, "bare.so"), script = built(fixture, "script");

	assert_true(tablecache_at(fixture->tables, bare)->is_built);
	assert_non_null(tablecache_at(fixture->tables, bare)->elf);
	assert_int_equal(tablecache_id(fixture->tables, bare), TABLE_NO_CFI);
	assert_null(tablecache_rules(fixture->tables, bare));
	assert_true(tablecache_at(fixture->tables, script)->is_built);
	assert_null(tablecache_at(fixture->tables, script)->elf);
	assert_int_equal(tablecache_id(fixture->tables, script), TABLE_NO_CFI);
	assert_int_equal(fixture->session.nr_added, 0);
}

/* BPF walks without it then, and the walks that end here know the rules still. */
static void test_no_room(void **state)
{
	struct fixture *fixture = *state;
	struct unwind_table *table = unwind_table_uniform(&unwind_x86, 0x1000, 0x3000, UNWIND_FP);
	uint32_t one, id;

	fixture->session.table_err = -ENOSPC;
	one = built(fixture, "one.so");
	assert_int_equal(tablecache_id(fixture->tables, one), TABLE_NO_CFI);
	assert_non_null(tablecache_rules(fixture->tables, one));
	id = tablecache_insert(fixture->tables, table);
	assert_int_equal(id, TABLE_NO_CFI);
	tablecache_remove(fixture->tables, id);
	assert_int_equal(fixture->session.nr_removed, 0);
	fixture->session.table_err = 0;
	id = tablecache_insert(fixture->tables, table);
	assert_true(session_case_has_table(&fixture->session, id));
	tablecache_remove(fixture->tables, id);
	assert_false(session_case_has_table(&fixture->session, id));
	unwind_table_free(table);
}

static bool always(void)
{
	return true;
}

static void test_no_patience(void **state)
{
	struct fixture *fixture = *state;
	uint32_t one = number_of(fixture, "one.so");

	workbudget_limit(&fixture->budget, NSEC_PER_SEC, always);
	tablecache_build(fixture->tables, one);
	assert_int_equal(tablecache_id(fixture->tables, one), TABLE_UNBUILT);
	workbudget_unlimit(&fixture->budget);
	fixture->budget.only_needed = true;
	tablecache_build_ahead(fixture->tables, one);
	assert_int_equal(tablecache_id(fixture->tables, one), TABLE_UNBUILT);
	assert_false(tablecache_poll(fixture->tables));
	tablecache_build(fixture->tables, one);
	assert_int_not_equal(tablecache_id(fixture->tables, one), TABLE_UNBUILT);
	fixture->budget.only_needed = false;
	one = number_of(fixture, "two.so");
	tablecache_build_ahead(fixture->tables, one);
	assert_int_not_equal(tablecache_id(fixture->tables, one), TABLE_UNBUILT);
}

/* Tables that nobody uses, each of a file without a build-id, number first and on. */
static void build_unused(struct fixture *fixture, int first, int nr)
{
	for (int i = first; i < first + nr; i++) {
		char *name scoped(freep) = xasprintf("copy%d.so", i);
		char *none scoped(freep) = xasprintf("%s/none.so", judge_dir);
		char *path scoped(freep) = xasprintf("%s/%s", judge_dir, name);
		char bytes[1 << 16];
		FILE *from = fopen(none, "r"), *to = fopen(path, "w");
		size_t len = fread(bytes, 1, sizeof(bytes), from);

		assert_int_equal(fwrite(bytes, 1, len, to), len);
		fclose(from);
		fclose(to);
		built(fixture, name);
	}
}

static void test_the_longest_unused_goes_first(void **state)
{
	struct fixture *fixture = *state;
	struct tablecache *tables = fixture->tables;
	uint32_t used = built(fixture, "one.so"), copy = built(fixture, "copy.so"), first, second,
		 id;

	/* Two files share its table: it is in use while either is. */
	tablecache_use(tables, used);
	tablecache_use(tables, copy);
	tablecache_use(tables, copy);
	tablecache_drop(tables, used);
	tablecache_drop(tables, copy);
	first = built(fixture, "two.so");
	second = built(fixture, "none.so");
	build_unused(fixture, 0, MOST_UNUSED - 2);
	assert_int_equal(fixture->session.nr_removed, 0);
	assert_int_equal(session_case_nr_tables(&fixture->session), MOST_UNUSED + 1);
	/* It was used since the second was. */
	tablecache_use(tables, first);
	tablecache_drop(tables, first);
	assert_int_equal(fixture->session.nr_removed, 0);
	id = tablecache_id(tables, second);
	build_unused(fixture, MOST_UNUSED, 1);
	assert_int_equal(fixture->session.nr_removed, 1);
	assert_false(session_case_has_table(&fixture->session, id));
	assert_int_equal(tablecache_id(tables, second), TABLE_UNBUILT);
	assert_null(tablecache_rules(tables, second));
	assert_true(session_case_has_table(&fixture->session, tablecache_id(tables, first)));
	assert_true(session_case_has_table(&fixture->session, tablecache_id(tables, copy)));
	/* It is built again when it is asked for. */
	tablecache_poll(tables);
	tablecache_build(tables, second);
	assert_true(session_case_has_table(&fixture->session, tablecache_id(tables, second)));
	assert_true(tablecache_poll(tables));
	tablecache_drop(tables, copy);
	assert_int_equal(session_case_nr_tables(&fixture->session), MOST_UNUSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_get, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_build, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_build_id_has_one_table, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_unwind_information, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_patience, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_longest_unused_goes_first, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, build_files, NULL);
}
