/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the memory of another process while it runs.
 *
 * This needs the right to trace the process (ptrace(2)). The process is not stopped, so pieces read by one
 * call need not be consistent with each other.
 */
#ifndef CPROF_PROCESS_REMOTE_H
#define CPROF_PROCESS_REMOTE_H

#include <stddef.h>
#include <stdint.h>

#include "stream.h"

/*
 * Reads nr pieces, many with one system call, and sets was_read in each: it was read whole, or not at
 * all. Nothing can be read of a process that is gone.
 */
void remote_read(uint32_t tgid, struct memory_piece *pieces, size_t nr);

/*
 * A descriptor of the memory of the program that the process runs now, for others to read (/proc/PID/mem), that the caller
 * owns. -errno.
 */
int remote_open(uint32_t tgid);

#endif
