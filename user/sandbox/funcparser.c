// SPDX-License-Identifier: BSD-2-Clause
/* The last text is the table of lines, which is the longest: it is cut where a question is too small for all. */
#include "sandbox/funcparser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "sandbox/question.h"

#define KEY_RUNTIME (1u << 28) /* the keys of files are below, those of jitsymparser.h above */

uint32_t funcparser_key(uint32_t tgid)
{
	return KEY_RUNTIME | tgid;
}

bool funcparser_is_key(uint32_t key)
{
	return key >> 28 == 1;
}

uint32_t funcparser_tgid(uint32_t key)
{
	return key & (KEY_RUNTIME - 1);
}

static int read_function(const void *payload, const struct message *reply, void *to)
{
	return reply_read_function(payload, reply->len_bytes, reply->nr, to);
}

int parser_function(struct parser *parser, uint32_t tgid, uint32_t runtime,
		    const struct funcparser_text texts[MESSAGE_NR_TEXTS],
		    struct reply_function **function)
{
	struct message_texts head = {.runtime = runtime};
	uint8_t *payload scoped(freep) = xmalloc(MESSAGE_REQUEST_BYTES);
	struct question question = {
		.request = {.kind = MESSAGE_FUNCTION, .key = funcparser_key(tgid)},
		.payload = payload,
		.read = read_function,
		.to = function};
	size_t at = sizeof(head);

	for (size_t i = 0; i < MESSAGE_NR_TEXTS; i++) {
		size_t len = texts[i].len_bytes, room = MESSAGE_REQUEST_BYTES - at;

		head.lens_bytes[i] = len < room ? len : room;
		if (head.lens_bytes[i])
			memcpy(payload + at, texts[i].bytes, head.lens_bytes[i]);
		at += head.lens_bytes[i];
	}
	memcpy(payload, &head, sizeof(head));
	question.request.len_bytes = at;
	return parser_ask(parser, &question, -1);
}
