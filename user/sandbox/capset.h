/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The capabilities of the calling thread, as sets of bits (1 << CAP_...).
 */
#ifndef CPROF_SANDBOX_CAPSET_H
#define CPROF_SANDBOX_CAPSET_H

#include <linux/capability.h>
#include <stdint.h>

/* Headers of before Linux 5.8 and 5.9 lack these. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

#define CAPSET_OF(cap) (1ull << (cap))

/* Those that it may use; 0 if the kernel does not tell. */
uint64_t capset_permitted(void);
/* Makes them effective; all others are not, but stay permitted. -errno. */
int capset_use(uint64_t effective);
/*
 * No program that it runs, and no user that it becomes, has others than these. It takes CAP_SETPCAP; who lacks it is
 * left with no_new_privs, which is enough.
 */
void capset_bound(uint64_t keep);
/* Gives up all but these, effective, permitted, inheritable and ambient. -errno. */
int capset_keep(uint64_t keep);

#endif
