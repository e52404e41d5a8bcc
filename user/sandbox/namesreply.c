// SPDX-License-Identifier: BSD-2-Clause
/* One block has all: the names, the frames, where the texts are, and the texts, each with a NUL. */
#include "sandbox/namesreply.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "sandbox/payload_reader.h"

struct texts {
	const char **at; /* [0] is "" */
	uint32_t nr;	 /* with it */
};

/* The arrays of a reply, while they are read. */
struct parts {
	struct message_names about;
	struct payload_reader names, frames, lengths, bytes;
};

static bool cut(struct payload_reader *rest, uint64_t len_bytes, struct payload_reader *part)
{
	if (len_bytes > rest->len_bytes)
		return false;
	*part = (struct payload_reader){rest->at, len_bytes};
	rest->at += len_bytes;
	rest->len_bytes -= len_bytes;
	return true;
}

static bool read_parts(struct payload_reader rest, uint32_t nr, struct parts *parts)
{
	if (!take(&rest, &parts->about, sizeof(parts->about)) ||
	    (parts->about.flags & ~MESSAGE_NAMES_ALL_FLAGS) ||
	    !cut(&rest, (uint64_t)nr * sizeof(struct message_name), &parts->names) ||
	    !cut(&rest, (uint64_t)parts->about.nr_frames * sizeof(struct message_frame),
		 &parts->frames) ||
	    !cut(&rest, (uint64_t)parts->about.nr_texts * sizeof(uint32_t), &parts->lengths))
		return false;
	parts->bytes = rest;
	return true;
}

static bool read_texts(struct parts *parts, struct texts *texts, char *to)
{
	uint32_t len;

	texts->at[0] = to;
	*to++ = '\0';
	for (texts->nr = 1; take(&parts->lengths, &len, sizeof(len)); texts->nr++) {
		texts->at[texts->nr] = to;
		if (!len || len > MESSAGE_NAME_MAX_BYTES || !take_text(&parts->bytes, len, &to))
			return false;
	}
	return !parts->bytes.len_bytes;
}

static bool read_frame(struct payload_reader *rest, const struct texts *texts, bool is_outermost,
		       struct reply_frame *frame)
{
	struct message_frame read;

	if (!take(rest, &read, sizeof(read)) || read.raw >= texts->nr ||
	    read.display >= texts->nr || read.file >= texts->nr || !read.raw != is_outermost ||
	    (is_outermost && read.display))
		return false;
	*frame = (struct reply_frame){.raw = texts->at[read.raw],
				      .display = texts->at[read.display ? read.display : read.raw],
				      .file = texts->at[read.file],
				      .line = read.line,
				      .start_line = read.start_line};
	return true;
}

static bool is_name(const struct message_name *name, const struct texts *texts)
{
	if (name->raw >= texts->nr || name->display >= texts->nr ||
	    name->nr_frames > MESSAGE_MAX_FRAMES)
		return false;
	if (name->kind == MESSAGE_NAME_SYMBOL)
		return name->raw && !name->start;
	return !name->raw && !name->display &&
	       (name->kind == MESSAGE_NAME_START ||
		(name->kind == MESSAGE_NAME_NONE && !name->start));
}

static bool read_name(struct parts *parts, const struct texts *texts, struct reply_frame **frames,
		      struct reply_name *name)
{
	struct message_name read;

	if (!take(&parts->names, &read, sizeof(read)) || !is_name(&read, texts))
		return false;
	*name = (struct reply_name){.kind = read.kind,
				    .start = read.start,
				    .raw = texts->at[read.raw],
				    .display = texts->at[read.display ? read.display : read.raw],
				    .frames = *frames,
				    .nr_frames = read.nr_frames,
				    .is_cut = parts->about.flags & MESSAGE_NAMES_CUT,
				    .is_unread = parts->about.flags & MESSAGE_NAMES_UNREAD};
	for (uint32_t i = 0; i < read.nr_frames; i++)
		if (!read_frame(&parts->frames, texts, i + 1 == read.nr_frames, (*frames)++))
			return false;
	return true;
}

int reply_read_names(const void *payload, size_t len_bytes, uint32_t nr, struct reply_name **names,
		     size_t *nr_split)
{
	struct reply_name *read scoped(freep) = NULL;
	struct reply_frame *frames;
	struct texts texts;
	struct parts parts;

	if (!nr || nr > MESSAGE_MAX_NAMES ||
	    !read_parts((struct payload_reader){payload, len_bytes}, nr, &parts) ||
	    parts.about.nr_split > MESSAGE_MAX_NAMES)
		return -EBADMSG;
	read = xmalloc(nr * sizeof(*read) + (size_t)parts.about.nr_frames * sizeof(*frames) +
		       ((size_t)parts.about.nr_texts + 1) * (sizeof(*texts.at) + 1) +
		       parts.bytes.len_bytes);
	frames = (struct reply_frame *)(read + nr);
	texts.at = (const char **)(frames + parts.about.nr_frames);
	if (!read_texts(&parts, &texts, (char *)(texts.at + parts.about.nr_texts + 1)))
		return -EBADMSG;
	for (uint32_t i = 0; i < nr; i++)
		if (!read_name(&parts, &texts, &frames, &read[i]))
			return -EBADMSG;
	if (parts.frames.len_bytes)
		return -EBADMSG;
	*names = read;
	*nr_split = parts.about.nr_split;
	read = NULL;
	return 0;
}

/* Splits ------------------------------------------------------------------------------------------ */

static bool read_units(struct payload_reader heads, struct payload_reader *texts,
		       struct reply_splits *splits, char *to)
{
	struct message_split head;

	for (uint32_t i = 0; i < splits->nr_units; i++) {
		take(&heads, &head, sizeof(head));
		splits->units[i] = (struct reply_split){.dwo_id = head.dwo_id, .name = to};
		if (head.name_bytes >= MESSAGE_SPLIT_BYTES ||
		    head.dir_bytes >= MESSAGE_SPLIT_BYTES ||
		    !take_text(texts, head.name_bytes, &to))
			return false;
		splits->units[i].dir = to;
		if (!take_text(texts, head.dir_bytes, &to))
			return false;
	}
	return !texts->len_bytes;
}

int reply_read_splits(const void *payload, size_t len_bytes, uint32_t nr,
		      struct reply_splits **splits)
{
	struct payload_reader rest = {payload, len_bytes}, numbers, heads;
	struct reply_splits *read scoped(freep) = NULL;
	struct message_splits about;

	if (!take(&rest, &about, sizeof(about)) || about.nr_units > nr || nr > MESSAGE_MAX_NAMES ||
	    !cut(&rest, (uint64_t)nr * sizeof(uint32_t), &numbers) ||
	    !cut(&rest, (uint64_t)about.nr_units * sizeof(struct message_split), &heads))
		return -EBADMSG;
	read = xmalloc(sizeof(*read) + about.nr_units * sizeof(*read->units) +
		       nr * sizeof(*read->unit_of) + rest.len_bytes + 2ull * about.nr_units);
	read->nr_units = about.nr_units;
	read->units = (struct reply_split *)(read + 1);
	read->unit_of = (uint32_t *)(read->units + about.nr_units);
	for (uint32_t i = 0; i < nr; i++) {
		take(&numbers, &read->unit_of[i], sizeof(uint32_t));
		if (read->unit_of[i] > about.nr_units)
			return -EBADMSG;
		read->unit_of[i] = (read->unit_of[i] ? read->unit_of[i] : about.nr_units + 1) - 1;
	}
	if (!read_units(heads, &rest, read, (char *)(read->unit_of + nr)))
		return -EBADMSG;
	*splits = read;
	read = NULL;
	return 0;
}
