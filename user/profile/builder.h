/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collects records and counts while a run goes on, and makes profiles of them at its end, one per
 * process or one of all. Holds raw stacks until then: names are looked up late, once per address.
 *
 * Samples are labelled with the numbers pid (and tid) and the strings comm (and thread). Heap samples
 * have no label for the size: sizes are scaled apart and then added up (the reasons are in
 * builder.c). A stack without any frame is "[no stack]".
 *
 * Accounts for every sample: what was handed in with builder_count() is, to the last one, either in
 * a profile (struct built.nr_written) or dropped for a reason.
 */
#ifndef CPROF_PROFILE_BUILDER_H
#define CPROF_PROFILE_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/task.h"
#include "profile/model.h"
#include "profile/symbolize.h"
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
const char *drop_reason_text(enum drop_reason reason);

struct builder_options {
	enum profile_kind kind;
	uint64_t period;      /* CPU: nanoseconds between ticks; heap: the rate in bytes */
	bool threads;	      /* label samples with tid and thread */
	uint64_t realtime_ns; /* CLOCK_REALTIME when the run began */
};

struct builder;

struct builder *builder_new(const struct builder_options *options, struct tasks *tasks);
void builder_free(struct builder *builder);

/* A record may come again (from another CPU): the first is kept. Everything is copied. */
void builder_record(struct builder *builder, const struct record *record);
/* Adds to the record of count->id; a count whose record never comes is dropped, and counted so. */
void builder_count(struct builder *builder, const struct count *count);

/* The processes that have counted samples, most samples first. The array is the builder's. */
struct built_process {
	const struct process *process;
	const char *comm; /* of its last sampled image */
	uint64_t nr_taken;
};
const struct built_process *builder_processes(struct builder *builder, size_t *nr);

struct built {
	struct profile *profile; /* owned by the caller */
	uint64_t nr_written;	 /* samples of builder_count() that its values stand for */
};
/*
 * The profile of one process, or of all where process is NULL; main_process (may be NULL: the one
 * with the most samples) says whose binary is the main one. comment is the profile's one line.
 */
void builder_build(struct builder *builder, struct symbolizer *symbolizer,
		   const struct process *process, const struct process *main_process,
		   uint64_t duration_ns, const char *comment, struct built *built);

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
