/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One blob of HotSpot's code cache: its header, and the unwind rows of its code. Private to
 * hotspot.c, which finds blobs.
 */
#ifndef CPROF_RUNTIME_HOTSPOTBLOB_H
#define CPROF_RUNTIME_HOTSPOTBLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "runtime/hotspot.h"
#include "runtime/vmstructs.h"
#include "unwind_abi.h"

#define HOTSPOT_MAX_HEADER_BYTES 1024 /* of a blob, and of a block, that are read */
#define HOTSPOT_HEADS_BYTES	 (2 * HOTSPOT_MAX_HEADER_BYTES + 8)

enum blob_kind {
	BLOB_STUB,
	BLOB_NMETHOD,
	BLOB_INTERPRETER,
	BLOB_FRAMELESS, /* its code never has a frame */
	BLOB_INHERITED, /* entered by a jump, within a frame of the same size */
	BLOB_SCRATCH,	/* compilers write into it, nobody runs it */
};

/* The fields of a blob's header that distinguish it from another blob at the same address. */
struct blob_head {
	uint64_t start, limit;	   /* of its block */
	uint64_t nr_segments;	   /* of its block */
	uint64_t code, code_limit; /* within it */
	uint64_t name;		   /* address of a string */
	uint64_t verified, osr;	   /* nmethod: entries; 0: none */
	uint64_t method;	   /* nmethod: its Method */
	uint32_t frame_bytes;
	uint32_t compile_id;
	uint64_t kind; /* enum blob_kind */
};

_Static_assert(sizeof(struct blob_head) % 8 == 0, "compared as bytes: no padding");

struct blob_range {
	uint32_t start, limit; /* offsets in the code */
};

struct blob {
	struct blob_head head;
	uint64_t code_hash;
	uint64_t since_ns;		 /* it was there then */
	bool confirmed;			 /* two readings found the same code */
	vec_of(struct blob_row) rows;	 /* none: not analyzed yet */
	vec_of(struct blob_range) named; /* whose names were returned; by start */
};

struct kind_name { /* private: the kind for a name */
	uint64_t addr;
	enum blob_kind kind;
};

/* The state of reading the blobs of one VM. Zero all but memory, structs and header_bytes. */
struct blob_reader {
	const struct target_memory *memory; /* borrowed */
	struct vmstructs structs;
	size_t header_bytes;		/* of a blob, up to the last field that is read */
	uint64_t interpreter;		/* an address in the interpreter's blob; 0: not known */
	size_t nr_analyzed;		/* so far */
	vec_of(struct kind_name) names; /* private */
};

/* The first len_bytes of the header of the blob at addr. */
struct raw_head {
	uint64_t addr;
	const uint8_t *bytes;
	size_t len_bytes;
};

/*
 * Reads the header of a block, the first of the len_bytes that are there. false: it is free, or empty. The blob's header is
 * behind it, at structs.block_header_bytes.
 */
bool block_read_head(const struct vmstructs *structs, const uint8_t *bytes, size_t len_bytes,
		     uint64_t *nr_segments);
/*
 * Makes a blob of a header; the caller sets start, limit and nr_segments of its block. false: there is no blob, it is not
 * complete yet, or the header is not plausible.
 */
bool blob_read_head(struct blob_reader *reader, const struct raw_head *raw, struct blob_head *head);

/*
 * Reads a blob's code and makes its rows; if the bytes have not changed, confirms the rows instead. false: the code
 * cannot be read, and the blob is unchanged.
 */
bool blob_analyze(struct blob_reader *reader, struct blob *blob);
/*
 * Is the blob what it was when it was found? Not if its block was freed, or cut. Reads the headers of both to bytes, of
 * HOTSPOT_HEADS_BYTES, and sets *raw.
 */
bool blob_is_there(struct blob_reader *reader, const struct blob *blob, uint8_t *bytes,
		   struct raw_head *raw);
/* Were the names of the code at ip returned? */
bool blob_was_named(const struct blob *blob, uint64_t ip);
/* Notes that those of [start, limit), which is within its code, were. */
void blob_note_named(struct blob *blob, uint64_t start, uint64_t limit);
/* The rule for an offset in the code of a blob that was analyzed. */
void blob_find(const struct blob *blob, uint32_t offset, struct unwind_rule *rule);
void blob_release(struct blob *blob);
void blob_reader_release(struct blob_reader *reader);

#endif
