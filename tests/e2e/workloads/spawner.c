/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spawner SECONDS [PROGRAM]: starts a program, true(1), again and again, as fast as it goes, for SECONDS of wall-clock time.
 * Says {"spawned": N} at the end.
 */
#include <spawn.h>
#include <sys/wait.h>

#include "workload.h"

extern char **environ;

int main(int argc, char **argv)
{
	double end = now_seconds(CLOCK_MONOTONIC) + (argc > 1 ? atof(argv[1]) : 1);
	char name[] = "true", *const child[] = {name, NULL};
	const char *program = argc > 2 ? argv[2] : "/bin/true";
	long nr = 0;

	while (now_seconds(CLOCK_MONOTONIC) < end) {
		pid_t pid;

		if (posix_spawn(&pid, program, NULL, NULL, child, environ))
			return 1;
		waitpid(pid, NULL, 0);
		nr++;
	}
	printf("{\"spawned\": %ld}\n", nr);
	return 0;
}
