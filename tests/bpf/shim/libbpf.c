// SPDX-License-Identifier: BSD-2-Clause
/*
 * libbpf's system calls for maps, on the host's maps: so the parts of collect/ that fill and read maps
 * run unchanged. The rest of libbpf is the real one.
 */
#include "shim/host.h"

#undef bpf_map_lookup_elem
#undef bpf_map_update_elem
#undef bpf_map_delete_elem

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* Of a helper, which zero-extends, to what a system call's wrapper returns. */
static int as_error(long err)
{
	if (!err)
		return 0;
	errno = -(int)err;
	return (int)err;
}

int bpf_map_create(enum bpf_map_type type, const char *name, __u32 key_bytes, __u32 value_bytes,
		   __u32 max_entries, const struct bpf_map_create_opts *opts)
{
	(void)opts;
	return host_map_new(type, name, key_bytes, value_bytes, max_entries);
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	struct host_map *map = host_map_by_fd(fd);

	return as_error(host_map_update(&map, key, value, flags));
}

int bpf_map_delete_elem(int fd, const void *key)
{
	struct host_map *map = host_map_by_fd(fd);

	return as_error(host_map_delete(&map, key));
}

/* A per-CPU value is one of each CPU; all but the first are 0. */
int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	struct host_map *map = host_map_by_fd(fd);

	if (host_map_type(map) == BPF_MAP_TYPE_PERCPU_ARRAY)
		memset(value, 0, (size_t)libbpf_num_possible_cpus() * host_map_value_bytes(map));
	return as_error(host_map_read(map, key, value));
}

/* As in the kernel a position is a bucket, and a batch has whole ones. */
int bpf_map_lookup_batch(int fd, void *in, void *out, void *keys, void *values, __u32 *nr,
			 const struct bpf_map_batch_opts *opts)
{
	__u32 bucket = in ? *(__u32 *)in : 0;
	int err;

	(void)opts;
	err = host_map_read_batch(host_map_by_fd(fd), &bucket, keys, values, nr);
	*(__u32 *)out = bucket;
	return as_error(err);
}

int bpf_map_delete_batch(int fd, const void *keys, __u32 *nr, const struct bpf_map_batch_opts *opts)
{
	struct host_map *map = host_map_by_fd(fd);
	__u32 most = *nr;
	int err = 0;

	(void)opts;
	for (*nr = 0; *nr < most && !err; *nr += !err)
		err = (int)host_map_delete(&map, (const char *)keys +
							 (size_t)*nr * host_map_key_bytes(map));
	return as_error(err);
}

int bpf_map_get_next_key(int fd, const void *key, void *next)
{
	return as_error(host_map_next_key(host_map_by_fd(fd), key, next));
}
