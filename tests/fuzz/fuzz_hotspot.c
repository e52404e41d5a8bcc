// SPDX-License-Identifier: BSD-2-Clause
/*
 * The input is what happens to the memory of a VM (tests/unit/vm_image.h) before it is looked at, and
 * between looks: places and the bytes that are written there. A place of 0xffff: look, and ask.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/hotspot.h"
#include "runtime/hotspotmethod.h"
#include "unit/vm_image.h"

#define MAX_BYTES (1u << 16) /* to be analyzed in one look */
#define LOOK	  0xffff

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct vm_image image;
static const struct target_memory memory = {image_read, image_variable, &image, &arch_x86_64};

static void make_image(void)
{
	static const uint8_t code[] = {0x55, 0x48, 0x83, 0xec, 0x20, 0x90,
				       0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3};
	static const char *const names[] = {"nmethod", "a stub", "vtable chunks", "Interpreter"};

	image_init(&image, NULL);
	for (uint32_t i = 0; i < 4; i++)
		image_blob(&image, &(struct image_blob){.segment = 2 + 4 * i,
							.nr_segments = 3,
							.name = names[i],
							.frame_words = 6,
							.compile_id = i,
							.code = code,
							.code_bytes = sizeof(code)});
	image_put(&image, IMAGE_STATIC + 8, image_addr(0x6700), 8);
	image_put(&image, 0x6700, image_addr(IMAGE_HEAP + 14 * IMAGE_SEGMENT + 64), 8);
	image_put(&image, 0x6708, 256, 4);
}

static void use_piece(const struct hotspot_piece *piece, uint64_t ip)
{
	if (!piece->nr || piece->nr > HOTSPOT_MAX_FRAMES || ip < piece->start || ip >= piece->limit)
		abort();
	for (size_t i = 0; i < piece->nr; i++)
		if (!*piece->frames[i].name ||
		    strlen(piece->frames[i].name) >= HOTSPOT_NAME_BYTES ||
		    strlen(piece->frames[i].file) >= HOTSPOT_NAME_BYTES)
			abort();
}

/* What stands for interpreted frames leads to Methods. */
static void ask_interpreted(struct hotspot *vm)
{
	struct hotspot_piece piece;

	for (uint32_t at = 0; at < IMAGE_BYTES; at += 0x200) {
		uint64_t word = UNWIND_METHOD_MARK | image_addr(at) >> 3 << UNWIND_METHOD_SHIFT |
				UNWIND_METHOD_HAS_BCP | (at & UNWIND_METHOD_BCP);

		if (hotspot_take_piece(vm, word,
				       &(struct hotspot_tick){at, UNWIND_UNLOADS(at & 1), 0},
				       &piece))
			use_piece(&piece, word);
	}
}

/* What BPF would be given is well-formed, and asking gives answers. */
static void look(struct hotspot *vm)
{
	struct hotspot_piece piece;
	struct unwind_rule rule;

	hotspot_look(vm, MAX_BYTES);
	hotspot_pack(vm);
	for (size_t i = 0; i < hotspot_nr_heaps(vm); i++) {
		const struct hotspot_heap *heap = hotspot_heap(vm, i);

		if (heap->start > heap->limit || heap->limit > heap->reserved)
			abort();
		if (i && heap->start < hotspot_heap(vm, i - 1)->reserved)
			abort();
		if (heap->table && heap->start % X86_PAGE_BYTES)
			abort();
	}
	for (uint32_t at = IMAGE_HEAP; at < IMAGE_LIMIT; at += 61) {
		if (hotspot_find(vm, image_addr(at), &rule) && rule.kind >= UNWIND_NR_KINDS)
			abort();
		if (hotspot_take_piece(
			    vm, image_addr(at),
			    &(struct hotspot_tick){UINT64_MAX, UNWIND_UNLOADS(at >> 4 & 1), 0},
			    &piece))
			use_piece(&piece, image_addr(at));
	}
	ask_interpreted(vm);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hotspot *vm = NULL;
	size_t at = 0;

	make_image();
	while (size - at >= 3) {
		size_t place = data[at] | (size_t)data[at + 1] << 8, len = data[at + 2] & 31;

		at += 3;
		if (place == LOOK) {
			if (vm || !hotspot_open(&memory, &vm, NULL))
				look(vm);
			continue;
		}
		len = len < size - at ? len : size - at;
		len = len < IMAGE_BYTES - place ? len : IMAGE_BYTES - place;
		memcpy(image.bytes + place, data + at, len);
		at += len;
	}
	if (vm || !hotspot_open(&memory, &vm, NULL))
		look(vm);
	hotspot_free(vm);
	return 0;
}
