/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses the options of the collecting commands, record and heap, into a struct that does not change afterwards.
 * `--help` is printed from the same table (options_table.c).
 */
#ifndef CPROF_OPTIONS_H
#define CPROF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "output/format.h"
#include "targetspec.h"

enum options_command {
	OPTIONS_RECORD = 1,
	OPTIONS_HEAP = 2
};

/* What of a heap is written; or'ed. None: all of it. */
enum options_view {
	OPTIONS_VIEW_ALL = 1,
	OPTIONS_VIEW_INUSE = 2,
	OPTIONS_VIEW_ALLOC = 4,
	OPTIONS_VIEW_DELTA = 8,
	OPTIONS_VIEW_PEAK = 16,
	OPTIONS_VIEW_LEAKS = 32
};

/* How heap samples: within the target, or by probes. */
enum options_mode {
	OPTIONS_MODE_BEST,   /* inside where that is possible, else by probes */
	OPTIONS_MODE_INSIDE, /* the same; in either case with all child processes */
	OPTIONS_MODE_PROBE
};

/* What is written of each view. */
struct options_target {
	const struct output_format *format;
	const char *file; /* the -o FILE that names it; NULL: it is called as the others are */
};

struct options {
	enum options_command command;
	struct targetspec spec;
	bool all;
	char **child_argv;    /* NULL-terminated; NULL: nothing to launch. Borrowed from argv */
	bool child_is_target; /* else other processes are, for as long as the command runs */
	uint64_t duration_ns; /* 0: until interrupted, or the targets are gone */
	uint64_t interval_ns; /* how long a window of time is; 0: the run is one */
	uint64_t delta_ns;    /* how long a delta is; set with OPTIONS_VIEW_DELTA */
	uint64_t leak_age_ns; /* from which age on a block may be leaked; 0: half of the run */
	unsigned int views;   /* never 0 */
	vec_of(struct options_target) targets; /* never empty; the main one first */
	bool errors;			       /* heap: variances too */
	uint32_t max_blocks; /* heap: sampled ones that are followed at a time; 0: the default */
	bool lifetimes;	     /* heap: labels of how long blocks lived */
	bool all_frames;     /* heap: the allocator's own, too; and interpreters' */
	bool native;	     /* native frames beside interpreted functions */
	bool python, php, v8, ruby, perl; /* their stacks are read */
	bool lines, inlines; /* frames have source files and lines; with these, inlined functions */
	const char *
		debuginfod; /* servers, separated by blanks; NULL: nothing is downloaded. Borrowed */
	uint64_t debuginfod_timeout_ns;	 /* of all downloads */
	uint64_t symbolize_timeout_ns;	 /* of looking up names, for what is written at a time */
	bool allow_empty;		 /* a file without a sample is one, and no failure */
	vec_of(const char *) debug_dirs; /* absolute; owned */
	const char *output; /* the first -o; NULL: named after the target. Borrowed from argv */
	uint32_t frequency_hz;
	uint64_t rate_bytes;
	double max_overhead; /* heap: in percent (record/overhead.h says of what); 100: no limit */
	bool inject;	     /* heap: the one process gets libcprof-heap.so while it runs */
	enum options_mode mode; /* heap: how a launched command is sampled */
	bool allocs_only;	/* heap: free is not probed */
	bool follow_forks;	/* what descends from targets is profiled, too */
	bool threads;
	bool kernel_stacks;
	bool verbose;
	bool no_cache;	 /* of names: none is read or written */
	bool no_sandbox; /* targets' files are parsed in this process, with all its powers */
	const char
		*captures; /* --captures FILE, not in --help: see captures.h. Borrowed from argv */
	/* --limit NAME=N, not in --help: shrinks a store, for tests; files: that heap probes */
	struct options_limits {
		uint32_t counts, events, live, inflight, slots, attach_mode, files;
	} limits;
};

/*
 * Parses argv (argv[0] is the command's name) for command. -EINVAL: not usable, printed.
 * 1: --help was asked for and printed. Release with options_release() whatever the result.
 */
int options_parse(int argc, char **argv, enum options_command command, struct options *options);
/* Frees what options own; what is borrowed from argv stays. */
void options_release(struct options *options);

#endif
