/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * .gnu_debuglink: the name that strip(1) noted of the file that has the symbols, and a checksum of that file.
 *
 * The section is a file name with its NUL, zeros up to a multiple of 4 bytes, and the CRC-32 of the whole debug file. It
 * tells which file belongs to this one where there is no build-id to compare.
 */
#ifndef CPROF_OBJECT_DEBUGLINK_H
#define CPROF_OBJECT_DEBUGLINK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "object/elf.h"

#define DEBUGLINK_NAME_BYTES 256
#define DEBUGLINK_MAX_BYTES  (1ull << 30) /* of a debug file whose checksum is looked at */

struct debuglink {
	char name[DEBUGLINK_NAME_BYTES]; /* one component of a path */
	uint32_t crc;
};

/* Can name be that of a debug file: not empty, without a slash, and neither "." nor ".."? Here, for who reads no ELF. */
static inline bool debuglink_is_name(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* What file says. -ENOENT: it has no such section; -EBADMSG: the section says something else. */
int debuglink_read(const struct elf_file *file, struct debuglink *link);
/* The CRC-32 of what is in fd. -EFBIG: more than DEBUGLINK_MAX_BYTES; -errno of pread(). */
int debuglink_crc(int fd, uint32_t *crc);

#endif
