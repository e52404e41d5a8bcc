// SPDX-License-Identifier: BSD-2-Clause
/*
 * The handlers use only what is async-signal-safe: atomic variables, write(), unlinkat() and _exit(). An eventfd carries
 * the signal to poll(), which also waits for other descriptors. Rejected: signalfd, which needs the signals blocked,
 * and a launched command would inherit the blocked mask.
 */
#include "record/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "output/file.h"

static volatile sig_atomic_t nr_counted, last_signal, phase;
static volatile sig_atomic_t snapshot_wanted;
static uint64_t last_ns; /* 0: there was none; the handlers of two threads may meet here */
static int event_fd = -1;

/* How many it takes to end cprof. */
static int nr_to_end(void)
{
	return phase == INTERRUPT_NOTHING ? 2 : 3;
}

static void __attribute__((noreturn)) give_up(int number)
{
	static const char *const words[] = {
		[INTERRUPT_NOTHING] = "cprof: gave up before sampling began: nothing is written.\n",
		[INTERRUPT_COLLECTED] = "cprof: gave up: what was collected is not written.\n",
		[INTERRUPT_WRITTEN] =
			"cprof: gave up what was left to do: the files are written.\n",
	};
	const char *line = words[phase];

	output_file_remove_temporary();
	if (write(STDERR_FILENO, line, strlen(line)) < 0)
		_exit(128 + number); /* as below: nobody listens */
	_exit(128 + number);
}

bool interrupt_counts(uint64_t *before_ns, uint64_t now_ns)
{
	uint64_t before = __atomic_exchange_n(before_ns, now_ns, __ATOMIC_SEQ_CST);

	return !before || now_ns >= before + NSEC_PER_SEC;
}

static void on_signal(int number)
{
	const uint64_t one = 1;
	int saved = errno;

	if (interrupt_counts(&last_ns, clock_monotonic_ns()))
		__atomic_fetch_add(&nr_counted, 1, __ATOMIC_SEQ_CST);
	last_signal = number;
	if (nr_counted >= nr_to_end())
		give_up(number);
	if (write(event_fd, &one, sizeof(one)) < 0)
		last_signal = number; /* it is full, so it is readable already */
	errno = saved;
}

static void on_request(int number)
{
	const uint64_t one = 1;
	int saved = errno;

	(void)number;
	snapshot_wanted = 1;
	if (write(event_fd, &one, sizeof(one)) < 0)
		snapshot_wanted = 1; /* it is full, so it is readable already */
	errno = saved;
}

int interrupt_open(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_signal};
	struct sigaction request = {.sa_handler = on_request, .sa_flags = SA_RESTART};

	event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (event_fd < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(&action.sa_mask, numbers[i]);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaction(numbers[i], &action, NULL);
	sigaction(SIGUSR1, &request, NULL);
	return event_fd;
}

void interrupt_set_phase(enum interrupt_phase next)
{
	phase = next;
}

bool interrupt_seen(void)
{
	return nr_counted > 0;
}

bool interrupt_insisted(void)
{
	return nr_counted > 1;
}

int interrupt_exit_code(void)
{
	return 128 + last_signal;
}

bool interrupt_take_request(void)
{
	uint64_t nr;

	/* First this, then that: a request in between makes it readable again. */
	if (read(event_fd, &nr, sizeof(nr)) < 0)
		nr = 0;
	return __atomic_exchange_n(&snapshot_wanted, 0, __ATOMIC_SEQ_CST);
}
