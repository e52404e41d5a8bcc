/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One blob of HotSpot's code cache: what its header says, and the unwind rows of its code. Private to
 * hotspot.c, which finds blobs.
 */
#ifndef CPROF_RUNTIME_HOTSPOTBLOB_H
#define CPROF_RUNTIME_HOTSPOTBLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "runtime/vmstructs.h"
#include "unwind_abi.h"

enum blob_kind {
	BLOB_STUB,
	BLOB_NMETHOD,
	BLOB_INTERPRETER,
	BLOB_FRAMELESS, /* nothing in it has a frame */
	BLOB_INHERITED, /* jumped to out of the frame of another one, of the same size */
};

/* What a blob's header says, as far as it tells one blob from another at the same place. */
struct blob_head {
	uint64_t start, limit;	   /* of its block */
	uint64_t code, code_limit; /* within it */
	uint64_t name;		   /* address of a string */
	uint64_t verified, osr;	   /* nmethod: entries; 0: none */
	uint64_t method;	   /* nmethod: of which Method */
	uint32_t frame_bytes;
	uint32_t compile_id;
	uint64_t kind; /* enum blob_kind */
};

_Static_assert(sizeof(struct blob_head) % 8 == 0, "compared as bytes: no padding");

struct blob_row {
	uint32_t offset; /* from its code's start */
	struct unwind_rule rule;
};

struct blob {
	struct blob_head head;
	uint64_t code_hash;
	bool confirmed;		      /* its code was the same at two looks */
	bool was_named;		      /* its name was given away */
	vec_of(struct blob_row) rows; /* none: not analyzed yet */
};

struct kind_name { /* private: what a name says */
	uint64_t addr;
	enum blob_kind kind;
};

/* What is needed to read blobs of one VM. Zeroed but for memory, structs and header_bytes. */
struct blob_reader {
	const struct target_memory *memory; /* borrowed */
	struct vmstructs structs;
	size_t header_bytes;		/* of a blob: all fields that are asked for */
	uint64_t interpreter;		/* an address in the blob that holds it; 0: not known */
	size_t nr_analyzed;		/* so far */
	vec_of(struct kind_name) names; /* private */
};

/* A header as it was read: of the blob at addr, len_bytes of it. */
struct raw_head {
	uint64_t addr;
	const uint8_t *bytes;
	size_t len_bytes;
};

/*
 * The blob whose header that is; start and limit of its block are set by the caller. false: there is
 * none, not yet, or it is not one to believe.
 */
bool blob_read_head(struct blob_reader *reader, const struct raw_head *raw, struct blob_head *head);

/*
 * Reads a blob's code and makes its rows, unless they are those of the same bytes: then it is confirmed.
 * false: the code cannot be read, and the blob is as it was.
 */
bool blob_analyze(struct blob_reader *reader, struct blob *blob);
/* The rule for an offset in the code of a blob that was analyzed. */
void blob_find(const struct blob *blob, uint32_t offset, struct unwind_rule *rule);
void blob_release(struct blob *blob);
void blob_reader_release(struct blob_reader *reader);

#endif
