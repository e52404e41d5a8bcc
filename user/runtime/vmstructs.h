/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the fields of HotSpot's classes in the tables that a running VM has.
 *
 * libjvm.so exports these tables for debuggers (gHotSpotVMStructs and others, vmStructs.hpp in OpenJDK; the
 * serviceability agent reads them too). They are read from the VM's memory, so the version of the VM does not
 * matter: a field that it does not list is unknown, and the code that uses it copes.
 */
#ifndef CPROF_RUNTIME_VMSTRUCTS_H
#define CPROF_RUNTIME_VMSTRUCTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "object/arch.h"
#include "stream.h"

/* The target's memory. Reads may fail, and two reads of the same place may differ. */
struct target_memory {
	void (*read)(void *ctx, struct memory_piece *pieces, size_t nr);
	/* The runtime address of a symbol of libjvm.so; 0: there is none. */
	uint64_t (*symbol)(void *ctx, const char *name);
	void *ctx;
	const struct arch *arch; /* of its code: x86-64 or arm64 */
};

/* Reads len_bytes at addr of the target into to. false: they cannot be read, and to is undefined. */
bool memory_read(const struct target_memory *memory, uint64_t addr, void *to, size_t len_bytes);
/*
 * Reads a NUL-terminated string of less than max_bytes, as much of it as can be read. Returns its length.
 */
size_t memory_string(const struct target_memory *memory, uint64_t addr, char *to, size_t max_bytes);

/* The names that symbol() is called with. */
#define VM_NR_VARIABLES 12
extern const char *const vm_variables[VM_NR_VARIABLES];

/* X(id, class, field): all fields that are used. */
#define VM_FIELDS(X)                                                                    \
	X(HEAPS, "CodeCache", "_heaps")                                                 \
	X(ARRAY_LEN, "GrowableArrayBase", "_len")                                       \
	X(OLD_ARRAY_LEN, "GenericGrowableArray", "_len") /* until Java 15 */            \
	X(ARRAY_DATA, "GrowableArray<int>", "_data")                                    \
	X(HEAP_MEMORY, "CodeHeap", "_memory")                                           \
	X(HEAP_SEGMAP, "CodeHeap", "_segmap")                                           \
	X(HEAP_SEGMENT_SHIFT, "CodeHeap", "_log2_segment_size")                         \
	X(SPACE_LOW, "VirtualSpace", "_low")                                            \
	X(SPACE_HIGH, "VirtualSpace", "_high")                                          \
	X(SPACE_LIMIT, "VirtualSpace", "_high_boundary")                                \
	X(BLOCK_LENGTH, "HeapBlock::Header", "_length")                                 \
	X(BLOCK_USED, "HeapBlock::Header", "_used")                                     \
	X(BLOB_NAME, "CodeBlob", "_name")                                               \
	X(BLOB_SIZE, "CodeBlob", "_size")                                               \
	X(BLOB_FRAME_SIZE, "CodeBlob", "_frame_size")                                   \
	X(BLOB_CODE_BEGIN, "CodeBlob", "_code_begin")                                   \
	X(BLOB_CODE_END, "CodeBlob", "_code_end")                                       \
	X(BLOB_CODE_OFFSET, "CodeBlob", "_code_offset")                                 \
	X(BLOB_DATA_OFFSET, "CodeBlob", "_data_offset")                                 \
	X(BLOB_MUTABLE, "CodeBlob", "_mutable_data")                                    \
	X(BLOB_RELOCATION_SIZE, "CodeBlob", "_relocation_size")                         \
	X(NMETHOD_STATE, "nmethod", "_state")                                           \
	X(NMETHOD_COMPILE_ID, "nmethod", "_compile_id")                                 \
	X(NMETHOD_METHOD, "nmethod", "_method")                                         \
	X(COMPILED_METHOD, "CompiledMethod", "_method")                                 \
	X(NMETHOD_VERIFIED, "nmethod", "_verified_entry_point")                         \
	X(NMETHOD_VERIFIED_OFFSET, "nmethod", "_verified_entry_offset")                 \
	X(NMETHOD_OSR, "nmethod", "_osr_entry_point")                                   \
	X(NMETHOD_SCOPES_DATA, "nmethod", "_scopes_data_offset")                        \
	X(COMPILED_SCOPES_DATA, "CompiledMethod", "_scopes_data_begin")                 \
	X(NMETHOD_SCOPES_PCS, "nmethod", "_scopes_pcs_offset")                          \
	X(NMETHOD_DEPENDENCIES, "nmethod", "_dependencies_offset")                      \
	X(NMETHOD_METADATA, "nmethod", "_metadata_offset")                              \
	X(NMETHOD_IMMUTABLE, "nmethod", "_immutable_data")                              \
	X(NMETHOD_IMMUTABLE_SIZE, "nmethod", "_immutable_data_size")                    \
	X(PC_OFFSET, "PcDesc", "_pc_offset")                                            \
	X(PC_SCOPE, "PcDesc", "_scope_decode_offset")                                   \
	X(INTERPRETER_CODE, "AbstractInterpreter", "_code")                             \
	X(QUEUE_BUFFER, "StubQueue", "_stub_buffer")                                    \
	X(QUEUE_END, "StubQueue", "_queue_end")                                         \
	X(METHOD_CONST, "Method", "_constMethod")                                       \
	X(CONST_CONSTANTS, "ConstMethod", "_constants")                                 \
	X(CONST_NAME, "ConstMethod", "_name_index")                                     \
	X(CONST_SIZE, "ConstMethod", "_constMethod_size")                               \
	X(CONST_CODE_SIZE, "ConstMethod", "_code_size")                                 \
	X(CONST_FLAGS, "ConstMethod", "_flags._flags")                                  \
	X(OLD_CONST_FLAGS, "ConstMethod", "_flags") /* until Java 20 */                 \
	X(POOL_SOURCE, "ConstantPool", "_source_file_name_index")                       \
	X(KLASS_SOURCE, "InstanceKlass", "_source_file_name_index") /* until Java 11 */ \
	X(CONST_IDNUM, "ConstMethod", "_method_idnum")                                  \
	X(KLASS_METHODS, "InstanceKlass", "_methods")                                   \
	X(METHODS_DATA, "Array<Method*>", "_data")                                      \
	X(METHODS_LENGTH, "Array<int>", "_length") /* the same for all arrays */        \
	X(MAJOR, "Abstract_VM_Version", "_vm_major_version")                            \
	X(POOL_HOLDER, "ConstantPool", "_pool_holder")                                  \
	X(POOL_LENGTH, "ConstantPool", "_length")                                       \
	X(KLASS_NAME, "Klass", "_name")                                                 \
	X(KLASS_LOADER, "Klass", "_class_loader_data")                                  \
	X(LOADERS, "ClassLoaderDataGraph", "_head")                                     \
	X(LOADER_NEXT, "ClassLoaderData", "_next")                                      \
	X(LOADER_OBJECT, "ClassLoaderData", "_class_loader")                            \
	X(OBJECT_KLASS, "oopDesc", "_metadata._klass")                                  \
	X(LOADER_HIDDEN, "ClassLoaderData", "_has_class_mirror_holder")                 \
	X(LOADER_UNSAFE, "ClassLoaderData", "_is_unsafe_anonymous")                     \
	X(LOADER_ANONYMOUS, "ClassLoaderData", "_is_anonymous")                         \
	X(KLASS_BASE, "CompressedKlassPointers", "_base")                               \
	X(KLASS_SHIFT, "CompressedKlassPointers", "_shift")                             \
	X(OLD_KLASS_BASE, "CompressedKlassPointers", "_narrow_klass._base")             \
	X(OLD_KLASS_SHIFT, "CompressedKlassPointers", "_narrow_klass._shift")           \
	X(OLDEST_KLASS_BASE, "Universe", "_narrow_klass._base")                         \
	X(OLDEST_KLASS_SHIFT, "Universe", "_narrow_klass._shift")                       \
	X(PERF_MEMORY, "PerfMemory", "_start")                                          \
	X(HEAP, "Universe", "_collectedHeap")                                           \
	X(COLLECTIONS, "CollectedHeap", "_total_collections")                           \
	X(SYMBOL_LENGTH, "Symbol", "_length")                                           \
	X(SYMBOL_BODY, "Symbol", "_body")

enum vm_field_id {
#define X(id, class, field) VM_##id,
	VM_FIELDS(X)
#undef X
	VM_NR_FIELDS
};

struct vm_field {
	bool known;
	uint8_t width_bytes; /* of a number: 1, 2, 4 or 8; of other types 8 */
	uint64_t at;	     /* offset in an object; address of a static field */
};

/* Static fields that are addresses of code (StubRoutines::_*): where the VM keeps them. */
#define VM_MAX_STUB_FIELDS 512

struct vmstructs {
	struct vm_field fields[VM_NR_FIELDS];
	uint64_t block_header_bytes;  /* sizeof(HeapBlock) */
	uint64_t constant_pool_bytes; /* sizeof(ConstantPool): its entries follow; 0: not known */
	uint64_t const_method_bytes;  /* sizeof(ConstMethod): bytecodes follow; 0: not known */
	uint64_t pc_bytes;	      /* sizeof(PcDesc); 0: not known */
	uint64_t stub_fields[VM_MAX_STUB_FIELDS];
	size_t nr_stub_fields;
};

/*
 * -ENOENT: libjvm has no such tables; -EAGAIN: they cannot be read, or not yet (it is still being
 * loaded); -EBADMSG: they are not valid.
 */
int vmstructs_read(const struct target_memory *memory, struct vmstructs *vm);
/* The name of a field, for messages: "CodeCache::_heaps". */
const char *vm_field_name(enum vm_field_id id);

/*
 * Reads the value of a field from the first len_bytes of an object; sign-extended if its type is signed. false: the
 * field is not known, or not within len_bytes.
 */
bool vm_get(const struct vmstructs *vm, enum vm_field_id id, const void *bytes, size_t len_bytes,
	    uint64_t *value);
/* The same, read from the target's memory; addr is the object's, 0 for a static field. */
bool vm_load(const struct vmstructs *vm, const struct target_memory *memory, enum vm_field_id id,
	     uint64_t addr, uint64_t *value);

#endif
