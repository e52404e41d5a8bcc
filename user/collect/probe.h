/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks whether this kernel can run cprof and which features it has, and explains what is missing. */
#ifndef CPROF_COLLECT_PROBE_H
#define CPROF_COLLECT_PROBE_H

#include <stdbool.h>

struct kernel_features {
	bool task_pt_regs;   /* 5.15 */
	bool attach_cookie;  /* 5.15 */
	bool map_allocator;  /* 6.1 */
	bool uprobe_multi;   /* 6.6; its pid filter is good from 6.10, which is what counts */
	bool uprobe_session; /* 6.13 */
};

/*
 * Checks everything that a run needs: privileges first, then the kernel. Fills *features.
 * -EPERM: privileges are missing; -ENOTSUP: the kernel lacks something. Printed, with what to do.
 */
int probe_kernel(struct kernel_features *features);

#endif
