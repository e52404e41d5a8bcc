// SPDX-License-Identifier: BSD-2-Clause
/*
 * steps ROUNDS [PERCENT]: always the same work in four functions, one of which, parse(), can be told
 * to do so many percent more of it. By time, decode : hash : parse : render is 8 : 6 : 4 : 2.
 */
#include <stdint.h>
#include <stdlib.h>

#define UNIT 20000 /* iterations; about 20 us */

static volatile uint64_t sink;

/* The loop is in each of them, not in a common function: flat values are their own. */
#define STEP(name)                                          \
	static void name(unsigned int rounds)               \
	{                                                   \
		uint64_t x = rounds | 1;                    \
                                                            \
		for (unsigned int i = 0; i < rounds; i++) { \
			x = x * 6364136223846793005u + 1;   \
			__asm__ volatile("" : "+r"(x));     \
		}                                           \
		sink += x;                                  \
	}

STEP(decode)
STEP(hash)
STEP(parse)
STEP(render)

static void step(unsigned int percent)
{
	decode(8 * UNIT);
	hash(6 * UNIT);
	parse(4 * UNIT + 4 * UNIT / 100 * percent);
	render(2 * UNIT);
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
	unsigned int percent = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	while (rounds--)
		step(percent);
	return 0;
}
