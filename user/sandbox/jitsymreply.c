// SPDX-License-Identifier: BSD-2-Clause
/* Like the replies of sandbox/reply.c: counts and lengths are exact, or all of it is refused. */
#include "sandbox/jitsymparser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "sandbox/payload_reader.h"

static bool read_piece(struct payload_reader *heads, struct payload_reader *texts, char **to,
		       struct reply_jitsym *jitsym)
{
	struct message_jitsym head;

	if (!take(heads, &head, sizeof(head)) || head.zero || !head.name_bytes ||
	    head.name_bytes >= MESSAGE_METHOD_BYTES || head.file_bytes >= MESSAGE_METHOD_BYTES ||
	    !head.file_bytes != !head.line || head.start >= head.limit)
		return false;
	*jitsym = (struct reply_jitsym){.start = head.start,
					.limit = head.limit,
					.since_ns = head.since_ns,
					.name = *to,
					.line = head.line};
	if (!take_text(texts, head.name_bytes, to))
		return false;
	jitsym->file = *to;
	return take_text(texts, head.file_bytes, to);
}

int reply_read_jitsyms(const void *payload, size_t len_bytes, uint32_t nr,
		       struct reply_jitsym **jitsyms)
{
	struct payload_reader heads = {payload, nr * sizeof(struct message_jitsym)}, texts;
	struct reply_jitsym *read scoped(freep) = NULL;
	char *to;

	if (nr > MESSAGE_MAX_MOMENTS || len_bytes < heads.len_bytes)
		return -EBADMSG;
	if (!nr)
		return len_bytes ? -EBADMSG : (*jitsyms = NULL, 0);
	texts = (struct payload_reader){(const char *)payload + heads.len_bytes,
					len_bytes - heads.len_bytes};
	/* each text gets a NUL */
	read = xmalloc(nr * (sizeof(*read) + 2) + texts.len_bytes);
	to = (char *)(read + nr);
	for (uint32_t i = 0; i < nr; i++)
		if (!read_piece(&heads, &texts, &to, &read[i]))
			return -EBADMSG;
	if (texts.len_bytes)
		return -EBADMSG;
	*jitsyms = read;
	read = NULL;
	return 0;
}
