// SPDX-License-Identifier: BSD-2-Clause
/*
 * A new thread inherits the signal mask of its creator, so the mask is blocked around pthread_create(). There
 * is no moment in which the new thread could take a signal.
 */
#include "base/thread.h"

#include <signal.h>
#include <time.h>

#include "base/clock.h"

int thread_start_with_room(pthread_t *thread, size_t room_bytes, void *(*run)(void *ctx), void *ctx)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_attr_init(&attr);
	err = room_bytes ? pthread_attr_setstacksize(&attr, room_bytes) : 0;
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!err)
		err = pthread_create(thread, &attr, run, ctx);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

int thread_start(pthread_t *thread, void *(*run)(void *ctx), void *ctx)
{
	return thread_start_with_room(thread, 0, run, ctx);
}

bool thread_join_for(pthread_t thread, uint64_t ns)
{
	uint64_t until_ns = clock_monotonic_ns() + ns;
	struct timespec until = {.tv_sec = until_ns / NSEC_PER_SEC,
				 .tv_nsec = until_ns % NSEC_PER_SEC};

	return !pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until);
}
