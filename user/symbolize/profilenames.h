/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names the code of profiles from the files of this machine, by build-id: which addresses lack what, of which file to ask
 * for them, and what becomes of the answers (profile/renaming.h).
 *
 * From an address of a mapping to one of its file, as pprof does it: address - start + file offset lies in a segment, which
 * tells the address in the file. Where only the debug file is there, whose segments have no contents and wrong offsets, the
 * mapping must be the executable segment, where it is or moved as a whole.
 *
 * A mapping without a build-id is named by the file at its path, if that was not changed since the profile was taken, and only
 * where the profile has no name: a wrong name is worse than none.
 */
#ifndef CPROF_SYMBOLIZE_PROFILENAMES_H
#define CPROF_SYMBOLIZE_PROFILENAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/model.h"
#include "sandbox/parser.h"
#include "symbolize/codenames.h"
#include "symbolize/localfiles.h"
#include "symbolize/namecache.h"

struct profilenames;

struct profilenames_options {
	bool lines, inlines;
	uint64_t until_ns;	 /* of CLOCK_MONOTONIC: no questions from then on; 0: no limit */
	struct namecache *cache; /* NULL: there is none. Borrowed */
};

/* Numbers of addresses. */
struct profilenames_counts {
	uint64_t nr_asked;    /* lack something, and are of a file */
	uint64_t nr_named;    /* have a symbol now */
	uint64_t nr_made_up;  /* have a name now, "libfoo.so.6+0x1234" */
	uint64_t nr_lined;    /* have lines, or inlined functions, now */
	uint64_t nr_left_out; /* time was up */
	uint64_t nr_by_path;  /* their mapping has no build-id: named by the file at its path */
	uint64_t nr_changed;  /* the same, but that file was changed since */
	uint64_t nr_missing;  /* no name, and their file is not here */
	uint32_t missing;     /* the mapping that has most of these, or 0 */
};

/* All borrowed. Never NULL. */
struct profilenames *profilenames_new(struct parser *parser, struct localfiles *files,
				      struct debugfile_dirs dirs,
				      const struct profilenames_options *options);
void profilenames_free(struct profilenames *names); /* NULL is fine */
/* Names what it can of one profile, in place. What was found for one serves for the next. */
void profilenames_add(struct profilenames *names, struct profile *profile,
		      struct profilenames_counts *counts);

/* The same as codenames_say_missing(). */
char *profilenames_say_missing(const struct profilenames *names, enum codenames_missing what);

/* The address in its file of an address in a mapping of it. False: the mapping is not of that file, or not of its code. */
bool profilenames_elf_addr(const struct segments *segments, const struct profile_mapping *mapping,
			   uint64_t address, uint64_t *elf_addr);

#endif
