/* CFLAGS: -O2 -fomit-frame-pointer -lpthread */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Nothing but new threads and processes: argv[1] seconds of the one, then of the other.
 */
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

#include "stacks.h"

extern char **environ;

static double wall_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void *return_at_once(void *arg)
{
	return arg;
}

FRAME static void make_thread(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, return_at_once, NULL))
		pthread_join(thread, NULL);
	NOT_LAST();
}

FRAME static void make_process(void)
{
	char name[] = "true", *argv[] = {name, NULL};
	pid_t pid;

	if (!posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ))
		waitpid(pid, NULL, 0);
	NOT_LAST();
}

int main(int argc, char **argv)
{
	double seconds = number_arg(argc, argv, 1, 2), start = wall_seconds();

	while (wall_seconds() < start + seconds)
		make_thread();
	while (wall_seconds() < start + 2 * seconds)
		make_process();
	return 0;
}
