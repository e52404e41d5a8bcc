// SPDX-License-Identifier: BSD-2-Clause
/* Views hold what is in the file, and zeros where the file has become shorter; without a guard there are none. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fileview.h"

#define PAGES 16
#define PAGE  4096

/* Each byte of it says which page it is in, from 1 on. */
static int file_of_pages(void)
{
	FILE *file = tmpfile();
	char page[PAGE];

	assert_non_null(file);
	for (int i = 0; i < PAGES; i++) {
		memset(page, i + 1, PAGE);
		assert_int_equal(fwrite(page, PAGE, 1, file), 1);
	}
	assert_int_equal(fflush(file), 0);
	return fileno(file); /* leaked: a test is short */
}

static void test_unguarded(void **state)
{
	(void)state;
	assert_null(fileview_open(file_of_pages(), 0, PAGE));
}

static void test_bytes(void **state)
{
	int fd = file_of_pages();
	const uint8_t *view;

	(void)state;
	assert_int_equal(fileview_guard(), 0);
	view = fileview_open(fd, 3 * PAGE - 5, 10);
	assert_non_null(view);
	for (int i = 0; i < 10; i++)
		assert_int_equal(view[i], i < 5 ? 3 : 4);
	fileview_close(view, 10);
	assert_null(fileview_open(fd, 0, 0));
	assert_null(fileview_open(-1, 0, PAGE));
	assert_null(fileview_open(fd, 0, SIZE_MAX - 100));
}

static void test_shorter(void **state)
{
	int fd = file_of_pages();
	const uint8_t *view, *other;

	(void)state;
	assert_int_equal(fileview_guard(), 0);
	view = fileview_open(fd, PAGE, (PAGES - 1) * PAGE);
	other = fileview_open(fd, 0, PAGES * PAGE);
	assert_non_null(view);
	assert_non_null(other);
	assert_int_equal(view[5 * PAGE], 7);
	assert_int_equal(ftruncate(fd, 4 * PAGE), 0);
	assert_int_equal(view[5 * PAGE], 0);
	assert_int_equal(view[PAGE], 3);
	assert_int_equal(view[14 * PAGE + PAGE - 1], 0);
	assert_int_equal(other[PAGES * PAGE - 1], 0);
	assert_int_equal(other[0], 1);
	fileview_close(view, (PAGES - 1) * PAGE);
	fileview_close(other, PAGES * PAGE);
}

/* More than there may be: the others are refused, until one is closed. */
static void test_many(void **state)
{
	const void *views[1000];
	int fd = file_of_pages();
	size_t nr = 0;

	(void)state;
	assert_int_equal(fileview_guard(), 0);
	while (nr < 1000 && (views[nr] = fileview_open(fd, 0, 2 * PAGE)))
		nr++;
	assert_in_range(nr, 100, 999);
	fileview_close(views[7], 2 * PAGE);
	views[7] = fileview_open(fd, PAGE, 2 * PAGE);
	assert_non_null(views[7]);
	while (nr)
		fileview_close(views[--nr], 2 * PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unguarded),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_shorter),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests_name("fileview", tests, NULL, NULL);
}
