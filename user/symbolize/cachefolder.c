// SPDX-License-Identifier: BSD-2-Clause
/*
 * The folder of the cache of names.
 *
 * With an fsuid that is not root's the kernel takes the capabilities for files from a thread, so that whatever lies at the
 * path, root does no more there than the user could. A home below a symbolic link (/home -> /data/home) is usual: its path is
 * resolved first, and openat2() then finds no link in what that gave.
 */
#include "symbolize/cachefolder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"

#define FOLDER "cprof"

static uid_t user_of(const struct output_owner *owner)
{
	return owner->given ? owner->uid : geteuid();
}

/* "/home/user/.cache", owned by the caller; NULL: there is none. */
static char *base_path(const struct output_owner *owner)
{
	const char *given = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	const struct passwd *user;

	if (given && *given == '/')
		return xstrdup(given);
	if (owner->given || !home || *home != '/') {
		user = getpwuid(user_of(owner));
		home = user ? user->pw_dir : NULL;
	}
	return home && *home == '/' ? xasprintf("%s/.cache", home) : NULL;
}

/* Files are opened as this user. false: the process may not change to it. */
static bool become(uid_t uid, gid_t gid)
{
	setfsgid(gid);
	setfsuid(uid);
	return setfsuid((uid_t)-1) == (int)uid && setfsgid((gid_t)-1) == (int)gid;
}

static int open_plain(const char *path)
{
	struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
			       .resolve = RESOLVE_NO_SYMLINKS};
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* The folder below base, which is made with it. */
static int make_and_open(const char *base, int *fd, char **path)
{
	char *real scoped(freep) = NULL, *below scoped(freep) = NULL;

	if (mkdir(base, 0700) && errno != EEXIST)
		return -errno;
	real = realpath(base, NULL);
	if (!real)
		return -errno;
	below = xasprintf("%s/" FOLDER, real);
	if (mkdir(below, 0700) && errno != EEXIST)
		return -errno;
	*fd = open_plain(below);
	if (*fd < 0)
		return *fd;
	*path = below;
	below = NULL;
	return 0;
}

static int check(int fd, uid_t uid)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	return st.st_uid == uid && !(st.st_mode & (S_IWGRP | S_IWOTH)) ? 0 : -EPERM;
}

int cachefolder_open(const struct output_owner *owner, int *fd, char **path)
{
	char *base scoped(freep) = base_path(owner), *found scoped(freep) = NULL;
	int opened scoped(closep) = -1;
	int err = -EPERM;

	if (!base)
		return -ENOENT;
	if (!owner->given || become(owner->uid, owner->gid))
		err = make_and_open(base, &opened, &found);
	if (owner->given && !become(geteuid(), getegid()))
		return -EPERM;
	if (!err)
		err = check(opened, user_of(owner));
	if (err)
		return err;
	*fd = opened;
	*path = found;
	opened = -1;
	found = NULL;
	return 0;
}
