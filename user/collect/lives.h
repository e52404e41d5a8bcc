/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads what BPF keeps of the lives of blocks (struct abi_life_count, the map `peaks`; bpf/life.bpf.c fills both). */
#ifndef CPROF_COLLECT_LIVES_H
#define CPROF_COLLECT_LIVES_H

#include <stdint.h>

#include "collect/session.h"
#include "cprof_abi.h"

/* Converts the count of one id in one epoch. */
struct life lives_of(const struct abi_life_count *count);
/* Delivers the peak of an image, if it has one, to sink->peak. */
void lives_deliver_peak(int peaks_fd, const struct abi_image *image,
			const struct session_sink *sink);
/* Delivers the peak of each image that holds sampled blocks or did so, to sink->peak. */
void lives_deliver_peaks(int peaks_fd, const struct session_sink *sink);

#endif
