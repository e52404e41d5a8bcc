// SPDX-License-Identifier: BSD-2-Clause
/*
 * Pieces are added all the time, and looked up at the end: so they are sorted when they are looked up,
 * by start and then by time. Those that hold an ip begin before it, most often at once; where pieces
 * of other sizes were at the same place later, a few before.
 */
#include "process/jitsyms.h"

#include <stdbool.h>

#define MAX_BACK 64 /* pieces that are looked at, back from an ip */

void jitsyms_add(struct jitsyms *code, uint64_t start, uint64_t limit, uint64_t since_ns,
		 const char *name)
{
	if (code->pieces.nr < MADECODE_MAX_PIECES)
		vec_push(&code->pieces, (struct made_piece){start, limit, since_ns,
							    strtab_intern(&code->names, name)});
}

static int compare_pieces(const void *a, const void *b)
{
	const struct made_piece *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return (left->since_ns > right->since_ns) - (left->since_ns < right->since_ns);
}

static void sort(struct jitsyms *code)
{
	if (code->nr_sorted == code->pieces.nr)
		return;
	qsort(code->pieces.at, code->pieces.nr, sizeof(code->pieces.at[0]), compare_pieces);
	code->nr_sorted = code->pieces.nr;
}

/* Of two pieces that hold an ip, does a say more about time_ns than b? */
static bool is_better(const struct made_piece *a, const struct made_piece *b, uint64_t time_ns)
{
	bool a_was = a->since_ns <= time_ns, b_was = b->since_ns <= time_ns;

	if (a_was != b_was)
		return a_was;
	return a_was ? a->since_ns > b->since_ns : a->since_ns < b->since_ns;
}

const char *jitsyms_find(struct jitsyms *code, uint64_t ip, uint64_t time_ns)
{
	const struct made_piece *best = NULL;
	size_t i;

	sort(code);
	i = vec_partition(&code->pieces, piece, piece->start <= ip);
	for (size_t nr = 0; i-- > 0 && nr < MAX_BACK; nr++) {
		const struct made_piece *piece = &code->pieces.at[i];

		if (ip < piece->limit && (!best || is_better(piece, best, time_ns)))
			best = piece;
	}
	return best ? strtab_get(&code->names, best->name) : NULL;
}

void jitsyms_release(struct jitsyms *code)
{
	vec_release(&code->pieces);
	strtab_release(&code->names);
	*code = (struct jitsyms){0};
}
