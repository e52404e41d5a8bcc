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
 * in use: objects: bytes [allocated: objects: bytes] @ stack, leaf first. The values are the
 * sampled, unscaled ones, and the number in the header is twice the rate. Readers scale each line by its average
 * size, so there is one line for each stack and size. They subtract 1 from each address, so a line has return
 * addresses, and the address after the leaf. They drop the allocated pair if it equals the in-use pair on all
 * lines. A file can hold one process only.
 *
 * A CPU profile is written as Go's runtime/pprof writes counts with debug=1; the counts are those of the sample
 * type:
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

/* Writes profile->records, ->maps and ->memory. type: as below. -errno of the sink. */
int legacy_encode(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx);

/* The parts that output/text.h writes too. type: the position of the sample type, for a CPU profile. */
void legacy_head(struct text_out *out, const struct profile *profile, uint32_t type);
void legacy_record(struct text_out *out, const struct profile *profile, uint32_t type,
		   const struct profile_record *record);
void legacy_memory(struct text_out *out, const struct profile *profile);

#endif
