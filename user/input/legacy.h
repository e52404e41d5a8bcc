/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the formats older than profile.proto: stacks of bare addresses with a memory map at the
 * end: gperftools' CPU and heap profiles, heap growth and fragmentation, jemalloc's heap profiles,
 * contention, threads, and the counts of Go's older tools. The profiles equal those
 * that pprof makes, value for value; each reader states its exceptions.
 *
 * A caller's address is a return address; 1 is subtracted, so that it lies within the call.
 *
 * Source: pprof's profile/legacy_profile.go; gperftools' and jemalloc's own writers.
 */
#ifndef CPROF_INPUT_LEGACY_H
#define CPROF_INPUT_LEGACY_H

#include "input/addresses.h"
#include "input/reader.h"

/* A reader for each format, as input/reader.h has it: -EBADMSG or -EFBIG, with *error filled. */
bool legacy_cpu_detect(const struct source *source);
int legacy_cpu_read(const struct source *source, struct profile *profile,
		    struct input_error *error);
bool legacy_heap_detect(const struct source *source);
int legacy_heap_read(const struct source *source, struct profile *profile,
		     struct input_error *error);
bool legacy_java_detect(const struct source *source);
int legacy_java_read(const struct source *source, struct profile *profile,
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

/*
 * What the readers share (legacy.c): the state of reading one file. Lines become stacks with values; the
 * memory map follows them.
 *
 *	struct legacy legacy scoped(legacy_release) = legacy_begin(source, profile, error);
 *	struct text line;
 *	while (lines_next_said(&legacy.lines, &line)) {
 *		legacy.stack.nr = 0;
 *		err = legacy_take_stack(&legacy, line, 0) ?: legacy_add(&legacy, values, 0);
 *		...
 *	}
 *	return legacy_finish(&legacy, LEGACY_HEAP);
 */
struct legacy {
	struct lines lines; /* what is left to read */
	struct lines whole;
	vec_of(uint64_t) stack_lines; /* of each stack that was added, its line */
	bool names; /* are read from comments, if there are any (input_limits.names) */
	struct addresses addresses;
	vec_of(uint64_t) stack; /* of the sample at hand, leaf first */
	struct input_error *error;
};

/* Borrows all three. The profile's sample types are set before the first stack is added. */
struct legacy legacy_begin(const struct source *source, struct profile *profile,
			   struct input_error *error);
/* Frees everything except the profile, which belongs to the caller. */
void legacy_release(struct legacy *legacy);

/* The part of the text behind a line's '@' that is a stack: blanks, and the characters of "0x12ab". */
struct text legacy_stack_part(struct text text);
/*
 * Appends every number 0x... (in lower case) in text to the stack; 1 is subtracted from all but the first
 * nr_exact addresses. -EBADMSG, with *error filled: one does not fit 64 bits.
 */
int legacy_take_stack(struct legacy *legacy, struct text text, size_t nr_exact);
/* Adds the stack with these values (input/addresses.h). -EFBIG, with *error filled. */
int legacy_add(struct legacy *legacy, const int64_t *values, int64_t block_bytes);

/*
 * Of stacks with comments that show frames, removes those at both ends that are not shown. Before locations are made. Unsets
 * names where no names can be taken.
 */
void legacy_cut_nameless(struct legacy *legacy);
/* Names locations by the comments, once they are made. -EFBIG: too many functions. */
int legacy_take_names(const struct legacy *legacy);

/* The kind of a profile: it determines the frames of the profiler that drop_frames hides, as in pprof. */
enum legacy_kind {
	LEGACY_CPU,
	LEGACY_HEAP,
	LEGACY_CONTENTION
};
/* Reads the memory map, makes the profile, and sets drop_frames. -EFBIG, with *error filled. */
int legacy_finish(struct legacy *legacy, enum legacy_kind kind);
/* The same for Java programs, where locations (legacy_locations.c) follow instead of a memory map. */
int legacy_java_locations(struct legacy *legacy, enum legacy_kind kind);
/* Afterwards: removes the second frame of stacks that have their leaf twice, exact and as a caller. */
void legacy_drop_double_leaf(struct profile *profile);
/* Sets drop_frames, and keep_frames for a heap profile, as pprof does. */
void legacy_drop_frames(struct profile *profile, enum legacy_kind kind);

#endif
