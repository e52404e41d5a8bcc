// SPDX-License-Identifier: BSD-2-Clause
/*
 * The VM as a whole: whether its tables say what is needed, which heaps it has (one, or three: for
 * methods profiled and not, and for everything else), and who is asked about an ip. What is in a heap is
 * hotspotheap.c's, what is in a blob hotspotblob.c's, what names it hotspot_names.c's.
 */
#include "runtime/hotspot_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

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
	if (!structs->block_header_bytes || structs->block_header_bytes > HOTSPOT_MAX_HEADER_BYTES)
		return "sizeof(HeapBlock)";
	return NULL;
}

/* How much of a blob is to be read. */
static size_t blob_header_bytes(const struct vmstructs *structs)
{
	size_t need = 0;

	for (int id = VM_BLOB_NAME; id <= VM_NMETHOD_IMMUTABLE_SIZE; id++) {
		const struct vm_field *field = &structs->fields[id];

		if (field->known && field->at <= HOTSPOT_MAX_HEADER_BYTES &&
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
	answers_release(&vm->answers);
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
	    nr > HOTSPOT_MAX_HEAPS ||
	    !memory_read(vm->reader.memory, data, addrs, nr * sizeof(addrs[0])))
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

/* Sorts the heaps. If two overlap, which is an error, the later one is treated as empty. */
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

static const struct unwind_arch *arch_of(const struct hotspot *vm)
{
	return vm->reader.memory->arch == &arch_arm64 ? &unwind_arm64 : &unwind_x86;
}

bool hotspot_pack(struct hotspot *vm)
{
	bool has_news = false;

	vec_for_each(&vm->heaps, heap) {
		if (!heap->changed)
			continue;
		unwind_table_free(heap->shown.table);
		heap->shown.table = heap->shown.start < heap->shown.limit
					    ? unwind_table_of(arch_of(vm), code_heap_emit, heap)
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

void hotspot_stats(const struct hotspot *vm, struct hotspot_stats *stats)
{
	*stats = (struct hotspot_stats){.nr_analyzed = vm->reader.nr_analyzed,
					.memory_bytes = answers_bytes(&vm->answers)};
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
