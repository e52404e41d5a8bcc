/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The formats that came before profile.proto, all of bare addresses with a memory map at the end:
 * gperftools' CPU and heap profiles, heap growth and fragmentation, jemalloc's heap profiles,
 * contention, threads, and the counts of Go's older tools. What becomes of them is what pprof makes
 * of them, value for value; each reader says where not.
 *
 * A caller's address is that of the return; 1 is taken from it, so that it lies in the call.
 *
 * Source: pprof's profile/legacy_profile.go; gperftools' and jemalloc's own writers.
 */
#ifndef CPROF_INPUT_LEGACY_H
#define CPROF_INPUT_LEGACY_H

#include "input/addresses.h"
#include "input/reader.h"

bool legacy_cpu_detect(const struct source *source);
int legacy_cpu_read(const struct source *source, struct profile *profile,
		    struct input_error *error);
bool legacy_heap_detect(const struct source *source);
int legacy_heap_read(const struct source *source, struct profile *profile,
		     struct input_error *error);
bool legacy_contention_detect(const struct source *source);
int legacy_contention_read(const struct source *source, struct profile *profile,
			   struct input_error *error);
bool legacy_threads_detect(const struct source *source);
int legacy_threads_read(const struct source *source, struct profile *profile,
			struct input_error *error);
bool legacy_count_detect(const struct source *source);
int legacy_count_read(const struct source *source, struct profile *profile,
		      struct input_error *error);

/* What they share (legacy.c). */

/* Lines of a whole source; its first one that says something, for a detector. */
struct lines legacy_lines(const struct source *source);
struct text legacy_first_line(const struct source *source);

typedef vec_of(uint64_t) legacy_stack;
/*
 * All that reads 0x... in text, appended; nr_exact leaf addresses stay as they are, from the others 1
 * is taken. false: one does not fit 64 bits.
 */
bool legacy_take_stack(struct text text, size_t nr_exact, legacy_stack *stack);

/* The two errors that adding to a profile can have, told. */
int legacy_too_many(struct input_error *error, int err, uint64_t line);

/* Sets drop_frames: the frames of the profiler itself, which pprof hides for that kind. */
enum legacy_kind {
	LEGACY_CPU,
	LEGACY_HEAP,
	LEGACY_CONTENTION
};
void legacy_drop_frames(struct profile *profile, enum legacy_kind kind);

/* Cuts the second address from stacks whose leaf was noted twice. */
void legacy_drop_double_leaf(struct addresses *addresses);

#endif
