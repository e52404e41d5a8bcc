/* SPDX-License-Identifier: BSD-2-Clause */
/* What cprof asks of its own process: many open files, and memory that is given back. */
#ifndef CPROF_RECORD_RESOURCES_H
#define CPROF_RECORD_RESOURCES_H

/* Once, before anything large is allocated. What the kernel refuses stays as it is. */
void resources_claim(void);

#endif
