// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sockets are used without blocking, so that the one that waits decides how long. A descriptor travels with the first
 * byte of its message, and a receiver that asks for a header gets it with the header.
 */
#include "sandbox/transfer.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

static int wait_for(const struct transfer_wait *wait, int socket, short events)
{
	struct pollfd ready = {.fd = socket, .events = events};

	if (wait)
		return wait->wait(wait->ctx, socket, events);
	return ppoll(&ready, 1, NULL, NULL) < 0 && errno != EINTR ? -errno : 0;
}

static void attach(struct msghdr *header, union control *control, const int *fd)
{
	memset(control, 0, sizeof(*control));
	header->msg_control = control->bytes;
	header->msg_controllen = sizeof(control->bytes);
	control->header.cmsg_level = SOL_SOCKET;
	control->header.cmsg_type = SCM_RIGHTS;
	control->header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control->header), fd, sizeof(int));
}

/* Drops what was sent from the front of the two pieces. */
static void advance(struct iovec pieces[2], size_t nr)
{
	for (int i = 0; i < 2; i++) {
		size_t part = nr < pieces[i].iov_len ? nr : pieces[i].iov_len;

		pieces[i].iov_base = (char *)pieces[i].iov_base + part;
		pieces[i].iov_len -= part;
		nr -= part;
	}
}

int transfer_send(int socket, const struct message *message, const void *payload, int fd,
		  const struct transfer_wait *wait)
{
	struct iovec pieces[2] = {{(void *)message, sizeof(*message)},
				  {(void *)payload, message->len_bytes}};
	struct msghdr header = {.msg_iov = pieces, .msg_iovlen = 2};
	union control control;

	if (fd >= 0)
		attach(&header, &control, &fd);
	while (pieces[0].iov_len + pieces[1].iov_len) {
		ssize_t nr = sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
		int err = 0;

		if (nr >= 0) {
			advance(pieces, nr);
			header.msg_control = NULL; /* it went with the first byte */
			header.msg_controllen = 0;
		} else if (errno == EAGAIN) {
			err = wait_for(wait, socket, POLLOUT);
		} else if (errno != EINTR) {
			err = errno == ECONNRESET ? -EPIPE : -errno;
		}
		if (err)
			return err;
	}
	return 0;
}

static void keep_descriptor(struct msghdr *header, int *fd)
{
	int got;

	for (struct cmsghdr *at = CMSG_FIRSTHDR(header); at; at = CMSG_NXTHDR(header, at)) {
		if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS ||
		    at->cmsg_len < CMSG_LEN(sizeof(int)))
			continue;
		memcpy(&got, CMSG_DATA(at), sizeof(int));
		if (fd && *fd < 0)
			*fd = got;
		else
			closep(&got);
	}
}

int transfer_receive(int socket, void *to, size_t len_bytes, int *fd,
		     const struct transfer_wait *wait)
{
	char *at = to;

	if (fd)
		*fd = -1;
	while (len_bytes) {
		union control control;
		struct iovec piece = {at, len_bytes};
		struct msghdr header = {.msg_iov = &piece,
					.msg_iovlen = 1,
					.msg_control = control.bytes,
					.msg_controllen = sizeof(control.bytes)};
		ssize_t nr = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		int err = 0;

		if (nr > 0) {
			keep_descriptor(&header, fd);
			at += nr;
			len_bytes -= nr;
		} else if (!nr || errno == ECONNRESET) {
			err = -EPIPE;
		} else if (errno == EAGAIN) {
			err = wait_for(wait, socket, POLLIN);
		} else if (errno != EINTR) {
			err = -errno;
		}
		if (err) {
			if (fd)
				closep(fd);
			return err;
		}
	}
	return 0;
}
