// SPDX-License-Identifier: BSD-2-Clause
/*
 * An interpreter's own program runs whole programs of its language (ruby_run_node(), perl_run()); others that embed it, such as
 * editors, call functions. Only executables count, since libraries are mapped by both.
 */
#include "runtime/unread.h"

#include <stddef.h>

#include "object/dynsym.h"

enum unread_runtime unread_find(struct object *object)
{
	static const struct {
		const char *function;
		enum unread_runtime runtime;
	} mains[] = {{"ruby_run_node", UNREAD_RUBY}, {"perl_run", UNREAD_PERL}};
	const struct elf_file *elf = object_elf(object);
	struct elf_section section;

	if (dynsym_names(elf, "v8dbg_SmiShiftSize"))
		return UNREAD_V8;
	if (!elf_file_section(elf, ".interp", &section))
		return UNREAD_NONE;
	for (size_t i = 0; i < sizeof(mains) / sizeof(mains[0]); i++)
		if (dynsym_names(elf, mains[i].function))
			return mains[i].runtime;
	return UNREAD_NONE;
}
