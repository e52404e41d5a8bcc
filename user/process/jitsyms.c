// SPDX-License-Identifier: BSD-2-Clause
/*
 * Pieces are added throughout the run and looked up at its end, so they are sorted at the first look-up, by
 * start and then by time. The piece that holds an ip nearly always starts last before it; where pieces of
 * other sizes were at the same place later, a few starts before.
 */
#include "process/jitsyms.h"

#include <stdbool.h>

#define MAX_BACK 64 /* pieces examined, back from an ip */

static void add(struct jitsyms *code, struct jitsym piece, const struct jitframe *frames,
		uint32_t nr)
{
	piece.frames = code->frames.nr;
	piece.nr_frames = nr;
	if (code->pieces.nr >= JITSYMS_MAX || code->frames.nr + nr > JITSYMS_MAX)
		return;
	for (uint32_t i = 0; i < nr; i++)
		vec_push(&code->frames,
			 (struct jitname){strtab_intern(&code->names, frames[i].name),
					  strtab_intern(&code->names, frames[i].file),
					  frames[i].line, frames[i].start_line});
	vec_push(&code->pieces, piece);
}

void jitsyms_add_frames(struct jitsyms *code, uint64_t start, uint64_t limit, uint64_t since_ns,
			const struct jitframe *frames, uint32_t nr)
{
	add(code, (struct jitsym){.start = start, .limit = limit, .since_ns = since_ns}, frames,
	    nr);
}

void jitsyms_add(struct jitsyms *code, uint64_t start, uint64_t limit, uint64_t since_ns,
		 const struct jitframe *frame)
{
	add(code,
	    (struct jitsym){.start = start, .limit = limit, .since_ns = since_ns, .was_told = true},
	    frame, 1);
}

struct jitframe jitsyms_frame(const struct jitsyms *code, const struct jitsym *piece, uint32_t i)
{
	const struct jitname *kept = &code->frames.at[piece->frames + i];

	return (struct jitframe){strtab_get(&code->names, kept->name),
				 strtab_get(&code->names, kept->file), kept->line,
				 kept->start_line};
}

static int compare_pieces(const void *a, const void *b)
{
	const struct jitsym *left = a, *right = b;

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

/* Is a, of two pieces that contain an ip, the better one for time_ns? */
static bool is_better(const struct jitsym *a, const struct jitsym *b, uint64_t time_ns)
{
	bool a_was = a->since_ns <= time_ns, b_was = b->since_ns <= time_ns;

	if (a_was != b_was)
		return a_was;
	return a_was ? a->since_ns > b->since_ns : a->since_ns < b->since_ns;
}

struct jitsym *jitsyms_find(struct jitsyms *code, uint64_t ip, uint64_t time_ns)
{
	struct jitsym *best = NULL;
	size_t i;

	sort(code);
	i = vec_partition(&code->pieces, piece,
			  piece->start < ip || (piece->start == ip && piece->since_ns <= time_ns));
	if (i < code->pieces.nr && code->pieces.at[i].start == ip)
		best = &code->pieces.at[i];
	for (size_t nr = 0; i-- > 0 && nr < MAX_BACK; nr++) {
		struct jitsym *piece = &code->pieces.at[i];

		if (ip < piece->limit && (!best || is_better(piece, best, time_ns)))
			best = piece;
	}
	return best;
}

void jitsyms_release(struct jitsyms *code)
{
	vec_release(&code->pieces);
	vec_release(&code->frames);
	strtab_release(&code->names);
	*code = (struct jitsyms){0};
}
