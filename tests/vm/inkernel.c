// SPDX-License-Identifier: BSD-2-Clause
/*
 * inkernel SECONDS: is in the kernel all the time, sent there by ask_kernel() and nobody else. Its
 * samples show whether a user stack is found from inside a system call.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#include "inside/systemcall.h"

static char zeroes[1 << 20];

/*
 * The system call is made here and not in a function of the C library, which has no frame pointer.
 * gcc omits an empty frame in spite of its options, so its address is used.
 */
static __attribute__((noinline)) long ask_kernel(int fd)
{
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	return system_call(SYS_read, fd, (long)zeroes, sizeof(zeroes), 0, 0);
}

static __attribute__((noinline)) double now_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double end = now_seconds() + (argc > 1 ? atof(argv[1]) : 2);
	int fd = open("/dev/zero", O_RDONLY);

	if (fd < 0)
		return 1;
	while (now_seconds() < end)
		if (ask_kernel(fd) != sizeof(zeroes))
			return 1;
	return 0;
}
