/* SPDX-License-Identifier: BSD-2-Clause */
/* brief COUNT: that many children, one after another: each allocates a block, which it never frees, and ends at once. */
#include <sys/wait.h>

#include "workload.h"

int main(int argc, char **argv)
{
	for (int left = (int)number_arg(argc, argv, 1, 1000); left > 0; left--) {
		pid_t child = fork();
		void *volatile block;

		if (child < 0)
			return 1;
		if (!child) {
			block = malloc(100);
			(void)block;
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	return 0;
}
