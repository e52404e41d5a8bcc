// SPDX-License-Identifier: BSD-2-Clause
/* Like the replies of sandbox/reply.c: counts and lengths are exact, or all of it is refused. */
#include "sandbox/funcparser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "sandbox/payload_reader.h"

/* Lines ascend, and there is a name. */
static bool is_sane(const struct message_function *head, const struct reply_function *function)
{
	for (uint32_t i = 1; i < function->nr_lines; i++)
		if (function->lines[i].limit < function->lines[i - 1].limit)
			return false;
	return !head->zero && head->name_bytes && head->name_bytes < MESSAGE_FUNCNAME_BYTES &&
	       head->file_bytes < MESSAGE_FUNCFILE_BYTES;
}

int reply_read_function(const void *payload, size_t len_bytes, uint32_t nr,
			struct reply_function **function)
{
	struct payload_reader rest = {payload, len_bytes};
	struct reply_function *read scoped(freep) = NULL;
	struct message_function head;
	size_t lines_bytes = nr * sizeof(read->lines[0]);
	char *to;

	if (nr > MESSAGE_MAX_LINES || !take(&rest, &head, sizeof(head)) ||
	    rest.len_bytes < lines_bytes)
		return -EBADMSG;
	read = xcalloc(1, sizeof(*read) + rest.len_bytes + 2);
	read->nr_lines = nr;
	read->start_line = head.start_line;
	take(&rest, read->lines, lines_bytes);
	to = (char *)&read->lines[nr];
	read->name = to;
	if (!is_sane(&head, read) || !take_text(&rest, head.name_bytes, &to))
		return -EBADMSG;
	read->file = to;
	if (!take_text(&rest, head.file_bytes, &to) || rest.len_bytes)
		return -EBADMSG;
	*function = read;
	read = NULL;
	return 0;
}
