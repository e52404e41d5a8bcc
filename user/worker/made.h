/* SPDX-License-Identifier: BSD-2-Clause */
/* What the worker answers about code that a process made at run time, from the files in which that tells of it. */
#ifndef CPROF_WORKER_MADE_H
#define CPROF_WORKER_MADE_H

#include "sandbox/message.h"
#include "worker/payload.h"

/* Answers a request of MESSAGE_PERF_MAP or MESSAGE_JITDUMP. fd is borrowed. -errno: there is no answer. */
int made_answer(const struct message *request, const void *asked, int fd, struct payload *payload,
		struct message *reply);

#endif
