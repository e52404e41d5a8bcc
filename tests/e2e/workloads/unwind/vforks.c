/* CFLAGS: -O2 -fomit-frame-pointer */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Children of vfork, which run on their parent's stack, spin in in_child() and end or become
 * argv[1]. Says how many there were.
 */
#include <sys/wait.h>

#include "stacks.h"

FRAME static void in_child(void)
{
	WORK(100);
}

FRAME static void in_parent(void)
{
	WORK(20);
}

FRAME static void spawn(char **argv, int n)
{
	pid_t pid = vfork();

	if (!pid) {
		in_child();
		if (n % 4 == 0)
			execv(argv[1], argv + 1);
		_exit(0);
	}
	in_parent();
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	int n;

	if (argc < 2)
		return 2;
	for (n = 0; n < 200; n++)
		spawn(argv, n);
	printf("{\"children\": %d}\n", n);
	return 0;
}
