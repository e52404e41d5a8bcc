/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread that helps with one call and is joined (pthread_join) before that call returns. All signals
 * are blocked in it: they stay with those threads that expect them.
 */
#ifndef CPROF_BASE_THREAD_H
#define CPROF_BASE_THREAD_H

#include <pthread.h>
#include <stddef.h>

/* 0 or -errno; then do the work without. */
int thread_start(pthread_t *thread, void *(*run)(void *ctx), void *ctx);
/* The same with room for so many bytes of local variables; memory is taken as it is used. */
int thread_start_with_room(pthread_t *thread, size_t room_bytes, void *(*run)(void *ctx),
			   void *ctx);

#endif
