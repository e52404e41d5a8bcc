/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collects records and counts during a run, and builds profiles of them, one per process or one for all.
 *
 * Raw stacks are kept until then: names are looked up late, once per address.
 *
 * Samples are labelled with the numbers pid (and tid) and the strings comm (and thread). Heap samples have no label for
 * the size: each size is scaled separately, then they are added up (builder.c has the reasons). A stack without any frame
 * is "[no stack]".
 *
 * Every sample is accounted for: what builder_count() took in is either in a profile (struct built.nr_written) or dropped
 * for a reason.
 */
#ifndef CPROF_RECORD_BUILDER_H
#define CPROF_RECORD_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/task.h"
#include "profile/model.h"
#include "profile/scale.h"
#include "record/symbolize.h"
#include "stream.h"

enum profile_kind {
	PROFILE_CPU,
	PROFILE_HEAP
};

/* Why a sample that BPF stored is in no profile. */
#define DROP_REASONS(X)                         \
	X(NO_RECORD, "its stack never arrived") \
	X(ZERO_SIZE, "allocation of 0 bytes")

enum drop_reason {
#define X(id, text) DROP_##id,
	DROP_REASONS(X)
#undef X
	NR_DROP_REASONS
};

/* The text of a reason, as the closing lines show it. Static. */
const char *drop_reason_text(enum drop_reason reason);

/* Two series of files cut a run into pieces, each for itself: what was counted since the last mark. */
enum builder_mark {
	MARK_WINDOW,
	MARK_DELTA,
	NR_MARKS
};

/*
 * What a heap profile shows; a CPU profile is always VIEW_ALL. What was counted (samples, allocations) is
 * what was since the mark of the view's series; what is in use is so at the moment of the building.
 */
enum heap_view {
	VIEW_ALL,   /* all four sample types; MARK_WINDOW */
	VIEW_INUSE, /* the same four, alloc values 0, and only stacks that hold something */
	VIEW_ALLOC, /* alloc_objects and alloc_space only; MARK_WINDOW */
	VIEW_DELTA, /* the same two; MARK_DELTA */
	NR_VIEWS
};

struct builder_options {
	enum profile_kind kind;
	uint64_t period; /* CPU: nanoseconds between ticks; heap: the rate in bytes */
	bool threads;	 /* label samples with tid and thread */
};

struct builder;

/* options are copied, tasks is borrowed until builder_free(). Never NULL. */
struct builder *builder_new(const struct builder_options *options, struct tasks *tasks);
void builder_free(struct builder *builder); /* NULL is fine */

/* Takes in a record, copied. The same id may come again (from another CPU): the first record is kept. */
void builder_record(struct builder *builder, const struct record *record);
/* Adds to the record of count->id, which may come later. If it never comes, the count is dropped as DROP_NO_RECORD. */
void builder_count(struct builder *builder, const struct count *count);

/* The processes that have counted samples, most samples first. The array is the builder's. */
struct built_process {
	const struct process *process;
	const char *comm; /* of its last sampled image */
	uint64_t nr_taken;
};
const struct built_process *builder_processes(struct builder *builder, size_t *nr);

/*
 * Begins the next window of a series. Windows are differences of sample counts, taken before anything is scaled, so no
 * value is ever negative, and the windows add up to the whole.
 */
void builder_mark(struct builder *builder, enum builder_mark mark);

struct build_order {
	const struct process *process;	    /* NULL: all of them */
	const struct process *main_process; /* whose binary is the main one; NULL: the busiest's */
	uint64_t time_ns;		    /* CLOCK_REALTIME: when it begins */
	uint64_t duration_ns;		    /* 0: it shows a moment */
	const char *comment;		    /* the profile's one line */
	enum heap_view view;
	/*
	 * Adds alloc_space_variance and inuse_space_variance (of the view's types): the squares of
	 * the standard errors, since readers add values up, and errors do not add up but their
	 * squares do.
	 */
	bool variances;
	bool records;	 /* fill in profile->records and ->maps */
	bool all_frames; /* heap: the allocator's own, too, and drop_frames that names them */
};

struct built {
	struct profile *profile; /* owned by the caller; it may have no samples */
	uint64_t nr_written;	 /* samples of builder_count() that its values stand for */
	uint64_t nr_gone;	 /* VIEW_INUSE: those that are not in use any more */
	/* Estimates of the whole profile, and the squares of their standard errors. */
	struct scale_sum alloc, inuse;
};
/* Builds a profile of the samples so far. May be called several times. */
void builder_build(struct builder *builder, struct symbolizer *symbolizer,
		   const struct build_order *order, struct built *built);

/* nr_written and nr_gone of struct built, for a profile of all processes, without one being built. */
void builder_sum(struct builder *builder, enum heap_view view, uint64_t *nr_written,
		 uint64_t *nr_gone);

/*
 * How the user stacks of all samples built so far ended: at[0] are the whole ones (why is NULL), the
 * others by number. Call after the last builder_build(). Borrowed until builder_free().
 */
struct built_end {
	const char *why;
	uint64_t nr; /* samples */
};
const struct built_end *builder_ends(struct builder *builder, size_t *nr);

/* Samples dropped for a reason, over all that was handed in. Call after the last drain. */
uint64_t builder_dropped(const struct builder *builder, enum drop_reason reason);
/* The sum of nr_taken of all counts so far, dropped ones included. */
uint64_t builder_taken(const struct builder *builder);

#endif
