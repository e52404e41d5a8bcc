/* SPDX-License-Identifier: BSD-2-Clause */
/* Adjusts cprof's own process: the limit of open files, and how malloc returns memory to the kernel. */
#ifndef CPROF_RECORD_RESOURCES_H
#define CPROF_RECORD_RESOURCES_H

/* Called once, before anything large is allocated. A setting that the kernel refuses stays as it is. */
void resources_claim(void);

#endif
