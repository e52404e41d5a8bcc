/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Independent judges for what we write: runs a command and gives what it said; puts a profile into
 * a file and asks tests/contract.py and `go tool pprof` about it. For cmocka tests only; a judge
 * that is not installed is reported and passed over, unless TEST_JUDGES says that all are there.
 */
#ifndef CPROF_TESTS_JUDGE_H
#define CPROF_TESTS_JUDGE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "output/pprof.h"
#include "unit/sinks.h"

/* What command prints on stdout, cut at 1 MiB, owned by the caller; *status is that of pclose(). */
static inline char *judge_run(const char *command, int *status)
{
	size_t cap = 1 << 20, nr = 0, got;
	char *text = xcalloc(1, cap + 1);
	FILE *pipe = popen(command, "r");

	assert_non_null(pipe);
	while (nr < cap && (got = fread(text + nr, 1, cap - nr, pipe)) > 0)
		nr += got;
	*status = pclose(pipe);
	return text;
}

static inline bool judge_has(const char *program)
{
	char *command scoped(freep) = xasprintf("command -v %s >/dev/null 2>&1", program);

	if (!system(command))
		return true;
	if (getenv("TEST_JUDGES"))
		fail_msg("no %s here: scripts/setup.sh all installs it", program);
	print_message("no %s here: what it would judge is skipped\n", program);
	return false;
}

static inline void judge_write(const struct profile *profile, const char *path)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(pprof_encode(profile, sink_stream, file), 0);
	assert_int_equal(fclose(file), 0);
}

/* The contract holds: the checker has nothing to say. */
static inline void judge_contract(const char *path)
{
	const char *tests = TESTS_DIR;
	char *command scoped(freep) =
		xasprintf("python3 '%s/contract.py' '%s' 2>/dev/null", tests, path);
	char *said scoped(freep) = NULL;
	int status;

	if (!judge_has("python3"))
		return;
	said = judge_run(command, &status);
	if (status)
		print_message("%s", said);
	assert_string_equal(said, "");
	assert_int_equal(status, 0);
}

/* What `go tool pprof ARGS PATH` prints, which must be all it says: its stderr is to be empty. */
static inline char *judge_pprof(const char *arguments, const char *path)
{
	char *command scoped(freep) = xasprintf(
		"env -u PPROF_BINARY_PATH go tool pprof %s '%s' 2>'%s.err'", arguments, path, path);
	char *errors scoped(freep) = xasprintf("cat '%s.err' && rm '%s.err'", path, path);
	char *said scoped(freep) = NULL, *out;
	int status;

	out = judge_run(command, &status);
	said = judge_run(errors, &(int){0});
	assert_string_equal(said, "");
	assert_int_equal(status, 0);
	return out;
}

static inline void judge_pprof_says(const char *arguments, const char *path, const char *words)
{
	char *said scoped(freep) = NULL;

	if (!judge_has("go"))
		return;
	said = judge_pprof(arguments, path);
	if (!strstr(said, words))
		print_message("pprof %s: no '%s' in:\n%s", arguments, words, said);
	assert_non_null(strstr(said, words));
}

#endif
