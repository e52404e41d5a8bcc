/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes any profile as text with addresses, from its samples: for a heap profile the lines of
 * output/legacy.h, with values that are scaled already ("@ heapprofile": readers do not scale them), for
 * any other profile what Go's runtime/pprof writes with debug=1:
 *
 *	heap profile: 3: 3072 [4: 4096] @ heapprofile
 *	3: 3072 [4: 4096] @ 0x55d0c0de1234
 *
 *	cpu profile: total 10000000
 *	10000000 @ 0x401234 0x401567
 *	#	0x401233	parse	app.c:12		(with names)
 *
 *	MAPPED_LIBRARIES:				(--- Memory map: --- in the second; not with names)
 *	00400000-00500000 r-xp 00000000 00:00 0 /usr/bin/app
 *
 * Each address is one more than the location's, as a return address is: readers subtract 1.
 * Addresses that are relative to files overlap between mappings; the mappings are then laid out one after
 * another. Frames without an address are omitted.
 *
 * Source: pprof's profile/legacy_profile.go.
 */
#ifndef CPROF_OUTPUT_HEAPTEXT_H
#define CPROF_OUTPUT_HEAPTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/textout.h"
#include "profile/model.h"

/*
 * names: write the form of output/text.h, largest first, each line followed by its frames. type: the position of
 * the sample type to write, unless it is a heap profile. -EDOM: a value is negative, which the format cannot
 * express; -E2BIG: the lines of the frames are more than TEXT_OUT_MAX_BYTES; in both cases nothing is written. -errno
 * of the sink.
 */
int heaptext_encode(const struct profile *profile, uint32_t type, bool names, sink_fn sink,
		    void *ctx);

/* Whether it has any of the sample types alloc_objects, alloc_space, inuse_objects, inuse_space. */
bool heaptext_is_heap(const struct profile *profile);

#endif
