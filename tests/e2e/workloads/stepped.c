/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stepped: how many instructions its child executes for a malloc and a free, step by step. Says {"instructions": N};
 * N includes what the child does to begin and end the count.
 */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "workload.h"

#define WARM_UP 1000

static void *(*volatile allocate)(size_t) = malloc;
static void (*volatile release)(void *) = free;

static void be_stepped(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	for (int i = 0; i < WARM_UP; i++)
		release(allocate(64));
	raise(SIGSTOP);
	release(allocate(64));
	raise(SIGSTOP);
	_exit(0);
}

static bool is_stopped_by(pid_t child, int signal)
{
	int status;

	return waitpid(child, &status, 0) == child && WIFSTOPPED(status) &&
	       WSTOPSIG(status) == signal;
}

int main(void)
{
	pid_t child = fork();
	long nr = 0;

	if (!child)
		be_stepped();
	if (child < 0 || !is_stopped_by(child, SIGSTOP))
		return 1;
	do {
		ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
		nr++;
	} while (is_stopped_by(child, SIGTRAP));
	printf("{\"instructions\": %ld}\n", nr);
	kill(child, SIGKILL);
	return 0;
}
