/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the formats that came before profile.proto, stacks of bare addresses with a memory map at the
 * end: gperftools' CPU and heap profiles, heap growth and fragmentation, jemalloc's heap profiles,
 * contention, threads, and the counts of Go's older tools. The profiles are the same that pprof makes of
 * them, value for value; each reader says where not.
 *
 * A caller's address is that of the return; 1 is taken from it, so that it lies in the call.
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
 * What they share (legacy.c): a reader at work. Lines become stacks with values, one after another;
 * what follows them is the memory map.
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
	struct addresses addresses;
	vec_of(uint64_t) stack; /* of the sample at hand, leaf first */
	struct input_error *error;
};

/* Borrows all three. The profile's sample types are set before the first stack is added. */
struct legacy legacy_begin(const struct source *source, struct profile *profile,
			   struct input_error *error);
/* Frees what it holds but the profile, which is the caller's. */
void legacy_release(struct legacy *legacy);

/* Of what follows a line's '@', what a stack is made of: blanks, and the letters of "0x12ab". */
struct text legacy_stack_part(struct text text);
/*
 * Appends every number 0x... (in small letters) in text to the stack; nr_exact leaf addresses stay as
 * they are, from the others 1 is taken. -EBADMSG, with *error filled: one does not fit 64 bits.
 */
int legacy_take_stack(struct legacy *legacy, struct text text, size_t nr_exact);
/* Adds the stack with these values (input/addresses.h). -EFBIG, with *error filled. */
int legacy_add(struct legacy *legacy, const int64_t *values, int64_t block_bytes);

/* Which profiler's own frames are in a profile: pprof hides them, by drop_frames. */
enum legacy_kind {
	LEGACY_CPU,
	LEGACY_HEAP,
	LEGACY_CONTENTION
};
/* Reads the memory map, makes the profile, and sets drop_frames. -EFBIG, with *error filled. */
int legacy_finish(struct legacy *legacy, enum legacy_kind kind);
/* The same for Java programs: what is left are places (legacy_places.c), no memory map. */
int legacy_java_places(struct legacy *legacy, enum legacy_kind kind);
/* Then: cuts the second frame from stacks whose leaf was noted twice, exact and as a caller. */
void legacy_drop_double_leaf(struct profile *profile);
/* Sets drop_frames, and keep_frames for a heap profile, as pprof does. */
void legacy_drop_frames(struct profile *profile, enum legacy_kind kind);

#endif
