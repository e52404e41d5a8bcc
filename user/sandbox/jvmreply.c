// SPDX-License-Identifier: BSD-2-Clause
/*
 * Ranges of code become vmas of the process that the worker was asked about, so what is checked of them is what
 * feed/jvm.c and BPF's search rely on: their order. Wrong ranges give that process wrong frames, and no other.
 */
#include "sandbox/jvmreply.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "object/arch.h"
#include "sandbox/reply.h"
#include "sandbox/payload_reader.h"

static bool is_range(uint64_t start, uint64_t limit)
{
	return start < limit && limit <= ARCH_USER_LIMIT;
}

/* Heaps ------------------------------------------------------------------------------------------ */

static bool is_printable(const char *text, size_t max_bytes)
{
	size_t len = strnlen(text, max_bytes);

	for (size_t i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return len < max_bytes;
}

#define HEAP_PAGE_BYTES 4096u /* no kernel has smaller pages */

/* after: where the heap before ends. */
static bool is_heap(const struct message_heap *heap, uint64_t after)
{
	return heap->start >= after && heap->start <= heap->limit &&
	       heap->limit <= heap->reserved && heap->reserved <= ARCH_USER_LIMIT &&
	       heap->start % HEAP_PAGE_BYTES == 0 && heap->limit % HEAP_PAGE_BYTES == 0 &&
	       heap->reserved % HEAP_PAGE_BYTES == 0 && heap->has_table <= 1 &&
	       (heap->has_table ? heap->generation : !heap->table_bytes);
}

static bool read_heap(struct payload_reader *heads, struct payload_reader *tables, uint64_t after,
		      struct reply_heap *heap)
{
	struct message_heap head;

	if (!take(heads, &head, sizeof(head)) || !is_heap(&head, after) ||
	    head.table_bytes > tables->len_bytes)
		return false;
	*heap = (struct reply_heap){.start = head.start,
				    .limit = head.limit,
				    .reserved = head.reserved,
				    .generation = head.generation};
	if (head.has_table && reply_read_table(tables->at, head.table_bytes, &heap->table))
		return false;
	tables->at += head.table_bytes;
	tables->len_bytes -= head.table_bytes;
	return true;
}

void reply_look_release(struct reply_look *look)
{
	for (size_t i = 0; i < look->nr_heaps; i++)
		unwind_table_free(look->heaps[i].table);
	look->nr_heaps = 0;
}

int reply_read_look(const void *payload, size_t len_bytes, uint32_t nr, struct reply_look *look)
{
	struct reply_look read scoped(reply_look_release) = {0};
	struct payload_reader rest = {payload, len_bytes}, tables;
	struct message_look about;
	uint64_t after = 0;

	if (!take(&rest, &about, sizeof(about)) || nr > MESSAGE_MAX_HEAPS ||
	    rest.len_bytes < nr * sizeof(struct message_heap) || about.is_partial > 1 ||
	    about.is_changed > 1 || about.unloads_at >= ARCH_USER_LIMIT ||
	    about.collections_at >= ARCH_USER_LIMIT ||
	    !is_printable(about.missing, sizeof(about.missing)) || (*about.missing && nr))
		return -EBADMSG;
	tables = (struct payload_reader){rest.at + nr * sizeof(struct message_heap),
					 rest.len_bytes - nr * sizeof(struct message_heap)};
	rest.len_bytes = nr * sizeof(struct message_heap);
	for (; read.nr_heaps < nr; read.nr_heaps++) {
		if (!read_heap(&rest, &tables, after, &read.heaps[read.nr_heaps]))
			return -EBADMSG;
		after = read.heaps[read.nr_heaps].reserved;
	}
	if (tables.len_bytes)
		return -EBADMSG;
	memcpy(read.missing, about.missing, sizeof(read.missing));
	read.nr_blobs = about.nr_blobs;
	read.nr_analyzed = about.nr_analyzed;
	read.code_bytes = about.code_bytes;
	read.is_partial = about.is_partial;
	read.is_changed = about.is_changed;
	read.counters = (struct jvm_counters){about.unloads_at, about.collections_at};
	*look = read;
	read.nr_heaps = 0;
	return 0;
}

/* Code ------------------------------------------------------------------------------------------- */

_Static_assert(sizeof(((struct message_row *)0)->rule) == sizeof(struct unwind_rule),
	       "a row has a rule");

/* before: the row before it, NULL for the first. */
static bool read_row(struct payload_reader *rest, const struct reply_row *before,
		     uint64_t code_bytes, struct reply_row *row)
{
	struct message_row from;

	if (!take(rest, &from, sizeof(from)) || from.zero || from.offset >= code_bytes ||
	    (before ? from.offset <= before->offset : from.offset))
		return false;
	row->offset = from.offset;
	memcpy(&row->rule, from.rule, sizeof(row->rule));
	return reply_is_rule(&row->rule);
}

int reply_read_code(const void *payload, size_t len_bytes, uint32_t nr, struct reply_code **code)
{
	struct reply_code *read scoped(freep) = NULL;
	struct payload_reader rest = {payload, len_bytes};
	struct message_code about;

	if (!nr || nr > MESSAGE_MAX_ROWS || !take(&rest, &about, sizeof(about)) ||
	    rest.len_bytes != nr * sizeof(struct message_row) ||
	    !is_range(about.start, about.limit))
		return -EBADMSG;
	read = xmalloc(sizeof(*read) + nr * sizeof(read->rows[0]));
	*read = (struct reply_code){.start = about.start, .limit = about.limit};
	for (; read->nr_rows < nr; read->nr_rows++)
		if (!read_row(&rest, read->nr_rows ? &read->rows[read->nr_rows - 1] : NULL,
			      about.limit - about.start, &read->rows[read->nr_rows]))
			return -EBADMSG;
	*code = read;
	read = NULL;
	return 0;
}

void reply_code_find(const struct reply_code *code, uint64_t ip, struct unwind_rule *rule)
{
	size_t low = 0, high = code->nr_rows; /* the first begins at 0 */

	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (code->rows[mid].offset <= ip - code->start)
			low = mid;
		else
			high = mid;
	}
	*rule = code->rows[low].rule;
}

/* Names ------------------------------------------------------------------------------------------ */

/* What stands for a frame that is interpreted? */
static bool is_method_word(uint64_t start, uint64_t limit)
{
	return start >= UNWIND_METHOD_MARK && start < 2 * UNWIND_METHOD_MARK && limit == start + 1;
}

static bool read_method(struct payload_reader *heads, struct reply_method *method)
{
	struct message_method head;

	if (!take(heads, &head, sizeof(head)) || head.zero || !head.nr_frames ||
	    head.nr_frames > MESSAGE_MAX_FRAMES ||
	    (!is_range(head.start, head.limit) && !is_method_word(head.start, head.limit)))
		return false;
	*method = (struct reply_method){head.start, head.limit, head.nr_frames, NULL};
	return true;
}

static bool read_method_frame(struct payload_reader *heads, struct payload_reader *texts, char **to,
			      struct reply_method_frame *frame)
{
	struct message_method_frame head;

	if (!take(heads, &head, sizeof(head)) || !head.name_bytes ||
	    head.name_bytes >= MESSAGE_METHOD_BYTES || head.file_bytes >= MESSAGE_METHOD_BYTES)
		return false;
	frame->line = head.line;
	frame->start_line = head.start_line;
	frame->name = *to;
	if (!take_text(texts, head.name_bytes, to))
		return false;
	frame->file = *to;
	return take_text(texts, head.file_bytes, to);
}

/* rest: what follows the methods. methods point into a block that they are at the start of. */
static int read_method_frames(struct payload_reader *rest, uint32_t nr, size_t nr_frames,
			      struct reply_method *methods)
{
	struct reply_method_frame *frame = (struct reply_method_frame *)(methods + nr);
	struct payload_reader heads = {rest->at, nr_frames * sizeof(struct message_method_frame)};
	struct payload_reader texts = {rest->at + heads.len_bytes,
				       rest->len_bytes - heads.len_bytes};
	char *to = (char *)(frame + nr_frames);

	for (uint32_t i = 0; i < nr; i++) {
		methods[i].frames = frame;
		for (uint32_t k = 0; k < methods[i].nr_frames; k++)
			if (!read_method_frame(&heads, &texts, &to, frame++))
				return -EBADMSG;
	}
	return texts.len_bytes ? -EBADMSG : 0;
}

int reply_read_methods(const void *payload, size_t len_bytes, uint32_t nr,
		       struct reply_method **methods)
{
	struct payload_reader heads = {payload, nr * sizeof(struct message_method)}, rest;
	struct reply_method *read scoped(freep) = NULL;
	size_t nr_frames = 0;

	if (nr > MESSAGE_MAX_NAMES || len_bytes < heads.len_bytes)
		return -EBADMSG;
	if (!nr)
		return len_bytes ? -EBADMSG : (*methods = NULL, 0);
	rest = (struct payload_reader){(const char *)payload + heads.len_bytes,
				       len_bytes - heads.len_bytes};
	read = xmalloc(nr * sizeof(*read));
	for (uint32_t i = 0; i < nr; i++) {
		if (!read_method(&heads, &read[i]))
			return -EBADMSG;
		nr_frames += read[i].nr_frames;
	}
	if (rest.len_bytes < nr_frames * sizeof(struct message_method_frame))
		return -EBADMSG;
	/* each of two texts of a frame gets a NUL */
	read = xrealloc(read, nr * sizeof(*read) +
				      nr_frames * (sizeof(struct reply_method_frame) + 2) +
				      rest.len_bytes);
	if (read_method_frames(&rest, nr, nr_frames, read))
		return -EBADMSG;
	*methods = read;
	read = NULL;
	return 0;
}
