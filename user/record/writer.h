/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the files of a run: every view, in every format, of every process, in mid-run and at its end.
 *
 * The first view (all four types, unless options choose others) is the main one. Its files hold what the accounts call
 * written, and their lines begin with "wrote"; those of all other files with "also wrote".
 *
 * Files before the end divide the run into windows. What was counted (samples, allocations) is in the file of the window
 * in which it was counted, including the last one at the end: so the files of the main view add up to what was written,
 * and nothing is counted twice. Memory in use is as of the end of the window. Deltas are a series of their own, with
 * windows of their own; a delta belongs to the main view if it is the only view. Each file's time, duration and comment
 * say what it covers.
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
		uint64_t since_ns;	   /* when the current window began */
		struct report_losses lost; /* losses until then */
		unsigned int nr;	   /* windows that have ended */
	} series[NR_MARKS];
	bool has_said; /* that there are no leaks before the end */
	/* The results. */
	uint64_t nr_written, nr_gone; /* samples in the files of the main view, and not in use */
	bool holds_nothing; /* the last heap profile of the main view says that nothing is in use */
	char *main_file;    /* the first pprof file of the main view; NULL: none was written */
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
 * Notes the memory figures of a target, for formats that contain them: the process may be gone when they are written.
 * Does nothing if no such format was chosen.
 */
void writer_look(struct writer *writer, uint32_t tgid);

/* The view whose files are those of the accounts. */
enum heap_view writer_main_view(const struct writer *writer);

struct writing {
	struct symbolizer *symbolizer;
	const struct report *report; /* of now; its main process NULL: the busiest */
	uint64_t now_ns; /* CLOCK_MONOTONIC: what was counted until then is in the builder */
};
/* Writes the files of moment. EXIT_USAGE if one cannot be written, printed; the others are written all the same. */
enum exit_code writer_write(struct writer *writer, enum moment moment,
			    const struct writing *writing);

/*
 * After the last files: makes the one that report_say() names next, of the busiest process, the newest of them. Reading commands
 * without an operand take the newest.
 */
void writer_settle(const struct writer *writer);

#endif
