/* SPDX-License-Identifier: BSD-2-Clause */
/* Do the slots that were redirected still hold what they held then? They are another process's, and looked at from here. */
#ifndef CPROF_INJECT_SLOTWATCH_H
#define CPROF_INJECT_SLOTWATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SLOTWATCH_MAX 16384

struct slotwatch {
	uint64_t slots[SLOTWATCH_MAX], words[SLOTWATCH_MAX]; /* a word that cannot be read is 0 */
	size_t nr;
};

/* Reads the table of nr entries at this address in pid (inside/redirect.h), and what the slots hold now. nr 0: none is watched. */
void slotwatch_begin(struct slotwatch *watch, pid_t pid, uint64_t table, uint64_t nr);
/* Does any of them hold something else now? */
bool slotwatch_has_changed(const struct slotwatch *watch, pid_t pid);

#endif
