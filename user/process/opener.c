// SPDX-License-Identifier: BSD-2-Clause
/*
 * One question at a time. What is not an answer is the opener's failure (it died, lied, or was held), and the opener is
 * replaced at the next question.
 */
#include "process/opener.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/vec.h"
#include "process/mapping.h"

#define MAX_DEATHS 2
#define MAX_STUCK  65536 /* tasks that are remembered */
#define MAX_SLOW   64	 /* devices that are remembered: the last ones */

struct stuck {
	uint32_t task, nr;
};

struct device {
	uint32_t major, minor;
};

struct opener {
	struct peer *peer;
	void (*look)(void *ctx); /* NULL: nothing is done meanwhile */
	void *look_ctx;
	vec_of(struct stuck) stuck;
	struct hash by_task;
	uint64_t lost_ns;	      /* in questions without an answer */
	struct device slow[MAX_SLOW]; /* a question about one of their files had no answer */
	size_t nr_slow;		      /* so far: the i-th stands at i % MAX_SLOW */
};

int opener_open(keeper_serve_fn serve, struct opener **opener)
{
	const struct peer_options options = {.role = CONFINE_OPENER,
					     .serve = serve,
					     .fits = opening_fits,
					     .stall_ns = OPENER_STALL_NS};
	struct peer *peer;
	int err = peer_open(&options, &peer);

	if (err)
		return err;
	*opener = xcalloc(1, sizeof(**opener));
	(*opener)->peer = peer;
	return 0;
}

void opener_close(struct opener *opener)
{
	if (!opener)
		return;
	peer_close(opener->peer);
	vec_release(&opener->stuck);
	hash_release(&opener->by_task);
	free(opener);
}

int opener_handshake(struct opener *opener, uint32_t *missing)
{
	int err = -EPIPE;

	peer_renew(opener->peer);
	for (int i = 0; i < MAX_DEATHS && err == -EPIPE; i++)
		err = peer_handshake(opener->peer, missing);
	return err;
}

void opener_while_waiting(struct opener *opener, void (*look)(void *ctx), void *ctx)
{
	opener->look = look;
	opener->look_ctx = ctx;
}

uint32_t opener_parent(const struct opener *opener)
{
	return peer_parent(opener->peer);
}

bool opener_is_lost(const struct opener *opener)
{
	return peer_is_lost(opener->peer);
}

void opener_set_nice(const struct opener *opener, int nice)
{
	peer_set_nice(opener->peer, nice);
}

uint64_t opener_cpu_ns(const struct opener *opener)
{
	return peer_cpu_ns(opener->peer);
}

size_t opener_nr_stuck(const struct opener *opener)
{
	return opener->stuck.nr;
}

uint32_t opener_stuck(const struct opener *opener, size_t i)
{
	return opener->stuck.at[i].task;
}

/* Questions -------------------------------------------------------------------------------------- */

static bool same_task(const void *ctx, uint32_t value, const void *key)
{
	return ((const struct opener *)ctx)->stuck.at[value].task == *(const uint32_t *)key;
}

static uint32_t find_stuck(const struct opener *opener, uint32_t task)
{
	return hash_find(&opener->by_task, hash_u64(task), same_task, opener, &task);
}

static bool is_hopeless(const struct opener *opener, uint32_t task)
{
	uint32_t i = find_stuck(opener, task);

	return i != HASH_NONE && opener->stuck.at[i].nr >= OPENER_MAX_STALLS;
}

static void note_stuck(struct opener *opener, uint32_t task, uint64_t lost_ns)
{
	uint32_t i = find_stuck(opener, task);

	opener->lost_ns += lost_ns;
	if (i == HASH_NONE && opener->stuck.nr < MAX_STUCK) {
		i = opener->stuck.nr;
		vec_push(&opener->stuck, (struct stuck){.task = task});
		hash_insert(&opener->by_task, hash_u64(task), i);
	}
	if (i != HASH_NONE)
		opener->stuck.at[i].nr++;
}

static bool look(void *ctx)
{
	const struct opener *opener = ctx;

	if (opener->look)
		opener->look(opener->look_ctx);
	return false;
}

/*
 * The status of the reply, or why there is none; *answer is for peer_answer_release() in any case. is_hurried: it is
 * not waited for as long as usual.
 */
static int ask_within(struct opener *opener, bool is_hurried, struct message *request,
		      const void *payload, struct peer_answer *answer)
{
	const struct peer_idle idle = {look, opener};
	int err = -ETIMEDOUT;

	peer_set_stall(opener->peer, is_hurried || opener->lost_ns >= OPENER_LOST_NS
					     ? OPENER_HURRIED_NS
					     : OPENER_STALL_NS);
	for (int i = 0; i < MAX_DEATHS && !is_hopeless(opener, request->key); i++) {
		uint32_t nr_failed = peer_nr_failed(opener->peer);
		uint64_t began_ns = clock_monotonic_ns();

		peer_answer_release(answer);
		err = peer_call(opener->peer, request, payload, -1, &idle, answer);
		if (peer_nr_failed(opener->peer) == nr_failed && err != -ETIMEDOUT)
			break;
		if (err == -ETIME || err == -ETIMEDOUT) {
			note_stuck(opener, request->key, clock_monotonic_ns() - began_ns);
			return -ETIMEDOUT;
		}
	}
	return err;
}

static int ask(struct opener *opener, struct message *request, const void *payload,
	       struct peer_answer *answer)
{
	return ask_within(opener, false, request, payload, answer);
}

/* The descriptor of an answer. One that was sent and did not come had no room here. */
static int take_descriptor(int err, struct peer_answer *answer)
{
	int fd = answer->fd;

	if (err)
		return err;
	answer->fd = -1;
	return fd < 0 ? -EMFILE : fd;
}

/* Files ------------------------------------------------------------------------------------------ */

static bool is_slow(const struct opener *opener, const struct inode_id *inode)
{
	for (size_t i = 0; i < opener->nr_slow && i < MAX_SLOW; i++)
		if (opener->slow[i].major == inode->dev_major &&
		    opener->slow[i].minor == inode->dev_minor)
			return true;
	return false;
}

static void note_slow(struct opener *opener, const struct inode_id *inode)
{
	opener->slow[opener->nr_slow++ % MAX_SLOW] =
		(struct device){inode->dev_major, inode->dev_minor};
}

int opener_file(struct opener *opener, const struct mapped_file *file, struct mapped_ways *ways)
{
	struct peer_answer answer scoped(peer_answer_release) = PEER_NO_ANSWER;
	const struct opening_file head = {file->start, file->limit, file->inode.inode,
					  file->inode.dev_major, file->inode.dev_minor};
	size_t path_bytes = strlen(file->path);
	struct message request = {
		.kind = OPENING_FILE, .key = file->task, .len_bytes = sizeof(head) + path_bytes};
	char payload[sizeof(head) + OPENING_PATH_BYTES];
	const bool was_slow = is_slow(opener, &file->inode);
	uint64_t lost_ns = opener->lost_ns;
	int err;

	*ways = (struct mapped_ways){0};
	if (path_bytes >= OPENING_PATH_BYTES)
		return -ENAMETOOLONG;
	memcpy(payload, &head, sizeof(head));
	memcpy(payload + sizeof(head), file->path, path_bytes);
	err = ask_within(opener, was_slow, &request, payload, &answer);
	if (opener->lost_ns != lost_ns && !was_slow)
		note_slow(opener, &file->inode);
	*ways = (struct mapped_ways){.is_refused = answer.reply.nr & OPENING_REFUSED,
				     .is_forbidden = answer.reply.nr & OPENING_FORBIDDEN,
				     .is_copy = answer.reply.nr & OPENING_COPY,
				     .has_stalled = opener->lost_ns != lost_ns};
	return take_descriptor(err, &answer);
}

int opener_each_map(struct opener *opener, uint32_t task, opening_map_fn fn, void *ctx)
{
	bool is_last = false;
	uint32_t nr = 0;

	while (!is_last && nr < MAPPINGS_MAX) {
		struct peer_answer answer scoped(peer_answer_release) = PEER_NO_ANSWER;
		struct message request = {.kind = OPENING_MAPS, .key = task, .nr = nr};
		int err = ask(opener, &request, NULL, &answer);

		if (!err)
			err = opening_read_maps(answer.payload, answer.reply.len_bytes,
						answer.reply.nr, fn, ctx, &is_last);
		if (!err && !answer.reply.nr && !is_last)
			err = -EBADMSG;
		if (err == -EBADMSG)
			peer_distrust(opener->peer);
		if (err)
			return err;
		nr += answer.reply.nr;
	}
	return 0;
}

int opener_memory(struct opener *opener, uint32_t tgid)
{
	struct peer_answer answer scoped(peer_answer_release) = PEER_NO_ANSWER;
	struct message request = {.kind = OPENING_MEMORY, .key = tgid};

	return take_descriptor(ask(opener, &request, NULL, &answer), &answer);
}

static int open_beneath(struct opener *opener, uint32_t tgid, const char *path, bool *is_copy)
{
	struct peer_answer answer scoped(peer_answer_release) = PEER_NO_ANSWER;
	struct message request = {.kind = OPENING_BENEATH, .key = tgid, .len_bytes = strlen(path)};
	int err;

	if (request.len_bytes >= OPENING_PATH_BYTES)
		return -ENAMETOOLONG;
	err = ask(opener, &request, path, &answer);
	*is_copy = answer.reply.nr & OPENING_COPY;
	return take_descriptor(err, &answer);
}

int opener_beneath(struct opener *opener, uint32_t tgid, const char *path)
{
	bool is_copy;

	return open_beneath(opener, tgid, path, &is_copy);
}

int opener_of_host(struct opener *opener, const char *path, bool *is_copy)
{
	bool unwanted;

	if (!is_copy)
		is_copy = &unwanted;
	*is_copy = false;
	return opener ? open_beneath(opener, 0, path, is_copy) : file_open_vetted(path, 0, 0, 0);
}

int opener_perf_map(struct opener *opener, uint32_t tgid)
{
	struct peer_answer answer scoped(peer_answer_release) = PEER_NO_ANSWER;
	struct message request = {.kind = OPENING_PERF_MAP, .key = tgid};

	return take_descriptor(ask(opener, &request, NULL, &answer), &answer);
}

int opener_exe(struct opener *opener, uint32_t tgid, char *path, size_t path_bytes)
{
	struct peer_answer answer scoped(peer_answer_release) = PEER_NO_ANSWER;
	struct message request = {.kind = OPENING_EXE, .key = tgid};
	int err = ask(opener, &request, NULL, &answer);

	if (!err)
		err = opening_read_exe(answer.payload, answer.reply.len_bytes, path, path_bytes);
	if (err == -EBADMSG)
		peer_distrust(opener->peer);
	return err;
}

/* Memory ----------------------------------------------------------------------------------------- */

/* Reads as many pieces as fit in one question. Returns their number. */
static size_t read_some(struct opener *opener, uint32_t tgid, struct memory_piece *pieces,
			size_t nr)
{
	struct peer_answer answer scoped(peer_answer_release) = PEER_NO_ANSWER;
	struct opening_piece wanted[OPENING_MAX_PIECES];
	struct message request = {.kind = OPENING_READ, .key = tgid};
	size_t bytes = 0, i = 0;

	for (; i < nr && i < OPENING_MAX_PIECES; i++) {
		pieces[i].was_read = false;
		if (pieces[i].len_bytes > OPENING_PIECE_BYTES - bytes)
			break;
		bytes += pieces[i].len_bytes;
		wanted[i] = (struct opening_piece){pieces[i].addr, pieces[i].len_bytes};
	}
	if (!i)
		return 1; /* it is too large */
	request.nr = i;
	request.len_bytes = i * sizeof(wanted[0]);
	if (!ask(opener, &request, wanted, &answer) &&
	    opening_read_pieces(answer.payload, answer.reply.len_bytes, pieces, i))
		peer_distrust(opener->peer);
	return i;
}

void opener_read(struct opener *opener, uint32_t tgid, struct memory_piece *pieces, size_t nr)
{
	for (size_t at = 0; at < nr;)
		at += read_some(opener, tgid, pieces + at, nr - at);
}
