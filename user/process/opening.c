// SPDX-License-Identifier: BSD-2-Clause
/* The payload is checked as a whole before any of it is used; it may be unaligned, so heads are copied out. */
#include "process/opening.h"

#include <errno.h>
#include <string.h>

static bool maps_fit(const struct message *reply)
{
	size_t heads = sizeof(struct opening_maps) + reply->nr * sizeof(struct opening_map);

	return reply->nr <= OPENING_MAX_MAPS && reply->len_bytes >= heads + reply->nr &&
	       reply->len_bytes <= OPENING_MAPS_BYTES;
}

bool opening_fits(const struct message *request, const struct message *reply)
{
	if (reply->kind != request->kind || reply->key != request->key ||
	    reply->serial != request->serial || reply->status > 0 || reply->status < -4095)
		return false;
	if (reply->kind == OPENING_FILE)
		return reply->nr < OPENING_NR_WAYS && !reply->len_bytes;
	if (reply->status)
		return !reply->nr && !reply->len_bytes;
	switch (reply->kind) {
	case OPENING_MAPS:
		return maps_fit(reply);
	case OPENING_BENEATH:
		return reply->nr < OPENING_NR_WAYS && !reply->len_bytes;
	case OPENING_MEMORY:
	case OPENING_PERF_MAP:
		return !reply->nr && !reply->len_bytes;
	case OPENING_READ:
		return reply->nr == request->nr && reply->len_bytes >= reply->nr &&
		       reply->len_bytes <= OPENING_MAX_PIECES + OPENING_PIECE_BYTES;
	case OPENING_EXE:
		return !reply->nr && reply->len_bytes && reply->len_bytes <= OPENING_EXE_BYTES;
	default:
		return false;
	}
}

static bool is_map(const struct opening_map *map, const char *path, size_t left_bytes)
{
	return map->start < map->limit && !map->zero && map->path_bytes &&
	       map->path_bytes <= left_bytes && map->path_bytes <= OPENING_PATH_BYTES &&
	       strnlen(path, map->path_bytes) == map->path_bytes - 1;
}

/* The i-th head, and where its path begins. */
static struct map_event map_at(const char *heads, uint32_t i, const char *path,
			       struct opening_map *map)
{
	memcpy(map, heads + i * sizeof(*map), sizeof(*map));
	return (struct map_event){.start = map->start,
				  .limit = map->limit,
				  .file_off = map->file_off,
				  .dev_major = map->dev_major,
				  .dev_minor = map->dev_minor,
				  .inode = map->inode,
				  .path = path};
}

int opening_read_maps(const void *payload, size_t len_bytes, uint32_t nr, opening_map_fn fn,
		      void *ctx, bool *is_last)
{
	const size_t heads_bytes = sizeof(struct opening_maps) + nr * sizeof(struct opening_map);
	const char *heads = (const char *)payload + sizeof(struct opening_maps), *paths, *path;
	struct opening_maps about;
	struct opening_map map;

	if (nr > OPENING_MAX_MAPS || len_bytes < heads_bytes)
		return -EBADMSG;
	memcpy(&about, payload, sizeof(about));
	path = paths = (const char *)payload + heads_bytes;
	for (uint32_t i = 0; i < nr; i++, path += map.path_bytes) {
		map_at(heads, i, path, &map);
		if (!is_map(&map, path, len_bytes - (path - (const char *)payload)))
			return -EBADMSG;
	}
	if (about.is_last > 1 || path != (const char *)payload + len_bytes)
		return -EBADMSG;
	path = paths;
	for (uint32_t i = 0; i < nr; i++, path += map.path_bytes) {
		const struct map_event event = map_at(heads, i, path, &map);

		fn(ctx, &event);
	}
	*is_last = about.is_last;
	return 0;
}

int opening_read_pieces(const void *payload, size_t len_bytes, struct memory_piece *pieces,
			size_t nr)
{
	const char *flags = payload, *at;
	size_t expected_bytes = nr;

	for (size_t i = 0; i < nr; i++)
		expected_bytes += pieces[i].len_bytes;
	if (len_bytes != expected_bytes)
		return -EBADMSG;
	at = flags + nr;
	for (size_t i = 0; i < nr; at += pieces[i++].len_bytes) {
		pieces[i].was_read = flags[i] == 1;
		if (pieces[i].was_read)
			memcpy(pieces[i].to, at, pieces[i].len_bytes);
	}
	return 0;
}

int opening_read_exe(const void *payload, size_t len_bytes, char *path, size_t path_bytes)
{
	if (!len_bytes || memchr(payload, '\0', len_bytes))
		return -EBADMSG;
	if (len_bytes >= path_bytes)
		return -ENAMETOOLONG;
	memcpy(path, payload, len_bytes);
	path[len_bytes] = '\0';
	return 0;
}
