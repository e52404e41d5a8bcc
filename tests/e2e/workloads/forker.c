/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forker SECONDS: three children, all at once: two spin in child_spin, and one spins in before_exec
 * for half the time and executes the workload `hot` (from its own folder) for the other half.
 * Says the CPU seconds of its children. SECONDS are those of each child.
 */
#include <libgen.h>
#include <limits.h>
#include <sys/wait.h>

#include "workload.h"

static void child_spin(double seconds)
{
	double end = now_seconds(CLOCK_PROCESS_CPUTIME_ID) + seconds;

	while (now_seconds(CLOCK_PROCESS_CPUTIME_ID) < end)
		WORK(1);
}

static void before_exec(double seconds)
{
	double end = now_seconds(CLOCK_PROCESS_CPUTIME_ID) + seconds;

	while (now_seconds(CLOCK_PROCESS_CPUTIME_ID) < end)
		WORK(1);
}

static void exec_hot(const char *self, double seconds)
{
	char folder[PATH_MAX], path[PATH_MAX + 8], time[32];

	snprintf(folder, sizeof(folder), "%s", self);
	snprintf(path, sizeof(path), "%s/hot", dirname(folder));
	snprintf(time, sizeof(time), "%g", seconds);
	execl(path, "hot", time, NULL);
	_exit(127);
}

int main(int argc, char **argv)
{
	double seconds = number_arg(argc, argv, 1, 2);
	int status, failed = 0;

	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (pid > 0)
			continue;
		if (i < 2) {
			child_spin(seconds);
			_exit(0);
		}
		before_exec(seconds / 2);
		exec_hot(argv[0], seconds / 2);
	}
	while (wait(&status) > 0)
		failed |= status;
	printf("{\"cpu_seconds\": %.6f, \"switches\": %ld}\n", cpu_seconds(RUSAGE_CHILDREN),
	       switches(RUSAGE_CHILDREN));
	return failed != 0;
}
