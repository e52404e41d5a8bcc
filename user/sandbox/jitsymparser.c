// SPDX-License-Identifier: BSD-2-Clause
/* The descriptor comes with each question, since what it leads to grows. */
#include "sandbox/jitsymparser.h"

#include <errno.h>

#include "sandbox/question.h"

#define KEY_JITSYMS (1u << 29) /* the keys of files and of debug files are below and above */
#define KEY_JITDUMP (1u << 28)

uint32_t jitsymparser_key(uint32_t tgid, enum message_kind kind)
{
	return KEY_JITSYMS | (kind == MESSAGE_JITDUMP ? KEY_JITDUMP : 0) | tgid;
}

bool jitsymparser_is_key(uint32_t key)
{
	return key >> 29 == 1;
}

uint32_t jitsymparser_tgid(uint32_t key)
{
	return key & (KEY_JITDUMP - 1);
}

struct pieces {
	struct reply_jitsym *found;
	size_t nr;
};

static int read_pieces(const void *payload, const struct message *reply, void *to)
{
	struct pieces *pieces = to;

	pieces->nr = reply->nr;
	return reply_read_jitsyms(payload, reply->len_bytes, reply->nr, &pieces->found);
}

int parser_jitsyms(struct parser *parser, enum message_kind kind, uint32_t tgid, int fd,
		   const struct message_moment *moments, size_t nr, struct reply_jitsym **found,
		   size_t *nr_found)
{
	struct pieces pieces = {0};
	struct question question = {
		.request = {.kind = kind,
			    .key = jitsymparser_key(tgid, kind),
			    .nr = nr,
			    .len_bytes = nr * sizeof(*moments)},
		.payload = moments,
		.read = read_pieces,
		.to = &pieces,
	};
	int err = nr && nr <= MESSAGE_MAX_MOMENTS ? parser_ask(parser, &question, fd) : -EINVAL;

	if (err)
		return err;
	*found = pieces.found;
	*nr_found = pieces.nr;
	return 0;
}
