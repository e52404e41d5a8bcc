// SPDX-License-Identifier: BSD-2-Clause
/*
 * Call frame information tells where a function begins and ends, and a part that was moved away is a function of its own for
 * it. Other functions are jumped to at their beginnings, if at all; a part is jumped into, anywhere. So the jumps that
 * lead out of the loop's code into the middle of a function lead to parts of the loop.
 *
 * Debian's python3.14 has 1 KB of the loop at its symbol, and 84 KB elsewhere.
 */
#include "runtime/loop.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "runtime/jumps.h"

#define MAX_BYTES (1u << 20) /* of code that is looked through */

struct search {
	struct object *object;
	struct loop_piece *loops;
	size_t nr;
};

static void add(struct search *search, uint64_t start)
{
	bool covers;
	uint64_t limit = functab_limit(object_functab(search->object), start, &covers);

	if (covers && search->nr < LOOP_MAX_PIECES)
		search->loops[search->nr++] = (struct loop_piece){start, limit};
}

static bool is_known(const struct search *search, uint64_t elf_addr)
{
	for (size_t i = 0; i < search->nr; i++)
		if (elf_addr - search->loops[i].start <
		    search->loops[i].limit - search->loops[i].start)
			return true;
	return false;
}

/* A jump of the loop leads there. */
static void follow(struct search *search, uint64_t target)
{
	uint64_t start;

	if (!is_known(search, target) &&
	    functab_find(object_functab(search->object), target, &start) && start != target)
		add(search, start);
}

/* All jumps with a fixed target in a piece of the loop. */
static void look_through(struct search *search, struct loop_piece piece)
{
	uint64_t len_bytes = piece.limit - piece.start;
	uint8_t *code scoped(freep) = NULL;
	struct jumps jumps;
	struct jump jump;

	if (len_bytes > MAX_BYTES || !jumps_init(&jumps, elf_file_arch(object_elf(search->object))))
		return;
	code = xmalloc(len_bytes);
	if (!elf_file_read(object_elf(search->object), piece.start, code, len_bytes))
		return;
	for (uint64_t at = 0; at < len_bytes; at += jump.len_bytes) {
		if (!jumps_next(&jumps, code + at, len_bytes - at, piece.start + at, &jump))
			return;
		if (jump.kind == JUMP_TO)
			follow(search, jump.target);
	}
}

void loop_find_at(struct object *object, uint64_t start, struct loop_piece pieces[LOOP_MAX_PIECES])
{
	struct search search = {object, pieces, 0};

	add(&search, start);
	for (size_t i = 0; i < search.nr; i++)
		look_through(&search, pieces[i]);
}

void loop_find(struct object *object, const char *name, struct loop_piece pieces[LOOP_MAX_PIECES])
{
	struct symbol symbol;
	bool is_ifunc;

	if (symtab_lookup(object_symtab(object), name, &symbol, &is_ifunc) && !is_ifunc)
		loop_find_at(object, symbol.elf_addr, pieces);
}
