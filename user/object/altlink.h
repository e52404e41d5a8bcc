/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The alternate file of a file's DWARF: dwz(1) moves what several files share into it, and has each of them say which
 * it is.
 *
 *	.gnu_debugaltlink	a path with its NUL, and the build-id of the alternate file
 *	.debug_sup		the same by DWARF 5 (7.3.6): 5 (2 bytes), 0 (1 byte), the path, the length of a checksum and
 *				the checksum; in the alternate file itself 1, no path, the same checksum
 */
#ifndef CPROF_OBJECT_ALTLINK_H
#define CPROF_OBJECT_ALTLINK_H

#include <stdbool.h>

#include "object/buildid.h"
#include "object/elf.h"

#define ALTLINK_PATH_BYTES 512

struct altlink {
	char path[ALTLINK_PATH_BYTES]; /* as noted: absolute, or from the folder of the file */
	char id[BUILD_ID_HEX_BYTES];   /* lower-case hex: the build-id, or the checksum */
};

/* What file refers to. -ENOENT: to nothing; -EBADMSG: the section says something else. */
int altlink_read(const struct elf_file *file, struct altlink *link);
/* Is alt the alternate file with this id? */
bool altlink_is(const struct elf_file *alt, const char *id);

#endif
