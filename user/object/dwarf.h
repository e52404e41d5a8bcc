/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines and inlined functions of addresses, from an ELF file's DWARF (versions 2 to 5).
 *
 *	struct dwarf_source *source = dwarf_source_new(file, NULL);	NULL: it has no DWARF
 *	dwarf_source_set_alt(source, alt, NULL);		where altlink_read() names one
 *	dwarf_source_set_split(source, dwo, NULL);		where dwarf_source_splits() names one
 *	dwarf_source_frames(source, addrs, nr, true, NULL, fn, ctx);
 *	dwarf_source_free(source);
 *
 * Made for many addresses at once: each unit that holds one of them is read once, its DIEs and its line program, and the
 * addresses of a unit are sorted. Ask for all of a file's addresses in as few calls as possible.
 *
 * No path is opened: a separate debug file, and the file that dwz(1) moves shared DIEs into, are given as elf_files.
 * Code of split units has lines, but no function and no inlines, until their .dwo or .dwp file is given
 * (dwarf_source_set_split()).
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
 * own, so file may be closed, or detached, afterwards; what they take in memory (decompressed, if they are compressed; none if
 * they are large and fileview_guard() was called) stays until dwarf_source_free(). budget, which may be NULL, is that of this call, as of the others below: compressed
 * sections are decompressed while it lasts. NULL: there is no DWARF, or more than 384 MiB of it in memory or 1.5 GiB in views, or no time for it.
 */
struct dwarf_source *dwarf_source_new(const struct elf_file *file, struct workbudget *budget);
void dwarf_source_free(struct dwarf_source *source); /* NULL is fine */

/*
 * Gives the alternate file, before the first dwarf_source_frames(); as in dwarf_source_new(), it may be closed afterwards.
 * Without it, the functions whose names are in there have none. -ENOENT: it has no DWARF; -ESTALE: it is not the one that
 * is referred to.
 */
int dwarf_source_set_alt(struct dwarf_source *source, const struct elf_file *alt,
			 struct workbudget *budget);

/*
 * Calls fn for each of the nr addresses (ELF addresses, in any order) that has a line or a function, once, in no particular
 * order. inlines false: one frame, of the function whose code it is, with the line in that function. budget, which may be
 * NULL, is looked at now and then; when it is over, the addresses left get no call.
 */
void dwarf_source_frames(struct dwarf_source *source, const uint64_t *elf_addrs, size_t nr,
			 bool inlines, struct workbudget *budget, source_frames_fn fn, void *ctx);

/*
 * Gives a file of split units: a .dwo file or a package of them (.dwp), in the place of the last one; as in dwarf_source_new(), it
 * may be closed afterwards. Units that are not in it stay as they are. -ENOENT: it has none. It must not be called by a
 * source_frames_fn.
 */
int dwarf_source_set_split(struct dwarf_source *source, const struct elf_file *split,
			   struct workbudget *budget);
/* What its sections take in memory, with those of the files that were given; and what is looked at in the files (address space). */
uint64_t dwarf_source_memory(const struct dwarf_source *source);
uint64_t dwarf_source_views(const struct dwarf_source *source);
/*
 * Whether something that a question so far came by could not be read: it is damaged, or of a kind that is not known. Then
 * lines and functions may be missing.
 */
bool dwarf_source_has_unread(const struct dwarf_source *source);
/* Whether a file has debug information, where dwarf_source_new() says that it has none that could be read. */
bool dwarf_is_there(const struct elf_file *elf);
/* How many addresses of the last question were of units whose split unit is not given. */
size_t dwarf_source_nr_split(const struct dwarf_source *source);
/*
 * Calls fn for each of the nr addresses that is in such a unit: i is its position, name what the unit notes of its .dwo
 * file, dir the folder that this counts from if it is relative (both borrowed until the next call; "" if unknown).
 */
typedef void (*dwarf_split_fn)(void *ctx, size_t i, uint64_t dwo_id, const char *name,
			       const char *dir);
void dwarf_source_splits(struct dwarf_source *source, const uint64_t *elf_addrs, size_t nr,
			 struct workbudget *budget, dwarf_split_fn fn, void *ctx);

#endif
