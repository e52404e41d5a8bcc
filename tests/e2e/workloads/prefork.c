/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prefork [SECONDS]: a server as nginx, gunicorn and postgres are: the master forks two workers before
 * anything happens, and each of these a helper; the master itself sleeps. Says {"ready": PID} and waits for
 * a line. Then the workers spin in worker_spin for SECONDS (1) of CPU time and their helpers in helper_spin
 * for half as long, after each has allocated 40 x 256 bytes in site_worker or 20 x 64 in site_helper; and
 * the master forks one more worker, which spins in late_spin and allocates 10 x 1024 bytes in site_late.
 * When all are done it says {"done": PID} and waits for another line.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "workload.h"

static void *volatile last; /* or the compiler leaves out what nobody uses */

static void worker_spin(double seconds)
{
	while (cpu_seconds(RUSAGE_SELF) < seconds)
		WORK(1);
}

static void helper_spin(double seconds)
{
	while (cpu_seconds(RUSAGE_SELF) < seconds)
		WORK(1);
}

static void late_spin(double seconds)
{
	while (cpu_seconds(RUSAGE_SELF) < seconds)
		WORK(1);
}

static void site_worker(void)
{
	for (int i = 0; i < 40; i++)
		last = malloc(256);
}

static void site_helper(void)
{
	for (int i = 0; i < 20; i++)
		last = malloc(64);
}

static void site_late(void)
{
	for (int i = 0; i < 10; i++)
		last = malloc(1024);
}

/* Until the other end of the pipe is closed. */
static void wait_for_go(int fd)
{
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fd, &c, 1) > 0)
		;
}

static void wait_for_children(void)
{
	while (wait(NULL) > 0)
		;
}

static void work(int fd, double seconds)
{
	if (!fork()) {
		wait_for_go(fd);
		site_helper();
		helper_spin(seconds / 2);
		_exit(0);
	}
	wait_for_go(fd);
	site_worker();
	worker_spin(seconds);
	wait_for_children();
	_exit(0);
}

int main(int argc, char **argv)
{
	double seconds = number_arg(argc, argv, 1, 1);
	int fds[2];

	if (pipe(fds))
		return 1;
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			close(fds[1]);
			work(fds[0], seconds);
		}
	wait_for_line("ready");
	close(fds[1]);
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		site_late();
		late_spin(seconds);
		_exit(0);
	}
	wait_for_children();
	wait_for_line("done");
	return 0;
}
