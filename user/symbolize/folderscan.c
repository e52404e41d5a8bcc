// SPDX-License-Identifier: BSD-2-Clause
/* Lists the regular files below a folder, level by level: what lies near is found even if a bound is reached. */
#include "symbolize/folderscan.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"

struct folder {
	char *path;
	unsigned int depth;
};

struct scan {
	vec_of(struct folder) folders;
	size_t nr_entries;
	bool is_cut, is_too_deep, is_done;
	folderscan_fn fn;
	void *ctx;
};

static void see_entry(struct scan *scan, int folder_fd, const struct folder *folder,
		      const char *name)
{
	char *path scoped(freep) = xasprintf("%s/%s", folder->path, name);
	struct stat st;

	if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	if (S_ISREG(st.st_mode)) {
		scan->is_done = !scan->fn(scan->ctx, path);
	} else if (S_ISDIR(st.st_mode)) {
		if (folder->depth < FOLDERSCAN_MAX_DEPTH)
			vec_push(&scan->folders, (struct folder){xstrdup(path), folder->depth + 1});
		else
			scan->is_too_deep = true;
	}
}

static void see_folder(struct scan *scan, const struct folder *folder)
{
	/* the user may give a symbolic link; what is below may not be one */
	int fd = open(folder->path,
		      O_RDONLY | O_DIRECTORY | O_CLOEXEC | (folder->depth ? O_NOFOLLOW : 0));
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		closep(&fd);
		return;
	}
	while (!scan->is_done && !scan->is_cut && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (scan->nr_entries++ == FOLDERSCAN_MAX_ENTRIES)
			scan->is_cut = true;
		else
			see_entry(scan, fd, folder, entry->d_name);
	}
	closedir(dir);
}

bool folderscan(const char *folder, folderscan_fn fn, void *ctx)
{
	struct scan scan = {.fn = fn, .ctx = ctx};

	vec_push(&scan.folders, (struct folder){xstrdup(folder), 0});
	for (size_t i = 0; i < scan.folders.nr; i++) {
		struct folder next = scan.folders.at[i];

		if (!scan.is_done && !scan.is_cut)
			see_folder(&scan, &next);
		free(next.path);
	}
	vec_release(&scan.folders);
	return !scan.is_cut && !scan.is_too_deep;
}
