// SPDX-License-Identifier: BSD-2-Clause
#include "interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "output/file.h"

static volatile sig_atomic_t nr_seen;
static volatile sig_atomic_t snapshot_wanted;
static int event_fd = -1;

static void on_signal(int number)
{
	const uint64_t one = 1;
	int saved = errno;

	if (++nr_seen > 1) {
		output_file_remove_temporary();
		_exit(128 + number);
	}
	if (write(event_fd, &one, sizeof(one)) < 0)
		_exit(128 + number);
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
	struct sigaction action = {.sa_handler = on_signal};
	struct sigaction request = {.sa_handler = on_request, .sa_flags = SA_RESTART};

	event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (event_fd < 0)
		return -errno;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	sigaction(SIGUSR1, &request, NULL);
	return event_fd;
}

bool interrupt_seen(void)
{
	return nr_seen > 0;
}

bool interrupt_take_request(void)
{
	uint64_t nr;

	/* First this, then that: a request in between makes it readable again. */
	if (read(event_fd, &nr, sizeof(nr)) < 0)
		nr = 0;
	return __atomic_exchange_n(&snapshot_wanted, 0, __ATOMIC_SEQ_CST);
}
