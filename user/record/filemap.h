/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mappings of a profile: each is a file's own segment, so that pprof computes a base of 0.
 *
 * So one libc is one libc across all processes. Code that is in no file has a mapping with a name in brackets.
 *
 * A segment has one mapping, with the file's build-id, whatever is known of its code, so that names can be added
 * later. has_functions is set on all of them: each location has a function, if only "libfoo.so.6+0x1234", whose
 * system_name is empty (filemap.c has the reasons). The other has_* flags are set where a location has a source file,
 * a line, or a function that was inlined.
 */
#ifndef CPROF_RECORD_FILEMAP_H
#define CPROF_RECORD_FILEMAP_H

#include <stdint.h>

#include "process/mapping.h"
#include "profile/model.h"
#include "sandbox/parser.h"

/* Both borrowed. */
struct filemap_file {
	const struct reply_file *elf; /* NULL: it is not readable ELF */
	const char *path;
};

/*
 * The mapping of the segment of a file that has file_off. Where that is in no segment the file's own
 * offsets take the place of addresses, and the runtime mapping's range in the file that of the segment
 * (map, may be NULL: the position's page).
 */
struct profile_mapping filemap_of_file(struct profile *profile, const struct filemap_file *file,
				       uint64_t file_off, const struct mapping *map);

/* A mapping without a file, under a name that pprof does not take for a path: "[x]", or "//anon" unchanged. */
struct profile_mapping filemap_of_name(struct profile *profile, const char *name, uint64_t start,
				       uint64_t limit);

/* The vdso, len_bytes long; its addresses count from its start. */
struct profile_mapping filemap_of_vdso(struct profile *profile, const struct reply_file *vdso,
				       uint64_t len_bytes);

/* Says in the flags of a location's mapping what its lines have. */
void filemap_note_lines(struct profile *profile, const struct profile_location *location);

#endif
