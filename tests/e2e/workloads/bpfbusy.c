/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bpfbusy SECONDS: writes a BPF map by bpf(2), again and again. On a CPU on which bpf(2) changes a map the kernel runs no BPF program, so
 * that most ticks of a profiler are lost there.
 */
#include <linux/bpf.h>
#include <sys/syscall.h>

#include "workload.h"

#define NR	    4096
#define VALUE_BYTES 1024

static long bpf(enum bpf_cmd command, union bpf_attr *attributes)
{
	return syscall(SYS_bpf, command, attributes, sizeof(*attributes));
}

int main(int argc, char **argv)
{
	double end = now_seconds(CLOCK_PROCESS_CPUTIME_ID) + number_arg(argc, argv, 1, 1);
	static uint32_t keys[NR];
	static uint8_t values[NR][VALUE_BYTES];
	union bpf_attr map = {
		.map_type = BPF_MAP_TYPE_HASH,
		.key_size = sizeof(keys[0]),
		.value_size = VALUE_BYTES,
		.max_entries = NR,
	};
	long fd = bpf(BPF_MAP_CREATE, &map);

	for (uint32_t i = 0; i < NR; i++)
		keys[i] = i;
	while (fd >= 0 && now_seconds(CLOCK_PROCESS_CPUTIME_ID) < end) {
		union bpf_attr update = {
			.batch = {.keys = (uintptr_t)keys,
				  .values = (uintptr_t)values,
				  .count = NR,
				  .map_fd = (uint32_t)fd},
		};

		if (bpf(BPF_MAP_UPDATE_BATCH, &update))
			return 1;
	}
	printf("{\"cpu_seconds\": %.6f}\n", cpu_seconds(RUSAGE_SELF));
	return fd < 0;
}
