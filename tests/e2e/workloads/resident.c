/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * resident: holds 20 MB of blocks that it has written to, and maps 30 MB of its own and writes to these. Says
 * {"ready": PID} and waits for a line; says {} and {"done": PID}, and waits for another.
 */
#include <string.h>
#include <sys/mman.h>

#include "workload.h"

#define NR_BLOCKS 20000

static void *volatile kept;

int main(void)
{
	void *map;

	wait_for_line("ready");
	for (int i = 0; i < NR_BLOCKS; i++) {
		kept = malloc(1000);
		memset(kept, 1, 1000);
	}
	map = mmap(NULL, 30000000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return 1;
	memset(map, 1, 30000000);
	printf("{}\n");
	wait_for_line("done");
	return 0;
}
