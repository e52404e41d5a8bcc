// SPDX-License-Identifier: BSD-2-Clause
/*
 * An interpreter's own program runs whole programs of its language (ruby_run_node(), perl_run()); others that embed it, such as
 * editors, call functions. So an executable says what the process is. Whether a Ruby is one that is read says the file that has
 * it, which may be a library of such an executable.
 */
#include "runtime/unread.h"

#include <stddef.h>

#include "object/dynsym.h"

static enum unread_runtime find_ruby(const struct elf_file *elf, bool is_program)
{
	uint64_t at;

	if (dynsym_function(elf, "ruby_run_node", &at))
		return is_program ? UNREAD_RUBY : UNREAD_RUBY_LIBRARY;
	return is_program && dynsym_names(elf, "ruby_run_node") ? UNREAD_RUBY_MAIN : UNREAD_NONE;
}

enum unread_runtime unread_find(struct object *object)
{
	const struct elf_file *elf = object_elf(object);
	struct elf_section section;
	bool is_program = elf_file_section(elf, ".interp", &section);
	enum unread_runtime ruby = find_ruby(elf, is_program);

	if (dynsym_names(elf, "v8dbg_SmiShiftSize"))
		return UNREAD_V8;
	if (ruby)
		return ruby;
	return is_program && dynsym_names(elf, "perl_run") ? UNREAD_PERL : UNREAD_NONE;
}
