/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frames of flame graphs, shared by several profiles and identified by name, not by address.
 * Within one profile, frames with the same function name, base name of the source file and base name of
 * the mapping are the same frame. When two profiles are compared (by_name), the name alone counts:
 * profile/identity.h defines which functions of two builds are the same, and profile/unify.h gives them one name. (profile/frames.h has the other granularities, for one profile.)
 *
 * Inlined functions are frames of their own; a location without a line is a frame of its mapping,
 * "[libc.so.6]". No I/O, no printing.
 */
#ifndef CPROF_PROFILE_CALLFRAME_H
#define CPROF_PROFILE_CALLFRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/model.h"

enum frame_kind {
	FRAME_PROGRAM, /* code of an executable */
	FRAME_LIBRARY,
	FRAME_KERNEL,  /* modules too */
	FRAME_JIT,     /* code in no file */
	FRAME_UNNAMED, /* "libc.so.6+0x1234" */
	FRAME_GUESSED, /* "f [guessed]": found by a frame pointer, in code that need not keep one */
	FRAME_NOTE,    /* not code: "[truncated: ...]" */
	FRAME_NR_KINDS,
};

struct callframe {
	uint32_t name, path, mapping; /* strings; "" where not known; path, mapping: of the first */
	int64_t first_line, last_line; /* the lines it was seen at; 0: not known */
	enum frame_kind kind;
	enum frame_kind where; /* what its mapping is: one of the first four kinds */
	bool inlined, called;  /* it occurs inlined into its caller; it occurs called */
};

/* A zeroed one is empty; release with callframes_release(). */
struct callframes {
	struct callframe *at; /* a vec (base/vec.h) */
	size_t nr, cap;
	struct strtab strings;
	struct hash index; /* private */
	bool by_name;	   /* set before the first is added */
};

/* Frees its content, not the struct itself. */
void callframes_release(struct callframes *frames);

/* The position of a frame that is a note, not code: "[no stack]". Adds it if it is new. */
uint32_t callframes_note(struct callframes *frames, const char *text);

/* The frames of every location of a profile, innermost first, one location after another. */
struct callframe_places {
	vec_of(uint32_t) frames; /* positions */
	vec_of(size_t) starts;	 /* of location id - 1 in frames; one more at the end */
};

/* Adds the frames of all locations. Each has at least one. Release with callframe_places_release(). */
void callframes_add(struct callframes *frames, const struct profile *profile,
		    struct callframe_places *places);
void callframe_places_release(struct callframe_places *places);

/* The last part of a path, of "/lib/[libc.so.6]" too: "libc.so.6"; len_bytes without the ']'. */
const char *callframe_base_name(const char *path, size_t *len_bytes);

#endif
