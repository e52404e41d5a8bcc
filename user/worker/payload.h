/* SPDX-License-Identifier: BSD-2-Clause */
/* The payload of a reply (sandbox/message.h), put together piece by piece. */
#ifndef CPROF_WORKER_PAYLOAD_H
#define CPROF_WORKER_PAYLOAD_H

#include <stddef.h>

#include "unwind/unwindtable.h"

/* Zeroed: empty. For vec_release(). */
struct payload {
	char *at;
	size_t nr, cap;
};

/* Adds a copy of len_bytes bytes. */
void payload_append(struct payload *payload, const void *bytes, size_t len_bytes);
/* A table as MESSAGE_TABLE has it. -ENODATA: it says nothing; -EFBIG: it would be more than max_bytes. */
int payload_append_table(struct payload *payload, const struct unwind_table *table,
			 size_t max_bytes);

#endif
