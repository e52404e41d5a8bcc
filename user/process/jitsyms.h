/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JIT symbols: the functions of code that one process generated at run time.
 *
 * An address may have belonged to one function and later to another, so a look-up says at which time.
 */
#ifndef CPROF_PROCESS_JITSYMS_H
#define CPROF_PROCESS_JITSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "base/vec.h"

#define JITSYMS_MAX (1u << 20) /* pieces of code, and frames of all; further ones have no name */

/* A function that JIT code was compiled from. */
struct jitframe {
	const char *name;
	const char *file;	   /* "": not known */
	uint32_t line, start_line; /* 0: not known */
};

struct jitname {	     /* a jitframe that is kept */
	uint32_t name, file; /* ids in names */
	uint32_t line, start_line;
};

struct jitsym {
	uint64_t start, limit;	    /* ips */
	uint64_t since_ns;	    /* when it was first seen there */
	uint32_t frames, nr_frames; /* in frames, the innermost first */
	uint32_t mark;		    /* for the one who looks it up; 0 in the beginning */
	bool was_told;		    /* its process wrote so in a file, which may tell more */
};

/* Zeroed: empty. */
struct jitsyms {
	vec_of(struct jitsym) pieces;
	vec_of(struct jitname) frames;
	struct strtab names;
	size_t nr_sorted; /* private */
};

/*
 * Names the code at [start, limit), from since_ns on, in place of the name that it had before: by what its process told in a file.
 * frame is copied.
 */
void jitsyms_add(struct jitsyms *code, uint64_t start, uint64_t limit, uint64_t since_ns,
		 const struct jitframe *frame);
/*
 * The same, by what was read from its memory, of code compiled from nr functions (at least 1), the innermost first: each
 * was inlined into the next.
 */
void jitsyms_add_frames(struct jitsyms *code, uint64_t start, uint64_t limit, uint64_t since_ns,
			const struct jitframe *frames, uint32_t nr);

/*
 * The code that was at ip at time_ns; failing that, the first that was there later. NULL: unknown. Borrowed until more is
 * added.
 */
struct jitsym *jitsyms_find(struct jitsyms *code, uint64_t ip, uint64_t time_ns);
/* Its i-th frame. Texts are borrowed until jitsyms_release(). */
struct jitframe jitsyms_frame(const struct jitsyms *code, const struct jitsym *piece, uint32_t i);
void jitsyms_release(struct jitsyms *code);

#endif
