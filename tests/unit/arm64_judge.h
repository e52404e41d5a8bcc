/* SPDX-License-Identifier: BSD-2-Clause */
/* Debian's cross compiler for arm64, as what makes and judges that machine's files. */
#ifndef CPROF_TESTS_ARM64_JUDGE_H
#define CPROF_TESTS_ARM64_JUDGE_H

#include <stdbool.h>
#include <stdlib.h>

#define ARM64_CC      "aarch64-linux-gnu-gcc"
#define ARM64_OBJDUMP "aarch64-linux-gnu-objdump"
#define ARM64_LIBS    "/usr/aarch64-linux-gnu/lib/"

/* Whether it is here: `make setup-arm64` installs it, `make test` does not need it. false: said. */
static inline bool arm64_judge_is_here(void)
{
	if (!system("command -v " ARM64_CC " >/dev/null && command -v " ARM64_OBJDUMP
		    " >/dev/null"))
		return true;
	print_message("no " ARM64_CC " here (make setup-arm64): what it would judge is skipped\n");
	return false;
}

#endif
