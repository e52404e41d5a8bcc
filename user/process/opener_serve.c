// SPDX-License-Identifier: BSD-2-Clause
/*
 * One request after the other. The only state is a maps file that main reads piece by piece, since a process may have 65,530
 * mappings, and what is mounted.
 *
 * It believes main, but checks what would have it read out of bounds: that costs nothing.
 */
#include "process/opener_serve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "process/filecopy.h"
#include "process/beneath.h"
#include "process/mapping.h"
#include "process/opener.h"
#include "process/remote.h"
#include "process/traits.h"
#include "sandbox/transfer.h"

#define PROC "/proc"
/*
 * 65,530 mappings of ordinary files are 8 MB; a target may have paths of 4 KB each. What lies beyond
 * is not seen.
 */
#define MAPS_MAX_BYTES	  (64u << 20)
#define REQUEST_MAX_BYTES (sizeof(struct opening_file) + OPENING_PATH_BYTES)

_Static_assert(REQUEST_MAX_BYTES >= OPENING_MAX_PIECES * sizeof(struct opening_piece), "");

struct bytes {
	char *at;
	size_t nr, cap;
};

struct server {
	int socket;
	char request[REQUEST_MAX_BYTES + 1];
	struct bytes payload; /* of the reply */
	struct bytes paths;
	/* The maps file that is being read. */
	FILE *maps;
	uint32_t task, nr_sent;
	size_t maps_bytes;
	char *line;
	size_t line_cap;
	struct mounts mounts;
};

static void append(struct bytes *bytes, const void *from, size_t len)
{
	vec_reserve(bytes, len);
	memcpy(bytes->at + bytes->nr, from, len);
	bytes->nr += len;
}

/* Files ------------------------------------------------------------------------------------------ */

/* A copy of fd, which was found through task, where it must be one; closes fd then. */
static int open_for_others(struct server *server, uint32_t task, int fd, uint32_t *ways)
{
	int copy;

	if (fd < 0 || !filecopy_is_needed(&server->mounts, task, fd))
		return fd;
	copy = filecopy_make(fd);
	close(fd);
	if (copy >= 0)
		*ways |= OPENING_COPY;
	return copy;
}

static int answer_file(struct server *server, const struct message *request, struct message *reply,
		       int *fd)
{
	struct opening_file head;
	struct mapped_ways ways;
	struct mapped_file file;

	if (request->len_bytes < sizeof(head))
		return -EINVAL;
	memcpy(&head, server->request, sizeof(head));
	server->request[request->len_bytes] = '\0';
	file = (struct mapped_file){request->key,
				    head.start,
				    head.limit,
				    {head.dev_major, head.dev_minor, head.inode},
				    server->request + sizeof(head)};
	*fd = mapped_open(PROC, &file, &ways);
	reply->nr = (ways.is_refused ? OPENING_REFUSED : 0) |
		    (ways.is_forbidden ? OPENING_FORBIDDEN : 0);
	*fd = open_for_others(server, request->key, *fd, &reply->nr);
	return *fd < 0 ? *fd : 0;
}

static int open_of(uint32_t task, const char *file)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), PROC "/%u/%s", task, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return fd;
}

static int answer_memory(const struct message *request, int *fd)
{
	*fd = remote_open(request->key);
	return *fd == -ENOENT ? -ESRCH : *fd < 0 ? *fd : 0;
}

static int answer_exe(struct server *server, const struct message *request)
{
	char path[OPENING_EXE_BYTES];
	int err = traits_exe(PROC, request->key, path, sizeof(path));

	if (!err && !*path)
		return -ENOENT;
	if (!err)
		append(&server->payload, path, strlen(path));
	return err;
}

static int answer_beneath(struct server *server, const struct message *request,
			  struct message *reply, int *fd)
{
	server->request[request->len_bytes] = '\0';
	if (*server->request != '/')
		return -EINVAL;
	*fd = request->key ? beneath_open(PROC, request->key, server->request)
			   : file_open_vetted(server->request, 0, 0, 0);
	*fd = open_for_others(server, request->key, *fd, &reply->nr);
	return *fd < 0 ? *fd : 0;
}

static int answer_perf_map(struct server *server, const struct message *request, int *fd)
{
	uint32_t ways = 0;

	*fd = open_for_others(server, request->key, beneath_open_perf_map(PROC, request->key),
			      &ways);
	return *fd < 0 ? *fd : 0;
}

/* Mappings --------------------------------------------------------------------------------------- */

static void close_maps(struct server *server)
{
	fclosep(&server->maps);
	server->maps = NULL;
}

static int open_maps(struct server *server, uint32_t task)
{
	int fd;

	close_maps(server);
	fd = open_of(task, "maps");
	if (fd < 0)
		return fd;
	server->maps = fdopen(fd, "re");
	if (!server->maps) {
		close(fd);
		return -ENOMEM;
	}
	server->task = task;
	server->nr_sent = 0;
	server->maps_bytes = 0;
	return 0;
}

static bool add_map(struct server *server, const char *line)
{
	struct opening_map map = {0};
	struct map_event event;
	bool executable;
	size_t path_bytes;

	if (mapping_parse(line, &event, &executable) || !executable || event.start >= event.limit)
		return false;
	path_bytes = strlen(event.path) + 1;
	if (path_bytes > OPENING_PATH_BYTES)
		return false;
	map = (struct opening_map){.start = event.start,
				   .limit = event.limit,
				   .file_off = event.file_off,
				   .inode = event.inode,
				   .dev_major = event.dev_major,
				   .dev_minor = event.dev_minor,
				   .path_bytes = path_bytes};
	append(&server->payload, &map, sizeof(map));
	append(&server->paths, event.path, path_bytes);
	return true;
}

/* Is there room for one more, however long its path is? */
static bool has_room(const struct server *server, uint32_t nr)
{
	return nr < OPENING_MAX_MAPS && server->payload.nr + server->paths.nr +
							sizeof(struct opening_map) +
							OPENING_PATH_BYTES <=
						OPENING_MAPS_BYTES;
}

static int answer_maps(struct server *server, const struct message *request, struct message *reply)
{
	struct opening_maps about = {0};
	ssize_t len = 0;
	int err = request->nr ? 0 : open_maps(server, request->key);

	if (err)
		return err;
	if (!server->maps || server->task != request->key || server->nr_sent != request->nr)
		return -ESTALE;
	append(&server->payload, &about, sizeof(about));
	while (has_room(server, reply->nr) && server->maps_bytes < MAPS_MAX_BYTES &&
	       (len = getline(&server->line, &server->line_cap, server->maps)) > 0) {
		server->maps_bytes += len;
		if (server->line[len - 1] == '\n')
			server->line[len - 1] = '\0';
		reply->nr += add_map(server, server->line);
	}
	err = len < 0 && ferror(server->maps) ? -errno : 0;
	about.is_last = len < 0 || server->maps_bytes >= MAPS_MAX_BYTES;
	if (err || about.is_last)
		close_maps(server);
	if (err)
		return err == -ENOENT ? -ESRCH : err;
	memcpy(server->payload.at, &about, sizeof(about));
	if (server->paths.nr)
		append(&server->payload, server->paths.at, server->paths.nr);
	server->nr_sent += reply->nr;
	return 0;
}

/* Memory ----------------------------------------------------------------------------------------- */

static int answer_read(struct server *server, const struct message *request, struct message *reply)
{
	struct memory_piece pieces[OPENING_MAX_PIECES];
	struct opening_piece wanted;
	size_t bytes = 0;

	if (request->nr > OPENING_MAX_PIECES || request->len_bytes != request->nr * sizeof(wanted))
		return -EINVAL;
	vec_reserve(&server->payload, OPENING_MAX_PIECES + OPENING_PIECE_BYTES);
	for (uint32_t i = 0; i < request->nr; i++) {
		memcpy(&wanted, server->request + i * sizeof(wanted), sizeof(wanted));
		if (wanted.len_bytes > OPENING_PIECE_BYTES - bytes)
			return -EINVAL;
		pieces[i] = (struct memory_piece){.addr = wanted.addr,
						  .to = server->payload.at + request->nr + bytes,
						  .len_bytes = wanted.len_bytes};
		bytes += wanted.len_bytes;
	}
	memset(server->payload.at, 0, request->nr + bytes);
	remote_read(request->key, pieces, request->nr);
	for (uint32_t i = 0; i < request->nr; i++)
		server->payload.at[i] = pieces[i].was_read;
	server->payload.nr = request->nr + bytes;
	reply->nr = request->nr;
	return 0;
}

/* Requests --------------------------------------------------------------------------------------- */

static int answer(struct server *server, const struct message *request, struct message *reply,
		  int *fd)
{
	switch (request->kind) {
	case OPENING_FILE:
		return answer_file(server, request, reply, fd);
	case OPENING_MAPS:
		return answer_maps(server, request, reply);
	case OPENING_MEMORY:
		return answer_memory(request, fd);
	case OPENING_READ:
		return answer_read(server, request, reply);
	case OPENING_EXE:
		return answer_exe(server, request);
	case OPENING_BENEATH:
		return answer_beneath(server, request, reply, fd);
	case OPENING_PERF_MAP:
		return answer_perf_map(server, request, fd);
	default:
		return -EINVAL;
	}
}

static int receive(struct server *server, struct message *request)
{
	int err = transfer_receive(server->socket, request, sizeof(*request), NULL, NULL);

	if (err || !request->len_bytes)
		return err;
	if (request->len_bytes > REQUEST_MAX_BYTES)
		return -EMSGSIZE;
	return transfer_receive(server->socket, server->request, request->len_bytes, NULL, NULL);
}

static int serve_one(struct server *server)
{
	struct message request, reply;
	int err = receive(server, &request), fd = -1;

	if (err)
		return err;
	reply = (struct message){
		.kind = request.kind, .key = request.key, .serial = request.serial};
	server->payload.nr = server->paths.nr = 0;
	reply.status = answer(server, &request, &reply, &fd);
	if (reply.status) {
		server->payload.nr = 0;
		reply.nr = request.kind == OPENING_FILE ? reply.nr : 0;
	}
	reply.len_bytes = server->payload.nr;
	err = transfer_send(server->socket, &reply, server->payload.at, fd, NULL);
	closep(&fd);
	return err;
}

void opener_serve(int socket)
{
	struct server *server = xcalloc(1, sizeof(*server));

	server->socket = socket;
	while (!serve_one(server))
		;
	close_maps(server);
	mounts_release(&server->mounts);
	vec_release(&server->payload);
	vec_release(&server->paths);
	free(server->line);
	free(server);
}
