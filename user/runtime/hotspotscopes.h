/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which methods a compiled method's code was made of: the method itself, and those that were inlined into it, each with its
 * bytecode. Private to hotspot*.c.
 */
#ifndef CPROF_RUNTIME_HOTSPOTSCOPES_H
#define CPROF_RUNTIME_HOTSPOTSCOPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/hotspot.h"
#include "runtime/hotspotblob.h"

struct hotspot_scope {
	uint64_t method; /* address of the Method */
	uint32_t bci;	 /* index of its bytecode */
};

struct hotspot_scopes {
	uint64_t start, limit;			     /* the ips that they are of */
	size_t nr;				     /* 0: the compiler noted none */
	struct hotspot_scope at[HOTSPOT_MAX_FRAMES]; /* innermost first */
};

/*
 * The scopes at ip, which is in the code of the nmethod with this header. false: they cannot be read, or are not what a
 * compiler writes.
 */
bool hotspot_scopes_read(const struct blob_reader *reader, const struct raw_head *raw,
			 const struct blob_head *head, uint64_t ip, struct hotspot_scopes *scopes);

#endif
