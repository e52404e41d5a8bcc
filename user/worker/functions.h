/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers what is asked about functions that a runtime interprets: copies of their parts come with the question. */
#ifndef CPROF_WORKER_FUNCTIONS_H
#define CPROF_WORKER_FUNCTIONS_H

#include "sandbox/message.h"
#include "worker/payload.h"

/*
 * Answers a request of kind MESSAGE_FUNCTION: adds to payload and sets reply->nr. -EINVAL; -ENOENT: its parts do not name it.
 */
int functions_answer(const struct message *request, const void *asked, struct payload *payload,
		     struct message *reply);

#endif
