/* CFLAGS: -O2 -fomit-frame-pointer */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *	rogue WHERE [SECONDS]
 *
 * Code in anonymous memory that has rbp for something else: it points to two words that look like a
 * frame, and the second is no return address. WHERE is it? nowhere: in no mapping, another one each
 * time; data: in memory that is not code; entry: where a function begins, which is behind no call.
 */
#include <sys/mman.h>

#include "stacks.h"

typedef void (*rogue_fn)(uint64_t *frame, uint64_t turns);

/* push %rbp; mov %rdi,%rbp; 1: dec %rsi; jnz 1b; pop %rbp; ret */
static const uint8_t rogue[] = {0x55, 0x48, 0x89, 0xfd, 0x48, 0xff, 0xce, 0x75, 0xfb, 0x5d, 0xc3};

static uint64_t address(const char *where)
{
	static uint64_t seed = 1;

	if (!strcmp(where, "data"))
		return (uint64_t)&seed;
	if (!strcmp(where, "entry"))
		return (uint64_t)number_arg;
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return 0x10000000 + (seed >> 36);
}

int main(int argc, char **argv)
{
	double seconds = number_arg(argc, argv, 2, 2);
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile uint64_t frame[16] = {0};

	memcpy(code + 64, rogue, sizeof(rogue));
	while (cpu_seconds() < seconds) {
		frame[0] = (uint64_t)(frame + 8);
		frame[1] = address(argc > 1 ? argv[1] : "nowhere");
		((rogue_fn)(code + 64))((uint64_t *)frame, 200000);
	}
	return 0;
}
