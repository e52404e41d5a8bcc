/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cache of names on disk: what was found for a file's addresses is there for the next profile.
 *
 * A file of the cache belongs to a key, which says of which file the names are (build-id, device, inode, size, times), which
 * debug files it has now, what was asked, and by which cprof. So whatever changes, nothing old is found: a debug file that is
 * installed later counts at once, and a file that somebody made with another's build-id says nothing about that one. What is
 * found is read as any file that others may have written (symbolize/namefile.h).
 *
 * The cache is bounded: NAMECACHE_MAX_BYTES and NAMECACHE_MAX_FILES, of which those go that were written the longest ago. Nothing
 * depends on it: where it cannot be read or written, names are looked up.
 */
#ifndef CPROF_SYMBOLIZE_NAMECACHE_H
#define CPROF_SYMBOLIZE_NAMECACHE_H

#include <stddef.h>
#include <stdint.h>

#include "symbolize/namefile.h"

#define NAMECACHE_MAX_BYTES (64ull << 20)
#define NAMECACHE_MAX_FILES 8192

struct namecache;

/*
 * Opens the cache of the user (symbolize/cachefolder.h). While the process has one thread, and before it gives up powers.
 * -errno: there is none.
 */
int namecache_open(struct namecache **cache);
/* Removes what is too much. NULL is fine. */
void namecache_close(struct namecache *cache);
/* The path of the cache. Borrowed. */
const char *namecache_path(const struct namecache *cache);
/* What a key begins with: cprof's version, and its own file's size and time. Borrowed. */
const char *namecache_version(const struct namecache *cache);

/* Calls fn with each name that is there for the key. */
void namecache_read(struct namecache *cache, const char *key, namefile_fn fn, void *ctx);
/* Adds names to those that are there for the key. An error is no error. */
void namecache_write(struct namecache *cache, const char *key, const struct namefile_name *names,
		     size_t nr);

#endif
