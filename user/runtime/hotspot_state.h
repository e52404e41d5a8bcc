/* SPDX-License-Identifier: BSD-2-Clause */
/* What is known of a VM. Private to hotspot.c, which knows its heaps, and hotspot_names.c, which names what is in them. */
#ifndef CPROF_RUNTIME_HOTSPOT_STATE_H
#define CPROF_RUNTIME_HOTSPOT_STATE_H

#include <stdint.h>

#include "base/vec.h"
#include "runtime/hotspot.h"
#include "runtime/hotspotheap.h"
#include "runtime/hotspotmethod.h"
#include "runtime/hotspotanswers.h"
#include "runtime/hotspotunload.h"

struct hotspot {
	struct blob_reader reader;
	vec_of(struct code_heap) heaps;
	uint32_t generation;
	struct hotspot_methods methods;
	char blob_name[HOTSPOT_NAME_BYTES]; /* of the last piece */
	struct answers answers;
	struct jvm_counters counters;
	struct own_loaders own;
	uint64_t own_due_ns;
	uint64_t methods_unloads; /* what the count was when methods were read */
};

#endif
