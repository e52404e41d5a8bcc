/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Helper threads: a thread that works for one call and is joined (pthread_join) before that call returns.
 *
 * All signals are blocked in it, so that they are delivered to the threads that expect them.
 */
#ifndef CPROF_BASE_THREAD_H
#define CPROF_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Runs run(ctx) in a new thread. -errno: there is none; do the work in the calling thread instead. */
int thread_start(pthread_t *thread, void *(*run)(void *ctx), void *ctx);
/* The same with a stack of room_bytes (0: the default); its memory is allocated as it is touched. */
int thread_start_with_room(pthread_t *thread, size_t room_bytes, void *(*run)(void *ctx),
			   void *ctx);

/* Waits for the thread for that long. true: it has ended, and is joined. */
bool thread_join_for(pthread_t thread, uint64_t ns);

#endif
