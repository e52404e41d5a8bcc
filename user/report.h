/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of a run: profiles written, and the closing lines that account for every sample:
 *
 *	cprof: wrote cprof.cpu.python3.4711.pb.gz: 29,690 samples of python3 (4711), 299.90 s on the CPU
 *	cprof: taken 29,703 = written 29,690 + lost 13 (event ring full 13)
 *	cprof: next: go tool pprof -top cprof.cpu.python3.4711.pb.gz
 */
#ifndef CPROF_REPORT_H
#define CPROF_REPORT_H

#include <stdint.h>

#include "collect/session.h"
#include "exit.h"
#include "options.h"
#include "profile/builder.h"
#include "profile/symbolize.h"

/*
 * Can the output be written when the time comes? Makes the folder if it is to be one and is not
 * there. *output is what to pass to report_write(): owned by the caller, free(). Printed.
 */
struct report_place {
	char *folder;	  /* one file per process in here, or */
	const char *file; /* all of them in this one; both NULL: named after each process, here */
};
int report_check(const struct options *options, struct report_place *place);
void report_place_release(struct report_place *place);

struct report {
	const struct options *options;
	const struct report_place *place;
	const struct process *main_process; /* the target; NULL with -a */
	uint64_t duration_ns;
	const struct tally *tally;
};

/*
 * Writes all profiles and says so. EXIT_DONE; EXIT_NOTHING, having said why, if there is no sample;
 * EXIT_USAGE if a file cannot be written (the others are).
 */
enum exit_code report_write(const struct report *report, struct builder *builder,
			    struct symbolizer *symbolizer);

#endif
