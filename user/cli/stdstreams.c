// SPDX-License-Identifier: BSD-2-Clause
/* A path-only descriptor (O_PATH) holds the number of a closed one: every read and write of it is refused (EBADF). */
#include "cli/stdstreams.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "exit.h"

void stdstreams_open(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_PATH | O_CLOEXEC) != fd)
			return; /* not even that works, and there is no stream for a message */
}

static void do_nothing(int signal_number)
{
	(void)signal_number;
}

void stdstreams_take_size_limit_as_error(void)
{
	/* A handler, not SIG_IGN: exec takes it back. */
	struct sigaction handled = {.sa_handler = do_nothing, .sa_flags = SA_RESTART}, before;

	if (!sigaction(SIGXFSZ, NULL, &before) && before.sa_handler != SIG_IGN)
		sigaction(SIGXFSZ, &handled, NULL);
}

int stdstreams_finish(int code)
{
	errno = 0;
	if ((!fflush(stdout) && !ferror(stdout)) || errno == EPIPE)
		return code;
	warn("cannot write to stdout: %s", errno ? strerror(errno) : "some of the output is lost");
	return EXIT_USAGE;
}
