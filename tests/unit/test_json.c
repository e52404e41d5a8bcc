// SPDX-License-Identifier: BSD-2-Clause
/* base/json: what python's json module reads back is what was written. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "sinks.h"

static int never(void *ctx, const void *bytes, size_t len)
{
	(void)bytes;
	(void)len;
	++*(int *)ctx;
	return -ENOSPC;
}

static void write_all(struct json *json)
{
	char *large scoped(freep) = xcalloc(200001, 1);

	memset(large, 'x', 200000);
	json_object(json);
	json_key(json, "text"), json_string(json, "a\"\\\n</script>\xff \xe2\x80\xa8 \xc3\xa9");
	json_key(json, "empty"), json_array(json), json_end(json);
	json_key(json, "numbers"), json_array(json);
	json_int(json, INT64_MIN);
	json_uint(json, UINT64_MAX);
	json_real(json, 0.1);
	json_real(json, NAN);
	json_bool(json, true);
	json_null(json);
	json_end(json);
	json_key(json, "large"), json_string(json, large);
	json_end(json);
}

static void test_python_reads_it(void **state)
{
	static const char judge[] =
		"python3 -c 'import json,sys\n"
		"raw = sys.stdin.read()\n"
		"assert \"<\" not in raw and \"\\u2028\" not in raw\n"
		"d = json.loads(raw)\n"
		"assert d[\"text\"] == \"a\\\"\\\\\\n</script>\\\\xff \\u2028 \\u00e9\", "
		"d[\"text\"]\n"
		"assert d[\"empty\"] == []\n"
		"assert d[\"numbers\"] == [-2**63, 2**64 - 1, 0.1, None, True, None]\n"
		"assert d[\"large\"] == \"x\" * 200000\n'";
	struct json json;
	FILE *python = popen(judge, "w");

	(void)state;
	assert_non_null(python);
	json_begin(&json, sink_stream, python);
	write_all(&json);
	assert_int_equal(json_finish(&json), 0);
	assert_int_equal(pclose(python), 0);
}

static void test_the_first_error_ends_it(void **state)
{
	struct json json;
	int nr_calls = 0;

	(void)state;
	json_begin(&json, never, &nr_calls);
	write_all(&json);
	assert_int_equal(json_finish(&json), -ENOSPC);
	assert_int_equal(nr_calls, 1);
}

static int nowhere(void *ctx, const void *bytes, size_t len)
{
	(void)ctx;
	(void)bytes;
	(void)len;
	return 0;
}

/* Mistakes in the source end the process, before anything is written beyond the struct. */
static void test_mistakes_abort(void **state)
{
	(void)state;
	for (int mistake = 0; mistake < 3; mistake++) {
		pid_t child = fork();
		int status;

		assert_true(child >= 0);
		if (!child) {
			struct json json;

			json_begin(&json, nowhere, NULL);
			if (mistake == 0)
				json_end(&json); /* nothing is open */
			for (int i = 0; mistake == 1 && i <= JSON_MAX_DEPTH; i++)
				json_array(&json);
			json_array(&json);
			json_finish(&json); /* something is */
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_python_reads_it),
		cmocka_unit_test(test_the_first_error_ends_it),
		cmocka_unit_test(test_mistakes_abort),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
