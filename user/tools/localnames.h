/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names the unnamed locations of a profile (of a file of bare addresses, for example) from the binaries of this
 * machine, as `go tool pprof` and perf report do.
 *
 * A mapping's file is opened by its path. If the mapping has a build-id, only a file with the same one is used;
 * without a build-id, the file may have changed since it was profiled, and a line says so. Addresses that the file's symbols do not
 * name are looked up in its debug file, by the build-id below /usr/lib/debug/.build-id; the others are named
 * "libfoo.so.6+0x1234", where 0x1234 is the address at which the function begins. Missing files are skipped
 * silently.
 *
 * A function that has such a name, with an empty system_name, is renamed where the file or its debug file now has a
 * symbol, and the mapping has a build-id. Any other name stays.
 *
 * A profile is untrusted, and it names the files: only absolute paths of regular files, not empty and at most
 * 4 GiB, are opened for reading, at most LOCALNAMES_MAX_FILES of them; never a FIFO or a device. This is the
 * only file of the reading commands that uses object/, which parses those bytes.
 */
#ifndef CPROF_TOOLS_LOCALNAMES_H
#define CPROF_TOOLS_LOCALNAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "profile/model.h"

#define LOCALNAMES_MAX_FILES 1024

/* Names that come from the file at a mapping's path because the mapping has no build-id. Zeroed: none. */
struct localnames_by_path {
	size_t nr;     /* addresses */
	char *changed; /* the path of a file that has changed since its profile was taken, or NULL */
};

/*
 * Names the locations without a symbol. If all have one, this is a single pass over the locations. True: some have a
 * new name, and may now be equal to others (profile_compact() in merge.h). Adds to by_path, for localnames_say().
 */
bool localnames_add(struct profile *profile, struct localnames_by_path *by_path);

/* One line for all profiles, if there are such names; releases by_path. */
void localnames_say(struct localnames_by_path *by_path);

#endif
