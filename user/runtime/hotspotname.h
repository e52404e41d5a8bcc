/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the name of a Java method, "java.lang.String.hashCode", from the metadata of a HotSpot VM. */
#ifndef CPROF_RUNTIME_HOTSPOTNAME_H
#define CPROF_RUNTIME_HOTSPOTNAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/vmstructs.h"

#define HOTSPOT_NAME_BYTES 512 /* longer names are truncated */

/*
 * Copies the name of the Method at addr of the VM's memory to name, byte by byte. false: it cannot be read.
 */
bool hotspot_method_name(const struct vmstructs *vm, const struct target_memory *memory,
			 uint64_t addr, char name[HOTSPOT_NAME_BYTES]);

#endif
