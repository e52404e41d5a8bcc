/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * first: allocates before main() (100 x 48 bytes, of which 40 are freed) and at once in main() (50 x
 * 3000 bytes, and one of them reallocated to 5000), and ends. Says, last, what a heap profile at rate 1
 * holds of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *blocks[100];

static void __attribute__((noinline)) site_before_main(void)
{
	for (int i = 0; i < 100; i++)
		blocks[i] = malloc(48);
	for (int i = 0; i < 40; i++)
		free(blocks[i]);
}

static void __attribute__((constructor)) construct(void)
{
	site_before_main();
}

static void __attribute__((noinline)) site_in_main(void)
{
	for (int i = 0; i < 50; i++)
		blocks[i] = malloc(3000);
	blocks[49] = realloc(blocks[49], 5000);
}

static const char says[] = "{\"site_before_main\": {\"objects\": 100, \"bytes\": 4800, "
			   "\"live_objects\": 60, \"live_bytes\": 2880}, "
			   "\"site_in_main\": {\"objects\": 51, \"bytes\": 155000, "
			   "\"live_objects\": 50, \"live_bytes\": 152000}}\n";

int main(void)
{
	site_in_main();
	if (write(STDOUT_FILENO, says, sizeof(says) - 1) != (ssize_t)sizeof(says) - 1)
		return 1;
	_exit(0);
}
