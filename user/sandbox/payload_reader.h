/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a payload from its beginning to its end: the bytes that are not read yet. Used by *reply.c and symbolize/namefile.c. */
#ifndef CPROF_SANDBOX_PAYLOAD_READER_H
#define CPROF_SANDBOX_PAYLOAD_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct payload_reader {
	const char *at;
	size_t len_bytes;
};

/* Copies the next len_bytes. false: there are not as many. */
static inline bool take(struct payload_reader *rest, void *to, size_t len_bytes)
{
	if (rest->len_bytes < len_bytes)
		return false;
	memcpy(to, rest->at, len_bytes);
	rest->at += len_bytes;
	rest->len_bytes -= len_bytes;
	return true;
}

/* A text of len bytes, none of them NUL, to *to, which is set to what follows its NUL. */
static inline bool take_text(struct payload_reader *rest, size_t len, char **to)
{
	char *text = *to;

	if (!take(rest, text, len) || memchr(text, '\0', len))
		return false;
	text[len] = '\0';
	*to += len + 1;
	return true;
}

#endif
