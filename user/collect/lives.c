// SPDX-License-Identifier: BSD-2-Clause
/* The kernel's structures to those of stream.h. The peaks are few: one for each process that allocates, and each exec of it. */
#include "collect/lives.h"

#include <bpf/bpf.h>

_Static_assert(LIFE_NR_AGES == ABI_NR_AGES && LIFE_FIRST_AGE_NS == ABI_FIRST_AGE_NS,
	       "stream.h says what cprof_abi.h says");

struct life lives_of(const struct abi_life_count *count)
{
	struct life life = {
		.peak_ns = count->peak_ns,
		.peak_live = count->peak_live,
		.oldest_freed_ns = count->oldest_freed_ns,
	};

	for (int i = 0; i < ABI_NR_AGES; i++)
		life.nr_by_age[i] = count->nr_by_age[i];
	return life;
}

void lives_deliver_peak(int peaks_fd, const struct abi_image *image,
			const struct session_sink *sink)
{
	struct abi_peak peak;

	if (!bpf_map_lookup_elem(peaks_fd, image, &peak) && peak.most_ns)
		sink->peak(sink->ctx, &(struct peak){.tgid = image->tgid,
						     .exec_id = image->exec_id,
						     .bytes = peak.most_bytes,
						     .at_ns = peak.most_ns});
}

void lives_deliver_peaks(int peaks_fd, const struct session_sink *sink)
{
	struct abi_image image, *previous = NULL;

	while (!bpf_map_get_next_key(peaks_fd, previous, &image)) {
		previous = &image;
		lives_deliver_peak(peaks_fd, &image, sink);
	}
}
