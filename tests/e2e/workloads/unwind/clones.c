/* CFLAGS: -O2 -fomit-frame-pointer -lpthread */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Nothing but new threads and processes: argv[1] seconds of CPU time of the one, then of the other.
 */
#include <pthread.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "stacks.h"

extern char **environ;

/* With its children that ended. */
static double all_seconds(void)
{
	struct rusage children;

	getrusage(RUSAGE_CHILDREN, &children);
	return cpu_seconds() + (double)(children.ru_utime.tv_sec + children.ru_stime.tv_sec) +
	       (double)(children.ru_utime.tv_usec + children.ru_stime.tv_usec) / 1e6;
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
	double seconds = number_arg(argc, argv, 1, 2);

	while (all_seconds() < seconds)
		make_thread();
	while (all_seconds() < 2 * seconds)
		make_process();
	return 0;
}
