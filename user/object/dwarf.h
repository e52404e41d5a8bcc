/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines and inlined functions of addresses, from an ELF file's DWARF (versions 2 to 5).
 *
 *	struct dwarf_source *source = dwarf_source_new(file);	NULL: it has no DWARF
 *	dwarf_source_set_alt(source, alt);			where dwarf_source_altlink() names one
 *	dwarf_source_frames(source, addrs, nr, true, NULL, fn, ctx);
 *	dwarf_source_free(source);
 *
 * Made for many addresses at once: each unit that holds one of them is read once, its DIEs and its line program, and the
 * addresses of a unit are sorted. Ask for all of a file's addresses in as few calls as possible.
 *
 * No path is opened: a separate debug file, and the file that dwz(1) moves shared DIEs into, are given as elf_files.
 * Code whose DIEs are in a .dwo file has lines, but no function and no inlines; dwarf_source_nr_split() counts it.
 *
 * Nothing in the file is trusted. Work and memory are bounded; where a limit is reached, what is known by then is given.
 */
#ifndef CPROF_OBJECT_DWARF_H
#define CPROF_OBJECT_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/workbudget.h"
#include "object/elf.h"
#include "object/sourceframe.h"

struct dwarf_source;

/*
 * file: a linked file (or its separate debug file); NULL is fine. The sections are read through elf_files of this call's
 * own, so file may be closed, or detached, afterwards; what they take in memory (decompressed, if they are compressed)
 * stays until dwarf_source_free(). NULL: there is no DWARF, or more than 384 MiB of it.
 */
struct dwarf_source *dwarf_source_new(const struct elf_file *file);
void dwarf_source_free(struct dwarf_source *source); /* NULL is fine */

/*
 * The alternate file that the DWARF refers to (.gnu_debugaltlink): its path as noted, relative to the debug file, borrowed
 * from source, and its build-id in lower-case hex. false: it refers to none.
 */
bool dwarf_source_altlink(const struct dwarf_source *source, const char **path,
			  const char **build_id);
/*
 * Gives the alternate file, before the first dwarf_source_frames(); as in dwarf_source_new(), it may be closed afterwards.
 * Without it, the functions whose names are in there have none. -ENOENT: it has no DWARF; -ESTALE: its build-id is not the
 * one that is referred to.
 */
int dwarf_source_set_alt(struct dwarf_source *source, const struct elf_file *alt);

/*
 * Calls fn for each of the nr addresses (ELF addresses, in any order) that has a line or a function, once, in no particular
 * order. inlines false: one frame, of the function whose code it is, with the line in that function. budget, which may be
 * NULL, is looked at now and then; when it is over, the addresses left get no call.
 */
void dwarf_source_frames(struct dwarf_source *source, const uint64_t *elf_addrs, size_t nr,
			 bool inlines, struct workbudget *budget, source_frames_fn fn, void *ctx);

/* How many of the addresses asked for so far are in code whose DIEs are in another file (-gsplit-dwarf). */
size_t dwarf_source_nr_split(const struct dwarf_source *source);

#endif
