/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files of a run: every view, in every format, of every process, at the end and at moments
 * before it. The first view (all four types, unless options say otherwise) is the main one: its
 * files at the end hold what the accounts call written, and their lines begin "wrote"; all other
 * files are extra: "also wrote".
 *
 * A delta belongs to the main view where it is the only one; then the files of all its moments
 * together are what is written.
 */
#ifndef CPROF_WRITER_H
#define CPROF_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "exit.h"
#include "options.h"
#include "place.h"
#include "profile/builder.h"
#include "profile/symbolize.h"

enum moment {
	MOMENT_SNAPSHOT, /* all views but the delta, so far: numbered */
	MOMENT_DELTA,	 /* a delta ends, the next one begins: numbered */
	MOMENT_END	 /* all views; the delta is numbered if there were others */
};

struct writer {
	const struct options *options;
	const struct place *place;
	struct builder *builder;
	/* Since when. */
	uint64_t started_ns, marked_ns;
	/* What became of it. */
	unsigned int nr_snapshots, nr_deltas;
	uint64_t nr_written, nr_gone; /* samples in the files of the main view, and not in use */
	char *main_file;	      /* the first pprof file of it; NULL: none was written */
	vec_of(struct memory_note {
		uint32_t tgid;
		char *text;
	}) memory; /* the last that was seen of a target's */
};

/* All borrowed until writer_release(). now_ns: sampling begins (CLOCK_MONOTONIC). */
void writer_init(struct writer *writer, const struct options *options, const struct place *place,
		 struct builder *builder, uint64_t now_ns);
void writer_release(struct writer *writer);

/*
 * Notes what a target's memory looks like, for the formats that say so: it may be gone when they are
 * written. Costs nothing where no such format was chosen.
 */
void writer_look(struct writer *writer, uint32_t tgid);

struct writing {
	struct symbolizer *symbolizer;
	const struct process *main_process; /* NULL: the busiest */
	const char *comment;
	uint64_t now_ns; /* CLOCK_MONOTONIC: what was counted until then is in the builder */
};
/* EXIT_USAGE if a file cannot be written, printed; the others are. */
enum exit_code writer_write(struct writer *writer, enum moment moment,
			    const struct writing *writing);

#endif
