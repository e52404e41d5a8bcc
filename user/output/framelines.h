/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lines of a text that show the frames of a stack, each made once and written as often as it occurs:
 *
 *	#	0x401233	parse	app.c:12
 *
 * A few frames in a small file may stand in a stack millions of times: how many bytes it all is can be asked before
 * the first is written.
 */
#ifndef CPROF_OUTPUT_FRAMELINES_H
#define CPROF_OUTPUT_FRAMELINES_H

#include <stdint.h>

#include "base/textout.h"
#include "profile/frames.h"

struct framelines { /* private */
	const struct frames *frames;
	char **tails; /* of each frame what follows its address; NULL: not made yet */
	uint64_t *bytes;
};

/* Borrows frames (FRAME_BY_LINE) until framelines_release(). */
void framelines_init(struct framelines *lines, const struct frames *frames);
void framelines_release(struct framelines *lines);

/* The bytes of all lines of a location, by its id, at the most: addresses may take fewer. */
uint64_t framelines_bytes(const struct framelines *lines, uint32_t location);
/* Writes the lines of a location, by its id, innermost first. address: 0 where it has none. */
void framelines_put(struct framelines *lines, uint32_t location, uint64_t address,
		    struct text_out *out);

#endif
