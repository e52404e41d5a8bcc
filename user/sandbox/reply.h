/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks the replies of a worker, which may have been taken over by a file that it parsed, and turns them into what
 * main uses.
 *
 * Lengths, counts and ranges are exact or the reply is refused as a whole (-EBADMSG). What is accepted is safe to use
 * in every function that takes it; whether it is true cannot be checked.
 */
#ifndef CPROF_SANDBOX_REPLY_H
#define CPROF_SANDBOX_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocsite.h"
#include "object/segments.h"
#include "sandbox/message.h"
#include "unwind/unwindtable.h"

/* Does the header answer that request, with a payload that its kind may have? */
bool reply_fits(const struct message *request, const struct message *reply);

/* A file that is readable ELF. Owned by the caller: free(). */
struct reply_file {
	char build_id[MESSAGE_BUILD_ID_BYTES]; /* "" if it has none */
	char interp[MESSAGE_INTERP_BYTES];     /* the loader that it names, "" if it names none */
	char debuglink
		[MESSAGE_LINK_BYTES]; /* the debug file that it names, "" if it names none; no slash in it */
	uint32_t debuglink_crc;
	char altlink
		[MESSAGE_ALT_BYTES]; /* the alternate file that it names (object/altlink.h), "" if it names none */
	char altlink_id[MESSAGE_BUILD_ID_BYTES];
	bool is_go;			/* Go's linker made it */
	struct message_runtime runtime; /* its kind is known, its loops are ranges */
	struct segments segments;	/* in the same block */
};

/* What the payload of a reply of this kind says, nr as in its header. -EBADMSG, and outputs are untouched. */
int reply_read_file(const void *payload, size_t len_bytes, uint32_t nr, struct reply_file **file);
/* The CRC-32 of a file. */
int reply_read_crc(const void *payload, size_t len_bytes, uint32_t *crc);
/* The addresses of what HotSpot exports, MESSAGE_NR_VARIABLES of them. */
int reply_read_variables(const void *payload, size_t len_bytes, uint64_t *elf_addrs);
/* Can each function that takes a rule take this one? */
bool reply_is_rule(const struct unwind_rule *rule);
/* Reads an unwind table of this machine, which the caller frees with unwind_table_free(). -EBADMSG: *table is untouched. */
int reply_read_table(const void *payload, size_t len_bytes, struct unwind_table **table);

/* Where a file's allocator can be probed; nr is 0 if it defines none. */
struct reply_sites {
	bool is_go, is_nameless; /* probes/allocator.h */
	size_t nr;
	struct alloc_site sites[ALLOC_MAX_SITES];
	/* for messages, by site: the function's name, and the site's distance from its entry, in bytes */
	char functions[ALLOC_MAX_SITES][MESSAGE_FUNCTION_BYTES];
	uint32_t offsets[ALLOC_MAX_SITES];
};
int reply_read_sites(const void *payload, size_t len_bytes, uint32_t nr, struct reply_sites *sites);

/* A slot of the GOT that holds an implementation of an IFUNC (object/gotslots.h). The name is in the same block. */
struct reply_slot {
	uint64_t elf_addr, initial;
	const char *name; /* not empty */
};
/* nr slots in one block, owned by the caller: free(); NULL for none. */
int reply_read_slots(const void *payload, size_t len_bytes, uint32_t nr, struct reply_slot **slots);

#endif
