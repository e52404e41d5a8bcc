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
 * How a blob's code is unwound:
 *	nmethod		from its code: frames of the size that its header says
 *	Interpreter	rbp frames; its entries are found as codelets whose description says so
 *	others		from their code, entered at its start, where branches lead, and where the
 *			VM's table of stub routines points to
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
#include "base/hash.h"
#include "base/vec.h"
#include "object/hotspotname.h"
#include "object/stackflow.h"

#define PAGE_BYTES	  4096ull
#define MAX_HEAP_BYTES	  (2ull << 30) /* HotSpot's own limit for the whole code cache */
#define MAX_HEADER_BYTES  1024
#define MAX_BLOBS	  (1u << 18) /* in a heap */
#define MAX_NAMES	  4096
#define MAX_FRAME_WORDS	  (1u << 20)
#define MAX_CODELETS	  4096
#define PIECES		  512 /* read at once */
#define WORD		  8
#define USER_LIMIT	  (1ull << 47)
#define MIN_SEGMENT_SHIFT 4
#define MAX_SEGMENT_SHIFT 16

/*
 * class InterpreterCodelet, which the VM does not list: what it is (a string), its size, then its code
 * behind padding of zeros, which do nothing to the stack where they are taken for instructions.
 */
#define CODELET_SIZE_AT	     8
#define CODELET_HEADER_BYTES 16

enum blob_kind {
	BLOB_STUB,
	BLOB_NMETHOD,
	BLOB_INTERPRETER,
	BLOB_VTABLE
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

struct blob_row {
	uint32_t offset; /* from its code's start */
	struct unwind_rule rule;
};

struct blob {
	struct blob_head head;
	uint64_t code_hash;
	bool confirmed; /* its code was the same at two looks */
	bool was_named;
	vec_of(struct blob_row) rows; /* none: not analyzed yet */
};

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

struct kind_name {
	uint64_t addr;
	enum blob_kind kind;
};

struct hotspot {
	const struct target_memory *memory;
	struct vmstructs structs;
	size_t header_bytes; /* of a blob: all fields that are asked for */
	vec_of(struct heap) heaps;
	vec_of(struct kind_name) names;
	uint64_t interpreter; /* address in the blob that holds it */
	uint32_t generation;
	size_t nr_analyzed; /* so far */
};

/* Opening ---------------------------------------------------------------------------------------- */

/* Either of two fields is enough where there are two: versions differ. */
static const enum vm_field_id needed[][2] = {
	{VM_HEAPS, VM_HEAPS},
	{VM_ARRAY_LEN, VM_ARRAY_LEN},
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
	(*vm)->memory = memory;
	(*vm)->structs = structs;
	(*vm)->header_bytes = blob_header_bytes(&structs);
	return 0;
}

static void blob_release(struct blob *blob)
{
	vec_release(&blob->rows);
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
	vec_release(&vm->names);
	free(vm);
}

/* Blobs' headers --------------------------------------------------------------------------------- */

static enum blob_kind kind_of_name(const char *name)
{
	if (!strcmp(name, "nmethod") || !strcmp(name, "native nmethod"))
		return BLOB_NMETHOD;
	return !strncmp(name, "vtable", 6) ? BLOB_VTABLE : BLOB_STUB;
}

/* Names are constants of libjvm: each is read once. */
static enum blob_kind kind_at(struct hotspot *vm, uint64_t name)
{
	struct kind_name kind = {.addr = name};
	char text[64];

	vec_for_each(&vm->names, known)
		if (known->addr == name)
			return known->kind;
	if (vm->names.nr == MAX_NAMES)
		return BLOB_STUB;
	memory_string(vm->memory, name, text, sizeof(text));
	kind.kind = kind_of_name(text);
	vec_push(&vm->names, kind);
	return kind.kind;
}

/* A header as it was read: blob's own, len_bytes of it. */
struct raw_head {
	const struct vmstructs *structs;
	uint64_t addr; /* of the blob */
	const uint8_t *bytes;
	size_t len_bytes;
};

/* 0 where it is not known. */
static uint64_t get(const struct raw_head *raw, enum vm_field_id id)
{
	uint64_t value = 0;

	vm_get(raw->structs, id, raw->bytes, raw->len_bytes, &value);
	return value;
}

/* An address, told as such or as an offset from the blob. */
static uint64_t get_place(const struct raw_head *raw, enum vm_field_id pointer,
			  enum vm_field_id offset)
{
	uint64_t value;

	if (vm_get(raw->structs, pointer, raw->bytes, raw->len_bytes, &value))
		return value;
	return raw->addr + get(raw, offset);
}

static void read_nmethod_head(const struct raw_head *raw, struct blob_head *head)
{
	uint64_t entry;

	head->compile_id = (uint32_t)get(raw, VM_NMETHOD_COMPILE_ID);
	head->osr = get(raw, VM_NMETHOD_OSR);
	if (!vm_get(raw->structs, VM_NMETHOD_METHOD, raw->bytes, raw->len_bytes, &head->method))
		head->method = get(raw, VM_COMPILED_METHOD);
	if (!vm_get(raw->structs, VM_NMETHOD_VERIFIED, raw->bytes, raw->len_bytes,
		    &head->verified) &&
	    vm_get(raw->structs, VM_NMETHOD_VERIFIED_OFFSET, raw->bytes, raw->len_bytes, &entry))
		head->verified = head->code + entry;
}

/* false: there is no blob, not yet, or it is not one to believe. */
static bool read_head(struct hotspot *vm, const struct raw_head *raw, struct blob_head *head)
{
	uint64_t frame_words = get(raw, VM_BLOB_FRAME_SIZE);

	head->name = get(raw, VM_BLOB_NAME);
	head->code = get_place(raw, VM_BLOB_CODE_BEGIN, VM_BLOB_CODE_OFFSET);
	head->code_limit = get_place(raw, VM_BLOB_CODE_END, VM_BLOB_DATA_OFFSET);
	if (head->code < raw->addr || head->code_limit > head->limit ||
	    head->code >= head->code_limit || head->code_limit - head->code > STACKFLOW_MAX_BYTES)
		return false;
	if (frame_words < MAX_FRAME_WORDS)
		head->frame_bytes = (uint32_t)frame_words * WORD;
	head->kind = kind_at(vm, head->name);
	if (vm->interpreter - head->code < head->code_limit - head->code)
		head->kind = BLOB_INTERPRETER;
	if (head->kind != BLOB_NMETHOD)
		return true;
	if ((int64_t)get(raw, VM_NMETHOD_STATE) < 0) /* not installed yet */
		return false;
	read_nmethod_head(raw, head);
	return true;
}

/* Blobs' code ------------------------------------------------------------------------------------ */

struct entries {
	struct stackflow_entry *at;
	size_t nr, cap;
};

static void entries_release(struct entries *entries)
{
	vec_release(entries);
}

static void add_entry(struct entries *entries, const struct blob_head *head, uint64_t addr,
		      bool sender_in_r13)
{
	if (addr - head->code < head->code_limit - head->code)
		vec_push(entries, (struct stackflow_entry){addr - head->code, sender_in_r13});
}

/* Where the VM's table of stub routines points to. */
static void add_stub_entries(const struct hotspot *vm, const struct blob_head *head,
			     struct entries *entries)
{
	struct memory_piece pieces[VM_MAX_STUB_FIELDS];
	uint64_t addrs[VM_MAX_STUB_FIELDS];
	size_t nr = vm->structs.nr_stub_fields;

	for (size_t i = 0; i < nr; i++)
		pieces[i] = (struct memory_piece){
			.addr = vm->structs.stub_fields[i], .to = &addrs[i], .len_bytes = WORD};
	vm->memory->read(vm->memory->ctx, pieces, nr);
	for (size_t i = 0; i < nr; i++)
		if (pieces[i].was_read)
			add_entry(entries, head, addrs[i], false);
}

static void add_codelet_entry(const struct hotspot *vm, const struct blob_head *head,
			      uint64_t codelet, uint64_t description, struct entries *entries)
{
	char text[64];

	if (!description || description >= USER_LIMIT)
		return;
	memory_string(vm->memory, description, text, sizeof(text));
	if (strstr(text, "method entry point"))
		add_entry(entries, head, codelet + CODELET_HEADER_BYTES, true);
	else if (!strcmp(text, "slow signature handler") || !strncmp(text, "result handlers", 15))
		add_entry(entries, head, codelet + CODELET_HEADER_BYTES, false);
}

/* Along the queue of codelets; to its end only if each has a size that leads there. */
static void add_codelet_entries(const struct hotspot *vm, const struct blob_head *head,
				struct entries *entries)
{
	uint64_t queue, at, end;

	if (!vm_load(&vm->structs, vm->memory, VM_INTERPRETER_CODE, 0, &queue) ||
	    !vm_load(&vm->structs, vm->memory, VM_QUEUE_BUFFER, queue, &at) ||
	    !vm_load(&vm->structs, vm->memory, VM_QUEUE_END, queue, &end))
		return;
	end += at;
	for (size_t i = 0; i < MAX_CODELETS && at < end && at >= head->start; i++) {
		uint8_t header[CODELET_HEADER_BYTES];
		uint64_t description;
		int32_t size;

		if (!memory_read(vm->memory, at, header, sizeof(header)))
			return;
		memcpy(&description, header, sizeof(description));
		memcpy(&size, header + CODELET_SIZE_AT, sizeof(size));
		if (size < CODELET_HEADER_BYTES || (uint64_t)size > end - at)
			return;
		add_codelet_entry(vm, head, at, description, entries);
		at += (uint32_t)size;
	}
}

/*
 * A method that is not to be called any more has a jump (5 bytes) in place of its first instruction,
 * which most often is the probe of the stack's guard pages: mov %eax,-0x14000(%rsp), 7 bytes. Frames
 * that were there before live on.
 */
static void add_behind_jump(const struct blob_head *head, const uint8_t *code,
			    struct entries *entries)
{
	uint64_t offset = head->verified - head->code, len_bytes = head->code_limit - head->code;

	if (offset < len_bytes && len_bytes - offset > 7 && code[offset] == 0xe9 &&
	    code[offset + 6] == 0xff)
		add_entry(entries, head, head->verified + 7, false);
}

static void find_entries(const struct hotspot *vm, const struct blob_head *head,
			 const uint8_t *code, struct entries *entries)
{
	switch (head->kind) {
	case BLOB_INTERPRETER:
		add_codelet_entries(vm, head, entries);
		break;
	case BLOB_NMETHOD:
		add_entry(entries, head, head->code, false);
		add_entry(entries, head, head->verified, false);
		add_behind_jump(head, code, entries);
		add_entry(entries, head, head->osr, false);
		break;
	default:
		add_entry(entries, head, head->code, false);
		add_stub_entries(vm, head, entries);
	}
}

static void add_blob_row(void *ctx, const struct unwind_row *row)
{
	struct blob *blob = ctx;

	vec_push(&blob->rows,
		 (struct blob_row){(uint32_t)(row->elf_addr - blob->head.code), row->rule});
}

/* Stubs of method tables have no frame, and more of them are written into the same blob. */
static void describe_vtable_stubs(struct blob *blob)
{
	const struct unwind_rule rule = {
		.kind = UNWIND_FRAME,
		.cfa_reg = UNWIND_REG_SP,
		.cfa_off = WORD,
		.how = unwind_how_pack(UNWIND_SAME, UNWIND_AT_CFA),
		.ra_off = -WORD,
	};

	vec_push(&blob->rows, (struct blob_row){0, rule});
}

/* Reads a blob's code and analyzes it, unless it is what it was. */
static bool analyze(struct hotspot *vm, struct blob *blob)
{
	static const enum stackflow_kind kinds[] = {
		[BLOB_STUB] = STACKFLOW_STUB,
		[BLOB_NMETHOD] = STACKFLOW_COMPILED,
		[BLOB_INTERPRETER] = STACKFLOW_INTERPRETER,
	};
	size_t len_bytes = blob->head.code_limit - blob->head.code;
	uint8_t *bytes scoped(freep) = xmalloc(len_bytes);
	struct entries entries scoped(entries_release) = {0};
	struct stackflow_code code = {.bytes = bytes,
				      .len_bytes = len_bytes,
				      .addr = blob->head.code,
				      .frame_bytes = blob->head.frame_bytes};
	uint64_t hash;

	if (!memory_read(vm->memory, blob->head.code, bytes, len_bytes))
		return false;
	hash = hash_bytes(bytes, len_bytes, 0);
	blob->confirmed = blob->rows.nr && hash == blob->code_hash;
	if (blob->confirmed)
		return true;
	blob->code_hash = hash;
	blob->rows.nr = 0;
	vm->nr_analyzed++;
	if (blob->head.kind == BLOB_VTABLE) {
		describe_vtable_stubs(blob);
		return true;
	}
	find_entries(vm, &blob->head, bytes, &entries);
	code.kind = kinds[blob->head.kind];
	code.entries = entries.at;
	code.nr_entries = entries.nr;
	stackflow_rows(&code, add_blob_row, blob);
	return true;
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
	return vm_load(&vm->structs, vm->memory, id, heap + vm->structs.fields[space].at, value);
}

static bool read_heap_head(const struct hotspot *vm, uint64_t addr, struct heap_head *head)
{
	uint64_t shift, map_high;

	if (!load_space(vm, addr, VM_HEAP_MEMORY, VM_SPACE_LOW, &head->low) ||
	    !load_space(vm, addr, VM_HEAP_MEMORY, VM_SPACE_HIGH, &head->high) ||
	    !load_space(vm, addr, VM_HEAP_MEMORY, VM_SPACE_LIMIT, &head->limit) ||
	    !load_space(vm, addr, VM_HEAP_SEGMAP, VM_SPACE_LOW, &head->map) ||
	    !load_space(vm, addr, VM_HEAP_SEGMAP, VM_SPACE_HIGH, &map_high) ||
	    !vm_load(&vm->structs, vm->memory, VM_HEAP_SEGMENT_SHIFT, addr, &shift))
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
		if (!analyze(look->vm, &blob))
			return blob_release(&blob);
	}
	if (!is_old || hash != blob.code_hash)
		look->changed = true;
	vec_push(&look->new, blob);
}

/* A block may begin at start; bytes are its header's, and its blob's. */
static void take_block(struct look *look, uint64_t start, const uint8_t *bytes, size_t len_bytes)
{
	const struct vmstructs *structs = &look->vm->structs;
	struct blob_head head = {.start = start};
	uint64_t length = 0, used = 0;
	struct raw_head raw = {
		.structs = structs,
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
	if (!read_head(look->vm, &raw, &head))
		return;
	look->position = head.limit;
	take_blob(look, &head);
}

/* Reads the headers of so many blocks, and takes them. */
static void take_blocks(struct look *look, const uint64_t *starts, size_t nr, uint8_t *buffer)
{
	size_t len_bytes = look->vm->structs.block_header_bytes + look->vm->header_bytes;
	struct memory_piece pieces[PIECES];

	for (size_t i = 0; i < nr; i++)
		pieces[i] = (struct memory_piece){
			.addr = starts[i], .to = buffer + i * len_bytes, .len_bytes = len_bytes};
	look->vm->memory->read(look->vm->memory->ctx, pieces, nr);
	for (size_t i = 0; i < nr; i++)
		if (pieces[i].was_read)
			take_block(look, starts[i], buffer + i * len_bytes, len_bytes);
}

static bool take_all_blocks(struct look *look)
{
	size_t len_bytes = look->vm->structs.block_header_bytes + look->vm->header_bytes;
	uint8_t *buffer scoped(freep) = xreallocarray(NULL, PIECES, len_bytes);
	uint8_t *map scoped(freep) = xmalloc(look->head.nr_segments);
	uint64_t starts[PIECES];
	size_t nr = 0;

	if (!memory_read(look->vm->memory, look->head.map, map, look->head.nr_segments))
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

/* The CodeHeaps are made once, at the VM's start. */
static int find_heaps(struct hotspot *vm)
{
	uint64_t array, nr, data, addrs[HOTSPOT_MAX_HEAPS];

	if (!vm_load(&vm->structs, vm->memory, VM_HEAPS, 0, &array) || !array ||
	    !vm_load(&vm->structs, vm->memory, VM_ARRAY_LEN, array, &nr) ||
	    !vm_load(&vm->structs, vm->memory, VM_ARRAY_DATA, array, &data) || !nr ||
	    nr > HOTSPOT_MAX_HEAPS || !memory_read(vm->memory, data, addrs, nr * WORD))
		return -EAGAIN;
	for (size_t i = 0; i < nr; i++)
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
	int err = vm->heaps.nr ? 0 : find_heaps(vm);

	if (err)
		return err;
	vm->interpreter = 0;
	if (vm_load(&vm->structs, vm->memory, VM_INTERPRETER_CODE, 0, &queue))
		vm_load(&vm->structs, vm->memory, VM_QUEUE_BUFFER, queue, &vm->interpreter);
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

static void find_row(const struct blob *blob, uint32_t offset, struct unwind_rule *rule)
{
	size_t low = 0, high = blob->rows.nr; /* the first row's offset is 0 */

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (blob->rows.at[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	*rule = blob->rows.at[low].rule;
}

static void find_in_heap(struct hotspot *vm, struct heap *heap, uint64_t ip,
			 struct unwind_rule *rule)
{
	struct blob *blob = find_blob(heap, ip);

	if (!blob)
		return;
	if (!blob->rows.nr) {
		if (!analyze(vm, blob))
			return;
		heap->changed = true;
	}
	find_row(blob, (uint32_t)(ip - blob->head.code), rule);
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
	    hotspot_method_name(&vm->structs, vm->memory, blob->head.method, name->text))
		return true;
	memory_string(vm->memory, blob->head.name, name->text, sizeof(name->text));
	return *name->text;
}

void hotspot_stats(const struct hotspot *vm, struct hotspot_stats *stats)
{
	*stats = (struct hotspot_stats){.nr_analyzed = vm->nr_analyzed};
	vec_for_each(&vm->heaps, heap) {
		stats->nr_blobs += heap->blobs.nr;
		vec_for_each(&heap->blobs, blob)
			stats->code_bytes += blob->head.code_limit - blob->head.code;
	}
}
