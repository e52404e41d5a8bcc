/* CFLAGS: -O2 -fno-pie -no-pie -fomit-frame-pointer -fno-builtin -fplt -fcf-protection=none -Wl,-z,lazy */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Half of the time in the PLT, half in the vdso.
 *
 * A stub of the PLT is one jump, through its slot in the GOT: whether a tick ever comes to it is the
 * processor's choice. So the slot is made to hold the address of the stub itself, which then jumps to
 * itself until a signal's handler puts the function there. (In a program at a fixed address, bound lazily,
 * the address of a library's function is that of its stub, and slots can be written to.)
 */
#include <signal.h>
#include <sys/time.h>

#include "stacks.h"

static void *function;
static void **slot;

/* jmp *slot(%rip), or where it is long of range jmp *slot */
static void **slot_of(const uint8_t *stub)
{
	int32_t distance;

	if (stub[0] != 0xff || stub[1] != 0x25)
		abort();
	memcpy(&distance, stub + 2, sizeof(distance));
	return (void **)(stub + 6 + distance);
}

static void let_go(int number)
{
	(void)number;
	*slot = function;
}

FRAME static int through_plt(void)
{
	struct itimerval once = {.it_value = {0, 100000}};
	int result;

	*slot = (void *)labs;
	setitimer(ITIMER_VIRTUAL, &once, NULL);
	result = (int)labs(-42);
	NOT_LAST();
	return result;
}

FRAME static long into_vdso(double until)
{
	struct timespec ts;
	long sum = 0;

	while (cpu_seconds() < until)
		for (int i = 0; i < 20000; i++) {
			clock_gettime(CLOCK_MONOTONIC, &ts);
			sum += ts.tv_nsec;
		}
	return sum;
}

int main(int argc, char **argv)
{
	double seconds = number_arg(argc, argv, 1, 2);
	long sum = labs(-1); /* bound: the function is in its slot */

	slot = slot_of((const uint8_t *)(void *)labs);
	function = *slot;
	signal(SIGVTALRM, let_go);
	while (cpu_seconds() < seconds)
		sum += through_plt() + into_vdso(cpu_seconds() + 0.1);
	return sum == 42;
}
