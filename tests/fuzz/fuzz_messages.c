// SPDX-License-Identifier: BSD-2-Clause
/*
 * The input is a process that main asked (1 byte: a parser, an opener or a fetcher), the kind and the number of items of the
 * question (4 bytes each), and what that process sends: message after message, in pieces as they come. They are received
 * and their headers checked as peer.c does; a payload is received only where its header fits.
 *
 * A header that fits answers the question, and its payload has a bound that does not depend on the header.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "debuginfod/fetching.h"
#include "fuzz/require.h"
#include "process/opening.h"
#include "sandbox/reply.h"
#include "sandbox/transfer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define KEY    7
#define SERIAL 3

static const struct process {
	bool (*fits)(const struct message *request, const struct message *reply);
	uint64_t most_bytes;
} processes[] = {
	{reply_fits, MESSAGE_TABLE_BYTES},
	{opening_fits, OPENING_MAX_PIECES + OPENING_PIECE_BYTES},
	{fetching_fits, sizeof(struct fetching_reply)},
};

/* All that is sent is there before it is received. */
static int no_more(void *ctx, int fd, short events)
{
	(void)ctx;
	(void)fd;
	(void)events;
	return -ETIME;
}

static const struct transfer_wait wait_no_more = {no_more, NULL};

static void use_payload(const struct process *process, const struct message *reply, char *payload)
{
	struct fetching_reply fetched;

	if (process->fits == fetching_fits && !fetching_read(payload, reply->len_bytes, &fetched))
		require(fetched.result < NR_FETCHING_RESULTS &&
			strlen(fetched.why) < sizeof(fetched.why));
}

/* false: the other side broke the rules, or has sent all. */
static bool take_answer(int socket, const struct process *process, const struct message *request)
{
	struct message reply;
	char *payload;
	int fd, err;

	if (transfer_receive(socket, &reply, sizeof(reply), &fd, &wait_no_more))
		return false;
	require(fd < 0);
	if (!process->fits(request, &reply))
		return false;
	require(reply.kind == request->kind && reply.key == KEY && reply.serial == SERIAL);
	require(reply.status <= 0 && reply.status >= -4095);
	require(reply.len_bytes <= process->most_bytes && (!reply.status || !reply.len_bytes));
	payload = malloc(reply.len_bytes);
	err = transfer_receive(socket, payload, reply.len_bytes, NULL, &wait_no_more);
	if (!err)
		use_payload(process, &reply, payload);
	free(payload);
	return !err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct message request = {.key = KEY, .serial = SERIAL};
	const struct process *process;
	int ends[2];

	if (size < 9)
		return 0;
	process = &processes[data[0] % 3];
	memcpy(&request.kind, data + 1, 4);
	memcpy(&request.nr, data + 5, 4);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 0;
	if (send(ends[1], data + 9, size - 9, MSG_DONTWAIT) == (ssize_t)size - 9) {
		shutdown(ends[1], SHUT_WR);
		while (take_answer(ends[0], process, &request))
			;
	}
	close(ends[0]);
	close(ends[1]);
	return 0;
}
