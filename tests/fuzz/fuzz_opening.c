// SPDX-License-Identifier: BSD-2-Clause
/*
 * The input is an opener's reply with mappings: number of items (4 bytes), payload. Whatever is accepted is whole, and
 * nothing is handed over of what is not.
 */
#include <stdint.h>
#include <string.h>

#include "fuzz/require.h"
#include "process/opening.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void count(void *ctx, const struct map_event *map)
{
	uint32_t *nr = ctx;

	require(map->start < map->limit && strlen(map->path) < OPENING_PATH_BYTES);
	(*nr)++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t nr, nr_read = 0;
	bool is_last;
	int err;

	if (size < sizeof(nr))
		return 0;
	memcpy(&nr, data, sizeof(nr));
	err = opening_read_maps(data + sizeof(nr), size - sizeof(nr), nr, count, &nr_read,
				&is_last);
	require(nr_read == (err ? 0 : nr));
	return 0;
}
