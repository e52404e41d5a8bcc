/* CFLAGS: -O2 -fomit-frame-pointer */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A timer's signal interrupts busy(), wherever it is; part of the time goes into the handler's
 * in_handler(). It is a timer of CPU time: one of the clock's would, on a busy machine, be due again
 * at once, and interrupt main()'s system calls mostly. And it is set again when the handler is done, or on
 * a slow machine nothing but the handler would run. Second argument "alt": on a stack of its own.
 */
#include <signal.h>
#include <sys/time.h>

#include "stacks.h"

FRAME static void in_handler(void)
{
	WORK(40);
}

static void set_timer(int us)
{
	struct itimerval once = {.it_value = {0, us}};

	setitimer(ITIMER_VIRTUAL, &once, NULL);
}

static void on_signal(int number)
{
	(void)number;
	in_handler();
	set_timer(4000);
	NOT_LAST();
}

FRAME static void busy(void)
{
	WORK(10);
}

FRAME static void outer(void)
{
	volatile char room[333];

	room[3] = 0;
	busy();
	room[4] = 0;
}

int main(int argc, char **argv)
{
	double seconds = number_arg(argc, argv, 1, 2);
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	stack_t stack = {.ss_size = 65536};

	if (argc > 2 && !strcmp(argv[2], "alt")) {
		stack.ss_sp = malloc(stack.ss_size);
		sigaltstack(&stack, NULL);
		action.sa_flags |= SA_ONSTACK;
	}
	sigaction(SIGVTALRM, &action, NULL);
	set_timer(4000);
	while (cpu_seconds() < seconds)
		outer();
	set_timer(0); /* or exit is interrupted, and main is gone then */
	return 0;
}
