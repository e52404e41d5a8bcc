// SPDX-License-Identifier: BSD-2-Clause
/*
 * One question at a time. An attacher has programs by their numbers, which are main's descriptors: one that does not know a
 * program is sent it, so a new one needs no introduction.
 */
#include "collect/attacher.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"

struct attacher {
	struct peer *peer;
	uint32_t missing;
	bool is_met;
	struct peer_idle idle; /* of links */
};

static bool fits(const struct message *request, const struct message *reply)
{
	return reply->kind == request->kind && reply->key == request->key &&
	       reply->serial == request->serial && reply->status <= 0 && reply->status >= -4095 &&
	       reply->nr <= ATTACHER_MAX_HELD && !reply->len_bytes;
}

int attacher_open(keeper_serve_fn serve, struct attacher **attacher)
{
	const struct peer_options options = {.role = CONFINE_ATTACHER,
					     .serve = serve,
					     .fits = fits,
					     .is_patient = true,
					     .stall_ns = ATTACHER_STALL_NS};
	struct peer *peer;
	int err = peer_open(&options, &peer);

	if (err)
		return err;
	*attacher = xcalloc(1, sizeof(**attacher));
	(*attacher)->peer = peer;
	return 0;
}

void attacher_close(struct attacher *attacher)
{
	if (!attacher)
		return;
	peer_close(attacher->peer);
	free(attacher);
}

int attacher_handshake(struct attacher *attacher, uint32_t *missing)
{
	int err = attacher->is_met ? 0 : peer_handshake(attacher->peer, &attacher->missing);

	attacher->is_met = !err;
	*missing = attacher->missing;
	return err;
}

void attacher_set_nice(const struct attacher *attacher, int nice)
{
	peer_set_nice(attacher->peer, nice);
}

void attacher_while_waiting(struct attacher *attacher, struct peer_idle idle)
{
	attacher->idle = idle;
}

/* Without an attacher, or a new one, nothing can be attached. */
static bool is_gone(int err)
{
	return err == -EPIPE || err == -EBADMSG || err == -EINTR;
}

static int take(int err, struct peer_answer *answer, int *link_fd, uint32_t *nr_held)
{
	*link_fd = answer->fd;
	answer->fd = -1;
	*nr_held = answer->reply.nr;
	return err;
}

static int introduce(struct attacher *attacher, const struct uprobe_link *link, int program_fd)
{
	struct peer_answer answer scoped(peer_answer_release) = PEER_NO_ANSWER;
	struct message request = {
		.kind = ATTACHER_PROGRAM, .key = program_fd, .nr = !link->perf_type};

	return peer_call(attacher->peer, &request, NULL, program_fd, &attacher->idle, &answer);
}

static int ask(struct attacher *attacher, const struct uprobe_link *link, int program_fd,
	       int file_fd, int *link_fd, uint32_t *nr_held)
{
	struct peer_answer answer scoped(peer_answer_release) = PEER_NO_ANSWER;
	struct message request = {
		.kind = ATTACHER_LINK, .key = program_fd, .len_bytes = sizeof(*link)};
	int err = peer_call(attacher->peer, &request, link, file_fd, &attacher->idle, &answer);

	err = take(err, &answer, link_fd, nr_held);
	return !err && !link->is_held && *link_fd < 0 ? -EMFILE : err;
}

int attacher_link(struct attacher *attacher, const struct uprobe_link *link, int program_fd,
		  int file_fd, int *link_fd, uint32_t *nr_held)
{
	uint32_t missing;
	int err = attacher_handshake(attacher, &missing);

	if (!err)
		err = ask(attacher, link, program_fd, file_fd, link_fd, nr_held);
	if (err == -EPIPE) /* it was killed */
		err = ask(attacher, link, program_fd, file_fd, link_fd, nr_held);
	if (err == -ENOKEY) {
		err = introduce(attacher, link, program_fd);
		if (!err)
			err = ask(attacher, link, program_fd, file_fd, link_fd, nr_held);
	}
	return is_gone(err) ? -ENOTCONN : err;
}

static bool at_once(void *ctx)
{
	(void)ctx;
	return true;
}

int attacher_late(struct attacher *attacher, int *link_fd, uint32_t *nr_held)
{
	struct peer_answer answer scoped(peer_answer_release) = PEER_NO_ANSWER;
	const struct peer_idle idle = {at_once, NULL};
	int err = peer_late(attacher->peer, &idle, &answer);

	if (err == -ENOKEY || (!err && answer.reply.kind != ATTACHER_LINK))
		return -EAGAIN;
	err = take(err, &answer, link_fd, nr_held);
	return is_gone(err) ? -ENOTCONN : err;
}

void attacher_hang_up(struct attacher *attacher, int *link_fd)
{
	uint32_t nr_held;

	*link_fd = -1;
	peer_hang_up(attacher->peer);
	attacher_late(attacher, link_fd, &nr_held);
}

int attacher_drop(struct attacher *attacher)
{
	struct peer_answer answer scoped(peer_answer_release) = PEER_NO_ANSWER;
	struct message request = {.kind = ATTACHER_DROP};

	peer_set_stall(attacher->peer, ATTACHER_DROP_NS);
	return peer_call(attacher->peer, &request, NULL, -1, NULL, &answer);
}
