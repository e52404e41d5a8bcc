/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One unit's line program (.debug_line): the lines of sorted addresses in one pass, without a table.
 */
#ifndef CPROF_OBJECT_DWARFLINES_H
#define CPROF_OBJECT_DWARFLINES_H

#include <stdint.h>

#include "object/dwarfunit.h"

struct dwarflines;

/* Reads the header of unit's line program. NULL: there is none, or it is damaged. It borrows what unit borrows. */
struct dwarflines *dwarflines_new(const struct dwarfunit *unit);
void dwarflines_free(struct dwarflines *lines); /* NULL is fine */

/* Fills in file, line and line_width of the queries. Where sequences overlap, the shortest counts. */
void dwarflines_find(struct dwarflines *lines, struct dwarfquery *queries, size_t nr);
/* Appends the range of each sequence. */
void dwarflines_ranges(struct dwarflines *lines, dwarfrange_vec *to);
/* The path of a file by its number, borrowed; lines may be NULL. "": unknown. */
const char *dwarflines_path(struct dwarflines *lines, uint64_t file);

#endif
