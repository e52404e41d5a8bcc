// SPDX-License-Identifier: BSD-2-Clause
/*
 *	Method -> ConstMethod -> name index ---------------------------> Symbol "hashCode"
 *	               |                                                    ^
 *	               +-> ConstantPool: header, then a word for each entry-+
 *	                        |
 *	                        +-> holder: Klass -> Symbol "java/lang/String"
 */
#include "runtime/hotspotname.h"

#include <string.h>

#define WORD 8

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

bool hotspot_method_name(const struct vmstructs *vm, const struct target_memory *memory,
			 uint64_t addr, char name[HOTSPOT_NAME_BYTES])
{
	uint64_t method, pool, index, holder, class_symbol, symbol;
	size_t len;

	if (!vm_load(vm, memory, VM_METHOD_CONST, addr, &method) ||
	    !vm_load(vm, memory, VM_CONST_CONSTANTS, method, &pool) ||
	    !vm_load(vm, memory, VM_CONST_NAME, method, &index) ||
	    !vm_load(vm, memory, VM_POOL_HOLDER, pool, &holder) ||
	    !vm_load(vm, memory, VM_KLASS_NAME, holder, &class_symbol) ||
	    !pool_symbol(vm, memory, pool, index, &symbol))
		return false;
	len = read_symbol(vm, memory, class_symbol, name, HOTSPOT_NAME_BYTES - 1);
	if (!len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (name[i] == '/')
			name[i] = '.';
	name[len++] = '.';
	return read_symbol(vm, memory, symbol, name + len, HOTSPOT_NAME_BYTES - len);
}
