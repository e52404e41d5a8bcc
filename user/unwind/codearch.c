// SPDX-License-Identifier: BSD-2-Clause
/* The machines whose code is read. */
#include "unwind/codearch.h"

#include <elf.h>

#include "unwind/a64flow.h"

static const struct codearch x86 = {
	.code_rows = asmflow_rows, .smallest_gap_bytes = 16, /* functions are aligned to as much */
};

static const struct codearch arm64 = {
	.code_rows = a64flow_rows,
	.plt_rows = a64flow_plt_rows,
	.smallest_gap_bytes = 8, /* what returns from a signal's handler has as many */
};

const struct codearch *codearch_of(const struct unwind_arch *arch)
{
	return arch->e_machine == EM_AARCH64 ? &arm64 : &x86;
}
