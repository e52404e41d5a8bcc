/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file of the cache of names: what was found for addresses of one file, as bytes.
 *
 *	namefile_header		magic, checksum of what follows it
 *	key			a text: of what these are the names, and who found them
 *	any number of		namefile_part, its addresses, the reply of a worker with their names (sandbox/message.h)
 *
 * It is read as a reply of a worker is, which may have been taken over: lengths, counts and numbers are exact, or the part
 * is refused as a whole. Main reads it itself, though any program of the user can have written it: a worker that did would
 * answer with the same bytes. The checksum is against accidents, not against attackers. In the byte order of the machine: the
 * cache is of one machine. No I/O.
 */
#ifndef CPROF_SYMBOLIZE_NAMEFILE_H
#define CPROF_SYMBOLIZE_NAMEFILE_H

#include <stddef.h>
#include <stdint.h>

#include "sandbox/namesreply.h"

#define NAMEFILE_MAX_BYTES (16u << 20)
#define NAMEFILE_KEY_BYTES 1024 /* with a NUL */

/* Zeroed: empty. For vec_release(). */
struct namefile {
	char *at;
	size_t nr, cap;
};

struct namefile_name {
	uint64_t elf_addr;
	struct reply_name name; /* is_cut is not kept */
};

/* Begins an empty one; key is shorter than NAMEFILE_KEY_BYTES. */
void namefile_begin(struct namefile *file, const char *key);
/* Begins it with what one has that namefile_check() accepts. */
void namefile_continue(struct namefile *file, const void *bytes, size_t len_bytes);
/* Adds any number of names. */
void namefile_add(struct namefile *file, const struct namefile_name *names, size_t nr);
/* Sets the checksum. The bytes are a file then. */
void namefile_end(struct namefile *file);

/* 0: these bytes are one, with this key. -EBADMSG: they are damaged; -ESTALE: they have another key. */
int namefile_check(const void *bytes, size_t len_bytes, const char *key);

/* The name is borrowed until fn returns. */
typedef void (*namefile_fn)(void *ctx, uint64_t elf_addr, const struct reply_name *name);
/* Calls fn with each name of one that namefile_check() accepts. -EBADMSG: a part is not right; those before it were good. */
int namefile_each(const void *bytes, size_t len_bytes, namefile_fn fn, void *ctx);

#endif
