// SPDX-License-Identifier: BSD-2-Clause
/*
 * The input is an opener's reply: kind (1 byte), number of items (4 bytes), payload. Whatever is accepted is whole, and
 * nothing is handed over of what is not.
 */
#include <stdint.h>
#include <stdlib.h>
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

static void read_maps(const uint8_t *payload, size_t size, uint32_t nr)
{
	uint32_t nr_read = 0;
	bool is_last;
	int err = opening_read_maps(payload, size, nr, count, &nr_read, &is_last);

	require(nr_read == (err ? 0 : nr));
}

/* Before the payload the lengths that were asked for stand, a byte for 16 bytes of each. */
static void read_pieces(const uint8_t *data, size_t size, uint32_t nr)
{
	struct memory_piece pieces[OPENING_MAX_PIECES];
	size_t bytes = 0;
	char *memory;
	int err;

	if (nr > OPENING_MAX_PIECES || nr > size)
		return;
	for (uint32_t i = 0; i < nr; i++)
		bytes += 16u * data[i];
	memory = calloc(1, bytes + 1); /* its end is where the sanitizer looks */
	bytes = 0;
	for (uint32_t i = 0; i < nr; i++) {
		pieces[i] = (struct memory_piece){.to = memory + bytes, .len_bytes = 16u * data[i]};
		bytes += pieces[i].len_bytes;
	}
	err = opening_read_pieces(data + nr, size - nr, pieces, nr);
	require(!err == (size - nr == nr + bytes));
	for (uint32_t i = 0; i < nr; i++)
		require(pieces[i].was_read == (!err && data[nr + i] == 1));
	free(memory);
}

static void read_exe(const uint8_t *payload, size_t size, uint32_t nr)
{
	char path[OPENING_EXE_BYTES];
	size_t room = nr % sizeof(path) + 1;

	if (!opening_read_exe(payload, size, path, room))
		require(strlen(path) == size && size < room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t nr;

	if (size < 1 + sizeof(nr))
		return 0;
	memcpy(&nr, data + 1, sizeof(nr));
	switch (data[0] % 3) {
	case 0:
		read_maps(data + 5, size - 5, nr);
		break;
	case 1:
		read_pieces(data + 5, size - 5, nr);
		break;
	default:
		read_exe(data + 5, size - 5, nr);
		break;
	}
	return 0;
}
