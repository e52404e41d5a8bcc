/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runtimes of languages that are known by what an ELF file exports or asks for, and whose functions are not read: so that somebody
 * can be told so, instead of being shown only an interpreter.
 */
#ifndef CPROF_RUNTIME_UNREAD_H
#define CPROF_RUNTIME_UNREAD_H

#include "object/object.h"

enum unread_runtime {
	UNREAD_NONE,
	UNREAD_RUBY,	     /* the program is its interpreter */
	UNREAD_RUBY_MAIN,    /* the program is its interpreter, which is in a library */
	UNREAD_RUBY_LIBRARY, /* the library; programs that embed it map it as well */
	UNREAD_PERL,	     /* as of Ruby */
	UNREAD_PERL_MAIN,
	UNREAD_PERL_LIBRARY,
	UNREAD_PYTHON,
	UNREAD_PYTHON_MAIN,
	UNREAD_PYTHON_LIBRARY,
	UNREAD_LUA, /* LuaJIT, too; or the program exports all of it */
	UNREAD_ERLANG,
	UNREAD_MONO,
	UNREAD_DOTNET, /* the library: only programs that it runs map it */
	UNREAD_V8,     /* with compressed pointers, or of a version that is not known */
	NR_UNREAD_RUNTIMES
};

/* What there is to say of object's runtime if it is not read: a Ruby, Perl or Python may be one that could be. */
enum unread_runtime unread_find(struct object *object);

#endif
