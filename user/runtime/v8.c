// SPDX-License-Identifier: BSD-2-Clause
/*
 * Names of fields end with their types, which versions call differently: SharedFunctionInfo__script_or_debug_info__HeapObject,
 * SharedFunctionInfo__script__Tagged_HeapObject_. What a version does not export is next to what it does.
 */
#include "runtime/v8.h"

#include <string.h>

#include "object/dynsym.h"

#define FIRST_VERSION 0x0a02
#define LAST_VERSION  0x0d06
#define MAX_NAMES     4

#define VERSION "_ZN2v88internal7Version"
#define SHARED	"v8dbg_class_SharedFunctionInfo__"

/* A number in the file: the first of these names that is there, plus what is added. */
struct number {
	const char *names[MAX_NAMES];
	int32_t added;
	int32_t limit; /* it is less */
};

enum {
	MAJOR,
	MINOR,
	SHARED_TYPE,
	SCRIPT_TYPE,
	SCOPE_TYPE,
	FUNCTION_SHARED,
	SHARED_NAME,
	SHARED_SCRIPT,
	SHARED_LITERAL,
	SCRIPT_NAME,
	SCRIPT_ID,
	FIRST_VARS,
	NR_NUMBERS
};

static const struct number numbers[NR_NUMBERS] = {
	[MAJOR] = {{VERSION "6major_E"}, 0, 256},
	[MINOR] = {{VERSION "6minor_E"}, 0, 256},
	[SHARED_TYPE] = {{"v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"}, 0, 65536},
	[SCRIPT_TYPE] = {{"v8dbg_type_Script__SCRIPT_TYPE"}, 0, 65536},
	[SCOPE_TYPE] = {{"v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE"}, 0, 65536},
	[FUNCTION_SHARED] = {{"v8dbg_class_JSFunction__shared__SharedFunctionInfo"}, 0, 128},
	[SHARED_NAME] = {{SHARED "name_or_scope_info__Object",
			  SHARED "name_or_scope_info__Tagged_Object_",
			  SHARED "name_or_scope_info__Tagged_NameOrScopeInfoT_"},
			 0,
			 64},
	[SHARED_SCRIPT] = {{SHARED "script_or_debug_info__HeapObject",
			    SHARED "script__Tagged_HeapObject_"},
			   0,
			   64},
	[SHARED_LITERAL] = {{SHARED "flags__int"}, 4, 64},
	[SCRIPT_NAME] = {{"v8dbg_class_Script__name__Object"}, 0, 128},
	[SCRIPT_ID] = {{"v8dbg_class_Script__line_ends__Object"}, 8, 128},
	[FIRST_VARS] = {{"v8dbg_scopeinfo_idx_first_vars"}, 0, 16},
};

static bool read_number(const struct elf_file *elf, const struct number *number, int32_t *value)
{
	uint64_t at;

	for (size_t i = 0; i < MAX_NAMES && number->names[i]; i++) {
		if (!dynsym_variable(elf, number->names[i], &at))
			continue;
		if (!elf_file_read(elf, at, value, sizeof(*value)) || *value < 0 ||
		    *value >= number->limit)
			return false;
		*value += number->added;
		return *value < number->limit;
	}
	return false;
}

/* Words of 8 bytes, with numbers in their upper halves. */
static bool is_uncompressed(const struct elf_file *elf)
{
	static const struct number size = {{"v8dbg_TaggedSize"}, 0, 16},
				   shift = {{"v8dbg_SmiShiftSize"}, 0, 64};
	int32_t value;

	return read_number(elf, &size, &value) && value == 8 && read_number(elf, &shift, &value) &&
	       value == 31;
}

bool v8_find(struct object *object, struct abi_v8 *layout)
{
	const struct elf_file *elf = object_elf(object);
	int32_t of[NR_NUMBERS];
	uint16_t version;

	if (!is_uncompressed(elf))
		return false;
	for (size_t i = 0; i < NR_NUMBERS; i++)
		if (!read_number(elf, &numbers[i], &of[i]))
			return false;
	version = (uint16_t)(of[MAJOR] << 8 | of[MINOR]);
	if (version < FIRST_VERSION || version > LAST_VERSION)
		return false;
	*layout = (struct abi_v8){
		.version = version,
		.shared_type = (uint16_t)of[SHARED_TYPE],
		.script_type = (uint16_t)of[SCRIPT_TYPE],
		.scope_type = (uint16_t)of[SCOPE_TYPE],
		.shared_at = (uint8_t)of[FUNCTION_SHARED],
		.name_at = (uint8_t)of[SHARED_NAME],
		.shared_script_at = (uint8_t)of[SHARED_SCRIPT],
		.literal_at = (uint8_t)of[SHARED_LITERAL],
		.script_name_at = (uint8_t)of[SCRIPT_NAME],
		.script_id_at = (uint8_t)of[SCRIPT_ID],
		.first_vars_at = (uint8_t)(8 * (1 + of[FIRST_VARS])),
	};
	return true;
}
