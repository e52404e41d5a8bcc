/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaderless SECONDS: its first thread ends at once, and another one, in left_alone, is busy for SECONDS. The kernel
 * calls such a process a zombie in /proc/PID/stat, and shows neither its mappings nor its executable in /proc/PID.
 * Says {"ready": PID} once that is so.
 */
#include <pthread.h>
#include <string.h>

#include "workload.h"

/* Is the first thread a zombie? */
static bool is_alone(void)
{
	char line[512] = "", *state;
	FILE *file = fopen("/proc/self/stat", "r");

	if (!file || !fgets(line, sizeof(line), file))
		exit(1);
	fclose(file);
	state = strrchr(line, ')');
	return state && state[2] == 'Z';
}

static void left_alone(double seconds)
{
	double end = now_seconds(CLOCK_PROCESS_CPUTIME_ID) + seconds;

	while (now_seconds(CLOCK_PROCESS_CPUTIME_ID) < end)
		WORK(1);
}

static void *other(void *seconds)
{
	while (!is_alone())
		usleep(1000);
	printf("{\"ready\": %d}\n", (int)getpid());
	fflush(stdout);
	left_alone(*(double *)seconds);
	exit(0);
}

int main(int argc, char **argv)
{
	static double seconds;
	pthread_t thread;

	seconds = number_arg(argc, argv, 1, 1);
	if (pthread_create(&thread, NULL, other, &seconds))
		return 1;
	pthread_exit(NULL);
}
