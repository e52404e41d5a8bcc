/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends and receives messages (sandbox/message.h) and their descriptors on a stream socket. */
#ifndef CPROF_SANDBOX_TRANSFER_H
#define CPROF_SANDBOX_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>

#include "sandbox/message.h"

/*
 * Called when a transfer cannot go on at once. Waits until fd is ready for the events of poll(2), or a little less; 0
 * to try again, -errno to give up. NULL: waits as long as it takes.
 */
struct transfer_wait {
	int (*wait)(void *ctx, int fd, short events);
	void *ctx;
};

/* Sends a header with its payload, and fd unless it is -1. -errno: -EPIPE if the other side is gone. */
int transfer_send(int socket, const struct message *message, const void *payload, int fd,
		  const struct transfer_wait *wait);
/*
 * Receives a header, or len_bytes of payload. A descriptor that comes along goes to *fd, which the caller owns; where
 * fd is NULL it is closed. -EPIPE: the other side is gone.
 */
int transfer_receive(int socket, void *to, size_t len_bytes, int *fd,
		     const struct transfer_wait *wait);

#endif
