/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files of a run: every view, in every format, of every process, at the end and at moments
 * before it. The first view (all four types, unless options say otherwise) is the main one: its
 * files at the end hold what the accounts call written, and their lines begin "wrote"; all other
 * files are extra: "also wrote".
 *
 * Files before the end cut the run into windows: what was counted (samples, allocations) is in the file
 * of the window that it was counted in, the last one at the end included, so that the files of the main
 * view add up to what was written, and none says anything twice. What is in use is so at the window's
 * end. Deltas are a series of their own, cut at their own moments; a delta belongs to the main view where
 * it is the only one. Each file's time, duration and comment say what it covers.
 */
#ifndef CPROF_RECORD_WRITER_H
#define CPROF_RECORD_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "exit.h"
#include "options.h"
#include "record/outpath.h"
#include "record/builder.h"
#include "record/symbolize.h"
#include "record/report.h"

enum moment {
	MOMENT_SNAPSHOT, /* a window ends, the next one begins; all views but the delta: numbered */
	MOMENT_DELTA,	 /* a delta ends, the next one begins: numbered */
	MOMENT_END	 /* all views; the delta is numbered if there were others */
};

struct writer {
	const struct options *options;
	const struct outpath *outpath;
	struct builder *builder;
	uint64_t started_ns, started_realtime_ns; /* sampling began */
	struct writer_series {
		uint64_t since_ns;	   /* the piece that is under way began */
		struct report_losses lost; /* until then */
		unsigned int nr;	   /* pieces that are over */
	} series[NR_MARKS];
	/* What became of it. */
	uint64_t nr_written, nr_gone; /* samples in the files of the main view, and not in use */
	bool holds_nothing; /* the last heap profile of the main view says that nothing is in use */
	char *main_file;    /* the first pprof file of it; NULL: none was written */
	vec_of(struct memory_note {
		uint32_t tgid;
		char *text;
	}) memory; /* the last that was seen of a target's */
};

/* All borrowed until writer_release(). now_ns: sampling has begun (CLOCK_MONOTONIC). */
void writer_init(struct writer *writer, const struct options *options,
		 const struct outpath *outpath, struct builder *builder, uint64_t now_ns);
void writer_release(struct writer *writer);

/*
 * Notes what a target's memory looks like, for the formats that say so: it may be gone when they are
 * written. Costs nothing where no such format was chosen.
 */
void writer_look(struct writer *writer, uint32_t tgid);

struct writing {
	struct symbolizer *symbolizer;
	const struct report *report; /* of now; its main process NULL: the busiest */
	uint64_t now_ns; /* CLOCK_MONOTONIC: what was counted until then is in the builder */
};
/* EXIT_USAGE if a file cannot be written, printed; the others are. */
enum exit_code writer_write(struct writer *writer, enum moment moment,
			    const struct writing *writing);

#endif
