// SPDX-License-Identifier: BSD-2-Clause
/*
 * The cache of names on disk: a file for each key, whose name is a hash of the key.
 *
 * A file is replaced as a whole (output/file.h), so that two cprofs at once lose some of each other's names, and nothing else.
 * The folder is the user's, who may put anything there: only regular files of his with one name are read, and nothing waits.
 */
#include "symbolize/namecache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/vec.h"
#include "symbolize/cachefolder.h"

#define NAME_BYTES  32
#define MAX_ENTRIES 65536 /* of the folder that are looked at */

struct namecache {
	int folder;
	char *path;
	struct output_owner owner;
	char version[96];
	bool is_written, is_broken; /* is_broken: nothing more is written */
	struct namefile last;	    /* the file that was read or written last; empty: none */
	char last_key[NAMEFILE_KEY_BYTES];
};

int namecache_open(struct namecache **cache)
{
	struct output_owner owner = output_owner_from_env();
	struct stat self = {0};
	struct namecache *opened;
	char *path;
	int folder, err = cachefolder_open(&owner, &folder, &path);

	if (err)
		return err;
	stat("/proc/self/exe", &self); /* of builds with one version, each has its own */
	opened = xcalloc(1, sizeof(*opened));
	opened->folder = folder;
	opened->path = path;
	opened->owner = owner;
	snprintf(opened->version, sizeof(opened->version), CPROF_VERSION " %lld %lld.%09ld",
		 (long long)self.st_size, (long long)self.st_mtim.tv_sec, self.st_mtim.tv_nsec);
	*cache = opened;
	return 0;
}

const char *namecache_path(const struct namecache *cache)
{
	return cache->path;
}

const char *namecache_version(const struct namecache *cache)
{
	return cache->version;
}

/* Files ------------------------------------------------------------------------------------------- */

static void name_of(const char *key, char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "%016" PRIx64 ".names", hash_bytes(key, strlen(key), 0));
}

static bool is_ours(const struct namecache *cache, const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_nlink == 1 &&
	       (st->st_uid == geteuid() || (cache->owner.given && st->st_uid == cache->owner.uid));
}

static bool read_whole(int fd, struct namefile *file, size_t len_bytes)
{
	vec_reserve(file, len_bytes);
	for (file->nr = 0; file->nr < len_bytes;) {
		ssize_t nr = read(fd, file->at + file->nr, len_bytes - file->nr);

		if (nr <= 0)
			return false;
		file->nr += nr;
	}
	return true;
}

/* false: there is none that is right. */
static bool load(struct namecache *cache, const char *key)
{
	char name[NAME_BYTES];
	int fd scoped(closep) = -1;
	struct stat st;

	if (cache->last.nr && !strcmp(cache->last_key, key))
		return true;
	cache->last.nr = 0;
	name_of(key, name);
	fd = openat(cache->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !is_ours(cache, &st) || st.st_size > NAMEFILE_MAX_BYTES)
		return false;
	if (!read_whole(fd, &cache->last, st.st_size) ||
	    namefile_check(cache->last.at, cache->last.nr, key)) {
		cache->last.nr = 0;
		return false;
	}
	snprintf(cache->last_key, sizeof(cache->last_key), "%s", key);
	return true;
}

void namecache_read(struct namecache *cache, const char *key, namefile_fn fn, void *ctx)
{
	if (load(cache, key) && namefile_each(cache->last.at, cache->last.nr, fn, ctx))
		namefile_begin(&cache->last, key); /* it is made anew */
}

static int save(const struct namecache *cache, const char *key)
{
	struct output_file *file;
	char name[NAME_BYTES];
	int err;

	name_of(key, name);
	err = output_file_create_at(cache->folder, name, &cache->owner, &file);
	if (err)
		return err;
	output_file_do_not_wait(file);
	err = output_file_write(file, cache->last.at, cache->last.nr);
	if (!err)
		return output_file_commit(file);
	output_file_abandon(file);
	return err;
}

void namecache_write(struct namecache *cache, const char *key, const struct namefile_name *names,
		     size_t nr)
{
	if (cache->is_broken || !nr || strlen(key) >= NAMEFILE_KEY_BYTES)
		return;
	if (!load(cache, key)) {
		namefile_begin(&cache->last, key);
		snprintf(cache->last_key, sizeof(cache->last_key), "%s", key);
	}
	namefile_add(&cache->last, names, nr);
	namefile_end(&cache->last);
	if (cache->last.nr > NAMEFILE_MAX_BYTES) {
		cache->last.nr = 0;
		return;
	}
	cache->is_broken = save(cache, key);
	cache->is_written = true;
}

/* Bounds ------------------------------------------------------------------------------------------ */

struct old_file {
	char *name;
	uint64_t len_bytes;
	struct timespec written;
};

struct folder {
	vec_of(struct old_file) files;
	uint64_t len_bytes;
};

static int newest_first(const void *a, const void *b)
{
	const struct timespec *left = &((const struct old_file *)a)->written;
	const struct timespec *right = &((const struct old_file *)b)->written;

	if (left->tv_sec != right->tv_sec)
		return left->tv_sec < right->tv_sec ? 1 : -1;
	return (left->tv_nsec < right->tv_nsec) - (left->tv_nsec > right->tv_nsec);
}

/* All regular files: the cache's, and temporary ones that were left. */
static void list(const struct namecache *cache, struct folder *folder)
{
	int fd = openat(cache->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat st;

	if (!dir) {
		closep(&fd);
		return;
	}
	for (int i = 0; i < MAX_ENTRIES && (entry = readdir(dir)); i++) {
		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		vec_push(&folder->files, (struct old_file){xstrdup(entry->d_name),
							   (uint64_t)st.st_size, st.st_mtim});
		folder->len_bytes += st.st_size;
	}
	closedir(dir);
}

static void trim(const struct namecache *cache)
{
	struct folder folder = {.len_bytes = 0};

	list(cache, &folder);
	if (folder.files.nr)
		qsort(folder.files.at, folder.files.nr, sizeof(*folder.files.at), newest_first);
	while (folder.files.nr) {
		struct old_file *oldest = &folder.files.at[--folder.files.nr];

		if (folder.len_bytes > NAMECACHE_MAX_BYTES ||
		    folder.files.nr >= NAMECACHE_MAX_FILES)
			unlinkat(cache->folder, oldest->name, 0);
		folder.len_bytes -= oldest->len_bytes;
		free(oldest->name);
	}
	vec_release(&folder.files);
}

void namecache_close(struct namecache *cache)
{
	if (!cache)
		return;
	if (cache->is_written)
		trim(cache);
	vec_release(&cache->last);
	close(cache->folder);
	free(cache->path);
	free(cache);
}
