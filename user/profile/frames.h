/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frames of a profile at one granularity (function, file, line, mapping or address), which are the
 * rows of `top`. A location is one frame, or several where functions were inlined: one for each of its
 * lines. A location without a line is a frame of its mapping, "[libc.so.6]".
 *
 * Two places are the same frame if they have the same name; names are pprof's:
 *
 *	function	"main.f"
 *	file		"/src/f.c"
 *	line		"main.f /src/f.c:12"
 *	mapping		"/usr/bin/app"
 *	address		"0000000000401234 main.f /src/f.c:12:7"
 *	function_file	"main.f /src/f.c": functions of one name in two files are two
 *
 * A stack from the root to the leaf:
 *
 *	for (uint32_t i = sample->nr_locations; i-- > 0;) {
 *		uint32_t nr;
 *		const uint32_t *ids = frames_of(&frames, sample->locations[i], &nr);
 *		while (nr-- > 0)
 *			visit(&frames.at[ids[nr]]);
 *	}
 *
 * Borrows the profile, which must not change meanwhile. No I/O, no printing.
 */
#ifndef CPROF_PROFILE_FRAMES_H
#define CPROF_PROFILE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/model.h"

enum frame_by {
	FRAME_BY_FUNCTION,
	FRAME_BY_LINE,
	FRAME_BY_FILE,
	FRAME_BY_MAPPING,
	FRAME_BY_ADDRESS,
	FRAME_BY_FUNCTION_FILE,
};

/* Fields that the granularity does not have are "" or 0. Texts are never NULL and are not escaped. */
struct frame {
	const char *name; /* no two frames have the same */
	const char *function, *file, *mapping;
	int64_t line, column; /* column: by address only */
	uint64_t address;
};

struct frames {
	const struct profile *profile;
	struct frame *at;
	size_t nr;
	struct strtab names;	 /* private, like all that follow; id - 1 is the frame */
	struct arena arena;	 /* cleaned paths */
	vec_of(uint32_t) ids;	 /* of all locations, one after another */
	vec_of(uint32_t) starts; /* of location id - 1 in ids; one more at the end */
	size_t cap;
};

/* "function", "line", "file", "mapping", "address": 0, or -EINVAL. */
int frame_by_name(const char *text, enum frame_by *by);

/* Release with frames_release(). */
void frames_make(const struct profile *profile, enum frame_by by, struct frames *frames);
void frames_release(struct frames *frames);

/* The frames (positions in at) of a location, by its id: *nr of them, never 0, innermost first. */
const uint32_t *frames_of(const struct frames *frames, uint32_t location, uint32_t *nr);

#endif
