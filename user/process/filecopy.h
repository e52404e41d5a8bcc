/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies a file whose file system may keep the process that has it open.
 *
 * A FUSE file system is a process of any user's. It is asked at every read(2), and at every close(2), exit(2) included: where
 * it does not answer, the process waits and cannot be killed. A file of an overlay is one of FUSE, if a layer is. So nobody
 * but the opener has such a file open; the others get a copy in memory.
 */
#ifndef CPROF_PROCESS_FILECOPY_H
#define CPROF_PROCESS_FILECOPY_H

#include <stdbool.h>
#include <stdint.h>

#include "process/mounts.h"
#include "sandbox/confine.h"

#define FILECOPY_MAX_BYTES CONFINE_OPENER_FILE_BYTES
#define FILECOPY_MAX_NS	   2000000000ull

/* May its file system keep who has fd open? To ask may take as long. task: as of mounts_are_privileged(). */
bool filecopy_is_needed(struct mounts *mounts, uint32_t task, int fd);
/*
 * A descriptor that the caller owns: of a sealed file in memory (memfd_create(2)) with the same bytes, size and time of
 * change. -EFBIG: it has more than FILECOPY_MAX_BYTES; -ETIMEDOUT: it took more than FILECOPY_MAX_NS; -EIO: it became
 * shorter meanwhile; others.
 */
int filecopy_make(int fd);

#endif
