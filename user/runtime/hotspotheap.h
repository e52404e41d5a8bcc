/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One heap of a HotSpot VM's code cache: its blobs and the unwind rules of their code. Private to
 * hotspot.c.
 */
#ifndef CPROF_RUNTIME_HOTSPOTHEAP_H
#define CPROF_RUNTIME_HOTSPOTHEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfa.h"
#include "runtime/hotspot.h"
#include "runtime/hotspotblob.h"

struct blobs {
	struct blob *at;
	size_t nr, cap;
};

struct code_heap {
	struct hotspot_heap shown;
	uint64_t addr;	    /* of its CodeHeap */
	struct blobs blobs; /* by start */
	bool changed;	    /* its table is out of date */
};

/* Frees its blobs and its table. */
void code_heap_release(struct code_heap *heap);
/* Removes all blobs. */
void code_heap_clear(struct code_heap *heap);

/* Reads the heap, and analyzes at most *left_bytes of new code, which it subtracts. false: nothing changed. */
bool code_heap_look(struct code_heap *heap, struct blob_reader *reader, size_t *left_bytes);
/* Emits the rows of its table: of type unwind_produce_fn, ctx is the heap. */
void code_heap_emit(void *ctx, cfa_row_fn emit, void *emit_ctx);
/* The blob whose code has ip; NULL: none has. Borrowed until the next code_heap_look(). */
struct blob *code_heap_find(struct code_heap *heap, uint64_t ip);

#endif
