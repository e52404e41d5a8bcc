/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the files of a run go, and what each is called. One process has
 *
 *	cprof.heap.COMM.PID.pb.gz	in a folder (the current one, or that of -o)
 *	FILE				with -o FILE, all processes together; there may be several
	-				standard output, the same
 *
 * and whatever is written besides has words of its own before the suffix: p.pb.gz, p.inuse.pb.gz (a
 * further view), p.3.pb.gz (the third window of time), p.heap (another format). The second process that had
 * the same pid in one run is COMM.PID-2.
 */
#ifndef CPROF_RECORD_OUTPATH_H
#define CPROF_RECORD_OUTPATH_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"

struct outpath {
	const struct options *options;
	char *folder;	  /* NULL: the current one, or file is set */
	const char *file; /* the first -o FILE */
};

/*
 * Can the output be written when the time comes? Makes the folder if it is to be one and is not
 * there. -errno, printed. Release with outpath_release() whatever the result.
 */
int outpath_open(const struct options *options, struct outpath *outpath);
void outpath_release(struct outpath *outpath);

struct outpath_name {
	const char *comm;    /* as it came from the target */
	uint32_t tgid;	     /* 0: all processes in one file; only with -o FILE */
	unsigned int turn;   /* how many earlier processes of this run had the same tgid */
	const char *view;    /* a word; NULL: none */
	unsigned int number; /* of a series; 0: none */
	const char *suffix;  /* of the format: ".pb.gz" */
	const char *file;    /* the -o FILE that names it, suffix and all; NULL: none does */
};
/* Owned by the caller: free(). */
char *outpath_path(const struct outpath *outpath, const struct outpath_name *name);

#endif
