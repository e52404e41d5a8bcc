/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collects records and counts during a run, and builds profiles of them, one per process or one for all.
 *
 * Raw stacks are kept until then: names are looked up late, once per address.
 *
 * Samples are labelled with the numbers pid (and tid) and the strings comm (and thread). Heap samples have no label for
 * the size: each size is scaled separately, then they are added up (build.c has the reasons). A stack without any frame
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
#include "record/framenames.h"
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
	VIEW_PEAK,  /* as VIEW_INUSE, at each process's own peak */
	VIEW_LEAKS, /* what builder_find_leaks() found: leak_score, inuse_objects, inuse_space */
	NR_VIEWS
};

/* Is it a view of what is in use at one moment, and of nothing else? */
static inline bool heap_view_is_moment(enum heap_view view)
{
	return view == VIEW_INUSE || view == VIEW_PEAK || view == VIEW_LEAKS;
}

/* Are there in-use values in it? */
static inline bool heap_view_shows_inuse(enum heap_view view)
{
	return view == VIEW_ALL || heap_view_is_moment(view);
}

struct builder_options {
	enum profile_kind kind;
	uint64_t period; /* CPU: nanoseconds between ticks; heap: the rate in bytes */
	bool threads;	 /* label samples with tid and thread */
	struct framenames
		*framenames; /* of interpreted functions; borrowed. NULL: there are none */
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
 * Takes in the peak of an image, copied; it replaces an earlier one of the same image. Which process it was is looked up by
 * peak->at_ns, which is never 0.
 */
void builder_peak(struct builder *builder, const struct peak *peak);

/* When a process held the most. */
struct built_peak {
	uint64_t
		at_ns; /* CLOCK_MONOTONIC; 0: it is not known, and in use is what is so at the end */
	const struct image *image; /* which ran then; NULL if at_ns is 0 */
};
/*
 * The peak of one process, or, with NULL, of the only one that there is. at_ns is 0 where none was delivered, and with
 * several processes: then each is shown at its own.
 */
struct built_peak builder_peak_of(struct builder *builder, const struct process *process);

/*
 * From now, start_ns (CLOCK_MONOTONIC), on it is kept when blocks came and went: what builder_find_leaks() needs. This takes
 * 784 bytes for each record, and is kept for the first BUILDER_TIMELINES of them: 51 MB.
 */
#define BUILDER_TIMELINES 65536u
void builder_keep_timelines(struct builder *builder, uint64_t start_ns);
/* What is counted after this was collected at now_ns. */
void builder_advance(struct builder *builder, uint64_t now_ns);
/* A block of record id that is alive at the end of the run, or was at that of its process; nothing without timelines. */
void builder_block(struct builder *builder, uint64_t id, uint64_t born_ns);

/* A stack that is suspected, in one process. Counts are of sampled blocks. */
struct built_leak {
	bool is_exception;  /* else it grows, and all of its blocks are kept for long */
	uint64_t nr_blocks; /* alive, and older than age_ns */
	uint64_t
		nr_freed; /* others of the same stack, of which the oldest was oldest_freed_ns old */
	uint64_t age_ns, oldest_ns, oldest_freed_ns;
	double slope, error; /* estimated bytes a second, and the standard error */
	int64_t score;	     /* by which leaks are ordered; the highest first */
	/* In the profile that was built last: the place of its first sample, -1: in none; and what all of them hold. */
	int64_t sample;
	struct scale_sum inuse;
};
/* Stacks that it did not judge, as too much of them came in records after the first BUILDER_TIMELINES. */
uint64_t builder_unjudged(const struct builder *builder);
/* The most sampled blocks that one of the judged stacks has of the age in question. */
uint64_t builder_most_old(const struct builder *builder);
/* Did the run last long enough to tell? */
bool builder_can_find_leaks(const struct builder *builder);
/* What was found, in no order. Borrowed until the next builder_find_leaks(). */
const struct built_leak *builder_leaks(const struct builder *builder, size_t *nr);

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
	bool lifetimes; /* VIEW_ALL, VIEW_ALLOC of a whole run: a label for how long blocks lived */
	bool records;	/* fill in profile->records and ->maps */
	/* The interpreter's own, too; heap: and the allocator's, and drop_frames that names these. */
	bool all_frames;
	bool no_native; /* of stacks with interpreted functions these alone */
};

/*
 * Looks for leaks among all that was counted: blocks older than age_ns (0: half of what was seen of their process). order:
 * of its profiles, all_frames and no_native; borrowed.
 */
void builder_find_leaks(struct builder *builder, struct symbolizer *symbolizer,
			const struct build_order *order, uint64_t age_ns);

struct built {
	struct profile *profile; /* owned by the caller; it may have no samples */
	uint64_t nr_written;	 /* samples of builder_count() that its values stand for */
	uint64_t nr_gone;	 /* VIEW_INUSE, VIEW_PEAK: those that are not in use then */
	/* Estimates of the whole profile, and the squares of their standard errors. */
	struct scale_sum alloc, inuse;
	struct built_peak peak; /* VIEW_PEAK: of builder_peak_of() */
};
/* Builds a profile of the samples so far. May be called several times. */
void builder_build(struct builder *builder, struct symbolizer *symbolizer,
		   const struct build_order *order, struct built *built);

/* nr_written and nr_gone of struct built, for a profile of all processes, without one being built. */
void builder_sum(struct builder *builder, enum heap_view view, uint64_t *nr_written,
		 uint64_t *nr_gone);

/* How user stacks ended. */
struct built_end {
	const char *why; /* NULL: complete */
	uint64_t nr;	 /* samples */
};

/*
 * The ends of the user stacks of all samples built so far, *nr of them: at[0] is that of complete stacks, the others
 * follow, most samples first. Call after the last builder_build(). Borrowed until builder_free().
 */
const struct built_end *builder_ends(struct builder *builder, size_t *nr);

/* Counts of stacks with interpreted functions. */
struct builder_joined {
	uint64_t nr;	      /* samples */
	uint64_t nr_unpaired; /* of these: interpreted and native frames do not go together */
	uint64_t nr_frames;   /* interpreted ones */
	uint64_t nr_gone;     /* of these: without a name */
};

/* Returns the counts of all builder_build() so far. */
struct builder_joined builder_joined(const struct builder *builder);

/* Samples dropped for a reason, over all that was handed in. Call after the last drain. */
uint64_t builder_dropped(const struct builder *builder, enum drop_reason reason);
/* The sum of nr_taken of all counts so far, dropped ones included. */
uint64_t builder_taken(const struct builder *builder);

#endif
