/* SPDX-License-Identifier: BSD-2-Clause */
/* hot SECONDS: hot_a does exactly twice the work of hot_b. Says the CPU seconds it took. */
#include "workload.h"

static void hot_a(void)
{
	WORK(2);
}

static void hot_b(void)
{
	WORK(1);
}

static void hot(double seconds)
{
	double end = now_seconds() + seconds;

	while (now_seconds() < end) {
		hot_a();
		hot_b();
	}
}

int main(int argc, char **argv)
{
	hot(number_arg(argc, argv, 1, 2));
	printf("{\"cpu_seconds\": %.6f}\n", cpu_seconds(RUSAGE_SELF));
	return 0;
}
