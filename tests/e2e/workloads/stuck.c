/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stuck [THREADS]: has an allocator of its own, in which a malloc of 777 bytes does not return. THREADS
 * threads (8) are all in such a call at once, from site_stuck. Says {"ready": PID} and waits for a line on
 * stdin; says {"inside": PID} when they are, and waits for another; lets the calls return, and ends.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "pool.h"
#include "workload.h"

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int nr_inside;
static atomic_bool is_over;
static void *volatile kept;
static volatile size_t stuck = 777;

void *malloc(size_t size)
{
	void *block;

	pthread_mutex_lock(&pool_lock);
	block = pool_take(size);
	pthread_mutex_unlock(&pool_lock);
	if (size == stuck)
		for (nr_inside++; !is_over;)
			usleep(1000);
	return block;
}

static void *site_stuck(void *arg)
{
	kept = malloc(stuck);
	return arg;
}

int main(int argc, char **argv)
{
	int nr = (int)number_arg(argc, argv, 1, 8);
	pthread_t threads[16];

	if (nr > 16)
		nr = 16;
	wait_for_line("ready");
	for (int i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, site_stuck, NULL) != 0)
			return 1;
	while (nr_inside < nr)
		usleep(1000);
	wait_for_line("inside");
	is_over = true;
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
