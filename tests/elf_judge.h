/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For the tests of object/: files made by gcc at run time, and what readelf(1) says of them.
 */
#ifndef CPROF_TESTS_ELF_JUDGE_H
#define CPROF_TESTS_ELF_JUDGE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "object/elf.h"
#include "temp.h"

#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"

static char *judge_dir; /* what judge_build() made is in there */

static inline void judge_run(const char *command)
{
	char *all scoped(freep) = xasprintf("cd %s && { %s; } >/dev/null 2>&1", judge_dir, command);

	if (system(all))
		fail_msg("failed: %s", command);
}

/* Opens path, under the folder unless absolute. The descriptor is leaked: a test is short. */
static inline int judge_fd(const char *path)
{
	char *full scoped(freep) =
		xasprintf("%s%s%s", *path == '/' ? "" : judge_dir, *path == '/' ? "" : "/", path);

	return open(full, O_RDONLY | O_CLOEXEC);
}

static inline struct elf_file *judge_open(const char *path)
{
	struct elf_file *file = NULL;

	assert_int_equal(elf_file_open(judge_fd(path), &file), 0);
	return file;
}

/* The output of a command that is given path, line by line. */
static inline FILE *judge_ask(const char *format, const char *path)
{
	char *command scoped(freep) = NULL, *in_dir scoped(freep) = NULL;
	FILE *in;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	command = xasprintf(format, path);
#pragma GCC diagnostic pop
	in_dir = xasprintf("cd %s && %s", judge_dir, command);
	in = popen(in_dir, "r");
	if (!in)
		abort();
	return in;
}

/* A C file with nesting, aliases, an IFUNC, an unsized function and calls through the PLT. */
static const char judge_source[] =
	"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
	"static int one(void) { return 1; }\n"
	"static int (*pick(void))(void) { return one; }\n"
	"int chosen(void) __attribute__((ifunc(\"pick\")));\n"
	"__attribute__((noinline)) int outer(int x) { return x * 3 + 1; }\n"
	"int alias_of_outer(int x) __attribute__((alias(\"outer\")));\n"
	"int weak_of_outer(int x) __attribute__((weak, alias(\"outer\")));\n"
	"__asm__(\".text\\n.globl enclosing\\n.type enclosing,@function\\nenclosing:\\n\"\n"
	"	\".skip 16,0x90\\n.globl inner\\n.type inner,@function\\ninner:\\n.skip "
	"8,0x90\\n\"\n"
	"	\".size inner,.-inner\\n.Lhidden:\\n.skip 8,0x90\\nret\\n.size "
	"enclosing,.-enclosing\\n\"\n"
	"	\".skip 31,0xcc\\n.globl unsized\\n.type unsized,@function\\nunsized:\\n.skip "
	"8,0x90\\nret\\n\"\n"
	"	\".globl no_type\\nno_type:\\n.skip 4,0x90\\nret\\n.size no_type,.-no_type\\n\");\n"
	"int enclosing(void), inner(void), unsized(void), no_type(void);\n"
	"int main(int argc, char **argv) {\n"
	"	char *p = malloc((size_t)argc * 10);\n"
	"	puts(argv[0]); free(p); enclosing(); unsized(); no_type(); inner();\n"
	"	return outer(argc) + chosen() + alias_of_outer(1) + weak_of_outer(2); }\n";

static inline void judge_build(void)
{
	char *path scoped(freep) = NULL;
	FILE *source;

	judge_dir = temp_folder();
	path = xasprintf("%s/a.c", judge_dir);
	source = fopen(path, "w");
	if (!source)
		abort();
	fputs(judge_source, source);
	fclose(source);
	judge_run("gcc -O1 -fno-builtin -g -o pie a.c && gcc -O1 -fno-builtin -no-pie -o fixed a.c "
		  "&& "
		  "gcc -O1 -static-pie -o static a.c && gcc -O1 -fno-builtin -fcf-protection "
		  "-Wl,-z,ibtplt,-z,lazy -o ibt a.c && strip -o stripped pie && "
		  "objcopy --only-keep-debug pie pie.debug && gcc -c -o a.o a.c");
}

#endif
