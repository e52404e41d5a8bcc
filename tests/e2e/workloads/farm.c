/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * farm NR: so many child processes that wait, in a process group of their own. Says {"ready": PID} once all are there; they end with it,
 * before it if a line comes.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "workload.h"

int main(int argc, char **argv)
{
	double nr = number_arg(argc, argv, 1, 1000);
	pid_t parent = getpid();

	signal(SIGCHLD, SIG_IGN); /* they leave no zombies */
	setpgid(0, 0);
	for (double i = 0; i < nr; i++) {
		pid_t child = fork();

		if (child < 0) {
			perror("farm: fork");
			return 1;
		}
		if (child)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	wait_for_line("ready");
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	wait(NULL); /* for all of them */
	return 0;
}
