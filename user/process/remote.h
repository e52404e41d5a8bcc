/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the memory of a process while it runs. It takes the right to trace it (ptrace(2)); nothing is
 * stopped, so what is read together need not belong together.
 */
#ifndef CPROF_PROCESS_REMOTE_H
#define CPROF_PROCESS_REMOTE_H

#include <stddef.h>
#include <stdint.h>

#include "stream.h"

/*
 * Reads pieces, many with one system call; of each says whether it was read, which it is whole or not
 * at all. Those of a process that is gone are not.
 */
void remote_read(uint32_t tgid, struct memory_piece *pieces, size_t nr);

#endif
