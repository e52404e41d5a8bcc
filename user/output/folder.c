// SPDX-License-Identifier: BSD-2-Clause
/*
 * The kernel has the same rules for symbolic links and regular files (fs.protected_symlinks, fs.protected_regular), but
 * they may be switched off, and there are none for folders.
 */
#include "output/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"

static bool is_shared(const struct stat *folder)
{
	return (folder->st_mode & S_ISVTX) && (folder->st_mode & (S_IWGRP | S_IWOTH));
}

/* parent: the folder that the file or folder is in. */
static bool is_trusted(const struct stat *st, const struct stat *parent,
		       const struct output_owner *owner)
{
	return st->st_uid == geteuid() || !st->st_uid || st->st_uid == parent->st_uid ||
	       (owner->given && st->st_uid == owner->uid);
}

/* path without the slashes at its end, which would make the kernel follow a symbolic link. Owned by the caller. */
static char *without_slashes(const char *path)
{
	char *plain = xstrdup(path);
	size_t len = strlen(plain);

	while (len > 1 && plain[len - 1] == '/')
		plain[--len] = '\0';
	return plain;
}

/* Looks at the folder that path is in. */
static int stat_parent(const char *path, struct stat *parent)
{
	const char *slash = strrchr(path, '/');
	char *folder scoped(freep) = slash ? xasprintf("%.*s", (int)(slash - path + 1), path)
					   : xstrdup(".");

	return stat(folder, parent) ? -errno : 0;
}

int output_check_shared_file(int fd, const char *path, const struct output_owner *owner)
{
	struct stat st, parent;
	int err = stat_parent(path, &parent);

	if (err)
		return err;
	if (!is_shared(&parent))
		return 0;
	if (fstat(fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) && st.st_nlink == 1 && is_trusted(&st, &parent, owner) ? 0
											  : -EEXIST;
}

/* Opens the folder as it is, without following a link in its last part. */
static int open_nofollow(const char *path, const char *shown, struct stat *st)
{
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), err = fd < 0 ? -errno : 0;

	if (err)
		return fail(err, "cannot open folder '%s'", shown);
	if (fstat(fd, st))
		err = fail(-errno, "cannot look at folder '%s'", shown);
	else if (S_ISLNK(st->st_mode))
		err = fail(-ELOOP, "output folder '%s' is a symbolic link: give the folder itself.",
			   shown);
	else if (!S_ISDIR(st->st_mode))
		err = fail(-ENOTDIR, "output '%s' is there already, and is not a folder.", shown);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Is it the folder that was just created? Then it goes to its owner. */
static int finish_new(int fd, const char *shown, const struct stat *st,
		      const struct output_owner *owner)
{
	if (st->st_uid != geteuid())
		return fail(-ESTALE,
			    "folder '%s' was replaced while it was created: choose another "
			    "place.",
			    shown);
	if (owner->given && fchownat(fd, "", owner->uid, owner->gid, AT_EMPTY_PATH))
		return fail(-errno, "cannot change the owner of folder '%s' to user %u", shown,
			    owner->uid);
	return 0;
}

static int check_existing(int fd, const char *path, const char *shown, const struct stat *st,
			  const struct output_owner *owner)
{
	struct stat parent;
	int err = stat_parent(path, &parent);

	if (err)
		return fail(err, "cannot look at the folder that '%s' is in", shown);
	if (is_shared(&parent) && !is_trusted(st, &parent, owner))
		return fail(-EPERM,
			    "output folder '%s' belongs to user %u, in a folder that all may write "
			    "to: choose another name.",
			    shown, st->st_uid);
	if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS))
		return fail(-errno, "cannot write to folder '%s'", shown);
	return 0;
}

int output_folder_open(const char *path, enum output_folder_kind kind,
		       const struct output_owner *owner, int *fd)
{
	char *plain scoped(freep) = without_slashes(path), shown[512];
	bool is_new = !mkdir(plain, 0700);
	int folder scoped(closep) = -1, err;
	struct stat st;

	text_escape(path, shown, sizeof(shown));
	if (!is_new && errno != EEXIST)
		return fail(-errno, "cannot create folder '%s'", shown);
	if (!is_new && kind == OUTPUT_FOLDER_NEW)
		return fail(-EEXIST, "output folder '%s' exists: give another with -o.", shown);
	folder = open_nofollow(plain, shown, &st);
	if (folder < 0)
		return folder;
	err = is_new ? finish_new(folder, shown, &st, owner)
		     : check_existing(folder, plain, shown, &st, owner);
	if (err)
		return err;
	*fd = folder;
	folder = -1;
	return 0;
}
