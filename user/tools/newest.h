/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the newest profile of a folder, which `cprof top` shows if no file is given, as perf report shows
 * perf.data. A profile is a regular file (no link, no FIFO) that is not empty and has the suffix .pb.gz, .pb,
 * .pprof or .prof, or, only if there is none, .heap or .folded. The content is not checked.
 */
#ifndef CPROF_TOOLS_NEWEST_H
#define CPROF_TOOLS_NEWEST_H

#include "cli/args.h"

/*
 * Its name, owned by the caller; NULL: there is none. The newest is the last modified, then the last by name. In
 * a folder with more than 65536 profiles, only that many are considered.
 */
char *newest_profile(const char *folder);

/* The operand of a reading command that was given no FILE: the newest profile of the current folder. */
extern const struct args_implied newest_operand;

#endif
