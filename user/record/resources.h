/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adjusts cprof's own process: resource limits, and how malloc returns memory to the kernel.
 *
 * A command that cprof launches gets the limits that cprof itself was started with.
 */
#ifndef CPROF_RECORD_RESOURCES_H
#define CPROF_RECORD_RESOURCES_H

/* Called once, before anything large is allocated. A setting that the kernel refuses stays as it is. */
void resources_claim(void);
/* Restores, in a forked child, the limits from before resources_claim(). Async-signal-safe. */
void resources_give_back(void);

#endif
