/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Split units (-gsplit-dwarf): the linked file has a skeleton of each, the DIEs are in a .dwo file or in a package of
 * these (.dwp).
 */
#ifndef CPROF_OBJECT_DWARFSPLIT_H
#define CPROF_OBJECT_DWARFSPLIT_H

#include "object/dwarfunit.h"

/*
 * Opens the split unit of a skeleton: the one with its dwo_id. split is the DWARF of a .dwo or .dwp file; of a package one
 * unit at a time is open. -ENOENT: it is not in there; -EINVAL: it is damaged.
 */
int dwarfsplit_open(struct dwarffile *split, const struct dwarfunit *skeleton,
		    struct dwarfunit *unit);
/* Is the unit with this id in there? */
bool dwarfsplit_has(struct dwarffile *split, uint64_t dwo_id);

#endif
