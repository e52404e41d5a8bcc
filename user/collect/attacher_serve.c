// SPDX-License-Identifier: BSD-2-Clause
/*
 * One request after the other; nothing is allocated. What it keeps goes when it ends, for whatever reason.
 *
 * The copy of a link that was sent is closed here. It is not the last one: if main is gone, it is not sent at all.
 */
#include "collect/attacher_serve.h"

#include <errno.h>
#include <linux/capability.h>
#include <unistd.h>

#include "base/alloc.h"
#include "collect/attacher.h"
#include "sandbox/capset.h"
#include "sandbox/transfer.h"

#define MAX_PROGRAMS 32
#define SUFFICIENT   (CAPSET_OF(CAP_BPF) | CAPSET_OF(CAP_PERFMON))

struct server {
	int socket;
	struct uprobe_link link; /* of the request */
	struct {
		uint32_t key;
		int fd;
	} programs[MAX_PROGRAMS];
	uint32_t nr_programs;
	int held[ATTACHER_MAX_HELD];
	uint32_t nr_held;
};

static int find_program(const struct server *server, uint32_t key)
{
	for (uint32_t i = 0; i < server->nr_programs; i++)
		if (server->programs[i].key == key)
			return server->programs[i].fd;
	return -ENOKEY;
}

/* Takes ownership of *fd. */
static int answer_program(struct server *server, const struct message *request, int *fd)
{
	if (*fd < 0 || server->nr_programs == MAX_PROGRAMS)
		return -EMFILE;
	if (request->nr && !(SUFFICIENT & ~capset_permitted()))
		capset_keep(SUFFICIENT);
	server->programs[server->nr_programs].key = request->key;
	server->programs[server->nr_programs++].fd = *fd;
	*fd = -1;
	return 0;
}

static void drop(struct server *server, uint32_t nr_kept)
{
	while (server->nr_held > nr_kept)
		close(server->held[--server->nr_held]);
}

static int answer_link(struct server *server, const struct message *request, int file_fd,
		       int *link_fd)
{
	const struct uprobe_link *link = &server->link;
	int program_fd = find_program(server, request->key), nr;

	if (program_fd < 0)
		return program_fd;
	if (file_fd < 0 || link->nr > ATTACHER_MAX_HELD - server->nr_held)
		return -EMFILE;
	if (request->len_bytes != sizeof(*link) || link->nr > ALLOC_MAX_SITES ||
	    (!link->is_held && link->perf_type))
		return -EINVAL;
	nr = uprobelink_make(link, program_fd, file_fd, server->held + server->nr_held);
	if (nr >= 0 && link->is_held)
		server->nr_held += nr;
	else if (nr >= 0)
		*link_fd = server->held[server->nr_held];
	else if (link->is_held)
		drop(server, link->held);
	return nr < 0 ? nr : 0;
}

static int receive(struct server *server, struct message *request, int *fd)
{
	int err = transfer_receive(server->socket, request, sizeof(*request), fd, NULL);

	if (err || !request->len_bytes)
		return err;
	if (request->len_bytes != sizeof(server->link))
		return -EMSGSIZE;
	return transfer_receive(server->socket, &server->link, sizeof(server->link), NULL, NULL);
}

static int serve_one(struct server *server)
{
	int fd scoped(closep) = -1, link_fd scoped(closep) = -1;
	struct message request, reply;
	int err = receive(server, &request, &fd);

	if (err)
		return err;
	reply = (struct message){
		.kind = request.kind, .key = request.key, .serial = request.serial};
	if (request.kind == ATTACHER_PROGRAM)
		reply.status = answer_program(server, &request, &fd);
	else if (request.kind == ATTACHER_LINK)
		reply.status = answer_link(server, &request, fd, &link_fd);
	else if (request.kind == ATTACHER_DROP)
		drop(server, 0);
	else
		reply.status = -EINVAL;
	reply.nr = server->nr_held;
	return transfer_send(server->socket, &reply, NULL, link_fd, NULL);
}

void attacher_serve(int socket)
{
	struct server server = {.socket = socket};

	while (!serve_one(&server))
		;
}
