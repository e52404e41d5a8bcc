/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a heap profile in the legacy text format of gperftools and Go's runtime/pprof:
 *
 *	heap profile: 3: 3072 [4: 4096] @ heap/1048576
 *	3: 3072 [4: 4096] @ 0x7f3a5c0a1234 0x55d0c0de1234
 *
 *	# VmRSS = 5120 kB
 *
 *	MAPPED_LIBRARIES:
 *	55d0c0de1000-55d0c0de2000 r-xp 00001000 00:00 0 /usr/bin/app
 *
 * in use: objects: bytes [allocated: objects: bytes] @ stack, leaf first. The values are what was
 * sampled, unscaled, and the number in the head is twice the rate: a reader scales by itself, each
 * line by its average size, so there is one line for each stack and size. It takes 1 from each
 * address, so a line has return addresses, and the address after the leaf. It drops the allocated
 * pair if that is the in-use pair all over. Only one process can be in such a file.
 *
 * Of a CPU profile it is what Go's runtime/pprof writes with debug=1 of anything that is counted, here
 * what the sample type counts:
 *
 *	cpu profile: total 40404040
 *	30303030 @ 0x7f3a5c0a1234 0x55d0c0de1234
 *
 *	--- Memory map: ---
 *	55d0c0de1000-55d0c0de2000 r-xp 00001000 00:00 0 /usr/bin/app
 *
 * Source: pprof's profile/legacy_profile.go.
 */
#ifndef CPROF_OUTPUT_LEGACY_H
#define CPROF_OUTPUT_LEGACY_H

#include "base/textout.h"
#include "profile/model.h"

/* profile->records, ->maps and ->memory are what is written. -errno of the sink. */
int legacy_encode(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx);

/* The parts of it that output/text.h writes too. type: position of the sample type of a CPU profile. */
void legacy_head(struct text_out *out, const struct profile *profile, uint32_t type);
void legacy_record(struct text_out *out, const struct profile *profile, uint32_t type,
		   const struct profile_record *record);
void legacy_memory(struct text_out *out, const struct profile *profile);

#endif
