/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which builds of each file two profiles have, by the build-ids of their mappings. Where both have one build of a file, an
 * address in it is the same code on both sides; else it says nothing (profile/identity.h).
 *
 * No I/O, no printing.
 */
#ifndef CPROF_PROFILE_IDENTITY_BUILDS_H
#define CPROF_PROFILE_IDENTITY_BUILDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strtab.h"
#include "base/vec.h"
#include "profile/model.h"

/* A zeroed one is empty. */
struct identity_builds {
	struct strtab files;	     /* as identity_file_of_path() gives them */
	struct strtab builds;	     /* a file and a build-id */
	vec_of(unsigned char) sides; /* by build: 1 base, 2 head, 3 both */
	vec_of(uint32_t) file_of;    /* by build */
};

/* Adds the mappings of a profile that have a build-id, as those of the head or of the base. */
void identity_builds_add(struct identity_builds *builds, const struct profile *profile,
			 bool is_head);
/* Frees what it holds, not the struct itself. */
void identity_builds_release(struct identity_builds *builds);

/*
 * For each file of builds->files, by its id: does each side have a build that the other has not? False
 * where build-ids are not known. The caller frees it.
 */
bool *identity_builds_changed(const struct identity_builds *builds);

#endif
