/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the rest of cprof asks about the files that targets map: a worker parses them (sandbox/message.h has the design).
 *
 * Files are known by a key, as the index of their descriptor; PARSER_VDSO is the vdso. A failure is the file's: it is
 * empty then, and parser_left_out() says which files it happened to.
 */
#ifndef CPROF_SANDBOX_PARSER_H
#define CPROF_SANDBOX_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/namesreply.h"
#include "sandbox/peer.h"
#include "sandbox/reply.h"

#define PARSER_VDSO MESSAGE_VDSO

struct parser;

/* See struct peer_options. Call it while the process has one thread and holds nothing. -errno. */
int parser_open(const struct peer_options *options, struct parser **parser);
void parser_close(struct parser *parser); /* NULL is fine */
/* What the worker could not give up (sandbox/confine.h). -errno: there is no worker that answers. */
int parser_meet(struct parser *parser, uint32_t *missing);

/*
 * Called while a worker is waited for, every 2 ms or more often; true: give up, the question then has no answer and may be
 * asked again. Valid until the next call; {NULL}: nothing.
 */
void parser_while_waiting(struct parser *parser, struct peer_idle idle);

/*
 * Asks about the file with this key, behind fd (borrowed; -1: not open). NULL: it is not readable ELF, or was left
 * out. Call it once for each key that is open. Borrowed until parser_close().
 */
const struct reply_file *parser_file(struct parser *parser, uint32_t key, int fd);
/* Was the question answered, so that parser_file() needs no descriptor? */
bool parser_knows(const struct parser *parser, uint32_t key);
/*
 * Its unwind table, for unwind_table_free(). -ENOENT: it has no call frame information; -ENODATA: none that says
 * anything; -EFBIG; or why there is no answer.
 */
int parser_table(struct parser *parser, uint32_t key, int fd, struct unwind_table **table);
/* A further file that a file's DWARF is in. */
struct parser_companion {
	enum message_companion_kind kind;
	uint32_t number;		 /* not 0; in a run each is of one companion */
	int fd;				 /* borrowed */
	char id[MESSAGE_BUILD_ID_BYTES]; /* lower-case hex, as of kind */
};
/* Is it what its id says, and readable? key: of the file that it belongs to. -ESTALE: another one; or why there is no answer. */
int parser_companion(struct parser *parser, uint32_t key, const struct parser_companion *companion);
/* Where names are asked for, and what besides them. */
struct parser_code {
	uint32_t key;
	int fd;					  /* as of parser_file() */
	uint32_t what;				  /* a set of message_names_what */
	const struct parser_companion *companion; /* NULL: none */
	uint64_t
		left_ns; /* of names: how long lines may be looked for, on the clock; 0: as long as the worker thinks fit */
};
struct parser_named {
	struct reply_name *names; /* one block, the caller's to free() */
	size_t nr;		  /* the first so many of those asked for; at least 1 */
	size_t nr_split; /* of all that were asked for: in split units that are not there */
};
/* Names elf_addrs of the file, 1 to MESSAGE_MAX_NAMES of them. -errno: there is no answer. */
int parser_names(struct parser *parser, const struct parser_code *code, const uint64_t *elf_addrs,
		 size_t nr, struct parser_named *named);
/*
 * The split units that these addresses are in, of those that are not there with the companion, in a block that the caller
 * owns.
 */
int parser_splits(struct parser *parser, const struct parser_code *code, const uint64_t *elf_addrs,
		  size_t nr, struct reply_splits **splits);
/* The CRC-32 of the file. -EFBIG: it is larger than DEBUGLINK_MAX_BYTES; or why there is no answer. */
int parser_crc(struct parser *parser, uint32_t key, int fd, uint32_t *crc);
/* The interpreter that a script names in its first line. -ENOEXEC: it is no script; or why there is no answer. */
int parser_script(struct parser *parser, uint32_t key, int fd, char interp[MESSAGE_INTERP_BYTES]);
/*
 * The slots of its GOT that hold the implementations of its IFUNCs, from the one with the worst name to that with the best,
 * in a block that the caller owns; NULL for none. -errno: there is no answer.
 */
int parser_slots(struct parser *parser, uint32_t key, int fd, struct reply_slot **slots,
		 size_t *nr_slots);
/* Where its allocator can be probed, asked of a worker that has seen no other file. -errno: there is no answer. */
int parser_sites(struct parser *parser, uint32_t key, int fd, struct reply_sites *sites);

/*
 * The number of files and JVMs that were left out, and the key of the i-th (MESSAGE_JVM + tgid for a JVM); *err: -ETIME,
 * how its worker died (peer_call()), or -EIO and -EFBIG of parser_leave_out_jvm().
 */
size_t parser_nr_left_out(const struct parser *parser);
uint32_t parser_left_out(const struct parser *parser, size_t i, int *err);
/* That err in words: "its parser took too long". Static. */
const char *parser_why_left_out(int err);

/* The process whose children the parsers are; 0: there is no such process. */
uint32_t parser_parent(const struct parser *parser);
/* Did the keeper end, so that there are no more answers? */
bool parser_is_lost(const struct parser *parser);
/* Their nice value from now on; ctx is the parser. */
void parser_set_nice(void *ctx, int nice);
/* CPU time that the workers took; ctx is the parser. */
uint64_t parser_cpu_ns(const void *ctx);

#endif
