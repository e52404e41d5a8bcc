/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives code in a profile its name, source file, lines and inlined functions after the fact, and keeps what is better.
 *
 * A name that was made up ("libfoo.so.6+0x1234", system_name empty) is replaced by a symbol; a symbol never is replaced.
 * Source lines, and functions that were inlined, are added where there are none. Addresses and mappings stay; only the has_*
 * flags of mappings change. Pure: no I/O, no printing; where names come from is the caller's matter.
 *
 *	for each location:
 *		need = renaming_needs(profile, location)
 *		renaming_apply(profile, location, frames, nr)	if something is known
 *	renaming_finish(profile)
 */
#ifndef CPROF_PROFILE_RENAMING_H
#define CPROF_PROFILE_RENAMING_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/model.h"

/* What a location has not: a set. */
enum renaming_need {
	RENAMING_NAME = 1,    /* any function */
	RENAMING_SYMBOL = 2,  /* a symbol: it has a name that was made up, or inferred */
	RENAMING_LINES = 4,   /* a source line */
	RENAMING_INLINES = 8, /* functions that were inlined; maybe there are none */
};

/*
 * The need of a location with a mapping and an address, a set; 0 for others. RENAMING_INLINES only where nothing in its
 * mapping was inlined, so that what was recorded with inlined functions is not asked about again.
 */
unsigned int renaming_needs(const struct profile *profile, const struct profile_location *location);

/* A function that an address is in. Texts are borrowed; "" where nothing is known. */
struct renaming_frame {
	const char *name;	 /* as it is displayed */
	const char *system_name; /* the symbol; "": name was made up */
	const char *path;	 /* of the source file */
	int64_t line, start_line;
};

/*
 * Gives the location what is better of nr (at least 1) frames, the innermost first; the last one is the function whose code it
 * is. Returns the set of what it now has and lacked; RENAMING_NAME for a name, made up or not. profile_forget_interned() is
 * called by renaming_finish().
 */
unsigned int renaming_apply(struct profile *profile, struct profile_location *location,
			    const struct renaming_frame *frames, uint32_t nr);

/*
 * To call after the last one: makes the has_* flags of mappings true, where they have locations, and drops functions
 * that no location has any more.
 */
void renaming_finish(struct profile *profile);

#endif
