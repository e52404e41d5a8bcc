/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * .gnu_debugdata ("mini debuginfo"): the functions that .dynsym does not export, which Fedora and others leave in
 * stripped files.
 *
 * The section is a whole ELF file, compressed with xz, whose .symtab has nothing but these. Its addresses are those of
 * the file that it is in.
 */
#ifndef CPROF_OBJECT_MINIDEBUG_H
#define CPROF_OBJECT_MINIDEBUG_H

#include <stddef.h>

#include "object/elf.h"

#define MINIDEBUG_MAX_BYTES    (64u << 20) /* decompressed; Fedora's largest have a few MB */
#define MINIDEBUG_MEMORY_BYTES (80u << 20) /* that decompressing may take: xz -9 needs 65 MB */

/*
 * Decompresses it. The image is the caller's: free(). -ENOENT: the file has none; -EFBIG: it needs more than the
 * limits; -EBADMSG: it is damaged.
 */
int minidebug_read(const struct elf_file *file, void **image, size_t *len_bytes);

#endif
