/* CFLAGS: -O2 -g */
// SPDX-License-Identifier: BSD-2-Clause
/* Works in a function that is inlined in another, which is inlined in a third, SECONDS of CPU time long. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define INLINED static inline __attribute__((always_inline))

INLINED unsigned int leaf(unsigned int x)
{
	return x * 2654435761u ^ x >> 7; /* leaf's line */
}

INLINED unsigned int middle(unsigned int x)
{
	return leaf(x) + leaf(x ^ 1); /* middle's line */
}

__attribute__((noinline)) static unsigned int outer(unsigned int n, unsigned int x)
{
	for (unsigned int i = 0; i < n; i++)
		x = middle(x); /* outer's line */
	return x;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	unsigned int x = 1;

	while (clock() < seconds * CLOCKS_PER_SEC)
		x = outer(10000000, x); /* main's line */
	printf("%u\n", x);
	return 0;
}
