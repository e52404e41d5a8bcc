/* SPDX-License-Identifier: BSD-2-Clause */
/* What can this kernel do, and if it cannot run cprof: why, in words. */
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
 * Checks everything a run needs, in the order in which a user would want to hear of it.
 * -EPERM: privileges; -ENOTSUP: the kernel. Printed, with what to do.
 */
int probe_kernel(struct kernel_features *features);

#endif
