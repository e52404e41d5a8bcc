// SPDX-License-Identifier: BSD-2-Clause
/*
 * A block takes about 130 bytes of the kernel's memory (80 to 100 for the entry, which is allocated when it is needed, and
 * 16 to 32 of the map's buckets, which are there from the start). What was asked for may take half of the memory that is
 * available, the default a sixteenth.
 */
#include "record/liveblocks.h"

#include <stdio.h>

#include "base/log.h"
#include "base/text.h"

#define BLOCK_BYTES  130
#define EACH_BLOCK   (4 * 1024 * 1024) /* by default, if every allocation is sampled */
#define USUAL_BLOCKS (1024 * 1024)     /* the default of the session */

/* MemAvailable in bytes; 0: it is not known. */
static uint64_t available_bytes(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	unsigned long kib = 0;
	char line[256];

	while (file && !kib && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %lu kB", &kib) != 1)
			kib = 0;
	if (file)
		fclose(file);
	return (uint64_t)kib * 1024;
}

uint32_t liveblocks_choose(const struct options *options)
{
	uint64_t available = available_bytes(), wanted = options->max_blocks, allowed;

	if (!wanted && options->rate_bytes > 1)
		return 0;
	allowed = available / (wanted ? 2 : 16) / BLOCK_BYTES;
	if (!wanted && allowed <= USUAL_BLOCKS)
		return 0;
	wanted = wanted ? wanted : EACH_BLOCK;
	if (!available || wanted <= allowed)
		return wanted;
	if (options->max_blocks)
		warn("--max-blocks %s would take up to %s MB of memory: %s are followed, "
		     "which take half of what is available.",
		     text_count(wanted), text_count((wanted * BLOCK_BYTES) >> 20),
		     text_count(allowed));
	return allowed;
}

void liveblocks_look(struct liveblocks *blocks, const struct tally *tally)
{
	uint64_t nr_gone =
		tally->nr_freed + tally->nr_frees_lost + tally->nr_purged + tally->nr_left;
	uint64_t nr_live = tally->nr_stored > nr_gone ? tally->nr_stored - nr_gone : 0;

	if (blocks->has_warned || nr_live * 10 < (uint64_t)blocks->most * 8)
		return;
	blocks->has_warned = true;
	warn("%s sampled blocks are in use, and %s can be followed: later blocks will be missing "
	     "from what is in use, which the profile then shows with \"at least\". Use a higher "
	     "--rate or --max-blocks.",
	     text_count(nr_live), text_count(blocks->most));
}
