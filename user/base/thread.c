// SPDX-License-Identifier: BSD-2-Clause
#include "base/thread.h"

#include <signal.h>

int thread_start(pthread_t *thread, void *(*run)(void *ctx), void *ctx)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(thread, NULL, run, ctx);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}
