/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What probesite.c asks of the files that know a machine's code. Private to probesite*.c.
 */
#ifndef CPROF_PROBES_PROBESITE_ARCH_H
#define CPROF_PROBES_PROBESITE_ARCH_H

#include "probes/probesite.h"

/* As the functions of probesite.h, with code of 1 to PROBESITE_MAX_BYTES bytes. */
struct probesite_arch {
	size_t (*choose)(const struct probesite_code *code, unsigned int keeps);
	bool (*calls)(const struct probesite_code *code, bool doubt,
		      bool (*of_interest)(void *ctx, uint64_t elf_addr), void *ctx);
	size_t unseen; /* what to choose where the code is not known */
};

extern const struct probesite_arch probesite_x86_64, probesite_arm64;

#endif
