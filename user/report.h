/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The closing lines, that account for every sample:
 *
 *	cprof: taken 29,703 = written 29,690 + lost 13 (event ring full 13)
 *	cprof: next: cprof top cprof.cpu.python3.4711.pb.gz
 *
 * and the same in a profile's comment.
 */
#ifndef CPROF_REPORT_H
#define CPROF_REPORT_H

#include <stdint.h>

#include "collect/session.h"
#include "exit.h"
#include "options.h"
#include "profile/builder.h"
#include "writer.h"

struct report {
	const struct options *options;
	const struct process *main_process; /* the target; NULL with -a */
	uint64_t duration_ns;
	const struct tally *tally;
	struct builder *builder;
};

/* The one line for a profile that is written now. Owned by the caller. */
char *report_comment(const struct report *report, bool is_snapshot);

/* Prints the closing lines. EXIT_DONE; EXIT_NOTHING, having said why, if nothing was written. */
enum exit_code report_say(const struct report *report, const struct writer *writer);

#endif
