// SPDX-License-Identifier: BSD-2-Clause
/*
 * A file of the cache of names, as bytes.
 *
 * Alternative rejected: an index by address, for reading a few names without the others. A file of 20,000 names is read and
 * checked in some milliseconds, and a format that is read as a worker's reply is one less to get wrong.
 */
#include "symbolize/namefile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "sandbox/payload_reader.h"

struct namefile_header {
	char magic[8];
	uint64_t checksum; /* of all that follows */
	uint32_t key_bytes, zero;
};

struct namefile_part {
	uint32_t nr, zero;  /* addresses */
	uint64_t len_bytes; /* of the reply */
};

#define SUMMED_FROM offsetof(struct namefile_header, key_bytes)

static const char magic[8] = "cprof-n1";

/* Writing ----------------------------------------------------------------------------------------- */

static void append(struct namefile *file, const void *bytes, size_t len_bytes)
{
	if (!len_bytes)
		return;
	vec_reserve(file, len_bytes);
	memcpy(file->at + file->nr, bytes, len_bytes);
	file->nr += len_bytes;
}

void namefile_begin(struct namefile *file, const char *key)
{
	struct namefile_header header = {.key_bytes = strlen(key)};

	memcpy(header.magic, magic, sizeof(magic));
	file->nr = 0;
	append(file, &header, sizeof(header));
	append(file, key, header.key_bytes);
}

void namefile_continue(struct namefile *file, const void *bytes, size_t len_bytes)
{
	file->nr = 0;
	append(file, bytes, len_bytes);
}

/* The reply that has these names: heads, frames, and each text once. */
struct reply {
	struct strtab texts; /* by number */
	vec_of(struct message_name) heads;
	vec_of(struct message_frame) frames;
};

static void add_head(struct reply *reply, const struct reply_name *name)
{
	bool is_symbol = name->kind == MESSAGE_NAME_SYMBOL;
	struct message_name head = {
		.start = name->start, .kind = name->kind, .nr_frames = name->nr_frames};

	if (is_symbol)
		head.raw = strtab_intern(&reply->texts, name->raw);
	if (is_symbol && strcmp(name->display, name->raw) != 0)
		head.display = strtab_intern(&reply->texts, name->display);
	vec_push(&reply->heads, head);
}

static void add_frame(struct reply *reply, const struct reply_frame *frame)
{
	bool differs = *frame->raw && strcmp(frame->display, frame->raw) != 0;

	vec_push(&reply->frames,
		 (struct message_frame){
			 .raw = strtab_intern(&reply->texts, frame->raw),
			 .display = differs ? strtab_intern(&reply->texts, frame->display) : 0,
			 .file = strtab_intern(&reply->texts, frame->file),
			 .line = frame->line,
			 .start_line = frame->start_line});
}

static void append_texts(struct namefile *file, const struct strtab *texts)
{
	for (uint32_t i = 1; i < strtab_nr(texts); i++) {
		uint32_t len = strlen(strtab_get(texts, i));

		append(file, &len, sizeof(len));
	}
	for (uint32_t i = 1; i < strtab_nr(texts); i++)
		append(file, strtab_get(texts, i), strlen(strtab_get(texts, i)));
}

static void append_reply(struct namefile *file, const struct reply *reply)
{
	struct message_names about = {.nr_frames = reply->frames.nr,
				      .nr_texts = strtab_nr(&reply->texts) - 1};

	append(file, &about, sizeof(about));
	append(file, reply->heads.at, reply->heads.nr * sizeof(*reply->heads.at));
	append(file, reply->frames.at, reply->frames.nr * sizeof(*reply->frames.at));
	append_texts(file, &reply->texts);
}

/* nr: 1 to MESSAGE_MAX_NAMES. */
static void add_part(struct namefile *file, const struct namefile_name *names, size_t nr)
{
	struct namefile_part part = {.nr = nr};
	struct reply reply = {.heads = {0}};
	size_t at = file->nr, begin;

	strtab_intern(&reply.texts, "");
	append(file, &part, sizeof(part));
	for (size_t i = 0; i < nr; i++) {
		append(file, &names[i].elf_addr, sizeof(names[i].elf_addr));
		add_head(&reply, &names[i].name);
		for (uint32_t k = 0; k < names[i].name.nr_frames; k++)
			add_frame(&reply, &names[i].name.frames[k]);
	}
	begin = file->nr;
	append_reply(file, &reply);
	part.len_bytes = file->nr - begin;
	memcpy(file->at + at, &part, sizeof(part));
	strtab_release(&reply.texts);
	vec_release(&reply.heads);
	vec_release(&reply.frames);
}

void namefile_add(struct namefile *file, const struct namefile_name *names, size_t nr)
{
	for (size_t at = 0; at < nr; at += MESSAGE_MAX_NAMES) {
		size_t left = nr - at;

		add_part(file, names + at, left < MESSAGE_MAX_NAMES ? left : MESSAGE_MAX_NAMES);
	}
}

static uint64_t checksum_of(const char *bytes, size_t len_bytes)
{
	return hash_bytes(bytes + SUMMED_FROM, len_bytes - SUMMED_FROM, 0);
}

void namefile_end(struct namefile *file)
{
	uint64_t checksum = checksum_of(file->at, file->nr);

	memcpy(file->at + offsetof(struct namefile_header, checksum), &checksum, sizeof(checksum));
}

/* Reading ----------------------------------------------------------------------------------------- */

int namefile_check(const void *bytes, size_t len_bytes, const char *key)
{
	struct namefile_header header;

	if (len_bytes < sizeof(header) || len_bytes > NAMEFILE_MAX_BYTES)
		return -EBADMSG;
	memcpy(&header, bytes, sizeof(header));
	if (memcmp(header.magic, magic, sizeof(magic)) != 0 || header.zero ||
	    header.key_bytes > len_bytes - sizeof(header) ||
	    header.checksum != checksum_of(bytes, len_bytes))
		return -EBADMSG;
	return header.key_bytes == strlen(key) &&
			       !memcmp((const char *)bytes + sizeof(header), key, header.key_bytes)
		       ? 0
		       : -ESTALE;
}

/* The part that rest begins with, which it is taken from. */
static int read_part(struct payload_reader *rest, namefile_fn fn, void *ctx)
{
	struct reply_name *names scoped(freep) = NULL;
	uint64_t elf_addrs[MESSAGE_MAX_NAMES];
	struct namefile_part part;
	size_t nr_split;

	if (!take(rest, &part, sizeof(part)) || !part.nr || part.nr > MESSAGE_MAX_NAMES ||
	    part.zero || !take(rest, elf_addrs, part.nr * sizeof(*elf_addrs)) ||
	    part.len_bytes > rest->len_bytes ||
	    reply_read_names(rest->at, part.len_bytes, part.nr, &names, &nr_split))
		return -EBADMSG;
	rest->at += part.len_bytes;
	rest->len_bytes -= part.len_bytes;
	for (uint32_t i = 0; i < part.nr; i++)
		fn(ctx, elf_addrs[i], &names[i]);
	return 0;
}

int namefile_each(const void *bytes, size_t len_bytes, namefile_fn fn, void *ctx)
{
	struct namefile_header header;
	struct payload_reader rest = {bytes, len_bytes};
	int err = 0;

	if (!take(&rest, &header, sizeof(header)) || header.key_bytes > rest.len_bytes)
		return -EBADMSG;
	rest.at += header.key_bytes;
	rest.len_bytes -= header.key_bytes;
	while (!err && rest.len_bytes)
		err = read_part(&rest, fn, ctx);
	return err;
}
