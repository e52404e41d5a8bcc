/* SPDX-License-Identifier: BSD-2-Clause */
/* zombie: has a child that is dead and not waited for; says {"zombie": PID}, waits for a line. */
#include <signal.h>
#include <sys/wait.h>

#include "workload.h"

int main(void)
{
	siginfo_t info;
	pid_t pid = fork();

	if (pid < 0)
		return 1;
	if (pid == 0)
		_exit(0);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	printf("{\"zombie\": %d}\n", (int)pid);
	wait_for_line("ready");
	return 0;
}
