// SPDX-License-Identifier: BSD-2-Clause
/*
 * Any bytes as a profile that is not gzip'ed. Lint looks at the same bytes with code of its own: where
 * the one accepts them, the other must not have seen what pprof would reject, and the other way round.
 */
#include "fuzz/reencode.h"
#include "input/lint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What pprof rejects, and the reader does, too. */
static bool is_fatal(int rule)
{
	const char *does = lint_rules[rule].does[0];

	/* pprof's command rejects the first two, its package does not; groups are read here. */
	return rule != LINT_NO_TYPES && rule != LINT_SAME_TYPES && rule != LINT_GROUP && does &&
	       !strncmp(does, "rejects", 7);
}

static void compare_lint(const uint8_t *data, size_t size, const struct profile *profile)
{
	struct lint lint;
	struct input_error error;
	const char *fatal = NULL;

	if (lint_bytes(data, size, &fuzz_limits, &lint, &error) ||
	    lint.findings[LINT_NOT_PPROF].nr) /* of another format, then */
		return;
	for (int i = 0; i < NR_LINT_RULES; i++)
		if (lint.findings[i].nr && is_fatal(i))
			fatal = lint_rules[i].name;
	if (profile && fatal)
		fuzz_die("read, but lint says", fatal);
	/* Without types, samples are fatal, and there are limits that only the reader has. */
	if (!profile && !fatal && !lint.findings[LINT_NO_TYPES].nr &&
	    !lint.findings[LINT_SIZE].nr && !strstr(last_message, "the limit of 32"))
		fuzz_die("refused, but lint is content", last_message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *profile;

	if (size >= 2 && data[0] == 0x1f && data[1] == 0x8b)
		return 0; /* fuzz_gzip_pprof has these */
	profile = fuzz_parse(data, size);
	compare_lint(data, size, profile);
	if (profile)
		fuzz_reencode(profile);
	profile_free(profile);
	return 0;
}
