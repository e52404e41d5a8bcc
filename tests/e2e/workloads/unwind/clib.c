/* CFLAGS: -O2 -fno-omit-frame-pointer */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clib SECONDS: spends its CPU time in functions of the C library that a program's are called by (qsort, a thread's start) or
 * call (malloc, snprintf, write, memcpy), and in a signal handler. Each of its functions has one caller, or those that the
 * test lists.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noclone))
/* Its call is not the last thing that a function does. */
#define NO_TAIL_CALL __asm__ volatile("" ::: "memory")

static volatile int sink;
static double seconds;

static double used(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

FUNCTION static void spin(int n)
{
	for (volatile int i = 0; i < n; i++)
		;
}

FUNCTION static void handler(int signal)
{
	(void)signal;
	spin(1000000); /* long enough to be met in a second of few signals */
	NO_TAIL_CALL;
}

FUNCTION static int compare(const void *a, const void *b)
{
	spin(500);
	return *(const int *)a - *(const int *)b;
}

FUNCTION static void sorts(void)
{
	int numbers[64];

	for (int i = 0; i < 64; i++)
		numbers[i] = i * 37 % 64;
	qsort(numbers, 64, sizeof(*numbers), compare);
	NO_TAIL_CALL;
}

FUNCTION static void allocates(void)
{
	void *blocks[100];

	for (int i = 0; i < 100; i++)
		blocks[i] = malloc(100 + (size_t)i * 10);
	for (int i = 0; i < 100; i++)
		free(blocks[i]);
	NO_TAIL_CALL;
}

FUNCTION static void prints(void)
{
	char text[200];

	for (int i = 0; i < 100; i++)
		sink += snprintf(text, sizeof(text), "%d %s %f", i, "abc", i / 3.0);
	NO_TAIL_CALL;
}

FUNCTION static void writes(int fd)
{
	for (int i = 0; i < 100; i++)
		sink += (int)write(fd, "x", 1);
	NO_TAIL_CALL;
}

FUNCTION static void copies(void)
{
	static char from[100000], to[100000];

	for (int i = 0; i < 10; i++) {
		from[i]++;
		memcpy(to, from, sizeof(from));
		NO_TAIL_CALL;
	}
	sink += to[sink & 1];
	NO_TAIL_CALL;
}

FUNCTION static void *thread(void *unused)
{
	while (used() < seconds) {
		spin(100000);
		prints();
	}
	return unused;
}

int main(int argc, char **argv)
{
	struct itimerval often = {{0, 20000}, {0, 20000}};
	int fd = open("/dev/null", O_WRONLY);
	pthread_t other;

	seconds = argc > 1 ? atof(argv[1]) : 1;
	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &often, NULL);
	pthread_create(&other, NULL, thread, NULL);
	while (used() < seconds) {
		sorts();
		allocates();
		prints();
		writes(fd);
		copies();
	}
	pthread_join(other, NULL);
	return 0;
}
