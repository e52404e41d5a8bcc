/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The line that a sample begins with in the text of `perf script`:
 *
 *	comm pid[/tid] [cpu] time: period event:
 *
 * cpu and period are not always there; a comm may have spaces in it, and numbers.
 */
#ifndef CPROF_INPUT_PERFSCRIPT_HEAD_H
#define CPROF_INPUT_PERFSCRIPT_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "input/lines.h"

struct perfscript_head {
	struct text comm, event;
	int64_t pid, tid, period; /* period 0: not said */
	uint64_t time_ns;
	struct text rest; /* of the line */
};

/* Is this line one? Fills *head with views of it; if not, *head may have changed. */
bool perfscript_head_parse(struct text line, struct perfscript_head *head);

#endif
