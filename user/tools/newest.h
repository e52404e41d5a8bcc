/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the newest profile of a folder, which `cprof top` shows if no file is given, as perf report
 * shows perf.data. A profile is a regular file (no link, no FIFO) that is not empty and is called
 * like one: *.pb.gz, *.pb, *.pprof, *.prof; only where there are none, *.heap and *.folded. What is
 * in it is not looked at.
 */
#ifndef CPROF_TOOLS_NEWEST_H
#define CPROF_TOOLS_NEWEST_H

#include "cli/args.h"

/*
 * Its name, owned by the caller; NULL: there is none. By the time of its last change; of equally old
 * ones the last by name. Of a folder with more than 65536 profiles, only so many are looked at.
 */
char *newest_profile(const char *folder);

/* The operand of a reading command that was given no FILE: the newest profile of the current folder. */
extern const struct args_implied newest_operand;

#endif
