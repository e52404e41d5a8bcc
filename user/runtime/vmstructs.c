// SPDX-License-Identifier: BSD-2-Clause
/*
 * A table of the VM is an array of records, ended by one without a name. Further variables hold
 * the size of a record and the offsets of its fields:
 *
 *	gHotSpotVMStructs ------------------> +-----------+-----------+--------+--------+---------+
 *	gHotSpotVMStructEntryArrayStride      | type name | field name| type   | offset | address | ...
 *	gHotSpotVMStructEntryTypeNameOffset   |  char *   |  char *   | char * |  u64   | void *  |
 *	...                                   +-----------+-----------+--------+--------+---------+
 *
 * A number's width is taken from the name of its type: that of HeapBlock::Header::_length was
 * size_t in Java 17 and is uint32_t in 25.
 */
#include "runtime/vmstructs.h"

#include <errno.h>
#include <string.h>

#define MAX_ENTRIES	 16384
#define MAX_STRIDE_BYTES 256
#define NAME_BYTES	 64
#define PAGE_BYTES	 4096

const char *const vm_variables[VM_NR_VARIABLES] = {
	"gHotSpotVMStructs",
	"gHotSpotVMStructEntryArrayStride",
	"gHotSpotVMStructEntryTypeNameOffset",
	"gHotSpotVMStructEntryFieldNameOffset",
	"gHotSpotVMStructEntryTypeStringOffset",
	"gHotSpotVMStructEntryIsStaticOffset",
	"gHotSpotVMStructEntryOffsetOffset",
	"gHotSpotVMStructEntryAddressOffset",
	"gHotSpotVMTypes",
	"gHotSpotVMTypeEntryArrayStride",
	"gHotSpotVMTypeEntryTypeNameOffset",
	"gHotSpotVMTypeEntrySizeOffset",
};

bool memory_read(const struct target_memory *memory, uint64_t addr, void *to, size_t len_bytes)
{
	struct memory_piece piece = {.addr = addr, .to = to, .len_bytes = len_bytes};

	memory->read(memory->ctx, &piece, 1);
	return piece.was_read;
}

/* Not beyond the page it is on, unless it goes on there: the next one may not be there. */
size_t memory_string(const struct target_memory *memory, uint64_t addr, char *to, size_t max_bytes)
{
	size_t len = 0;

	while (len + 1 < max_bytes) {
		size_t more = PAGE_BYTES - (addr + len) % PAGE_BYTES;
		const char *nul;

		if (more > max_bytes - 1 - len)
			more = max_bytes - 1 - len;
		if (!memory_read(memory, addr + len, to + len, more))
			break;
		nul = memchr(to + len, 0, more);
		if (nul)
			return (size_t)(nul - to);
		len += more;
	}
	to[len] = 0;
	return len;
}

/* One of the VM's tables. */
struct table {
	const struct target_memory *memory;
	uint64_t at, stride_bytes;
	uint8_t record[MAX_STRIDE_BYTES];
};

static int read_variable(const struct target_memory *memory, const char *name, uint64_t *value)
{
	uint64_t addr = memory->symbol(memory->ctx, name);

	if (!addr)
		return -ENOENT;
	return memory_read(memory, addr, value, sizeof(*value)) ? 0 : -EAGAIN;
}

static int open_table(const struct target_memory *memory, const char *name, const char *stride,
		      struct table *table)
{
	int err = read_variable(memory, name, &table->at);

	if (!err)
		err = read_variable(memory, stride, &table->stride_bytes);
	if (err)
		return err;
	table->memory = memory;
	if (!table->at || !table->stride_bytes)
		return -EAGAIN; /* not relocated or not initialized yet */
	return table->stride_bytes <= MAX_STRIDE_BYTES ? 0 : -EBADMSG;
}

/* Reads the variable that gives the offset in a record of a value of len_bytes. */
static int column(const struct table *table, const char *name, size_t len_bytes, uint64_t *offset)
{
	int err = read_variable(table->memory, name, offset);

	if (err)
		return err;
	return *offset <= table->stride_bytes && len_bytes <= table->stride_bytes - *offset
		       ? 0
		       : -EBADMSG;
}

static bool next_record(struct table *table)
{
	bool was_read = memory_read(table->memory, table->at, table->record, table->stride_bytes);

	table->at += table->stride_bytes;
	return was_read;
}

static uint64_t word_in(const struct table *table, uint64_t offset)
{
	uint64_t word;

	memcpy(&word, table->record + offset, sizeof(word));
	return word;
}

/* "" for NULL, which ends a table, and for what cannot be read. */
static const char *string_in(const struct table *table, uint64_t offset, char *to)
{
	uint64_t addr = word_in(table, offset);

	to[0] = 0;
	if (addr)
		memory_string(table->memory, addr, to, NAME_BYTES);
	return to;
}

/* Fields ----------------------------------------------------------------------------------------- */

static const struct {
	const char *class, *field;
} wanted[VM_NR_FIELDS] = {
#define X(id, class, field) [VM_##id] = {class, field},
	VM_FIELDS(X)
#undef X
};

const char *vm_field_name(enum vm_field_id id)
{
	static const char *const names[VM_NR_FIELDS] = {
#define X(id, class, field) [VM_##id] = class "::" field,
		VM_FIELDS(X)
#undef X
	};

	return names[id];
}

static uint8_t width_of(const char *type)
{
	static const struct {
		const char *type;
		uint8_t width_bytes;
	} widths[] = {
		{"bool", 1},
		{"u1", 1},
		{"uint8_t", 1},
		{"jubyte", 1},
		{"u2", 2},
		{"int16_t", 2},
		{"uint16_t", 2},
		{"jushort", 2},
		{"unsigned short", 2},
		{"short", 2},
		{"int", 4},
		{"u4", 4},
		{"jint", 4},
		{"int32_t", 4},
		{"uint32_t", 4},
		{"uint", 4},
		{"juint", 4},
		{"unsigned int", 4},
		{"volatile signed char", 1},
		{"signed char", 1},
		{"unsigned char", 1},
	};

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
		if (!strcmp(type, widths[i].type))
			return widths[i].width_bytes;
	return 8;
}

struct struct_columns {
	uint64_t type, field, string, is_static, offset, addr;
};

static int struct_columns(const struct table *table, struct struct_columns *columns)
{
	const struct {
		const char *name;
		size_t len_bytes;
		uint64_t *offset;
	} all[] = {
		{"gHotSpotVMStructEntryTypeNameOffset", 8, &columns->type},
		{"gHotSpotVMStructEntryFieldNameOffset", 8, &columns->field},
		{"gHotSpotVMStructEntryTypeStringOffset", 8, &columns->string},
		{"gHotSpotVMStructEntryIsStaticOffset", 4, &columns->is_static},
		{"gHotSpotVMStructEntryOffsetOffset", 8, &columns->offset},
		{"gHotSpotVMStructEntryAddressOffset", 8, &columns->addr},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int err = column(table, all[i].name, all[i].len_bytes, all[i].offset);

		if (err)
			return err;
	}
	return 0;
}

static void take_field(const struct table *table, const struct struct_columns *columns,
		       const char *class, const char *field, struct vmstructs *vm)
{
	uint32_t is_static;
	char type[NAME_BYTES];

	memcpy(&is_static, table->record + columns->is_static, sizeof(is_static));
	if (is_static && !strcmp(class, "StubRoutines") && vm->nr_stub_fields < VM_MAX_STUB_FIELDS)
		vm->stub_fields[vm->nr_stub_fields++] = word_in(table, columns->addr);
	for (int i = 0; i < VM_NR_FIELDS; i++) {
		if (strcmp(class, wanted[i].class) != 0 || strcmp(field, wanted[i].field) != 0)
			continue;
		string_in(table, columns->string, type);
		vm->fields[i] = (struct vm_field){
			.known = true,
			.width_bytes = width_of(type),
			.at = word_in(table, is_static ? columns->addr : columns->offset),
		};
	}
}

static int read_structs(const struct target_memory *memory, struct vmstructs *vm)
{
	struct struct_columns columns;
	struct table table;
	int err =
		open_table(memory, "gHotSpotVMStructs", "gHotSpotVMStructEntryArrayStride", &table);

	if (!err)
		err = struct_columns(&table, &columns);
	if (err)
		return err;
	for (size_t i = 0; i < MAX_ENTRIES; i++) {
		char class[NAME_BYTES], field[NAME_BYTES];

		if (!next_record(&table))
			return -EAGAIN;
		if (!*string_in(&table, columns.type, class))
			return 0;
		string_in(&table, columns.field, field);
		take_field(&table, &columns, class, field, vm);
	}
	return -EBADMSG;
}

/* Sizes ------------------------------------------------------------------------------------------ */

static int read_types(const struct target_memory *memory, struct vmstructs *vm)
{
	uint64_t name_at, size_at;
	struct table table;
	int err = open_table(memory, "gHotSpotVMTypes", "gHotSpotVMTypeEntryArrayStride", &table);

	if (!err)
		err = column(&table, "gHotSpotVMTypeEntryTypeNameOffset", 8, &name_at);
	if (!err)
		err = column(&table, "gHotSpotVMTypeEntrySizeOffset", 8, &size_at);
	if (err)
		return err;
	for (size_t i = 0; i < MAX_ENTRIES; i++) {
		char name[NAME_BYTES];

		if (!next_record(&table))
			return -EAGAIN;
		if (!*string_in(&table, name_at, name))
			return 0;
		if (!strcmp(name, "HeapBlock"))
			vm->block_header_bytes = word_in(&table, size_at);
		else if (!strcmp(name, "ConstantPool"))
			vm->constant_pool_bytes = word_in(&table, size_at);
		else if (!strcmp(name, "ConstMethod"))
			vm->const_method_bytes = word_in(&table, size_at);
		else if (!strcmp(name, "PcDesc"))
			vm->pc_bytes = word_in(&table, size_at);
	}
	return -EBADMSG;
}

int vmstructs_read(const struct target_memory *memory, struct vmstructs *vm)
{
	struct vmstructs read = {0};
	int err = read_structs(memory, &read);

	if (!err)
		err = read_types(memory, &read);
	if (!err)
		*vm = read;
	return err;
}

/* Values ----------------------------------------------------------------------------------------- */

static uint64_t number_at(const void *bytes, uint8_t width_bytes)
{
	int8_t one;
	uint16_t two;
	int32_t four;
	uint64_t eight;

	switch (width_bytes) {
	case 1:
		memcpy(&one, bytes, sizeof(one));
		return (uint64_t)(int64_t)one;
	case 2:
		memcpy(&two, bytes, sizeof(two));
		return two;
	case 4:
		memcpy(&four, bytes, sizeof(four));
		return (uint64_t)(int64_t)four;
	default:
		memcpy(&eight, bytes, sizeof(eight));
		return eight;
	}
}

bool vm_get(const struct vmstructs *vm, enum vm_field_id id, const void *bytes, size_t len_bytes,
	    uint64_t *value)
{
	const struct vm_field *field = &vm->fields[id];

	if (!field->known || field->at > len_bytes || field->width_bytes > len_bytes - field->at)
		return false;
	*value = number_at((const uint8_t *)bytes + field->at, field->width_bytes);
	return true;
}

bool vm_load(const struct vmstructs *vm, const struct target_memory *memory, enum vm_field_id id,
	     uint64_t addr, uint64_t *value)
{
	const struct vm_field *field = &vm->fields[id];
	uint8_t bytes[8];

	if (!field->known || !memory_read(memory, addr + field->at, bytes, field->width_bytes))
		return false;
	*value = number_at(bytes, field->width_bytes);
	return true;
}
