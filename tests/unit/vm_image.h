/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A HotSpot VM that is none: its tables, one heap of the code cache and a few blobs, in one flat piece of
 * memory. Fields are where no real VM has them.
 */
#ifndef CPROF_TESTS_VM_IMAGE_H
#define CPROF_TESTS_VM_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/vmstructs.h"

#define IMAGE_BASE     0x7f0000000000ull
#define IMAGE_BYTES    0x10000u
#define IMAGE_HEAP     0x8000u /* its memory: 3 pages, and one that it may grow by */
#define IMAGE_HIGH     0xb000u
#define IMAGE_LIMIT    0xc000u
#define IMAGE_MAP      0x7000u
#define IMAGE_SHIFT    7
#define IMAGE_SEGMENT  (1u << IMAGE_SHIFT)
#define IMAGE_STRIDE   56u
#define IMAGE_HEADER   16u /* of a block */
#define IMAGE_CODEHEAP 0x6000u
#define IMAGE_ARRAY    0x6400u
#define IMAGE_HEAPS    0x6500u /* the array's data */
#define IMAGE_STATIC \
	0x6600u /* static fields: CodeCache::_heaps, AbstractInterpreter::_code, a stub */
#define IMAGE_METHOD  0x6800u /* a/b/Some.method */
#define IMAGE_INLINED 0x6a00u /* a/b/Some.inlined */
#define IMAGE_SCOPES  0x6c00u /* what a compiler noted: metadata, scopes, places */
#define IMAGE_PLACES  0x6c40u
#define IMAGE_PERF    0x6d00u /* performance counters */
#define IMAGE_UNLOADS 0x6da0u /* the one that counts unloaded classes */
#define IMAGE_LOADER  0x6e00u /* loader data of the program's own class loader; not a class's yet */

struct vm_image {
	uint8_t bytes[IMAGE_BYTES];
	uint32_t strings_at, structs_at, types_at;
	const char *without; /* a field that the tables leave out; NULL: none */
	bool unreadable;
	size_t nr_reads;
};

static inline void image_put(struct vm_image *image, uint32_t at, uint64_t value, size_t len)
{
	memcpy(image->bytes + at, &value, len);
}

static inline uint64_t image_addr(uint32_t at)
{
	return IMAGE_BASE + at;
}

static inline uint64_t image_string(struct vm_image *image, const char *text)
{
	uint32_t at = image->strings_at;

	strcpy((char *)image->bytes + at, text);
	image->strings_at += strlen(text) + 1;
	return image_addr(at);
}

/* One entry of gHotSpotVMStructs. is_static: at is where the value is. */
static inline void image_field(struct vm_image *image, const char *class, const char *field,
			       const char *type, bool is_static, uint32_t at)
{
	uint32_t to = image->structs_at;
	char name[128];

	strcat(strcat(strcpy(name, class), "::"), field);
	if (image->without && !strcmp(image->without, name))
		return;
	image->structs_at += IMAGE_STRIDE;
	image_put(image, to, image_string(image, class), 8);
	image_put(image, to + 8, image_string(image, field), 8);
	image_put(image, to + 16, image_string(image, type), 8);
	image_put(image, to + 24, is_static, 4);
	image_put(image, to + 32, is_static ? 0 : at, 8);
	image_put(image, to + 40, is_static ? image_addr(at) : 0, 8);
}

static inline void image_type(struct vm_image *image, const char *name, uint64_t size)
{
	image_put(image, image->types_at, image_string(image, name), 8);
	image_put(image, image->types_at + 16, size, 8);
	image->types_at += IMAGE_STRIDE;
}

/* In the order of vm_variables[], from 0x100 on. */
static inline void image_variables(struct vm_image *image)
{
	const uint64_t values[] = {image_addr(0x200),  IMAGE_STRIDE, 0, 8, 16, 24, 32, 40,
				   image_addr(0x1000), IMAGE_STRIDE, 0, 16};

	for (uint32_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		image_put(image, 0x100 + 8 * i, values[i], 8);
}

static inline void image_heap_fields(struct vm_image *image)
{
	image_field(image, "CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", true, IMAGE_STATIC);
	image_field(image, "GrowableArrayBase", "_len", "int", false, 0);
	image_field(image, "GrowableArray<int>", "_data", "int*", false, 8);
	image_field(image, "CodeHeap", "_memory", "VirtualSpace", false, 16);
	image_field(image, "CodeHeap", "_segmap", "VirtualSpace", false, 64);
	image_field(image, "CodeHeap", "_log2_segment_size", "int", false, 8);
	image_field(image, "VirtualSpace", "_low", "char*", false, 0);
	image_field(image, "VirtualSpace", "_high", "char*", false, 8);
	image_field(image, "VirtualSpace", "_high_boundary", "char*", false, 16);
	image_field(image, "HeapBlock::Header", "_length", "uint32_t", false, 0);
	image_field(image, "HeapBlock::Header", "_used", "bool", false, 4);
	image_field(image, "StubRoutines", "_a_stub", "address", true, IMAGE_STATIC + 16);
	image_field(image, "AbstractInterpreter", "_code", "StubQueue*", true, IMAGE_STATIC + 8);
	image_field(image, "StubQueue", "_stub_buffer", "address", false, 0);
	image_field(image, "StubQueue", "_queue_end", "int", false, 8);
}

static inline void image_blob_fields(struct vm_image *image)
{
	image_field(image, "CodeBlob", "_name", "const char*", false, 0);
	image_field(image, "CodeBlob", "_frame_size", "int", false, 8);
	image_field(image, "CodeBlob", "_code_offset", "int", false, 12);
	image_field(image, "CodeBlob", "_data_offset", "int", false, 16);
	image_field(image, "nmethod", "_state", "volatile signed char", false, 20);
	image_field(image, "nmethod", "_compile_id", "int", false, 24);
	image_field(image, "nmethod", "_method", "Method*", false, 32);
	image_field(image, "nmethod", "_verified_entry_offset", "u2", false, 28);
	image_field(image, "nmethod", "_scopes_pcs_offset", "int", false, 48);
	image_field(image, "nmethod", "_dependencies_offset", "int", false, 52);
	image_field(image, "nmethod", "_scopes_data_offset", "int", false, 56);
	image_field(image, "nmethod", "_metadata_offset", "int", false, 60);
	image_field(image, "PcDesc", "_pc_offset", "int", false, 0);
	image_field(image, "PcDesc", "_scope_decode_offset", "int", false, 4);
}

static inline void image_method_fields(struct vm_image *image)
{
	image_field(image, "Method", "_constMethod", "ConstMethod*", false, 8);
	image_field(image, "ConstMethod", "_constants", "ConstantPool*", false, 0);
	image_field(image, "ConstMethod", "_name_index", "u2", false, 10);
	image_field(image, "ConstMethod", "_constMethod_size", "int", false, 12);
	image_field(image, "ConstMethod", "_code_size", "u2", false, 16);
	image_field(image, "ConstMethod", "_flags", "u2", false, 18);
	image_field(image, "ConstMethod", "_method_idnum", "u2", false, 20);
	image_field(image, "InstanceKlass", "_methods", "Array<Method*>*", false, 0);
	image_field(image, "Array<Method*>", "_data", "None", false, 8);
	image_field(image, "Array<int>", "_length", "int", false, 0);
	image_field(image, "ConstantPool", "_source_file_name_index", "u2", false, 12);
	image_field(image, "ConstantPool", "_pool_holder", "InstanceKlass*", false, 0);
	image_field(image, "ConstantPool", "_length", "int", false, 8);
	image_field(image, "Klass", "_name", "Symbol*", false, 24);
	image_field(image, "Symbol", "_length", "u2", false, 4);
	image_field(image, "Symbol", "_body", "None", false, 6);
}

static inline void image_unload_fields(struct vm_image *image)
{
	image_field(image, "PerfMemory", "_start", "char*", true, IMAGE_STATIC + 24);
	image_field(image, "ClassLoaderDataGraph", "_head", "ClassLoaderData*", true,
		    IMAGE_STATIC + 32);
	image_field(image, "CompressedKlassPointers", "_base", "address", true, IMAGE_STATIC + 40);
	image_field(image, "CompressedKlassPointers", "_shift", "int", true, IMAGE_STATIC + 48);
	image_field(image, "Klass", "_class_loader_data", "ClassLoaderData*", false, 32);
	image_field(image, "ClassLoaderData", "_class_loader", "OopHandle", false, 0);
	image_field(image, "ClassLoaderData", "_next", "ClassLoaderData*", false, 8);
	image_field(image, "ClassLoaderData", "_has_class_mirror_holder", "bool", false, 16);
	image_field(image, "oopDesc", "_metadata._klass", "Klass*", false, 8);
}

static inline void image_symbol(struct vm_image *image, uint32_t at, const char *text)
{
	image_put(image, at + 4, strlen(text), 2);
	memcpy(image->bytes + at + 6, text, strlen(text));
}

/* Three bytecodes, the first of line 40, the third of line 41. */
static const uint8_t image_lines[] = {0xff, 0, 80, 2 << 3 | 1, 0};

/* a/b/Some.NAME, of Some.java */
static inline void image_method(struct vm_image *image, uint32_t at, const char *name)
{
	image_put(image, at + 8, image_addr(at + 0x20), 8);
	image_put(image, at + 0x20, image_addr(at + 0x40), 8);
	image_put(image, at + 0x20 + 10, 2, 2);
	image_put(image, at + 0x20 + 12, 4, 4);
	image_put(image, at + 0x20 + 16, 3, 2);
	image_put(image, at + 0x20 + 18, 1, 2);
	memcpy(image->bytes + at + 0x20 + 24 + 3, image_lines, sizeof(image_lines));
	image_put(image, at + 0x40, image_addr(at + 0x80), 8);
	image_put(image, at + 0x40 + 8, 3, 4);
	image_put(image, at + 0x40 + 12, 1, 2);
	image_put(image, at + 0x40 + 16 + 1 * 8, image_addr(at + 0x140), 8);
	image_put(image, at + 0x40 + 16 + 2 * 8, image_addr(at + 0x100), 8);
	image_put(image, at + 0x80 + 24, image_addr(at + 0x120), 8);
	image_put(image, at + 0x80, image_addr(at + 0x1a0), 8);
	image_put(image, at + 0x1a0, 1, 4);
	image_put(image, at + 0x1a0 + 8, image_addr(at), 8);
	image_symbol(image, at + 0x100, name);
	image_symbol(image, at + 0x120, "a/b/Some");
	image_symbol(image, at + 0x140, "Some.java");
}

/* Two counters, the second of which is wanted. */
static inline void image_counters(struct vm_image *image)
{
	image_put(image, IMAGE_STATIC + 24, image_addr(IMAGE_PERF), 8);
	image_put(image, IMAGE_PERF, 0xc0c0feca, 4);
	image_put(image, IMAGE_PERF + 24, 32, 4);
	image_put(image, IMAGE_PERF + 28, 2, 4);
	image_put(image, IMAGE_PERF + 32, 48, 4);
	image_put(image, IMAGE_PERF + 32 + 4, 20, 4);
	strcpy((char *)image->bytes + IMAGE_PERF + 52, "java.cls.loadedClasses");
	image_put(image, IMAGE_PERF + 80, 88, 4);
	image_put(image, IMAGE_PERF + 80 + 4, 20, 4);
	image_put(image, IMAGE_PERF + 80 + 16, IMAGE_UNLOADS - IMAGE_PERF - 80, 4);
	strcpy((char *)image->bytes + IMAGE_PERF + 100, "java.cls.unloadedClasses");
}

static inline void image_loader(struct vm_image *image)
{
	image_put(image, IMAGE_STATIC + 32, image_addr(IMAGE_LOADER), 8);
	image_put(image, IMAGE_STATIC + 40, IMAGE_BASE, 8);
	image_put(image, IMAGE_LOADER, image_addr(IMAGE_LOADER + 0x20), 8);
	image_put(image, IMAGE_LOADER + 0x20, image_addr(IMAGE_LOADER + 0x30), 8);
	image_put(image, IMAGE_LOADER + 0x30 + 8, IMAGE_LOADER + 0x40, 4);
	image_put(image, IMAGE_LOADER + 0x40 + 24, image_addr(IMAGE_LOADER + 0x80), 8);
	image_symbol(image, IMAGE_LOADER + 0x80, "jdk/internal/loader/ClassLoaders$AppClassLoader");
}

/* Up to 5 bytes of a blob's code are of the method at its third bytecode, up to 9 of what it inlines there. */
static inline void image_scopes(struct vm_image *image)
{
	static const uint8_t scopes[] = {0xff, 0, 1, 3, 1, 2, 1};
	static const int32_t places[][4] = {{-1, 0}, {5, 1}, {9, 4}, {INT32_MAX, 0}};

	image_put(image, IMAGE_SCOPES, image_addr(IMAGE_METHOD), 8);
	image_put(image, IMAGE_SCOPES + 8, image_addr(IMAGE_INLINED), 8);
	memcpy(image->bytes + IMAGE_SCOPES + 16, scopes, sizeof(scopes));
	memcpy(image->bytes + IMAGE_PLACES, places, sizeof(places));
}

static inline void image_init(struct vm_image *image, const char *without)
{
	*image = (struct vm_image){
		.strings_at = 0x3000, .structs_at = 0x200, .types_at = 0x1000, .without = without};
	image_variables(image);
	image_heap_fields(image);
	image_blob_fields(image);
	image_method_fields(image);
	image_unload_fields(image);
	image_type(image, "ConstMethod", 24);
	image_type(image, "PcDesc", 16);
	image_type(image, "HeapBlock", IMAGE_HEADER);
	image_type(image, "ConstantPool", 16);
	image_method(image, IMAGE_METHOD, "method");
	image_method(image, IMAGE_INLINED, "inlined");
	image_scopes(image);
	image_counters(image);
	image_loader(image);
	image_put(image, IMAGE_STATIC, image_addr(IMAGE_ARRAY), 8);
	image_put(image, IMAGE_ARRAY, 1, 4);
	image_put(image, IMAGE_ARRAY + 8, image_addr(IMAGE_HEAPS), 8);
	image_put(image, IMAGE_HEAPS, image_addr(IMAGE_CODEHEAP), 8);
	image_put(image, IMAGE_CODEHEAP + 8, IMAGE_SHIFT, 4);
	image_put(image, IMAGE_CODEHEAP + 16, image_addr(IMAGE_HEAP), 8);
	image_put(image, IMAGE_CODEHEAP + 24, image_addr(IMAGE_HIGH), 8);
	image_put(image, IMAGE_CODEHEAP + 32, image_addr(IMAGE_LIMIT), 8);
	image_put(image, IMAGE_CODEHEAP + 64, image_addr(IMAGE_MAP), 8);
	image_put(image, IMAGE_CODEHEAP + 72, image_addr(IMAGE_MAP + 0x1000), 8);
	memset(image->bytes + IMAGE_MAP, 0xff, 0x1000);
}

struct image_blob {
	uint32_t segment, nr_segments; /* where, and of what length */
	const char *name;
	uint32_t frame_words, compile_id;
	int8_t state;
	const uint8_t *code;
	uint32_t code_bytes;
};

#define IMAGE_CODE_OFFSET 64 /* in a blob */

/* Returns the address of its code. */
static inline uint64_t image_blob(struct vm_image *image, const struct image_blob *blob)
{
	uint32_t at = IMAGE_HEAP + blob->segment * IMAGE_SEGMENT, head = at + IMAGE_HEADER;

	for (uint32_t i = 0; i < blob->nr_segments; i++)
		image->bytes[IMAGE_MAP + blob->segment + i] = i;
	memset(image->bytes + at, 0, blob->nr_segments * IMAGE_SEGMENT);
	image_put(image, at, blob->nr_segments, 4);
	image_put(image, at + 4, 1, 1);
	image_put(image, head, image_string(image, blob->name), 8);
	image_put(image, head + 8, blob->frame_words, 4);
	image_put(image, head + 12, IMAGE_CODE_OFFSET, 4);
	image_put(image, head + 16, IMAGE_CODE_OFFSET + blob->code_bytes, 4);
	image_put(image, head + 20, (uint8_t)blob->state, 1);
	image_put(image, head + 24, blob->compile_id, 4);
	image_put(image, head + 32, image_addr(IMAGE_METHOD), 8);
	image_put(image, head + 48, IMAGE_PLACES - head, 4);
	image_put(image, head + 52, IMAGE_PLACES + 64 - head, 4);
	image_put(image, head + 56, IMAGE_SCOPES + 16 - head, 4);
	image_put(image, head + 60, IMAGE_SCOPES - head, 4);
	memcpy(image->bytes + head + IMAGE_CODE_OFFSET, blob->code, blob->code_bytes);
	return image_addr(head + IMAGE_CODE_OFFSET);
}

/* The VM's memory, as hotspot.h wants it; ctx is the image. */
static inline void image_read(void *ctx, struct memory_piece *pieces, size_t nr)
{
	struct vm_image *image = ctx;

	for (size_t i = 0; i < nr; i++) {
		uint64_t at = pieces[i].addr - IMAGE_BASE;

		image->nr_reads++;
		pieces[i].was_read = !image->unreadable && at < IMAGE_BYTES &&
				     pieces[i].len_bytes <= IMAGE_BYTES - at;
		if (pieces[i].was_read)
			memcpy(pieces[i].to, image->bytes + at, pieces[i].len_bytes);
	}
}

static inline uint64_t image_variable(void *ctx, const char *name)
{
	(void)ctx;
	for (size_t i = 0; i < VM_NR_VARIABLES; i++)
		if (!strcmp(vm_variables[i], name))
			return image_addr(0x100 + 8 * i);
	return 0;
}

#endif
