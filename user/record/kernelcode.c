// SPDX-License-Identifier: BSD-2-Clause
/*
 * Pieces are added throughout the run and looked up at its end, so they are sorted at a look-up, by start and then by time. No
 * two overlap at the same time: the one that holds an ip is among those that start last before it, unless
 * others were made there later, or earlier.
 */
#include "record/kernelcode.h"

#include <stdlib.h>

#include "base/clock.h"

#define MAX_BACK 256	      /* pieces examined, back from an ip */
#define GRACE_NS NSEC_PER_SEC /* a program is announced as gone while other CPUs may still run it */

static bool is_it(const struct kernelcode_piece *piece, const struct kernel_code *code)
{
	return piece->until_ns == UINT64_MAX && piece->start == code->start &&
	       piece->limit == code->limit;
}

/* What has not gone and is where code was announced: the latest. NULL: none. */
static struct kernelcode_piece *living(struct kernelcode *code, const struct kernel_code *there)
{
	for (size_t i = code->pieces.nr; i-- > 0;)
		if (is_it(&code->pieces.at[i], there))
			return &code->pieces.at[i];
	return NULL;
}

void kernelcode_event(struct kernelcode *code, const struct task_event *event)
{
	struct kernelcode_piece piece = {.start = event->code.start,
					 .limit = event->code.limit,
					 .since_ns = event->time_ns,
					 .until_ns = UINT64_MAX};
	struct kernelcode_piece *before = living(code, &event->code);

	if (before)
		before->until_ns = event->time_ns;
	if ((before && event->kind == KERNEL_CODE_WENT) || code->pieces.nr >= KERNELCODE_MAX)
		return;
	if (event->kind == KERNEL_CODE_WENT) {
		piece.since_ns = 0;
		piece.until_ns = event->time_ns;
	}
	piece.name = strtab_intern(&code->names, event->code.name);
	vec_push(&code->pieces, piece);
	code->nr_sorted = 0;
}

static int compare_pieces(const void *a, const void *b)
{
	const struct kernelcode_piece *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return (left->since_ns > right->since_ns) - (left->since_ns < right->since_ns);
}

static void sort(struct kernelcode *code)
{
	if (code->nr_sorted == code->pieces.nr)
		return;
	qsort(code->pieces.at, code->pieces.nr, sizeof(code->pieces.at[0]), compare_pieces);
	code->nr_sorted = code->pieces.nr;
}

enum kernelcode_known kernelcode_find(struct kernelcode *code, uint64_t ip, uint64_t time_ns,
				      const char **name)
{
	enum kernelcode_known known = KERNELCODE_UNKNOWN;
	const struct kernelcode_piece *best = NULL;
	size_t i;

	sort(code);
	i = vec_partition(&code->pieces, piece, piece->start <= ip);
	for (size_t nr = 0; i-- > 0 && nr < MAX_BACK; nr++) {
		const struct kernelcode_piece *piece = &code->pieces.at[i];

		if (ip >= piece->limit)
			continue;
		if (piece->since_ns <= time_ns &&
		    (time_ns < piece->until_ns || time_ns - piece->until_ns < GRACE_NS)) {
			if (!best || piece->since_ns > best->since_ns)
				best = piece;
		} else if (piece->since_ns > time_ns) {
			known = KERNELCODE_NOT_YET;
		}
	}
	if (!best)
		return known;
	*name = strtab_get(&code->names, best->name);
	return KERNELCODE_KNOWN;
}

void kernelcode_release(struct kernelcode *code)
{
	vec_release(&code->pieces);
	strtab_release(&code->names);
	*code = (struct kernelcode){0};
}
