// SPDX-License-Identifier: BSD-2-Clause
/* base/textout: whatever is written in whatever pieces arrives whole, and the first error is kept. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/textout.h"

struct got {
	char *text;
	size_t len;
	int nr_calls, fail_at; /* 0: never */
};

static int take(void *ctx, const void *bytes, size_t len)
{
	struct got *got = ctx;

	if (++got->nr_calls == got->fail_at)
		return -ENOSPC;
	got->text = xreallocarray(got->text, got->len + len, 1);
	memcpy(got->text + got->len, bytes, len);
	got->len += len;
	return 0;
}

static void test_pieces(void **state)
{
	static const size_t lens[] = {0, 1, 1000, 65535, 65536, 65537, 200000, 3};
	char *text scoped(freep) = xmalloc(200000 + 1), *all scoped(freep) = NULL;
	struct got got = {.fail_at = 0};
	struct text_out out;
	size_t len = 0;
	FILE *expected = open_memstream(&all, &len);

	(void)state;
	text_out_open(&out, take, &got);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		for (int j = 0; j < 3; j++) {
			memset(text, 'a' + (i * 3 + j) % 26, lens[i]);
			text[lens[i]] = '\0';
			fprintf(expected, "%s", text);
			if (j == 1)
				text_out_write(&out, text, lens[i]);
			else
				text_out_print(&out, "%s", text);
		}
	assert_int_equal(text_out_close(&out), 0);
	fclose(expected);
	assert_int_equal(got.len, len);
	assert_memory_equal(got.text, all, len);
	assert_true(got.nr_calls <= (int)(len / 65536 + 1)); /* gathered */
	free(got.text);
}

static void test_the_first_error(void **state)
{
	struct got got = {.fail_at = 2};
	struct text_out out;

	(void)state;
	text_out_open(&out, take, &got);
	for (int i = 0; i < 1000; i++)
		text_out_print(&out, "%01000d", i);
	assert_int_equal(text_out_close(&out), -ENOSPC);
	assert_int_equal(got.nr_calls, 2); /* nothing after it */
	free(got.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_the_first_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
