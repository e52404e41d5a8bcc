// SPDX-License-Identifier: BSD-2-Clause
/*
 * BPF maps on the host: arrays (one CPU, so per-CPU ones too), hashes, arrays of maps, and the ring.
 *
 *	BPF code:	&counts_even -> struct { int (*type)[]; ... } whose `type` points at a host_map
 *	user space:	a descriptor  -> the memfd of a host_map, which mmap() of an array really maps
 *
 * Arrays have an inaccessible page on either side. What fails returns its error zero-extended, as
 * helpers did before Linux 6.4: code that tests `long < 0` fails here.
 */
#include "shim/host.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/vec.h"
#include "cprof.skel.h"

#define PAGE_BYTES	  4096u
#define RING_HEADER_BYTES 8

/* An entry of a hash: its key, then its value, each from a multiple of 8 on. */
struct node {
	struct node *next;
	u64 bytes[];
};

struct message {
	u32 len_bytes;
	void *bytes;
};

struct host_map {
	char name[32];
	u32 type, key_bytes, value_bytes, max_entries;
	int fd;
	u8 *values; /* arrays */
	u64 len_bytes;
	u32 nr; /* hashes */
	u32 nr_buckets;
	struct node **buckets;
	struct node *unused; /* deleted: BPF code may still look at them */
	vec_of(struct message) messages;
	size_t nr_taken;
	u64 ring_bytes; /* in the ring now */
};

/* The maps of the BPF object by the names of their variables, whatever those look like. */
extern struct host_map *scratch_slots[], *vmas[], *tables[], *slabs[], *processes[], *stats[],
	*targets[], *counts_even[], *counts_odd[], *events[], *sampling_tables[], *inflight[],
	*live[], *live_more[], *holders[], *peaks[], *seen_processes[], *shadows[],
	*runtime_walks[];

static const struct {
	const char *name;
	struct host_map **definition;
} definitions[] = {
	{"scratch_slots", scratch_slots},
	{"vmas", vmas},
	{"tables", tables},
	{"slabs", slabs},
	{"processes", processes},
	{"stats", stats},
	{"targets", targets},
	{"counts_even", counts_even},
	{"counts_odd", counts_odd},
	{"events", events},
	{"sampling_tables", sampling_tables},
	{"inflight", inflight},
	{"live", live},
	{"live_more", live_more},
	{"holders", holders},
	{"peaks", peaks},
	{"seen_processes", seen_processes},
	{"shadows", shadows},
	{"runtime_walks", runtime_walks},
};

#define NR_DEFINITIONS (sizeof(definitions) / sizeof(definitions[0]))

static vec_of(struct host_map *) maps;
static struct message taken_last;

static bool is_hash(const struct host_map *map)
{
	return map->type == BPF_MAP_TYPE_HASH;
}

static bool is_ring(const struct host_map *map)
{
	return map->type == BPF_MAP_TYPE_RINGBUF;
}

/* As helpers return it before Linux 6.4. */
static long zero_extended(int err)
{
	return (long)(u32)err;
}

static void map_values(struct host_map *map)
{
	u64 stride = map->type == BPF_MAP_TYPE_ARRAY_OF_MAPS ? sizeof(void *) : map->value_bytes;
	u64 len = (stride * map->max_entries + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	u8 *space = mmap(NULL, len + 2 * PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (space == MAP_FAILED || ftruncate(map->fd, len))
		err(1, "make map %s", map->name);
	map->len_bytes = len;
	map->values = mmap(space + PAGE_BYTES, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			   map->fd, 0);
	if (map->values == MAP_FAILED)
		err(1, "map map %s", map->name);
}

int host_map_new(u32 type, const char *name, u32 key_bytes, u32 value_bytes, u32 max_entries)
{
	struct host_map *map = xcalloc(1, sizeof(*map));

	strncpy(map->name, name, sizeof(map->name) - 1);
	map->type = type;
	map->key_bytes = key_bytes;
	map->value_bytes = value_bytes;
	map->max_entries = max_entries;
	map->fd = memfd_create(name, MFD_CLOEXEC);
	if (map->fd < 0)
		err(1, "make map %s", name);
	if (is_hash(map)) {
		map->nr_buckets = max_entries < 65536 ? max_entries + 1 : 65536;
		map->buckets = xcalloc(map->nr_buckets, sizeof(struct node *));
	} else if (!is_ring(map)) {
		map_values(map);
	}
	vec_push(&maps, map);
	return map->fd;
}

static void free_nodes(struct node *node)
{
	while (node) {
		struct node *next = node->next;

		free(node);
		node = next;
	}
}

/* Makes an empty one of it, whose room is not used up. */
static void release(struct host_map *map)
{
	if (map->values)
		munmap(map->values - PAGE_BYTES, map->len_bytes + 2 * PAGE_BYTES);
	for (u32 i = 0; i < map->nr_buckets; i++)
		free_nodes(map->buckets[i]);
	free_nodes(map->unused);
	free(map->buckets);
	for (size_t i = map->nr_taken; i < map->messages.nr; i++)
		free(map->messages.at[i].bytes);
	vec_release(&map->messages);
	if (map->fd >= 0)
		close(map->fd);
	free(map);
}

static struct host_map **definition_of(const char *name)
{
	for (size_t i = 0; i < NR_DEFINITIONS; i++)
		if (!strcmp(definitions[i].name, name))
			return definitions[i].definition;
	errx(1, "map %s is not among the definitions of shim/map.c", name);
}

void host_maps_open(void)
{
	struct cprof_bpf *bpf = cprof_bpf__open();
	struct bpf_map *map;

	if (!bpf)
		err(1, "open the BPF object");
	bpf_object__for_each_map(map, bpf->obj)
	{
		if (bpf_map__is_internal(map))
			continue; /* .rodata, .bss */
		if (bpf_map__type(map) == BPF_MAP_TYPE_PROG_ARRAY)
			continue; /* empty: the tail calls of KEEP_KERNEL_STACK are never made */
		host_map_new(bpf_map__type(map), bpf_map__name(map), bpf_map__key_size(map),
			     bpf_map__value_size(map), bpf_map__max_entries(map));
		*definition_of(bpf_map__name(map)) = maps.at[maps.nr - 1];
	}
	cprof_bpf__destroy(bpf);
}

void host_maps_close(void)
{
	vec_for_each(&maps, map)
		release(*map);
	vec_release(&maps);
	free(taken_last.bytes);
	taken_last.bytes = NULL;
}

struct host_map *host_map(const char *name)
{
	return *definition_of(name);
}

struct host_map *host_map_by_fd(int fd)
{
	vec_for_each(&maps, map)
		if ((*map)->fd == fd)
			return *map;
	errx(1, "descriptor %d is no map", fd);
}

/* A new one in place of it. */
static void replace_map(const char *name, u32 value_bytes, u32 max_entries)
{
	struct host_map **definition = definition_of(name), *old = *definition;

	for (size_t i = 0; i < maps.nr; i++) {
		if (maps.at[i] != old)
			continue;
		maps.at[i] = maps.at[--maps.nr];
		host_map_new(old->type, name, old->key_bytes, value_bytes, max_entries);
		*definition = maps.at[maps.nr - 1];
		release(old);
		return;
	}
}

void host_map_resize(const char *name, u32 max_entries)
{
	replace_map(name, host_map(name)->value_bytes, max_entries);
}

void host_map_widen(const char *name, u32 value_bytes)
{
	replace_map(name, value_bytes, host_map(name)->max_entries);
}

u32 host_map_nr(const char *name)
{
	return host_map(name)->nr;
}

int host_map_fd(const char *name)
{
	return host_map(name)->fd;
}

void *host_map_value(const char *name)
{
	return host_map(name)->values;
}

u32 host_map_type(const struct host_map *map)
{
	return map->type;
}

u32 host_map_key_bytes(const struct host_map *map)
{
	return map->key_bytes;
}

u32 host_map_value_bytes(const struct host_map *map)
{
	return map->value_bytes;
}

/* Hashes ----------------------------------------------------------------------------------------- */

static void *value_of(const struct host_map *map, struct node *node)
{
	return node->bytes + (map->key_bytes + 7) / 8;
}

static struct node **bucket_of(struct host_map *map, const void *key)
{
	return &map->buckets[hash_bytes(key, map->key_bytes, 0) % map->nr_buckets];
}

/* The pointer to key's node, or to the NULL where it would be. */
static struct node **find(struct host_map *map, const void *key)
{
	struct node **at = bucket_of(map, key);

	while (*at && memcmp((*at)->bytes, key, map->key_bytes))
		at = &(*at)->next;
	return at;
}

static struct node *take_node(struct host_map *map)
{
	struct node *node = map->unused;

	if (node)
		map->unused = node->next;
	else
		node = xcalloc(1, sizeof(*node) + (map->key_bytes + 7) / 8 * 8 + map->value_bytes);
	return node;
}

static int hash_update(struct host_map *map, const void *key, const void *value, u64 flags)
{
	struct node **at = find(map, key), *node = *at;

	if (node && flags == BPF_NOEXIST)
		return -17; /* EEXIST */
	if (!node) {
		if (flags == BPF_EXIST)
			return -2; /* ENOENT */
		if (map->nr >= map->max_entries)
			return -7; /* E2BIG */
		node = take_node(map);
		node->next = NULL;
		memcpy(node->bytes, key, map->key_bytes);
		*at = node;
		map->nr++;
	}
	memcpy(value_of(map, node), value, map->value_bytes);
	return 0;
}

static int hash_delete(struct host_map *map, const void *key)
{
	struct node **at = find(map, key), *node = *at;

	if (!node)
		return -2; /* ENOENT */
	*at = node->next;
	node->next = map->unused;
	map->unused = node;
	map->nr--;
	return 0;
}

/* The first entry of the buckets from i on. */
static struct node *first_from(struct host_map *map, u32 i)
{
	for (; i < map->nr_buckets; i++)
		if (map->buckets[i])
			return map->buckets[i];
	return NULL;
}

long host_map_next_key(struct host_map *map, const void *key, void *next)
{
	struct node *node = key ? *find(map, key) : NULL;

	if (node && node->next)
		node = node->next;
	else
		node = first_from(map, node ? (u32)(bucket_of(map, key) - map->buckets) + 1 : 0);
	if (!node)
		return -2; /* ENOENT */
	memcpy(next, node->bytes, map->key_bytes);
	return 0;
}

static u32 bucket_len(const struct host_map *map, u32 i)
{
	u32 nr = 0;

	for (const struct node *node = map->buckets[i]; node; node = node->next)
		nr++;
	return nr;
}

int host_map_read_batch(struct host_map *map, u32 *bucket, u8 *keys, u8 *values, u32 *nr)
{
	u32 most = *nr;

	for (*nr = 0; *bucket < map->nr_buckets; ++*bucket) {
		if (*nr + bucket_len(map, *bucket) > most)
			return *nr ? 0 : -28; /* ENOSPC */
		for (struct node *node = map->buckets[*bucket]; node; node = node->next, ++*nr) {
			memcpy(keys + *nr * map->key_bytes, node->bytes, map->key_bytes);
			memcpy(values + *nr * map->value_bytes, value_of(map, node),
			       map->value_bytes);
		}
	}
	return -2; /* ENOENT */
}

/* What BPF code calls ---------------------------------------------------------------------------- */

static struct host_map *behind(const void *definition)
{
	return *(struct host_map *const *)definition;
}

void *host_map_lookup(const void *definition, const void *key)
{
	struct host_map *map = behind(definition), **inner;
	u32 i;

	host.nr_lookups++;
	if (is_hash(map)) {
		struct node *node = *find(map, key);

		return node ? value_of(map, node) : NULL;
	}
	i = *(const u32 *)key;
	if (i >= map->max_entries)
		return NULL;
	if (map->type != BPF_MAP_TYPE_ARRAY_OF_MAPS)
		return map->values + (u64)i * map->value_bytes;
	inner = (struct host_map **)map->values + i; /* looks like a definition */
	return *inner ? inner : NULL;
}

long host_map_update(const void *definition, const void *key, const void *value, u64 flags)
{
	struct host_map *map = behind(definition);
	void *to;

	if (is_hash(map))
		return zero_extended(hash_update(map, key, value, flags));
	if (map->type == BPF_MAP_TYPE_ARRAY_OF_MAPS) {
		struct host_map *inner = host_map_by_fd(*(const int *)value);

		to = (struct host_map **)map->values + *(const u32 *)key;
		memcpy(to, &inner, sizeof(inner));
		/* As in the kernel, the map lives on when its descriptor is closed. */
		inner->fd = dup(inner->fd);
		return 0;
	}
	to = host_map_lookup(definition, key);
	if (!to)
		return zero_extended(-7);
	memcpy(to, value, map->value_bytes);
	return 0;
}

long host_map_delete(const void *definition, const void *key)
{
	return zero_extended(hash_delete(behind(definition), key));
}

long host_map_read(struct host_map *map, const void *key, void *value)
{
	const void *from = host_map_lookup(&map, key);

	if (!from)
		return -2; /* ENOENT */
	memcpy(value, from, map->value_bytes);
	return 0;
}

/* The ring: a message has a header and begins at a multiple of 8; one byte of it stays free. */
long host_ring_output(const void *definition, const void *data, u64 len_bytes, u64 flags)
{
	struct host_map *ring = behind(definition);
	u64 need = (len_bytes + RING_HEADER_BYTES + 7) / 8 * 8;
	struct message message = {.len_bytes = len_bytes};

	(void)flags;
	if (ring->ring_bytes + need >= ring->max_entries)
		return zero_extended(-11); /* EAGAIN */
	message.bytes = xmalloc(len_bytes);
	memcpy(message.bytes, data, len_bytes);
	vec_push(&ring->messages, message);
	ring->ring_bytes += need;
	return 0;
}

u64 host_ring_query(const void *definition, u64 what)
{
	return what == BPF_RB_AVAIL_DATA ? behind(definition)->ring_bytes : 0;
}

const void *host_ring_take(u32 *len_bytes)
{
	struct host_map *ring = host_map("events");

	free(taken_last.bytes);
	taken_last.bytes = NULL;
	if (ring->nr_taken == ring->messages.nr) {
		ring->nr_taken = ring->messages.nr = 0;
		ring->ring_bytes = 0;
		return NULL;
	}
	taken_last = ring->messages.at[ring->nr_taken++];
	*len_bytes = taken_last.len_bytes;
	ring->ring_bytes -= (taken_last.len_bytes + RING_HEADER_BYTES + 7ull) / 8 * 8;
	return taken_last.bytes;
}
