/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shortlived N: N processes one after the other, each busy for a few milliseconds in short_life.
 * Says how many there were and the CPU seconds of all of them.
 */
#include <sys/wait.h>

#include "workload.h"

static void short_life(void)
{
	WORK(50);
}

int main(int argc, char **argv)
{
	int nr = (int)number_arg(argc, argv, 1, 100);

	for (int i = 0; i < nr; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (pid == 0) {
			short_life();
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	printf("{\"processes\": %d, \"cpu_seconds\": %.6f, \"switches\": %ld}\n", nr,
	       cpu_seconds(RUSAGE_CHILDREN), switches(RUSAGE_CHILDREN));
	return 0;
}
