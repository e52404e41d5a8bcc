/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an ELF file says of the Perl in it: its version, where its state is, and how that is read.
 *
 * An interpreter is known by what it exports, whatever its file is called: perl, libperl.so.5.36, a program that embeds it. Nothing
 * is read of a process here. Versions 5.32, 5.36, 5.40 and 5.42 are known, built for threads, as distributions build them.
 */
#ifndef CPROF_RUNTIME_PERL_H
#define CPROF_RUNTIME_PERL_H

#include <stdbool.h>
#include <stdint.h>

#include "object/object.h"
#include "perl_abi.h"

/* The function that runs operations, for loop_find(). */
#define PERL_LOOP "Perl_runops_standard"

/* false: there is no Perl in the file that is known. Else layout->state is an elf_addr. */
bool perl_find(struct object *object, struct abi_perl *layout);

/* How this version (0x0524 is 5.36) lies in memory; state and where pthread keys' values are stay 0. false: it is not known. */
bool perl_layout(uint16_t version, struct abi_perl *layout);

#endif
