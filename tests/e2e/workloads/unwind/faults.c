/* CFLAGS: -O2 -g -fomit-frame-pointer -fno-toplevel-reorder -falign-functions=1 */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first instruction of faulting() is none, and the handler of that burns CPU time. The byte before is one of before(), which is
 * never called, and has a frame of another size.
 */
#include <signal.h>
#include <ucontext.h>

#include "stacks.h"

#define UD2_BYTES 2

FRAME static void in_handler(void)
{
	WORK(40);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	in_handler();
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += UD2_BYTES;
	NOT_LAST();
}

__attribute__((naked, used)) static void before(void)
{
	__asm__("sub $40, %rsp\n.cfi_adjust_cfa_offset 40\nud2");
}

__attribute__((naked, noipa)) static void faulting(void)
{
	__asm__("ud2\nret"); /* the line that faults */
}

FRAME static void outer(void)
{
	volatile char room[333];

	room[3] = 0;
	faulting();
	room[4] = 0;
}

int main(int argc, char **argv)
{
	double seconds = number_arg(argc, argv, 1, 2);
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

	sigaction(SIGILL, &action, NULL);
	while (cpu_seconds() < seconds)
		outer();
	return 0;
}
