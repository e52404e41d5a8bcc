// SPDX-License-Identifier: BSD-2-Clause
/*
 * The file is made by main, so that the process that downloads needs to make none: without a name, in a folder for large
 * temporary files, else in memory.
 *
 * What a server says is shown to the user, so it is escaped; its URL is the user's.
 */
#include "debuginfod/fetcher.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/vec.h"
#include "debuginfod/fetching.h"

#define MAX_SERVERS   8
#define MAX_FAILURES  2		   /* in a row, of one server */
#define MIN_FILE_NS   100000000ull /* less is no time to ask */
#define PATH_BYTES    256
#define NSEC_PER_MSEC 1000000ull

struct server {
	char *url;
	uint32_t nr_failures; /* in a row */
};

struct fetcher {
	struct peer *peer;
	vec_of(struct server) servers;
	vec_of(int) files; /* made in advance */
	bool is_prepared;
	uint64_t timeout_ns, waited_ns;
	uint64_t nr_done, nr_bytes, nr_not_there, nr_failed, nr_late;
	size_t last_server;
	uint64_t last_bytes;
	char why[FETCHING_WHY_BYTES + FETCHING_URL_BYTES]; /* of the first failure */
};

static void read_servers(struct fetcher *fetcher, const char *urls)
{
	for (const char *at = urls; *at && fetcher->servers.nr < MAX_SERVERS;) {
		size_t len = strcspn(at, " \t\n");

		if ((!strncmp(at, "http://", 7) || !strncmp(at, "https://", 8)) &&
		    len < FETCHING_URL_BYTES - PATH_BYTES)
			vec_push(&fetcher->servers,
				 (struct server){.url = xasprintf("%.*s", (int)len, at)});
		at += len + (at[len] != '\0');
	}
}

int fetcher_open(keeper_serve_fn serve, const char *urls, uint64_t timeout_ns,
		 struct fetcher **fetcher)
{
	struct fetcher *opened = xcalloc(1, sizeof(*opened));
	const struct peer_options options = {.role = CONFINE_FETCHER,
					     .serve = serve,
					     .fits = fetching_fits,
					     .stall_ns = timeout_ns / FETCHER_PART + PEER_STALL_NS};
	int err;

	opened->timeout_ns = timeout_ns;
	read_servers(opened, urls);
	err = opened->servers.nr ? peer_open(&options, &opened->peer) : -EINVAL;
	if (err) {
		fetcher_close(opened);
		return err;
	}
	*fetcher = opened;
	return 0;
}

void fetcher_close(struct fetcher *fetcher)
{
	if (!fetcher)
		return;
	peer_close(fetcher->peer);
	vec_for_each(&fetcher->servers, server)
		free(server->url);
	vec_release(&fetcher->servers);
	vec_for_each(&fetcher->files, fd)
		closep(fd);
	vec_release(&fetcher->files);
	free(fetcher);
}

int fetcher_handshake(struct fetcher *fetcher, uint32_t *missing)
{
	return peer_handshake(fetcher->peer, missing);
}

uint64_t fetcher_waited_ns(const struct fetcher *fetcher)
{
	return fetcher->waited_ns;
}

/* Files ------------------------------------------------------------------------------------------ */

static int make_file(void)
{
	static const char *const folders[] = {"/var/tmp", "/tmp"};

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		int fd = open(folders[i], O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);

		if (fd >= 0)
			return fd;
	}
	return memfd_create("cprof-debug", MFD_CLOEXEC);
}

void fetcher_prepare(struct fetcher *fetcher, size_t nr)
{
	fetcher->is_prepared = true;
	for (size_t i = 0; i < nr; i++) {
		int fd = make_file();

		if (fd >= 0)
			vec_push(&fetcher->files, fd);
	}
}

static int take_file(struct fetcher *fetcher)
{
	int fd;

	if (fetcher->is_prepared)
		return fetcher->files.nr ? fetcher->files.at[--fetcher->files.nr] : -EMFILE;
	fd = make_file();
	return fd < 0 ? -errno : fd;
}

static void note_failure(struct fetcher *fetcher, const struct server *server, const char *why)
{
	char safe[FETCHING_WHY_BYTES];

	if (fetcher->nr_failed++)
		return;
	snprintf(fetcher->why, sizeof(fetcher->why), "%s: %s", server->url,
		 text_escape(why, safe, sizeof(safe)));
}

/* Asks one server. *reply says what became of it; -errno: the process that downloads failed. */
static int ask(struct fetcher *fetcher, const struct server *server, const char *build_id, int fd,
	       struct fetching_reply *reply)
{
	struct fetching_request payload = {0};
	struct message request = {.kind = FETCHING_KIND, .len_bytes = sizeof(payload)};
	struct peer_answer answer scoped(peer_answer_release) = PEER_NO_ANSWER;
	uint64_t began_ns = clock_monotonic_ns(),
		 left_ns = fetcher->timeout_ns - fetcher->waited_ns,
		 most_ns = fetcher->timeout_ns / FETCHER_PART;
	size_t len = strlen(server->url);
	int err;

	payload.timeout_ms = (left_ns < most_ns ? left_ns : most_ns) / NSEC_PER_MSEC;
	snprintf(payload.url, sizeof(payload.url), "%s%sbuildid/%s/debuginfo", server->url,
		 server->url[len - 1] == '/' ? "" : "/", build_id);
	err = peer_call(fetcher->peer, &request, &payload, fd, NULL, &answer);
	fetcher->waited_ns += clock_monotonic_ns() - began_ns;
	if (err)
		return err;
	return fetching_read(answer.payload, answer.reply.len_bytes, reply);
}

static const char *why_no_answer(int err)
{
	return err == -ETIME ? "no answer in time" : "the process that downloads ended";
}

static int fetch_from(struct fetcher *fetcher, size_t i, const char *build_id)
{
	struct server *server = &fetcher->servers.at[i];
	struct fetching_reply reply = {0};
	int fd = take_file(fetcher), err;

	if (fd < 0)
		return fd;
	err = ask(fetcher, server, build_id, fd, &reply);
	server->nr_failures++;
	if (err)
		note_failure(fetcher, server, why_no_answer(err));
	else if (reply.result == FETCHING_FAILED)
		note_failure(fetcher, server, reply.why);
	else
		server->nr_failures = 0;
	if (!err && reply.result == FETCHING_DONE) {
		fetcher->nr_done++;
		fetcher->nr_bytes += reply.len_bytes;
		fetcher->last_server = i;
		fetcher->last_bytes = reply.len_bytes;
		return fd;
	}
	if (!err && reply.result == FETCHING_NOT_THERE && !reply.len_bytes && fetcher->is_prepared)
		vec_push(&fetcher->files, fd); /* it is as it was */
	else
		closep(&fd);
	return err ? err : reply.result == FETCHING_NOT_THERE ? -ENOENT : -EIO;
}

int fetcher_fetch(struct fetcher *fetcher, const char *build_id)
{
	int err = -EIO;

	if (strspn(build_id, "0123456789abcdef") != strlen(build_id) ||
	    strlen(build_id) > PATH_BYTES / 2 || !*build_id)
		return -EINVAL;
	for (size_t i = 0; i < fetcher->servers.nr; i++) {
		int got;

		if (fetcher->servers.at[i].nr_failures >= MAX_FAILURES)
			continue;
		if (fetcher->waited_ns + MIN_FILE_NS > fetcher->timeout_ns) {
			fetcher->nr_late++;
			return -ETIME;
		}
		got = fetch_from(fetcher, i, build_id);
		if (got >= 0)
			return got;
		err = got == -ENOENT ? got : err;
	}
	if (err == -ENOENT)
		fetcher->nr_not_there++;
	return err;
}

void fetcher_refuse(struct fetcher *fetcher)
{
	fetcher->nr_done--;
	fetcher->nr_bytes -= fetcher->last_bytes;
	fetcher->servers.at[fetcher->last_server].nr_failures++;
	note_failure(fetcher, &fetcher->servers.at[fetcher->last_server],
		     "what it sent is not the debug file that was asked for");
}

char *fetcher_say(const struct fetcher *fetcher, bool *failed)
{
	char *late scoped(freep) = NULL, *failures scoped(freep) = NULL;

	if (!fetcher->waited_ns)
		return NULL;
	*failed = fetcher->nr_failed || fetcher->nr_late;
	late = fetcher->nr_late
		       ? xasprintf(", %s not asked for: time was up", text_count(fetcher->nr_late))
		       : xstrdup("");
	failures = fetcher->nr_failed ? xasprintf(", %s failed (%s)",
						  text_count(fetcher->nr_failed), fetcher->why)
				      : xstrdup("");
	return xasprintf("debuginfod: %s debug %s downloaded (%.1f MB in %.1f s), %s not there%s%s",
			 text_count(fetcher->nr_done), fetcher->nr_done == 1 ? "file" : "files",
			 (double)fetcher->nr_bytes / 1e6, (double)fetcher->waited_ns / 1e9,
			 text_count(fetcher->nr_not_there), failures, late);
}
