/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names the output files of a run, and checks that they can be written. One process has
 *
 *	cprof.heap.COMM.PID.pb.gz	in a folder (the current one, or that of -o)
 *	FILE				with -o FILE, all processes together; there may be several
 *	-				standard output, all processes together
 *
 * and further files have a word of their own before the suffix: p.pb.gz, p.inuse.pb.gz (a
 * further view), p.3.pb.gz (the third window of time), p.heap (another format). The second process that had
 * the same pid in one run is COMM.PID-2.
 */
#ifndef CPROF_RECORD_OUTPATH_H
#define CPROF_RECORD_OUTPATH_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "output/file.h"

struct outpath {
	const struct options *options;
	char *folder;	  /* NULL: the current one, or file is set */
	int folder_fd;	  /* of folder: files are created relative to it */
	const char *file; /* the first -o FILE */
};

/*
 * Checks that the output can be written when the run ends. Creates the folder if -o means one that does not exist.
 * options is borrowed. -errno, printed. Release with outpath_release() whatever the result.
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
/* Creates the file at path, one of outpath_path(): as output_file_create(). */
int outpath_create(const struct outpath *outpath, const char *path, struct output_file **file);
/* The path of the file of this name. Owned by the caller: free(). */
char *outpath_path(const struct outpath *outpath, const struct outpath_name *name);

#endif
