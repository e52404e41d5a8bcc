/* SPDX-License-Identifier: BSD-2-Clause */
/* The reply to a question about split units (sandbox/message.h): which ones addresses need that are not there. */
#ifndef CPROF_WORKER_SPLITS_H
#define CPROF_WORKER_SPLITS_H

#include <stddef.h>
#include <stdint.h>

#include "object/object.h"
#include "worker/lines.h"
#include "worker/payload.h"

/* Appends the reply for nr addresses, 1 to MESSAGE_MAX_NAMES, to an empty payload. */
void splits_answer(struct lines *lines, struct object *object, const uint64_t *elf_addrs, size_t nr,
		   struct payload *payload);

#endif
