/* CFLAGS: -O2 -fomit-frame-pointer */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Runs argv[2...] argv[1] times, two at a time, and says their pids.
 */
#include <spawn.h>
#include <sys/wait.h>

#include "stacks.h"

extern char **environ;

int main(int argc, char **argv)
{
	int nr = (int)number_arg(argc, argv, 1, 10), running = 0;
	pid_t pid;

	if (argc < 3)
		return 2;
	printf("[");
	for (int i = 0; i < nr; i++) {
		if (posix_spawn(&pid, argv[2], NULL, NULL, argv + 2, environ))
			return 1;
		printf("%s%d", i ? ", " : "", (int)pid);
		if (++running == 2)
			running -= wait(NULL) > 0;
	}
	while (wait(NULL) > 0)
		;
	printf("]\n");
	return 0;
}
