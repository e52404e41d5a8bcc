// SPDX-License-Identifier: BSD-2-Clause
/* The process that downloads listens to a server, and what it says is checked as what a parser says is. */
#include "debuginfod/fetching.h"

#include <errno.h>
#include <string.h>

bool fetching_fits(const struct message *request, const struct message *reply)
{
	if (reply->kind != request->kind || reply->key != request->key ||
	    reply->serial != request->serial || reply->status > 0 || reply->status < -4095)
		return false;
	return !reply->nr &&
	       reply->len_bytes == (reply->status ? 0 : sizeof(struct fetching_reply));
}

int fetching_read(const void *payload, size_t len_bytes, struct fetching_reply *reply)
{
	struct fetching_reply read;

	if (len_bytes != sizeof(read))
		return -EBADMSG;
	memcpy(&read, payload, sizeof(read));
	if (read.result >= NR_FETCHING_RESULTS || read.len_bytes > FETCHING_MAX_BYTES)
		return -EBADMSG;
	read.why[sizeof(read.why) - 1] = '\0';
	*reply = read;
	return 0;
}
