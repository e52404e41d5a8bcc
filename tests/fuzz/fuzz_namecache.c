// SPDX-License-Identifier: BSD-2-Clause
/*
 * The input is a file of the cache of names, whose checksum is not looked at. What is accepted is used as names are, and is
 * written and read again: the same names come back, in a file that is right.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "fuzz/require.h"
#include "symbolize/namefile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define KEY	  "a key"
#define MAX_NAMES 2048

/* What was read, for comparison: copies of the texts would cost more than they tell. */
struct seen {
	uint64_t sum;
	size_t nr;
	struct namefile *again; /* NULL: nothing is written */
};

static void add(struct seen *seen, uint64_t value)
{
	seen->sum = (seen->sum ^ value) * 1099511628211u;
}

static void see(void *ctx, uint64_t elf_addr, const struct reply_name *name)
{
	struct seen *seen = ctx;

	require((name->kind == MESSAGE_NAME_SYMBOL) == (*name->raw != '\0'));
	require(name->nr_frames <= MESSAGE_MAX_FRAMES);
	add(seen, elf_addr);
	add(seen, name->kind);
	add(seen, name->start);
	add(seen, strlen(name->raw));
	add(seen, strlen(name->display));
	for (uint32_t i = 0; i < name->nr_frames; i++) {
		const struct reply_frame *frame = &name->frames[i];

		require((*frame->raw == '\0') == (i + 1 == name->nr_frames));
		add(seen, strlen(frame->raw) + strlen(frame->display) + strlen(frame->file));
		add(seen, frame->line);
		add(seen, frame->start_line);
	}
	if (seen->again && seen->nr < MAX_NAMES)
		namefile_add(seen->again, &(struct namefile_name){elf_addr, *name}, 1);
	seen->nr++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct namefile again = {0};
	struct seen first = {.again = &again}, second = {0};

	namefile_check(data, size, KEY);
	namefile_begin(&again, KEY);
	namefile_each(data, size, see, &first);
	namefile_end(&again);
	require(again.nr > NAMEFILE_MAX_BYTES || !namefile_check(again.at, again.nr, KEY));
	require(!namefile_each(again.at, again.nr, see, &second));
	if (first.nr <= MAX_NAMES)
		require(first.nr == second.nr && first.sum == second.sum);
	vec_release(&again);
	return 0;
}
