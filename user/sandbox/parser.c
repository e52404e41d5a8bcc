// SPDX-License-Identifier: BSD-2-Clause
/*
 * A worker that dies may not have died of the file that it was asked about (somebody killed it), so a second one is
 * asked. One that takes too long is not: the second would hold everything up as long again.
 */
#include "sandbox/parser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/vec.h"
#include "sandbox/question.h"

#define MAX_DEATHS 2

struct asked {
	uint32_t key;
	bool is_known; /* file is what there is to know */
	bool is_left_out;
	uint32_t nr_deaths;
	int err; /* why it is left out */
	struct reply_file *file;
};

struct parser {
	struct peer *peer;
	struct peer_idle idle;
	vec_of(struct asked) asked;
	struct hash by_key;
	vec_of(uint32_t) left_out; /* keys */
};

int parser_open(const struct peer_options *options, struct parser **parser)
{
	struct peer_options asked = *options;
	struct peer *peer;
	int err;

	asked.fits = reply_fits;
	err = peer_open(&asked, &peer);

	if (err)
		return err;
	*parser = xcalloc(1, sizeof(**parser));
	(*parser)->peer = peer;
	return 0;
}

void parser_close(struct parser *parser)
{
	if (!parser)
		return;
	peer_close(parser->peer);
	vec_for_each(&parser->asked, asked)
		free(asked->file);
	vec_release(&parser->asked);
	vec_release(&parser->left_out);
	hash_release(&parser->by_key);
	free(parser);
}

int parser_meet(struct parser *parser, uint32_t *missing)
{
	int err = -EPIPE;

	for (int i = 0; i < MAX_DEATHS && err == -EPIPE; i++)
		err = peer_handshake(parser->peer, missing);
	return err;
}

void parser_while_waiting(struct parser *parser, struct peer_idle idle)
{
	parser->idle = idle;
}

void parser_set_nice(void *ctx, int nice)
{
	peer_set_nice(((struct parser *)ctx)->peer, nice);
}

uint64_t parser_cpu_ns(const void *ctx)
{
	return peer_cpu_ns(((const struct parser *)ctx)->peer);
}

uint32_t parser_parent(const struct parser *parser)
{
	return peer_parent(parser->peer);
}

bool parser_is_lost(const struct parser *parser)
{
	return peer_is_lost(parser->peer);
}

size_t parser_nr_left_out(const struct parser *parser)
{
	return parser->left_out.nr;
}

static bool same_key(const void *ctx, uint32_t value, const void *key)
{
	return ((const struct parser *)ctx)->asked.at[value].key == *(const uint32_t *)key;
}

/* What is known of a file. Borrowed until the next call. */
static struct asked *find(struct parser *parser, uint32_t key)
{
	uint64_t code = hash_u64(key);
	uint32_t i = hash_find(&parser->by_key, code, same_key, parser, &key);

	if (i == HASH_NONE) {
		i = parser->asked.nr;
		vec_push(&parser->asked, (struct asked){.key = key});
		hash_insert(&parser->by_key, code, i);
	}
	return &parser->asked.at[i];
}

bool parser_knows(const struct parser *parser, uint32_t key)
{
	uint32_t i = hash_find(&parser->by_key, hash_u64(key), same_key, parser, &key);

	return i != HASH_NONE && parser->asked.at[i].is_known;
}

uint32_t parser_left_out(const struct parser *parser, size_t i, int *err)
{
	uint32_t key = parser->left_out.at[i];
	uint32_t at = hash_find(&parser->by_key, hash_u64(key), same_key, parser, &key);

	*err = parser->asked.at[at].err;
	return key;
}

const char *parser_why_left_out(int err)
{
	switch (err) {
	case -ETIME:
		return "its parser took too long";
	case -EBADMSG:
		return "its parser gave invalid answers";
	case -EIO:
		return "its memory cannot be read";
	case -EFBIG:
		return "it has too much code";
	default:
		return "its parser died twice";
	}
}

/* Questions -------------------------------------------------------------------------------------- */

static int ask_once(struct parser *parser, struct question *question, int fd)
{
	struct peer_answer answer scoped(peer_answer_release) = PEER_NO_ANSWER;
	int err = peer_call(parser->peer, &question->request, question->payload, fd, &parser->idle,
			    &answer);

	if (err)
		return err;
	err = question->read(answer.payload, &answer.reply, question->to);
	if (err)
		peer_distrust(parser->peer);
	return err;
}

void parser_leave_out(struct parser *parser, uint32_t key, int err)
{
	struct asked *asked = find(parser, key);

	if (!asked->is_left_out)
		vec_push(&parser->left_out, key);
	asked->is_left_out = true;
	asked->err = err;
}

/* Is it the worker that failed, and not the file that has no answer? */
static bool is_failure(uint32_t nr_failed, const struct parser *parser)
{
	return peer_nr_failed(parser->peer) != nr_failed;
}

int parser_ask(struct parser *parser, struct question *question, int fd)
{
	struct asked *asked = find(parser, question->request.key);
	int err;

	if (asked->is_left_out)
		return asked->err;
	if (fd < 0 && question->request.key != MESSAGE_VDSO &&
	    question->request.kind != MESSAGE_FUNCTION)
		return -EBADF;
	for (;;) {
		uint32_t nr_failed = peer_nr_failed(parser->peer);

		err = ask_once(parser, question, fd);
		if (!is_failure(nr_failed, parser))
			return err;
		if (err == -ETIME || ++asked->nr_deaths >= MAX_DEATHS)
			break;
	}
	parser_leave_out(parser, asked->key, err);
	return err;
}

static int read_file(const void *payload, const struct message *reply, void *to)
{
	return reply_read_file(payload, reply->len_bytes, reply->nr, to);
}

const struct reply_file *parser_file(struct parser *parser, uint32_t key, int fd)
{
	struct reply_file *file = NULL;
	struct question question = {
		.request = {.kind = MESSAGE_FILE, .key = key}, .read = read_file, .to = &file};
	struct asked *asked = find(parser, key);
	int err;

	if (asked->is_known)
		return asked->file;
	err = parser_ask(parser, &question, fd);
	if (err == -EBADF || err == -EINTR || err == -ENOTCONN)
		return NULL;
	asked->is_known = true;
	asked->file = file;
	return file;
}

static int read_table(const void *payload, const struct message *reply, void *to)
{
	return reply_read_table(payload, reply->len_bytes, to);
}

int parser_table(struct parser *parser, uint32_t key, int fd, struct unwind_table **table)
{
	struct question question = {
		.request = {.kind = MESSAGE_TABLE, .key = key}, .read = read_table, .to = table};

	return parser_ask(parser, &question, fd);
}

static int read_names(const void *payload, const struct message *reply, void *to)
{
	struct parser_named *named = to;

	named->nr = reply->nr;
	return reply_read_names(payload, reply->len_bytes, reply->nr, &named->names,
				&named->nr_split);
}

static int read_nothing(const void *payload, const struct message *reply, void *to)
{
	(void)payload;
	(void)reply;
	(void)to;
	return 0;
}

int parser_companion(struct parser *parser, uint32_t key, const struct parser_companion *companion)
{
	struct message_companion payload = {.kind = companion->kind, .number = companion->number};
	struct question question = {
		.request = {.kind = MESSAGE_COMPANION, .key = key, .len_bytes = sizeof(payload)},
		.payload = &payload,
		.read = read_nothing,
	};

	memcpy(payload.id, companion->id, sizeof(payload.id));
	return parser_ask(parser, &question, companion->fd);
}

/* A question that may need the companion, which is sent to a worker that has it not. */
static int ask_code(struct parser *parser, const struct parser_code *code,
		    struct question *question)
{
	int err = parser_ask(parser, question, code->fd);

	if (err != -ENOKEY || !code->companion)
		return err;
	err = parser_companion(parser, code->key, code->companion);
	return err ? err : parser_ask(parser, question, code->fd);
}

int parser_names(struct parser *parser, const struct parser_code *code, const uint64_t *elf_addrs,
		 size_t nr, struct parser_named *named)
{
	uint64_t payload[MESSAGE_NAMES_ABOUT + MESSAGE_MAX_NAMES] = {
		code->what, code->companion ? code->companion->number : 0, code->left_ns};
	struct question question = {
		.request = {.kind = MESSAGE_NAMES,
			    .key = code->key,
			    .nr = nr,
			    .len_bytes = (MESSAGE_NAMES_ABOUT + nr) * sizeof(*payload)},
		.payload = payload,
		.read = read_names,
		.to = named,
	};

	if (!nr || nr > MESSAGE_MAX_NAMES)
		return -EINVAL;
	memcpy(payload + MESSAGE_NAMES_ABOUT, elf_addrs, nr * sizeof(*elf_addrs));
	return ask_code(parser, code, &question);
}

static int read_splits(const void *payload, const struct message *reply, void *to)
{
	return reply_read_splits(payload, reply->len_bytes, reply->nr, to);
}

int parser_splits(struct parser *parser, const struct parser_code *code, const uint64_t *elf_addrs,
		  size_t nr, struct reply_splits **splits)
{
	uint64_t payload[MESSAGE_SPLITS_ABOUT + MESSAGE_MAX_NAMES] = {
		code->companion ? code->companion->number : 0};
	struct question question = {
		.request = {.kind = MESSAGE_SPLITS,
			    .key = code->key,
			    .nr = nr,
			    .len_bytes = (MESSAGE_SPLITS_ABOUT + nr) * sizeof(*payload)},
		.payload = payload,
		.read = read_splits,
		.to = splits,
	};

	if (!nr || nr > MESSAGE_MAX_NAMES)
		return -EINVAL;
	memcpy(payload + MESSAGE_SPLITS_ABOUT, elf_addrs, nr * sizeof(*elf_addrs));
	return ask_code(parser, code, &question);
}

static int read_crc(const void *payload, const struct message *reply, void *to)
{
	return reply_read_crc(payload, reply->len_bytes, to);
}

int parser_crc(struct parser *parser, uint32_t key, int fd, uint32_t *crc)
{
	struct question question = {
		.request = {.kind = MESSAGE_CRC, .key = key}, .read = read_crc, .to = crc};

	return parser_ask(parser, &question, fd);
}

static int read_script(const void *payload, const struct message *reply, void *to)
{
	const char *interp = payload;

	if (!*interp || !memchr(interp, '\0', reply->len_bytes))
		return -EBADMSG;
	memcpy(to, interp, reply->len_bytes);
	return 0;
}

int parser_script(struct parser *parser, uint32_t key, int fd, char interp[MESSAGE_INTERP_BYTES])
{
	struct question question = {
		.request = {.kind = MESSAGE_SCRIPT, .key = key}, .read = read_script, .to = interp};

	return parser_ask(parser, &question, fd);
}

struct slots {
	struct reply_slot *slots;
	size_t nr;
};

static int read_slots(const void *payload, const struct message *reply, void *to)
{
	struct slots *slots = to;

	slots->nr = reply->nr;
	return reply_read_slots(payload, reply->len_bytes, reply->nr, &slots->slots);
}

int parser_slots(struct parser *parser, uint32_t key, int fd, struct reply_slot **slots,
		 size_t *nr_slots)
{
	struct slots found = {0};
	struct question question = {
		.request = {.kind = MESSAGE_SLOTS, .key = key}, .read = read_slots, .to = &found};
	int err = parser_ask(parser, &question, fd);

	if (err)
		return err;
	*slots = found.slots;
	*nr_slots = found.nr;
	return 0;
}

static int read_sites(const void *payload, const struct message *reply, void *to)
{
	return reply_read_sites(payload, reply->len_bytes, reply->nr, to);
}

int parser_sites(struct parser *parser, uint32_t key, int fd, struct reply_sites *sites)
{
	struct question question = {
		.request = {.kind = MESSAGE_SITES, .key = key}, .read = read_sites, .to = sites};

	peer_renew(parser->peer);
	return parser_ask(parser, &question, fd);
}
