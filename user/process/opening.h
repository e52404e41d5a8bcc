/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages between main and the opener, the process that opens what belongs to others.
 *
 * A file system that does not answer (FUSE, NFS), memory that nobody provides (userfaultfd), or a process that holds the
 * lock of its own mappings makes a system call wait for ever. So main makes no such call on a target's objects: it asks
 * the opener, goes on draining while it waits, and after a time has the opener killed and replaced. The opener alone
 * needs the capabilities to inspect other processes and to open their files.
 *
 * Messages have the form of sandbox/message.h; key is the task (a tgid or a tid) that a request is about.
 *
 *	kind	payload of the request		payload of the reply
 *	FILE	opening_file, the path		- (with a descriptor; nr: a set of enum opening_way, also of an error)
 *	MAPS	- (nr: as many were sent)	opening_maps, nr opening_map, their paths
 *	MEMORY	-				- (with a descriptor of /proc/PID/mem)
 *	READ	nr opening_piece		for each piece a byte, 1 if it was read; then their bytes
 *	EXE	-				the path of what it runs
 *	BENEATH	a path				- (with a descriptor of the file there, below the task's root; nr: as of FILE)
 *	PERF_MAP -				- (with a descriptor of its perf map)
 *
 * Replies are checked as those of a parser are: the opener reads lines that name what targets chose.
 *
 * Alternatives: a thread for such calls (it cannot be killed, and shares all powers); io_uring (forbidden in many
 * containers, and not all of its requests can be cancelled).
 */
#ifndef CPROF_PROCESS_OPENING_H
#define CPROF_PROCESS_OPENING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/message.h"
#include "stream.h"

enum opening_kind {
	OPENING_FILE = MESSAGE_HELLO + 1,
	OPENING_MAPS,
	OPENING_MEMORY,
	OPENING_READ,
	OPENING_EXE,
	OPENING_BENEATH,
	OPENING_PERF_MAP,
};

/* Bounds. */
#define OPENING_PATH_BYTES \
	(17u << 10) /* of a line of maps, which writes a newline as four bytes; NUL included */
#define OPENING_MAX_MAPS    2048 /* in one reply */
#define OPENING_MAPS_BYTES  (512u << 10)
#define OPENING_MAX_PIECES  256
#define OPENING_PIECE_BYTES (1u << 20) /* of all pieces of a request */
#define OPENING_EXE_BYTES   4096

struct opening_file {
	uint64_t start, limit, inode;
	uint32_t dev_major, dev_minor;
};

enum opening_way { /* struct mapped_ways */
	OPENING_REFUSED = 1,
	OPENING_FORBIDDEN = 2,
	OPENING_COPY = 4,
	OPENING_NR_WAYS = 8,
};

struct opening_maps {
	uint64_t is_last; /* there are no more */
};

struct opening_map { /* struct map_event, of an executable mapping */
	uint64_t start, limit, file_off, inode;
	uint32_t dev_major, dev_minor;
	uint32_t path_bytes, zero; /* with a NUL */
};

struct opening_piece {
	uint64_t addr, len_bytes;
};

/* Does the header of a reply answer that request, with a payload that its kind may have? */
bool opening_fits(const struct message *request, const struct message *reply);

typedef void (*opening_map_fn)(void *ctx, const struct map_event *map);
/*
 * Calls fn with each of the nr mappings in the payload of a reply; they borrow from it. -EBADMSG: it does not hold what it
 * should, and fn was not called.
 */
int opening_read_maps(const void *payload, size_t len_bytes, uint32_t nr, opening_map_fn fn,
		      void *ctx, bool *is_last);
/*
 * Copies what was read to the nr pieces that were asked for, and says which were. -EBADMSG: it is not the reply to that, and
 * nothing was copied.
 */
int opening_read_pieces(const void *payload, size_t len_bytes, struct memory_piece *pieces,
			size_t nr);
/* Copies the path, with a NUL. -ENAMETOOLONG; -EBADMSG. */
int opening_read_exe(const void *payload, size_t len_bytes, char *path, size_t path_bytes);

#endif
