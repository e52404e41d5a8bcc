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
 * Large programs have 100 MB of code and run a hundredth of it. So a look analyzes only so much of what
 * is new; the rest is UNWIND_UNKNOWN until somebody asks for a rule in it, or its turn comes.
 *
 * Code may be read while it is being written. So what is found of a blob counts from the first time
 * on, but it is read again at the next look, and stays if it is the same.
 *
 * Rejected: walking the VM's list of blobs by their lengths alone: each would wait for the one before,
 * a system call each.
 */
#include "object/hotspot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "object/hotspotblob.h"

#define PAGE_BYTES	  4096ull
#define MAX_HEAP_BYTES	  (2ull << 30) /* HotSpot's own limit for the whole code cache */
#define MAX_HEADER_BYTES  1024
#define MAX_BLOBS	  (1u << 18) /* in a heap */
#define PIECES		  512	     /* read at once */
#define WORD		  8
#define USER_LIMIT	  (1ull << 47)
#define MIN_SEGMENT_SHIFT 4
#define MAX_SEGMENT_SHIFT 16

struct blobs {
	struct blob *at;
	size_t nr, cap;
};

struct heap {
	struct hotspot_heap shown;
	uint64_t addr;	    /* of the CodeHeap */
	struct blobs blobs; /* by start */
	bool changed;	    /* since its table was made */
};

struct hotspot {
	struct blob_reader reader;
	vec_of(struct heap) heaps;
	uint32_t generation;
};

/* Opening ---------------------------------------------------------------------------------------- */

/* Either of two fields is enough where there are two: versions differ. */
static const enum vm_field_id needed[][2] = {
	{VM_HEAPS, VM_HEAPS},
	{VM_ARRAY_LEN, VM_OLD_ARRAY_LEN},
	{VM_ARRAY_DATA, VM_ARRAY_DATA},
	{VM_HEAP_MEMORY, VM_HEAP_MEMORY},
	{VM_HEAP_SEGMAP, VM_HEAP_SEGMAP},
	{VM_HEAP_SEGMENT_SHIFT, VM_HEAP_SEGMENT_SHIFT},
	{VM_SPACE_LOW, VM_SPACE_LOW},
	{VM_SPACE_HIGH, VM_SPACE_HIGH},
	{VM_SPACE_LIMIT, VM_SPACE_LIMIT},
	{VM_BLOCK_LENGTH, VM_BLOCK_LENGTH},
	{VM_BLOCK_USED, VM_BLOCK_USED},
	{VM_BLOB_NAME, VM_BLOB_NAME},
	{VM_BLOB_FRAME_SIZE, VM_BLOB_FRAME_SIZE},
	{VM_BLOB_CODE_BEGIN, VM_BLOB_CODE_OFFSET},
	{VM_BLOB_CODE_END, VM_BLOB_DATA_OFFSET},
};

static const char *what_is_missing(const struct vmstructs *structs)
{
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!structs->fields[needed[i][0]].known && !structs->fields[needed[i][1]].known)
			return vm_field_name(needed[i][0]);
	if (!structs->block_header_bytes || structs->block_header_bytes > MAX_HEADER_BYTES)
		return "sizeof(HeapBlock)";
	return NULL;
}

/* How much of a blob is to be read. */
static size_t blob_header_bytes(const struct vmstructs *structs)
{
	size_t need = 0;

	for (int id = VM_BLOB_NAME; id <= VM_NMETHOD_OSR; id++) {
		const struct vm_field *field = &structs->fields[id];

		if (field->known && field->at <= MAX_HEADER_BYTES &&
		    field->at + field->width_bytes > need)
			need = field->at + field->width_bytes;
	}
	return need;
}

int hotspot_open(const struct target_memory *memory, struct hotspot **vm, const char **missing)
{
	struct vmstructs structs;
	const char *lacks = "gHotSpotVMStructs";
	int err = vmstructs_read(memory, &structs);

	if (!err) {
		lacks = what_is_missing(&structs);
		err = lacks ? -ENOENT : 0;
	}
	if (missing && err)
		*missing = lacks;
	if (err)
		return err;
	*vm = xcalloc(1, sizeof(**vm));
	(*vm)->reader.memory = memory;
	(*vm)->reader.structs = structs;
	(*vm)->reader.header_bytes = blob_header_bytes(&structs);
	return 0;
}

static void blobs_release(struct blobs *blobs)
{
	vec_for_each(blobs, blob)
		blob_release(blob);
	vec_release(blobs);
}

static void heap_release(struct heap *heap)
{
	blobs_release(&heap->blobs);
	unwind_table_free(heap->shown.table);
}

void hotspot_free(struct hotspot *vm)
{
	if (!vm)
		return;
	vec_for_each(&vm->heaps, heap)
		heap_release(heap);
	vec_release(&vm->heaps);
	blob_reader_release(&vm->reader);
	free(vm);
}

/* Heaps ------------------------------------------------------------------------------------------ */

/* What a CodeHeap says of itself. */
struct heap_head {
	uint64_t low, high, limit; /* of its memory */
	uint64_t map;		   /* of its segments */
	uint64_t nr_segments;
	uint32_t segment_shift;
};

static bool load_space(const struct hotspot *vm, uint64_t heap, enum vm_field_id space,
		       enum vm_field_id id, uint64_t *value)
{
	return vm_load(&vm->reader.structs, vm->reader.memory, id,
		       heap + vm->reader.structs.fields[space].at, value);
}

static bool read_heap_head(const struct hotspot *vm, uint64_t addr, struct heap_head *head)
{
	uint64_t shift, map_high;

	if (!load_space(vm, addr, VM_HEAP_MEMORY, VM_SPACE_LOW, &head->low) ||
	    !load_space(vm, addr, VM_HEAP_MEMORY, VM_SPACE_HIGH, &head->high) ||
	    !load_space(vm, addr, VM_HEAP_MEMORY, VM_SPACE_LIMIT, &head->limit) ||
	    !load_space(vm, addr, VM_HEAP_SEGMAP, VM_SPACE_LOW, &head->map) ||
	    !load_space(vm, addr, VM_HEAP_SEGMAP, VM_SPACE_HIGH, &map_high) ||
	    !vm_load(&vm->reader.structs, vm->reader.memory, VM_HEAP_SEGMENT_SHIFT, addr, &shift))
		return false;
	if (shift < MIN_SEGMENT_SHIFT || shift > MAX_SEGMENT_SHIFT || head->low % PAGE_BYTES ||
	    head->high % PAGE_BYTES || head->limit % PAGE_BYTES || head->low >= head->high ||
	    head->high > head->limit || head->limit > USER_LIMIT || map_high < head->map ||
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
	struct hotspot *vm;
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
		if (!blob_analyze(&look->vm->reader, &blob))
			return blob_release(&blob);
	}
	if (!is_old || hash != blob.code_hash)
		look->changed = true;
	vec_push(&look->new, blob);
}

/* A block may begin at start; bytes are its header's, and its blob's. */
static void take_block(struct look *look, uint64_t start, const uint8_t *bytes, size_t len_bytes)
{
	const struct vmstructs *structs = &look->vm->reader.structs;
	struct blob_head head = {.start = start};
	uint64_t length = 0, used = 0;
	struct raw_head raw = {
		.addr = start + structs->block_header_bytes,
		.bytes = bytes + structs->block_header_bytes,
		.len_bytes = len_bytes - structs->block_header_bytes,
	};

	if (start < look->position || look->new.nr == MAX_BLOBS ||
	    !vm_get(structs, VM_BLOCK_LENGTH, bytes, len_bytes, &length) ||
	    !vm_get(structs, VM_BLOCK_USED, bytes, len_bytes, &used) || !(used & 1) || !length ||
	    length > (look->head.high - start) >> look->head.segment_shift)
		return;
	head.limit = start + (length << look->head.segment_shift);
	if (!blob_read_head(&look->vm->reader, &raw, &head))
		return;
	look->position = head.limit;
	take_blob(look, &head);
}

/* Reads the headers of so many blocks, and takes them. */
static void take_blocks(struct look *look, const uint64_t *starts, size_t nr, uint8_t *buffer)
{
	size_t len_bytes =
		look->vm->reader.structs.block_header_bytes + look->vm->reader.header_bytes;
	struct memory_piece pieces[PIECES];

	for (size_t i = 0; i < nr; i++)
		pieces[i] = (struct memory_piece){
			.addr = starts[i], .to = buffer + i * len_bytes, .len_bytes = len_bytes};
	look->vm->reader.memory->read(look->vm->reader.memory->ctx, pieces, nr);
	for (size_t i = 0; i < nr; i++)
		if (pieces[i].was_read)
			take_block(look, starts[i], buffer + i * len_bytes, len_bytes);
}

static bool take_all_blocks(struct look *look)
{
	size_t len_bytes =
		look->vm->reader.structs.block_header_bytes + look->vm->reader.header_bytes;
	uint8_t *buffer scoped(freep) = xreallocarray(NULL, PIECES, len_bytes);
	uint8_t *map scoped(freep) = xmalloc(look->head.nr_segments);
	uint64_t starts[PIECES];
	size_t nr = 0;

	if (!memory_read(look->vm->reader.memory, look->head.map, map, look->head.nr_segments))
		return false;
	for (uint64_t i = 0; i < look->head.nr_segments; i++) {
		uint64_t start = look->head.low + (i << look->head.segment_shift);

		if (map[i] || len_bytes > look->head.high - start)
			continue;
		starts[nr++] = start;
		if (nr < PIECES)
			continue;
		take_blocks(look, starts, nr, buffer);
		nr = 0;
	}
	take_blocks(look, starts, nr, buffer);
	return true;
}

/* Tables ----------------------------------------------------------------------------------------- */

static void emit_unknown(uint64_t at, cfa_row_fn emit, void *emit_ctx)
{
	emit(emit_ctx, &(struct unwind_row){at, {.kind = UNWIND_UNKNOWN}});
}

static void emit_heap(void *ctx, cfa_row_fn emit, void *emit_ctx)
{
	const struct heap *heap = ctx;
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

/* false: all is as it was. */
static bool look_at_heap(struct hotspot *vm, struct heap *heap, size_t *left_bytes)
{
	struct look look scoped(look_release) = {.vm = vm, .left_bytes = *left_bytes};
	struct hotspot_heap *shown = &heap->shown;

	if (!read_heap_head(vm, heap->addr, &look.head))
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

static bool has_heap(const struct hotspot *vm, uint64_t addr)
{
	vec_for_each(&vm->heaps, heap)
		if (heap->addr == addr)
			return true;
	return false;
}

/* The CodeHeaps are made at the VM's start, one by one, and last as long as it does. */
static int find_heaps(struct hotspot *vm)
{
	bool is_old = !vm->reader.structs.fields[VM_ARRAY_LEN].known;
	enum vm_field_id len = is_old ? VM_OLD_ARRAY_LEN : VM_ARRAY_LEN;
	uint64_t array, nr, data, addrs[HOTSPOT_MAX_HEAPS];

	if (!vm_load(&vm->reader.structs, vm->reader.memory, VM_HEAPS, 0, &array) || !array ||
	    !vm_load(&vm->reader.structs, vm->reader.memory, len, array, &nr) ||
	    !vm_load(&vm->reader.structs, vm->reader.memory, VM_ARRAY_DATA, array, &data) || !nr ||
	    nr > HOTSPOT_MAX_HEAPS || !memory_read(vm->reader.memory, data, addrs, nr * WORD))
		return -EAGAIN;
	for (size_t i = 0; i < nr && vm->heaps.nr < HOTSPOT_MAX_HEAPS; i++)
		if (!has_heap(vm, addrs[i]))
			vec_push(&vm->heaps, (struct heap){.addr = addrs[i]});
	return 0;
}

static int compare_heaps(const void *a, const void *b)
{
	const struct heap *left = a, *right = b;

	return (left->shown.start > right->shown.start) - (left->shown.start < right->shown.start);
}

/* Of heaps that overlap, which cannot be, the later one is taken for empty. */
static void sort_heaps(struct hotspot *vm)
{
	uint64_t limit = 0;

	qsort(vm->heaps.at, vm->heaps.nr, sizeof(vm->heaps.at[0]), compare_heaps);
	vec_for_each(&vm->heaps, heap) {
		if (heap->shown.start < limit) {
			blobs_release(&heap->blobs);
			heap->shown.start = heap->shown.limit = heap->shown.reserved = limit;
			heap->changed = true;
		}
		limit = heap->shown.reserved;
	}
}

int hotspot_look(struct hotspot *vm, size_t max_bytes)
{
	uint64_t queue;
	int err = find_heaps(vm);

	if (err)
		return err;
	vm->reader.interpreter = 0;
	if (vm_load(&vm->reader.structs, vm->reader.memory, VM_INTERPRETER_CODE, 0, &queue))
		vm_load(&vm->reader.structs, vm->reader.memory, VM_QUEUE_BUFFER, queue,
			&vm->reader.interpreter);
	vec_for_each(&vm->heaps, heap)
		if (!look_at_heap(vm, heap, &max_bytes))
			err = -EAGAIN;
	sort_heaps(vm);
	return err;
}

bool hotspot_pack(struct hotspot *vm)
{
	bool has_news = false;

	vec_for_each(&vm->heaps, heap) {
		if (!heap->changed)
			continue;
		unwind_table_free(heap->shown.table);
		heap->shown.table = heap->shown.start < heap->shown.limit
					    ? unwind_table_of(emit_heap, heap)
					    : NULL;
		heap->shown.generation = ++vm->generation;
		heap->changed = false;
		has_news = true;
	}
	return has_news;
}

/* Answers ---------------------------------------------------------------------------------------- */

size_t hotspot_nr_heaps(const struct hotspot *vm)
{
	return vm->heaps.nr;
}

const struct hotspot_heap *hotspot_heap(const struct hotspot *vm, size_t i)
{
	return &vm->heaps.at[i].shown;
}

/* The blob whose code ip is in, NULL if it is in none. */
static struct blob *find_blob(struct heap *heap, uint64_t ip)
{
	size_t low = 0, high = heap->blobs.nr;
	struct blob *blob;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (heap->blobs.at[middle].head.code <= ip)
			low = middle + 1;
		else
			high = middle;
	}
	blob = low ? &heap->blobs.at[low - 1] : NULL;
	return blob && ip < blob->head.code_limit ? blob : NULL;
}

static void find_in_heap(struct hotspot *vm, struct heap *heap, uint64_t ip,
			 struct unwind_rule *rule)
{
	struct blob *blob = find_blob(heap, ip);

	if (!blob)
		return;
	if (!blob->rows.nr) {
		if (!blob_analyze(&vm->reader, blob))
			return;
		heap->changed = true;
	}
	blob_find(blob, (uint32_t)(ip - blob->head.code), rule);
}

bool hotspot_find(struct hotspot *vm, uint64_t ip, struct unwind_rule *rule)
{
	vec_for_each(&vm->heaps, heap) {
		if (ip - heap->shown.start >= heap->shown.reserved - heap->shown.start)
			continue;
		*rule = (struct unwind_rule){.kind = UNWIND_UNKNOWN};
		find_in_heap(vm, heap, ip, rule);
		return true;
	}
	return false;
}

bool hotspot_take_name(struct hotspot *vm, uint64_t ip, struct hotspot_name *name)
{
	struct blob *blob = NULL;

	vec_for_each(&vm->heaps, heap)
		if (ip - heap->shown.start < heap->shown.limit - heap->shown.start)
			blob = find_blob(heap, ip);
	if (!blob || blob->was_named)
		return false;
	blob->was_named = true;
	name->start = blob->head.code;
	name->limit = blob->head.code_limit;
	if (blob->head.kind == BLOB_NMETHOD && blob->head.method &&
	    hotspot_method_name(&vm->reader.structs, vm->reader.memory, blob->head.method,
				name->text))
		return true;
	memory_string(vm->reader.memory, blob->head.name, name->text, sizeof(name->text));
	return *name->text;
}

void hotspot_stats(const struct hotspot *vm, struct hotspot_stats *stats)
{
	*stats = (struct hotspot_stats){.nr_analyzed = vm->reader.nr_analyzed};
	vec_for_each(&vm->heaps, heap) {
		stats->nr_blobs += heap->blobs.nr;
		vec_for_each(&heap->blobs, blob)
			stats->code_bytes += blob->head.code_limit - blob->head.code;
	}
}
