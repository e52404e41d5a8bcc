/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the memory of a process through a descriptor of its /proc/PID/mem.
 *
 * The process runs on, so pieces read by one call need not be consistent with each other.
 */
#ifndef CPROF_WORKER_MEMORY_H
#define CPROF_WORKER_MEMORY_H

#include <stddef.h>

#include "stream.h"

/*
 * Reads nr pieces and sets was_read in each: it was read whole, or not at all. Nothing can be read of a process that is
 * gone, or that has executed another program since. Returns how many were not read.
 */
size_t memory_read_pieces(int fd, struct memory_piece *pieces, size_t nr);

#endif
