// SPDX-License-Identifier: BSD-2-Clause
/*
 * PHP exports its variables for extensions. Where fields are inside of structures is the same within a minor version: the
 * table below was taken from the headers of each. The version is in the one header that each PHP sends, which is a constant
 * of its file.
 */
#include "runtime/php.h"

#include <string.h>

#include "object/dynsym.h"

#define CURRENT_AT 488 /* current_execute_data in executor_globals */

static const struct abi_php layouts[] = {
	{.version = 0x0704, .opcodes_at = 64, .last_at = 60, .file_at = 136},
	{.version = 0x0800, .opcodes_at = 72, .last_at = 68, .file_at = 144},
	{.version = 0x0801, .opcodes_at = 72, .last_at = 68, .file_at = 144},
	{.version = 0x0802, .opcodes_at = 88, .last_at = 80, .file_at = 152},
	{.version = 0x0803, .opcodes_at = 80, .last_at = 76, .file_at = 144},
	{.version = 0x0804, .opcodes_at = 104, .last_at = 96, .file_at = 168},
};

bool php_layout(uint16_t version, struct abi_php *layout)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (layouts[i].version != version)
			continue;
		*layout = layouts[i];
		return true;
	}
	return false;
}

/* 0: not known. */
static uint16_t version_of(const struct elf_file *elf)
{
	static const char header[] = "X-Powered-By: PHP/";
	const size_t len = sizeof(header) - 1;
	struct elf_section section;
	const char *at, *limit;

	if (!elf_file_section(elf, ".rodata", &section) || !section.bytes)
		return 0;
	limit = (const char *)section.bytes + section.len_bytes;
	at = memmem(section.bytes, section.len_bytes, header, len);
	if (!at || limit - at < (ptrdiff_t)len + 4 || at[len + 1] != '.' || at[len + 3] != '.')
		return 0;
	return (uint16_t)((at[len] - '0') << 8 | ((at[len + 2] - '0') & 0xff));
}

bool php_find(struct object *object, struct abi_php *layout)
{
	const struct elf_file *elf = object_elf(object);
	uint64_t state, loop;

	if (!dynsym_variable(elf, "executor_globals", &state) ||
	    !dynsym_function(elf, "execute_ex", &loop) || !php_layout(version_of(elf), layout))
		return false;
	layout->state = state + CURRENT_AT;
	return true;
}
