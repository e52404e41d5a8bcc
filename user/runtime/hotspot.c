// SPDX-License-Identifier: BSD-2-Clause
/*
 * The VM as a whole: whether its tables say what is needed, which heaps it has (one, or three: for
 * methods profiled and not, and for everything else), and who is asked about an ip. What is in a heap is
 * hotspotheap.c's, what is in a blob hotspotblob.c's.
 */
#include "runtime/hotspot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/vec.h"
#include "runtime/hotspotheap.h"
#include "runtime/hotspotmethod.h"
#include "runtime/hotspotscopes.h"
#include "runtime/hotspottold.h"
#include "runtime/hotspotunload.h"

#define MAX_HEADER_BYTES 1024
#define MAX_METHOD_BYTES (8u << 20) /* that are kept */
#define WORD		 8

struct hotspot {
	struct blob_reader reader;
	vec_of(struct code_heap) heaps;
	uint32_t generation;
	struct hotspot_methods methods;
	char blob_name[HOTSPOT_NAME_BYTES]; /* of the last piece */
	struct tolds told;
	struct jvm_counters counters;
	struct own_loaders own;
	uint64_t own_due_ns;
	uint64_t methods_unloads; /* what the count was when methods were read */
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

	for (int id = VM_BLOB_NAME; id <= VM_NMETHOD_IMMUTABLE_SIZE; id++) {
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
	(*vm)->methods.vm = &(*vm)->reader.structs;
	(*vm)->methods.memory = memory;
	return 0;
}

void hotspot_free(struct hotspot *vm)
{
	if (!vm)
		return;
	vec_for_each(&vm->heaps, heap)
		code_heap_release(heap);
	vec_release(&vm->heaps);
	hotspot_methods_forget(&vm->methods);
	tolds_release(&vm->told);
	blob_reader_release(&vm->reader);
	free(vm);
}

/* Heaps ------------------------------------------------------------------------------------------ */

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
			vec_push(&vm->heaps, (struct code_heap){.addr = addrs[i]});
	return 0;
}

static int compare_heaps(const void *a, const void *b)
{
	const struct code_heap *left = a, *right = b;

	return (left->shown.start > right->shown.start) - (left->shown.start < right->shown.start);
}

/* Of heaps that overlap, which cannot be, the later one is taken for empty. */
static void sort_heaps(struct hotspot *vm)
{
	uint64_t limit = 0;

	qsort(vm->heaps.at, vm->heaps.nr, sizeof(vm->heaps.at[0]), compare_heaps);
	vec_for_each(&vm->heaps, heap) {
		if (heap->shown.start < limit) {
			code_heap_clear(heap);
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
	if (!vm->counters.unloads_at)
		vm->counters = unloads_find(&vm->reader.structs, vm->reader.memory);
	vm->reader.interpreter = 0;
	if (vm_load(&vm->reader.structs, vm->reader.memory, VM_INTERPRETER_CODE, 0, &queue))
		vm_load(&vm->reader.structs, vm->reader.memory, VM_QUEUE_BUFFER, queue,
			&vm->reader.interpreter);
	vec_for_each(&vm->heaps, heap)
		if (!code_heap_look(heap, &vm->reader, &max_bytes))
			err = -EAGAIN;
	sort_heaps(vm);
	return err;
}

bool hotspot_is_changed(const struct hotspot *vm)
{
	vec_for_each(&vm->heaps, heap)
		if (heap->changed)
			return true;
	return false;
}

bool hotspot_pack(struct hotspot *vm)
{
	bool has_news = false;

	vec_for_each(&vm->heaps, heap) {
		if (!heap->changed)
			continue;
		unwind_table_free(heap->shown.table);
		heap->shown.table = heap->shown.start < heap->shown.limit
					    ? unwind_table_of(code_heap_emit, heap)
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

static struct code_heap *heap_of(struct hotspot *vm, uint64_t ip)
{
	vec_for_each(&vm->heaps, heap)
		if (ip - heap->shown.start < heap->shown.reserved - heap->shown.start)
			return heap;
	return NULL;
}

/* The blob with ip, whose code was analyzed. NULL: there is none. */
static struct blob *find_analyzed(struct hotspot *vm, struct code_heap *heap, uint64_t ip)
{
	struct blob *blob = code_heap_find(heap, ip);

	if (!blob || blob->rows.nr)
		return blob;
	if (!blob_analyze(&vm->reader, blob))
		return NULL;
	heap->changed = true;
	return blob;
}

bool hotspot_find(struct hotspot *vm, uint64_t ip, struct unwind_rule *rule)
{
	struct code_heap *heap = heap_of(vm, ip);
	struct blob *blob = heap ? find_analyzed(vm, heap, ip) : NULL;

	if (!heap)
		return false;
	*rule = (struct unwind_rule){.kind = UNWIND_UNKNOWN};
	if (blob)
		blob_find(blob, (uint32_t)(ip - blob->head.code), rule);
	return true;
}

bool hotspot_code(struct hotspot *vm, uint64_t ip, struct hotspot_code *code)
{
	struct code_heap *heap = heap_of(vm, ip);
	struct blob *blob = heap ? find_analyzed(vm, heap, ip) : NULL;

	if (!blob)
		return false;
	*code = (struct hotspot_code){blob->head.code, blob->head.code_limit, blob->rows.at,
				      blob->rows.nr};
	return true;
}

struct jvm_counters hotspot_counters(const struct hotspot *vm)
{
	return vm->counters;
}

/* Names ------------------------------------------------------------------------------------------ */

void hotspot_forget_methods(struct hotspot *vm)
{
	hotspot_methods_forget(&vm->methods);
}

static struct hotspot_frame frame_of(const struct hotspot_method *method, uint32_t line)
{
	return (struct hotspot_frame){method->name, method->file, line, method->start_line};
}

/* The methods of the scopes. false: one cannot be read. */
static bool name_scopes(struct hotspot *vm, const struct hotspot_scopes *scopes,
			struct hotspot_piece *piece)
{
	for (size_t i = 0; i < scopes->nr; i++) {
		const struct hotspot_method *method =
			hotspot_method(&vm->methods, scopes->at[i].method);

		if (!method)
			return false;
		piece->frames[i] = frame_of(
			method, hotspot_method_line(&vm->methods, method, scopes->at[i].bci));
	}
	piece->nr = scopes->nr;
	return piece->nr;
}

/* By what the compiler noted, else by the compiled method alone. */
static bool name_nmethod(struct hotspot *vm, const struct blob *blob, const struct raw_head *raw,
			 uint64_t ip, struct hotspot_piece *piece)
{
	const struct hotspot_method *method;
	struct hotspot_scopes scopes;

	if (hotspot_scopes_read(&vm->reader, raw, &blob->head, ip, &scopes)) {
		piece->start = scopes.start;
		piece->limit = scopes.limit;
		if (name_scopes(vm, &scopes, piece))
			return true;
	} else if (vm->reader.structs.fields[VM_NMETHOD_SCOPES_PCS].known) {
		piece->start = ip;
		piece->limit = ip + 1;
	}
	method = hotspot_method(&vm->methods, blob->head.method);
	if (!method)
		return false;
	piece->frames[0] = frame_of(method, 0);
	piece->nr = 1;
	return true;
}

/* By the VM's own name of its code. The interpreter's, where it executes no method's, has one that says so. */
static bool name_blob(struct hotspot *vm, const struct blob *blob, struct hotspot_piece *piece)
{
	if (blob->head.kind == BLOB_INTERPRETER)
		strcpy(vm->blob_name, "[interpreter]");
	else
		memory_string(vm->reader.memory, blob->head.name, vm->blob_name,
			      sizeof(vm->blob_name));
	piece->frames[0] = (struct hotspot_frame){.name = vm->blob_name, .file = ""};
	piece->nr = 1;
	return *vm->blob_name;
}

static struct blob *find_blob(struct hotspot *vm, uint64_t ip)
{
	vec_for_each(&vm->heaps, heap)
		if (ip - heap->shown.start < heap->shown.limit - heap->shown.start)
			return code_heap_find(heap, ip);
	return NULL;
}

/* The line of the bytecode whose address has this lower half. A method that is being entered has the first one before it. */
static uint32_t line_of_word(const struct hotspot *vm, const struct hotspot_method *method,
			     uint64_t word)
{
	uint16_t bci = (uint16_t)((word & UNWIND_METHOD_BCP) - method->bytecodes);

	return hotspot_method_line(&vm->methods, method, word & UNWIND_METHOD_HAS_BCP ? bci : 0);
}

static uint64_t hash_of(const struct hotspot_piece *piece)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < piece->nr; i++) {
		const struct hotspot_frame *frame = &piece->frames[i];

		hash = hash_combine(hash_bytes(frame->name, strlen(frame->name), hash),
				    frame->line);
	}
	return hash;
}

/* Makes it the answer for one ip. false: the same was answered before. */
static bool tell(struct hotspot *vm, uint64_t word, uint64_t unloads, struct hotspot_piece *piece)
{
	const struct told *before = tolds_find(&vm->told, word);
	struct told told = {word, hash_of(piece), unloads};
	bool is_news = !before || before->answer != told.answer;

	piece->start = word;
	piece->limit = word + 1;
	tolds_put(&vm->told, &told);
	return is_news;
}

/* Nobody can know any more, unless what was answered last is of the same time. */
static bool tell_gone(struct hotspot *vm, uint64_t word, const struct hotspot_tick *tick,
		      struct hotspot_piece *piece)
{
	const struct told *told = tolds_find(&vm->told, word);

	if (told && told->unloads && told->unloads == tick->unloads)
		return false;
	piece->frames[0] = (struct hotspot_frame){.name = HOTSPOT_GONE, .file = ""};
	piece->nr = 1;
	return tell(vm, word, 0, piece);
}

/* Is what was read until the count was `unloads` what was there at the tick? Also if no class was ever unloaded. */
static bool is_of_tick(uint64_t unloads, const struct hotspot_tick *tick)
{
	return unloads && (unloads == tick->unloads || unloads == UNWIND_UNLOADS(0));
}

/* Looked for until all are found: programs begin with the first of them. */
static const struct own_loaders *own_loaders(struct hotspot *vm)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (vm->own.nr < MAX_OWN_LOADERS && now_ns >= vm->own_due_ns) {
		unloads_find_own(&vm->reader.structs, vm->reader.memory, &vm->own);
		vm->own_due_ns = now_ns + NSEC_PER_SEC;
	}
	return &vm->own;
}

/* Was the Method there at the tick, because its class stays and it was there before? Notes that it is otherwise. */
static bool stays_since(struct hotspot *vm, uint64_t addr, const struct hotspot_tick *tick)
{
	const struct told *stays = tolds_find(&vm->told, addr);

	if (stays)
		return stays->answer <= tick->time_ns;
	if (unloads_never(&vm->reader.structs, vm->reader.memory, own_loaders(vm),
			  hotspot_method_class(&vm->methods, addr)))
		tolds_put(&vm->told, &(struct told){.word = addr, .answer = clock_monotonic_ns()});
	return false;
}

/* Returns the count. What was read when it was another is forgotten. */
static uint64_t begin_reading(struct hotspot *vm)
{
	uint64_t unloads = unloads_read(vm->reader.memory, vm->counters.unloads_at);

	if (unloads != vm->methods_unloads)
		hotspot_methods_forget(&vm->methods);
	vm->methods_unloads = unloads;
	return unloads;
}

static bool take_interpreted(struct hotspot *vm, uint64_t word, const struct hotspot_tick *tick,
			     struct hotspot_piece *piece)
{
	uint64_t addr = unwind_method_addr(word), before, unloads;
	const struct hotspot_method *method;

	before = begin_reading(vm);
	method = hotspot_method_is_listed(&vm->methods, addr) ? hotspot_method(&vm->methods, addr)
							      : NULL;
	unloads = unloads_read(vm->reader.memory, vm->counters.unloads_at);
	if (!method || before != unloads)
		return tell_gone(vm, word, tick, piece);
	if (!is_of_tick(unloads, tick) && !stays_since(vm, addr, tick))
		return tell_gone(vm, word, tick, piece);
	piece->frames[0] = frame_of(method, line_of_word(vm, method, word));
	piece->nr = 1;
	return tell(vm, word, tick->unloads, piece);
}

/* Was nothing collected since, or no class ever unloaded? */
static bool is_uncollected(const struct hotspot *vm, uint64_t unloads,
			   const struct hotspot_tick *tick)
{
	return unloads == UNWIND_UNLOADS(0) ||
	       unloads_read(vm->reader.memory, vm->counters.collections_at) == tick->collections;
}

/* The piece of its code. false: it is not there any more. */
static bool name_code(struct hotspot *vm, struct blob *blob, uint64_t ip,
		      struct hotspot_piece *piece)
{
	uint8_t header[MAX_HEADER_BYTES + WORD];
	struct raw_head raw = {.bytes = header};

	if (!blob_is_there(&vm->reader, blob, header, &raw))
		return false;
	piece->start = blob->head.code;
	piece->limit = blob->head.code_limit;
	return (blob->head.kind == BLOB_NMETHOD && blob->head.method &&
		name_nmethod(vm, blob, &raw, ip, piece)) ||
	       name_blob(vm, blob, piece);
}

/*
 * Code has a number, so what was there before the tick and is there now was there at the tick. What was met later was, if no class
 * was unloaded since, and nothing collected, which also code goes by that is not used. (Before Java 20 a thread of its own makes
 * such room, when it is scarce.)
 */
static bool take_compiled(struct hotspot *vm, uint64_t ip, const struct hotspot_tick *tick,
			  struct hotspot_piece *piece)
{
	struct blob *blob = find_blob(vm, ip);
	uint64_t before = begin_reading(vm), unloads;
	bool was_there, is_named;

	if (before == UNWIND_UNLOADS(0) && (!blob || blob_was_named(blob, ip)))
		return false; /* nothing was here before it, so it is what comes next */
	is_named = blob && name_code(vm, blob, ip, piece);
	unloads = unloads_read(vm->reader.memory, vm->counters.unloads_at);
	was_there = blob && blob->since_ns <= tick->time_ns;
	if (!is_named || before != unloads ||
	    (!was_there && !(is_of_tick(unloads, tick) && is_uncollected(vm, unloads, tick))))
		return tell_gone(vm, ip, tick, piece);
	if (unloads != UNWIND_UNLOADS(0))
		return tell(vm, ip, tick->unloads, piece);
	blob_note_named(blob, piece->start, piece->limit);
	return true;
}

bool hotspot_take_piece(struct hotspot *vm, uint64_t ip, const struct hotspot_tick *tick,
			struct hotspot_piece *piece)
{
	if (vm->methods.bytes > MAX_METHOD_BYTES)
		hotspot_methods_forget(&vm->methods);
	return IP_IS_METHOD(ip) ? take_interpreted(vm, ip, tick, piece)
				: take_compiled(vm, ip, tick, piece);
}

void hotspot_stats(const struct hotspot *vm, struct hotspot_stats *stats)
{
	*stats = (struct hotspot_stats){.nr_analyzed = vm->reader.nr_analyzed,
					.memory_bytes = tolds_bytes(&vm->told)};
	vec_for_each(&vm->heaps, heap) {
		stats->nr_blobs += heap->blobs.nr;
		vec_for_each(&heap->blobs, blob)
			stats->code_bytes += blob->head.code_limit - blob->head.code;
		stats->memory_bytes += heap->blobs.cap * sizeof(heap->blobs.at[0]);
		vec_for_each(&heap->blobs, blob)
			stats->memory_bytes += blob->rows.cap * sizeof(blob->rows.at[0]) +
					       blob->named.cap * sizeof(blob->named.at[0]);
	}
}
