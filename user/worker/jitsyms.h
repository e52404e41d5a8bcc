/* SPDX-License-Identifier: BSD-2-Clause */
/* What the worker answers about JIT symbols, from the files in which a process writes them. */
#ifndef CPROF_WORKER_JITSYMS_H
#define CPROF_WORKER_JITSYMS_H

#include "sandbox/message.h"
#include "worker/payload.h"

/* Answers a request of MESSAGE_PERF_MAP or MESSAGE_JITDUMP. fd is borrowed. -errno: there is no answer. */
int jitsyms_answer(const struct message *request, const void *asked, int fd,
		   struct payload *payload, struct message *reply);

#endif
