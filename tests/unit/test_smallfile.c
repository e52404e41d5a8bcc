// SPDX-License-Identifier: BSD-2-Clause
/* Files of one line or one number, such as those of /proc/sys. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/smallfile.h"

static char path[] = "/tmp/test_smallfile.XXXXXX";

static void write_text(const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void test_line(void **state)
{
	char text[8] = "before";

	(void)state;
	assert_false(smallfile_line("/nonexistent/setting", text, sizeof(text)));
	assert_string_equal(text, "before");
	write_text("99\nmore\n");
	assert_true(smallfile_line(path, text, sizeof(text)));
	assert_string_equal(text, "99");
	write_text("longer than there is room");
	assert_true(smallfile_line(path, text, sizeof(text)));
	assert_string_equal(text, "longer ");
	write_text("");
	assert_true(smallfile_line(path, text, sizeof(text)));
	assert_string_equal(text, "");
}

static void test_number(void **state)
{
	(void)state;
	assert_int_equal(smallfile_number("/nonexistent/setting", 7), 7);
	write_text("-1\n");
	assert_int_equal(smallfile_number(path, 7), -1);
	write_text("0 of 3\n");
	assert_int_equal(smallfile_number(path, 7), 0);
	write_text("none\n");
	assert_int_equal(smallfile_number(path, 7), 7);
	write_text("");
	assert_int_equal(smallfile_number(path, 7), 7);
}

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_number),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
