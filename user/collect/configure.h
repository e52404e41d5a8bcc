/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets the sizes of BPF maps and the constants of BPF programs, between opening and loading the BPF object. */
#ifndef CPROF_COLLECT_CONFIGURE_H
#define CPROF_COLLECT_CONFIGURE_H

#include "collect/probe.h"
#include "collect/session.h"

struct cprof_bpf;

/* bpf is open and not loaded. Of the targets only options->only_tgid is used. */
void configure_bpf(struct cprof_bpf *bpf, const struct session_options *options,
		   const struct kernel_features *features);

#endif
