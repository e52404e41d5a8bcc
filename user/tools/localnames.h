/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names the locations of a profile that have no name (of a file of bare addresses, say) from the
 * binaries of this machine, as `go tool pprof` and perf report do.
 *
 * A mapping's file is opened by its path. Where the mapping has a build-id, the file must have the same,
 * or it is not used; where it has none, nobody can tell whether the file is still the one that was
 * profiled. What a file's symbols do not name is looked for in its debug file, by the build-id below
 * /usr/lib/debug/.build-id; what neither names is "libfoo.so.6+0x1234", where 0x1234 is the address that
 * its function begins at. Files that are not there are skipped without a word.
 *
 * A profile may come from anybody and names the files: only absolute paths of regular files, not empty
 * and of 4 GiB at most, are opened for reading, at most LOCALNAMES_MAX_FILES of them; never a FIFO or a
 * device. This file is the one door from the reading commands to object/, which parses those bytes.
 */
#ifndef CPROF_TOOLS_LOCALNAMES_H
#define CPROF_TOOLS_LOCALNAMES_H

#include "profile/model.h"

#define LOCALNAMES_MAX_FILES 1024

/* Locations that have a line are not looked at: costs one pass over the locations where all have. */
void localnames_add(struct profile *profile);

#endif
