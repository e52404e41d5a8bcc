/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an ELF file says of the CRuby in it: its version, where its state is, and how that is read.
 *
 * An interpreter is known by what it exports, whatever its file is called: libruby-3.1.so.3.1.2, a program that embeds it. Nothing is
 * read of a process here. Versions 3.1, 3.3 and 3.4 are known, as shared libraries.
 */
#ifndef CPROF_RUNTIME_RUBY_H
#define CPROF_RUNTIME_RUBY_H

#include <stdbool.h>
#include <stdint.h>

#include "object/object.h"
#include "ruby_abi.h"
#include "runtime/rubyloop.h"

struct ruby_file {
	struct abi_ruby layout; /* state is an elf_addr */
	struct rubyloop loops;
};

/* false: there is no CRuby in the file that is known. */
bool ruby_find(struct object *object, struct ruby_file *ruby);

/* How this version (0x0301 is 3.1) lies in memory; state is left 0. false: it is not known. */
bool ruby_layout(uint16_t version, struct abi_ruby *layout);

#endif
