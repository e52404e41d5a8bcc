// SPDX-License-Identifier: BSD-2-Clause
/*
 * An interpreter's own program runs whole programs of its language (ruby_run_node(), perl_run(), Py_Main()); others that embed it, such as
 * editors, call functions. So an executable says what the process is. Whether a Ruby, Perl or Python is one that is read says the
 * file that has it, which may be a library of such an executable.
 *
 * Lua is made to be embedded, and what its own program runs is not exported: an executable that exports all of Lua is taken for one,
 * which is true of lua and luajit and of few others.
 */
#include "runtime/unread.h"

#include <stddef.h>

#include "object/dynsym.h"

#define MAX_RUNS 3

/* One that is known by the functions which run its programs: each version has one or more of them. */
struct interpreter {
	const char *runs[MAX_RUNS];
	enum unread_runtime program, main, library;
};

static const struct interpreter interpreters[] = {
	{{"ruby_run_node"}, UNREAD_RUBY, UNREAD_RUBY_MAIN, UNREAD_RUBY_LIBRARY},
	{{"perl_run"}, UNREAD_PERL, UNREAD_PERL_MAIN, UNREAD_PERL_LIBRARY},
	{{"Py_BytesMain", "Py_Main", "_Py_UnixMain"},
	 UNREAD_PYTHON,
	 UNREAD_PYTHON_MAIN,
	 UNREAD_PYTHON_LIBRARY},
	{{"luaL_newstate"}, UNREAD_LUA, UNREAD_NONE, UNREAD_NONE},
	{{"erl_start"}, UNREAD_ERLANG, UNREAD_NONE, UNREAD_NONE},
	{{"mono_main"}, UNREAD_MONO, UNREAD_NONE, UNREAD_NONE},
	{{"coreclr_execute_assembly"}, UNREAD_DOTNET, UNREAD_NONE, UNREAD_DOTNET},
};
#define NR_INTERPRETERS (sizeof(interpreters) / sizeof(interpreters[0]))

static enum unread_runtime find(const struct elf_file *elf, const struct interpreter *interpreter,
				bool is_program)
{
	uint64_t at;
	bool is_main = false;

	if (!is_program && !interpreter->library)
		return UNREAD_NONE;
	for (size_t i = 0; i < MAX_RUNS && interpreter->runs[i]; i++) {
		if (dynsym_function(elf, interpreter->runs[i], &at))
			return is_program ? interpreter->program : interpreter->library;
		is_main = is_main || (is_program && dynsym_names(elf, interpreter->runs[i]));
	}
	return is_main ? interpreter->main : UNREAD_NONE;
}

enum unread_runtime unread_find(struct object *object)
{
	const struct elf_file *elf = object_elf(object);
	struct elf_section section;
	bool is_program = elf_file_section(elf, ".interp", &section);
	enum unread_runtime found = UNREAD_NONE;

	if (dynsym_names(elf, "v8dbg_SmiShiftSize"))
		return UNREAD_V8;
	for (size_t i = 0; i < NR_INTERPRETERS && !found; i++)
		found = find(elf, &interpreters[i], is_program);
	return found;
}
