// SPDX-License-Identifier: BSD-2-Clause
/*
 * A heap of the code cache is cut into segments (128 bytes each); a block is some of them, and holds a
 * blob: a compiled method (nmethod), an adapter, a stub, or many stubs at once.
 *
 *	segment map	0 1 2 3 0 1 0 1 2 3 4 5 ff ff	one byte each: how far back its block begins
 *	memory		|block  |blk|block      |free	(or at least a way there); ff: free
 *	block		length in segments, used | blob: header, constants, code, stubs | data
 *
 * The zeros of the map are where blocks may begin; the map is a hint, the blocks' own headers count.
 * All headers are read at each look, in few system calls; the code only of blobs that are new.
 *
 * Large programs have 100 MB of code and run a hundredth of it. So a look analyzes only a part of what
 * is new; the rest is UNWIND_UNKNOWN until a rule in it is asked for, or a later look analyzes it.
 *
 * Code may be read while it is being written. So the rules of a blob are used from the first look
 * on, but the blob is read again at the next one, and the rules stay only if it has not changed.
 *
 * Rejected: walking the VM's list of blobs by their lengths alone: each would wait for the one before,
 * a system call each.
 */
#include "runtime/hotspotheap.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/vec.h"
#include "object/arch.h"

#define PAGE_BYTES	  4096ull
#define MAX_HEAP_BYTES	  (2ull << 30) /* HotSpot's own limit for the whole code cache */
#define MAX_BLOBS	  (1u << 18)   /* in a heap */
#define MAX_STARTS	  (2 * MAX_BLOBS) /* that are looked at: a map of nothing but zeros is made up */
#define PIECES		  512		  /* read at once */
#define MIN_SEGMENT_SHIFT 4
#define MAX_SEGMENT_SHIFT 16

static void blobs_release(struct blobs *blobs)
{
	vec_for_each(blobs, blob)
		blob_release(blob);
	vec_release(blobs);
}

void code_heap_clear(struct code_heap *heap)
{
	blobs_release(&heap->blobs);
}

void code_heap_release(struct code_heap *heap)
{
	code_heap_clear(heap);
	unwind_table_free(heap->shown.table);
}

/* Looking ---------------------------------------------------------------------------------------- */

/* What a CodeHeap says of itself. */
struct heap_head {
	uint64_t low, high, limit; /* of its memory */
	uint64_t map;		   /* of its segments */
	uint64_t nr_segments;
	uint32_t segment_shift;
};

static bool load_space(const struct blob_reader *reader, uint64_t heap, enum vm_field_id space,
		       enum vm_field_id id, uint64_t *value)
{
	return vm_load(&reader->structs, reader->memory, id,
		       heap + reader->structs.fields[space].at, value);
}

static bool read_heap_head(const struct blob_reader *reader, uint64_t addr, struct heap_head *head)
{
	uint64_t shift, map_high;

	if (!load_space(reader, addr, VM_HEAP_MEMORY, VM_SPACE_LOW, &head->low) ||
	    !load_space(reader, addr, VM_HEAP_MEMORY, VM_SPACE_HIGH, &head->high) ||
	    !load_space(reader, addr, VM_HEAP_MEMORY, VM_SPACE_LIMIT, &head->limit) ||
	    !load_space(reader, addr, VM_HEAP_SEGMAP, VM_SPACE_LOW, &head->map) ||
	    !load_space(reader, addr, VM_HEAP_SEGMAP, VM_SPACE_HIGH, &map_high) ||
	    !vm_load(&reader->structs, reader->memory, VM_HEAP_SEGMENT_SHIFT, addr, &shift))
		return false;
	if (shift < MIN_SEGMENT_SHIFT || shift > MAX_SEGMENT_SHIFT || head->low % PAGE_BYTES ||
	    head->high % PAGE_BYTES || head->limit % PAGE_BYTES || head->low >= head->high ||
	    head->high > head->limit || head->limit > ARCH_USER_LIMIT || map_high < head->map ||
	    head->limit - head->low > MAX_HEAP_BYTES)
		return false;
	head->segment_shift = (uint32_t)shift;
	head->nr_segments = (head->high - head->low) >> shift;
	if (head->nr_segments > map_high - head->map)
		head->nr_segments = map_high - head->map;
	return true;
}

/* A look at one heap. */
struct look {
	struct blob_reader *reader;
	struct heap_head head;
	struct blobs old, new; /* by start */
	size_t next_old;
	uint64_t position; /* what lies before it is in blocks that were accepted */
	size_t left_bytes; /* may still be analyzed */
	bool changed;
};

static void look_release(struct look *look)
{
	blobs_release(&look->old);
	blobs_release(&look->new);
}

/* The blob that was here at the last look, taken out of what was; false: none, or another one. */
static bool take_old(struct look *look, const struct blob_head *head, struct blob *blob)
{
	struct blob *old;

	while (look->next_old < look->old.nr &&
	       look->old.at[look->next_old].head.start < head->start)
		look->next_old++;
	if (look->next_old == look->old.nr)
		return false;
	old = &look->old.at[look->next_old];
	if (memcmp(&old->head, head, sizeof(*head)) != 0)
		return false;
	*blob = *old;
	old->rows.at = NULL;
	old->rows.nr = old->rows.cap = 0;
	old->named.at = NULL;
	old->named.nr = old->named.cap = 0;
	return true;
}

static void take_blob(struct look *look, const struct blob_head *head)
{
	struct blob blob = {.head = *head};
	bool is_old = take_old(look, head, &blob);
	uint64_t hash = blob.code_hash;
	size_t len_bytes = head->code_limit - head->code;

	if (!blob.confirmed && len_bytes <= look->left_bytes) {
		look->left_bytes -= len_bytes;
		if (!blob_analyze(look->reader, &blob))
			return blob_release(&blob);
	}
	if (!is_old)
		blob.since_ns = clock_monotonic_ns();
	if (!is_old || hash != blob.code_hash)
		look->changed = true;
	vec_push(&look->new, blob);
}

/* A block may begin at start; bytes are its header's, and its blob's. */
static void take_block(struct look *look, uint64_t start, const uint8_t *bytes, size_t len_bytes)
{
	const struct vmstructs *structs = &look->reader->structs;
	struct blob_head head = {.start = start};
	struct raw_head raw = {
		.addr = start + structs->block_header_bytes,
		.bytes = bytes + structs->block_header_bytes,
		.len_bytes = len_bytes - structs->block_header_bytes,
	};

	if (start < look->position || look->new.nr == MAX_BLOBS ||
	    !block_read_head(structs, bytes, len_bytes, &head.nr_segments) ||
	    head.nr_segments > (look->head.high - start) >> look->head.segment_shift)
		return;
	head.limit = start + (head.nr_segments << look->head.segment_shift);
	if (!blob_read_head(look->reader, &raw, &head))
		return;
	look->position = head.limit;
	take_blob(look, &head);
}

/* Reads the headers of so many blocks, and takes them. */
static void take_blocks(struct look *look, const uint64_t *starts, size_t nr, uint8_t *buffer)
{
	size_t len_bytes = look->reader->structs.block_header_bytes + look->reader->header_bytes;
	struct memory_piece pieces[PIECES];

	for (size_t i = 0; i < nr; i++)
		pieces[i] = (struct memory_piece){
			.addr = starts[i], .to = buffer + i * len_bytes, .len_bytes = len_bytes};
	look->reader->memory->read(look->reader->memory->ctx, pieces, nr);
	for (size_t i = 0; i < nr; i++)
		if (pieces[i].was_read)
			take_block(look, starts[i], buffer + i * len_bytes, len_bytes);
}

static bool take_all_blocks(struct look *look)
{
	size_t len_bytes = look->reader->structs.block_header_bytes + look->reader->header_bytes;
	uint8_t *buffer scoped(freep) = xreallocarray(NULL, PIECES, len_bytes);
	uint8_t *map scoped(freep) = xmalloc(look->head.nr_segments);
	uint64_t starts[PIECES];
	size_t nr = 0, left = MAX_STARTS;

	if (!memory_read(look->reader->memory, look->head.map, map, look->head.nr_segments))
		return false;
	for (uint64_t i = 0; left && i < look->head.nr_segments; i++) {
		uint64_t start = look->head.low + (i << look->head.segment_shift);

		if (map[i] || len_bytes > look->head.high - start)
			continue;
		starts[nr++] = start;
		left--;
		if (nr < PIECES)
			continue;
		take_blocks(look, starts, nr, buffer);
		nr = 0;
	}
	take_blocks(look, starts, nr, buffer);
	return true;
}

bool code_heap_look(struct code_heap *heap, struct blob_reader *reader, size_t *left_bytes)
{
	struct look look scoped(look_release) = {.reader = reader, .left_bytes = *left_bytes};
	struct hotspot_heap *shown = &heap->shown;

	if (!read_heap_head(reader, heap->addr, &look.head))
		return false;
	look.position = look.head.low;
	look.old = heap->blobs;
	heap->blobs = (struct blobs){0};
	if (!take_all_blocks(&look)) {
		heap->blobs = look.old;
		look.old = (struct blobs){0};
		return false;
	}
	heap->changed = heap->changed || look.changed || look.new.nr != look.old.nr ||
			shown->start != look.head.low || shown->limit != look.head.high ||
			shown->reserved != look.head.limit;
	shown->start = look.head.low;
	shown->limit = look.head.high;
	shown->reserved = look.head.limit;
	heap->blobs = look.new;
	look.new = (struct blobs){0};
	*left_bytes = look.left_bytes;
	return true;
}

/* What was found --------------------------------------------------------------------------------- */

static void emit_unknown(uint64_t at, cfa_row_fn emit, void *emit_ctx)
{
	emit(emit_ctx, &(struct unwind_row){at, {.kind = UNWIND_UNKNOWN}});
}

void code_heap_emit(void *ctx, cfa_row_fn emit, void *emit_ctx)
{
	const struct code_heap *heap = ctx;
	uint64_t at = heap->shown.start;

	vec_for_each(&heap->blobs, blob) {
		if (!blob->rows.nr)
			continue;
		if (blob->head.code > at)
			emit_unknown(at, emit, emit_ctx);
		vec_for_each(&blob->rows, row)
			emit(emit_ctx,
			     &(struct unwind_row){blob->head.code + row->offset, row->rule});
		at = blob->head.code_limit;
	}
	if (at < heap->shown.limit)
		emit_unknown(at, emit, emit_ctx);
	emit(emit_ctx, &(struct unwind_row){heap->shown.limit, {.kind = UNWIND_GAP}});
}

struct blob *code_heap_find(struct code_heap *heap, uint64_t ip)
{
	size_t nr = vec_partition(&heap->blobs, begun, begun->head.code <= ip);
	struct blob *blob = nr ? &heap->blobs.at[nr - 1] : NULL;

	return blob && ip < blob->head.code_limit ? blob : NULL;
}
