/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * busy N [PAUSE]: N threads allocate, fill, check and free blocks, with a pause of so many us (500) now and then. Says {"ready": PID} and waits for a
 * line; allocates 100 blocks of 5000 bytes and frees 60, says what a heap profile at rate 1 holds of them; at the next line
 * it ends and says {"errors": HOW MANY BLOCKS WERE NOT AS THEY WERE LEFT}.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_THREADS 64

static atomic_int nr_errors, is_over;
static useconds_t pause_us = 500;

static void *allocate(void *arg)
{
	unsigned int seed = (unsigned int)(size_t)arg;
	unsigned char *held[64] = {NULL}, marks[64];
	size_t sizes[64];

	for (int i = 0; !is_over; i++) {
		int at = rand_r(&seed) % 64;

		for (size_t j = 0; held[at] && j < sizes[at]; j += 97)
			nr_errors += held[at][j] != marks[at];
		if (i % 3)
			free(held[at]), held[at] = NULL;
		sizes[at] = 1 + rand_r(&seed) % 3000;
		marks[at] = i;
		held[at] = realloc(held[at], sizes[at]);
		memset(held[at], marks[at], sizes[at]);
		if (i % 200 == 0)
			usleep(pause_us);
	}
	for (int i = 0; i < 64; i++)
		free(held[i]);
	return NULL;
}

static void *blocks[100];

static void __attribute__((noinline)) site_known(void)
{
	for (int i = 0; i < 100; i++)
		blocks[i] = malloc(5000);
	for (int i = 0; i < 60; i++)
		free(blocks[i]);
}

static void wait_for_line(void)
{
	char c;

	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n')
		;
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[MAX_THREADS];

	if (argc > 2)
		pause_us = (useconds_t)atoi(argv[2]);
	for (int i = 0; i < nr && i < MAX_THREADS; i++)
		pthread_create(&threads[i], NULL, allocate, (void *)(size_t)(i + 1));
	printf("{\"ready\": %d}\n", (int)getpid());
	wait_for_line();
	site_known();
	printf("{\"site_known\": {\"objects\": 100, \"bytes\": 500000, \"live_objects\": 40, "
	       "\"live_bytes\": 200000}}\n");
	wait_for_line();
	is_over = 1;
	for (int i = 0; i < nr && i < MAX_THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("{\"errors\": %d}\n", nr_errors);
	return nr_errors != 0;
}
