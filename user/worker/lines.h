/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lines of code, from each source that knows some: Go's own table, else DWARF.
 *
 * DWARF is kept of the objects that were asked about last, up to LINES_MAX_BYTES of it: a file and its debug file are asked
 * about in turns, and decompressing and indexing libc's takes 70 ms. Of companions, the further files that DWARF is in, one is
 * kept.
 */
#ifndef CPROF_WORKER_LINES_H
#define CPROF_WORKER_LINES_H

#include "object/dwarf.h"
#include "object/object.h"
#include "sandbox/message.h"
#include "worker/names.h"

#define LINES_MAX_SOURCES 8
/* Limits on the sections that are kept, in memory and in views of files; those of the file in use may be larger. */
#define LINES_MAX_BYTES	     (64u << 20)
#define LINES_MAX_VIEW_BYTES (1024u << 20)

/* The DWARF of an object. */
struct lines_source {
	struct dwarf_source *dwarf; /* NULL: it has none */
	struct object *object;	    /* that it is of; NULL: the place is free */
	uint64_t companion;	    /* the number of the one that it has; 0: none */
	uint64_t last_use;
};

/* Zeroed: nothing is kept. */
struct lines {
	struct lines_source sources[LINES_MAX_SOURCES]; /* private, as all of it */
	uint64_t nr_uses;
	uint64_t companion; /* of the one that is kept; 0: none */
	uint64_t companion_kind;
	uint64_t wanted; /* of the one to use */
	struct elf_file *companion_elf;
	int companion_fd; /* its descriptor */
	uint64_t used_ns; /* CPU time so far */
	uint64_t left_ns; /* lines_limit() */
};

/*
 * Keeps the companion behind *fd, which it takes over, in the place of the last one. -EBADF: no descriptor; -ENOEXEC; -ESTALE:
 * it has another id; -EINVAL.
 */
int lines_keep_companion(struct lines *lines, const struct message_companion *about, int *fd);
/* Selects the companion to use from now on; 0: none. -ENOKEY: it is not there. */
int lines_use_companion(struct lines *lines, uint64_t number);
/*
 * Limits each of the next questions to left_ns of wall-clock time. 0: no limit but the worker's own.
 */
void lines_limit(struct lines *lines, uint64_t left_ns);
/* Gives names the frames of nr elf_addrs of the object, with the functions inlined there if inlines. */
void lines_find(struct lines *lines, struct object *object, const uint64_t *elf_addrs, size_t nr,
		bool inlines, struct names *names);
/* Calls fn for those of the addresses that are in split units that are not there, as dwarf_source_splits(). */
void lines_splits(struct lines *lines, struct object *object, const uint64_t *elf_addrs, size_t nr,
		  dwarf_split_fn fn, void *ctx);
/* To call before the objects are freed. */
void lines_forget(struct lines *lines);
/* Frees all; to call after lines_forget(). */
void lines_release(struct lines *lines);

#endif
