// SPDX-License-Identifier: BSD-2-Clause
/*
 *	Method -> ConstMethod -> name index ---------------------------> Symbol "hashCode"
 *	            |  |                                                    ^
 *	            |  +-> ConstantPool: header, then a word for each entry-+-> Symbol "String.java"
 *	            |           |
 *	            |           +-> holder: Klass -> Symbol "java/lang/String"
 *	            |
 *	            +-- header | bytecodes | line number table, if a flag says so | ...
 *
 * A line number table is a list of steps, each of some bytecodes and some lines: in a byte, 5 and 3 bits, or 0xff and two
 * signed integers (runtime/vmints.h). 0 ends it. A line holds from its bytecode on until another one does. Compilers write
 * lines out of order where they move code.
 *
 * A file is named as source trees have it: the folders of the class's package, then what the class file says.
 */
#include "runtime/hotspotmethod.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/vmints.h"

#define WORD		8
#define HAS_LINES	1u /* in a ConstMethod's flags */
#define MAX_CONST_BYTES (1u << 20)
#define MAX_LINES_BYTES 65536
#define FIRST_NO_NUL	20 /* the first Java version whose integers are VM_CODING_NO_NUL */

/* At most len_bytes - 1 of them. Returns how many, 0: not readable. */
static size_t read_symbol(const struct vmstructs *vm, const struct target_memory *memory,
			  uint64_t addr, char *to, size_t len_bytes)
{
	uint64_t length;

	if (!len_bytes || !vm->fields[VM_SYMBOL_BODY].known ||
	    !vm_load(vm, memory, VM_SYMBOL_LENGTH, addr, &length) || !length)
		return 0;
	if (length > len_bytes - 1)
		length = len_bytes - 1;
	if (!memory_read(memory, addr + vm->fields[VM_SYMBOL_BODY].at, to, length))
		return 0;
	to[length] = 0;
	return strlen(to);
}

static bool pool_symbol(const struct vmstructs *vm, const struct target_memory *memory,
			uint64_t pool, uint64_t index, uint64_t *symbol)
{
	uint64_t nr;

	return vm->constant_pool_bytes && vm_load(vm, memory, VM_POOL_LENGTH, pool, &nr) &&
	       index < nr &&
	       memory_read(memory, pool + vm->constant_pool_bytes + index * WORD, symbol, WORD);
}

/* What a method refers to. */
struct method_refs {
	uint64_t method; /* its ConstMethod */
	uint64_t pool, holder;
};

static bool read_refs(const struct hotspot_methods *methods, uint64_t addr,
		      struct method_refs *refs)
{
	return vm_load(methods->vm, methods->memory, VM_METHOD_CONST, addr, &refs->method) &&
	       vm_load(methods->vm, methods->memory, VM_CONST_CONSTANTS, refs->method,
		       &refs->pool) &&
	       vm_load(methods->vm, methods->memory, VM_POOL_HOLDER, refs->pool, &refs->holder);
}

uint64_t hotspot_method_class(const struct hotspot_methods *methods, uint64_t addr)
{
	struct method_refs refs;

	return read_refs(methods, addr, &refs) ? refs.holder : 0;
}

/* A class has its methods in an array, and each has its position there. */
bool hotspot_method_is_listed(const struct hotspot_methods *methods, uint64_t addr)
{
	const struct vmstructs *vm = methods->vm;
	uint64_t array, i, nr, listed;
	struct method_refs refs;

	return read_refs(methods, addr, &refs) && vm->fields[VM_METHODS_DATA].known &&
	       vm_load(vm, methods->memory, VM_CONST_IDNUM, refs.method, &i) &&
	       vm_load(vm, methods->memory, VM_KLASS_METHODS, refs.holder, &array) &&
	       vm_load(vm, methods->memory, VM_METHODS_LENGTH, array, &nr) && i < nr &&
	       memory_read(methods->memory, array + vm->fields[VM_METHODS_DATA].at + i * WORD,
			   &listed, WORD) &&
	       listed == addr;
}

/* "java/lang/String" to name. Returns its length, 0: not readable. */
static size_t read_class(const struct hotspot_methods *methods, const struct method_refs *refs,
			 char name[HOTSPOT_NAME_BYTES])
{
	uint64_t symbol;

	if (!vm_load(methods->vm, methods->memory, VM_KLASS_NAME, refs->holder, &symbol))
		return 0;
	return read_symbol(methods->vm, methods->memory, symbol, name, HOTSPOT_NAME_BYTES - 1);
}

static bool read_name(const struct hotspot_methods *methods, const struct method_refs *refs,
		      char name[HOTSPOT_NAME_BYTES])
{
	size_t len = read_class(methods, refs, name);
	uint64_t index, symbol;

	if (!len || !vm_load(methods->vm, methods->memory, VM_CONST_NAME, refs->method, &index) ||
	    !pool_symbol(methods->vm, methods->memory, refs->pool, index, &symbol))
		return false;
	for (size_t i = 0; i < len; i++)
		if (name[i] == '/')
			name[i] = '.';
	name[len++] = '.';
	return read_symbol(methods->vm, methods->memory, symbol, name + len,
			   HOTSPOT_NAME_BYTES - len);
}

/* The name of the file, "" if it is not known. */
static void read_file(const struct hotspot_methods *methods, const struct method_refs *refs,
		      char file[HOTSPOT_NAME_BYTES])
{
	uint64_t index, symbol;
	char *slash;

	*file = 0;
	if ((!vm_load(methods->vm, methods->memory, VM_POOL_SOURCE, refs->pool, &index) &&
	     !vm_load(methods->vm, methods->memory, VM_KLASS_SOURCE, refs->holder, &index)) ||
	    !index || !pool_symbol(methods->vm, methods->memory, refs->pool, index, &symbol))
		return;
	read_class(methods, refs, file);
	slash = strrchr(file, '/');
	slash = slash ? slash + 1 : file;
	if (!read_symbol(methods->vm, methods->memory, symbol, slash,
			 (size_t)(HOTSPOT_NAME_BYTES - (slash - file))))
		*file = 0;
}

/* Lines ------------------------------------------------------------------------------------------ */

/* A place in a line number table. */
struct line_reader {
	struct vm_ints ints;
	uint32_t bci, line;
};

static struct line_reader read_lines(const struct hotspot_methods *methods,
				     const struct hotspot_method *method)
{
	const struct vmstructs *vm = methods->vm;
	enum vm_coding coding = VM_CODING_PACK200;
	uint64_t version;

	/* In Java 8 this is a version of HotSpot. */
	if (!vm->fields[VM_OLD_ARRAY_LEN].known &&
	    vm_load(vm, methods->memory, VM_MAJOR, 0, &version) && version >= FIRST_NO_NUL)
		coding = VM_CODING_NO_NUL;
	return (struct line_reader){
		.ints = {.bytes = method->lines, .nr = method->lines_bytes, .coding = coding}};
}

static bool next_line(struct line_reader *reader)
{
	int32_t bci, line;
	uint8_t step;

	if (!vm_ints_next_byte(&reader->ints, &step) || !step)
		return false;
	if (step != 0xff) {
		reader->bci += step >> 3;
		reader->line += step & 7;
		return true;
	}
	if (!vm_ints_next_signed(&reader->ints, &bci) || !vm_ints_next_signed(&reader->ints, &line))
		return false;
	reader->bci += (uint32_t)bci;
	reader->line += (uint32_t)line;
	return true;
}

uint32_t hotspot_method_line(const struct hotspot_methods *methods,
			     const struct hotspot_method *method, uint32_t bci)
{
	struct line_reader reader = read_lines(methods, method);
	uint32_t best_bci = 0, best = 0;

	if (bci >= method->code_bytes)
		return 0;
	while (next_line(&reader)) {
		if (reader.bci == bci)
			return reader.line;
		if (reader.bci > bci || reader.bci < best_bci)
			continue;
		best_bci = reader.bci;
		best = reader.line;
	}
	return best;
}

static uint32_t lowest_line(const struct hotspot_methods *methods,
			    const struct hotspot_method *method)
{
	struct line_reader reader = read_lines(methods, method);
	uint32_t lowest = 0;

	while (next_line(&reader))
		if (!lowest || reader.line < lowest)
			lowest = reader.line;
	return lowest;
}

/* What follows the header of the ConstMethod. */
static void read_code(struct hotspot_methods *methods, const struct method_refs *refs,
		      struct hotspot_method *method)
{
	const struct vmstructs *vm = methods->vm;
	uint64_t words, flags, code_bytes, before;

	if (!vm->const_method_bytes ||
	    !vm_load(vm, methods->memory, VM_CONST_SIZE, refs->method, &words) ||
	    !vm_load(vm, methods->memory, VM_CONST_CODE_SIZE, refs->method, &code_bytes) ||
	    (!vm_load(vm, methods->memory, VM_CONST_FLAGS, refs->method, &flags) &&
	     !vm_load(vm, methods->memory, VM_OLD_CONST_FLAGS, refs->method, &flags)))
		return;
	method->bytecodes = refs->method + vm->const_method_bytes;
	method->code_bytes = (uint32_t)code_bytes;
	before = vm->const_method_bytes + code_bytes;
	if (!(flags & HAS_LINES) || words > MAX_CONST_BYTES / WORD || words * WORD <= before)
		return;
	method->lines_bytes = words * WORD - before;
	if (method->lines_bytes > MAX_LINES_BYTES)
		method->lines_bytes = MAX_LINES_BYTES;
	method->lines = xmalloc(method->lines_bytes);
	if (!memory_read(methods->memory, method->bytecodes + code_bytes, method->lines,
			 method->lines_bytes))
		method->lines_bytes = 0;
	method->start_line = lowest_line(methods, method);
}

/* Methods ---------------------------------------------------------------------------------------- */

static void method_free(struct hotspot_method *method)
{
	free(method->name);
	free(method->file);
	free(method->lines);
	free(method);
}

void hotspot_methods_forget(struct hotspot_methods *methods)
{
	vec_for_each(&methods->all, method)
		method_free(*method);
	vec_release(&methods->all);
	hash_release(&methods->index);
	methods->bytes = 0;
}

static struct hotspot_method *read_method(struct hotspot_methods *methods, uint64_t addr)
{
	char name[HOTSPOT_NAME_BYTES], file[HOTSPOT_NAME_BYTES];
	struct hotspot_method *method;
	struct method_refs refs;

	if (!read_refs(methods, addr, &refs) || !read_name(methods, &refs, name))
		return NULL;
	read_file(methods, &refs, file);
	method = xcalloc(1, sizeof(*method));
	method->addr = addr;
	method->name = xstrdup(name);
	method->file = xstrdup(file);
	read_code(methods, &refs, method);
	return method;
}

static bool same_method(const void *ctx, uint32_t value, const void *key)
{
	return ((const struct hotspot_methods *)ctx)->all.at[value]->addr == *(const uint64_t *)key;
}

const struct hotspot_method *hotspot_method(struct hotspot_methods *methods, uint64_t addr)
{
	uint64_t hash = hash_combine(0, addr);
	uint32_t i = hash_find(&methods->index, hash, same_method, methods, &addr);
	struct hotspot_method *method;

	if (i != HASH_NONE)
		return methods->all.at[i];
	method = read_method(methods, addr);
	if (!method)
		return NULL;
	methods->bytes += sizeof(*method) + 2 * HOTSPOT_NAME_BYTES + method->lines_bytes;
	hash_insert(&methods->index, hash, methods->all.nr);
	vec_push(&methods->all, method);
	return method;
}
