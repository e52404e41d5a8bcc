// SPDX-License-Identifier: BSD-2-Clause
/*
 * An interpreter's own program runs whole programs of its language (ruby_run_node(), perl_run()); others that embed it, such as
 * editors, call functions. So an executable says what the process is. Whether a Ruby or a Perl is one that is read says the file that
 * has it, which may be a library of such an executable.
 */
#include "runtime/unread.h"

#include <stddef.h>

#include "object/dynsym.h"

/* One that is known by the function which runs its programs. */
struct interpreter {
	const char *run;
	enum unread_runtime program, main, library;
};

static const struct interpreter ruby = {"ruby_run_node", UNREAD_RUBY, UNREAD_RUBY_MAIN,
					UNREAD_RUBY_LIBRARY};
static const struct interpreter perl = {"perl_run", UNREAD_PERL, UNREAD_PERL_MAIN,
					UNREAD_PERL_LIBRARY};

static enum unread_runtime find(const struct elf_file *elf, const struct interpreter *interpreter,
				bool is_program)
{
	uint64_t at;

	if (dynsym_function(elf, interpreter->run, &at))
		return is_program ? interpreter->program : interpreter->library;
	return is_program && dynsym_names(elf, interpreter->run) ? interpreter->main : UNREAD_NONE;
}

enum unread_runtime unread_find(struct object *object)
{
	const struct elf_file *elf = object_elf(object);
	struct elf_section section;
	bool is_program = elf_file_section(elf, ".interp", &section);
	enum unread_runtime found = find(elf, &ruby, is_program);

	if (dynsym_names(elf, "v8dbg_SmiShiftSize"))
		return UNREAD_V8;
	return found ? found : find(elf, &perl, is_program);
}
