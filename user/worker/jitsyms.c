// SPDX-License-Identifier: BSD-2-Clause
/* Nothing is kept between two questions: a pass over a perf map of 10 MB takes as long as one over a large symbol table. */
#include "worker/jitsyms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "runtime/jitdump.h"
#include "runtime/perfmap.h"

static size_t read_file(void *ctx, uint64_t off, void *to, size_t len_bytes)
{
	ssize_t len = pread(*(int *)ctx, to, len_bytes, (off_t)off);

	return len > 0 ? (size_t)len : 0;
}

static int by_ip(const void *a, const void *b)
{
	const struct jitsym_query *left = a, *right = b;

	return (left->ip > right->ip) - (left->ip < right->ip);
}

static void append_answers(const struct jitsym_query *queries, size_t nr, struct payload *payload,
			   struct message *reply)
{
	struct payload texts = {0};

	for (size_t i = 0; i < nr; i++) {
		const struct jitsym_query *query = &queries[i];
		struct message_jitsym piece = {.start = query->start,
					       .limit = query->limit,
					       .since_ns = query->since_ns,
					       .name_bytes = strlen(query->name),
					       .file_bytes = strlen(query->file),
					       .line = query->line};

		if (!piece.name_bytes)
			continue;
		payload_append(payload, &piece, sizeof(piece));
		payload_append(&texts, query->name, piece.name_bytes);
		payload_append(&texts, query->file, piece.file_bytes);
		reply->nr++;
	}
	payload_append(payload, texts.at, texts.nr);
	vec_release(&texts);
}

int jitsyms_answer(const struct message *request, const void *asked, int fd,
		   struct payload *payload, struct message *reply)
{
	const struct jitsym_source source = {read_file, &fd};
	struct jitsym_query *queries scoped(freep) = NULL;
	struct message_moment moment;
	int err = 0;

	if (fd < 0 || !request->nr || request->nr > MESSAGE_MAX_MOMENTS ||
	    request->len_bytes != request->nr * sizeof(moment))
		return -EINVAL;
	queries = xcalloc(request->nr, sizeof(*queries));
	for (uint32_t i = 0; i < request->nr; i++) {
		memcpy(&moment, (const char *)asked + i * sizeof(moment), sizeof(moment));
		queries[i].ip = moment.ip;
		queries[i].time_ns = moment.time_ns;
	}
	qsort(queries, request->nr, sizeof(*queries), by_ip);
	if (request->kind == MESSAGE_PERF_MAP)
		perfmap_find(&source, queries, request->nr);
	else
		err = jitdump_find(&source, queries, request->nr);
	if (!err)
		append_answers(queries, request->nr, payload, reply);
	return err;
}
