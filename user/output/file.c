// SPDX-License-Identifier: BSD-2-Clause
/*
 * The file is made under a name of its own, in the folder where it shall be, and takes the final
 * name in one step when it is whole:
 *
 *	openat(folder, ".cprof-9f3a...", O_CREAT | O_EXCL | O_NOFOLLOW, 0600)
 *	write ... fchown fsync
 *	renameat(folder, ".cprof-9f3a...", folder, "cpu.pb.gz")
 *
 * The folder is held open from the check to the rename, so that all of it happens in one place
 * whatever becomes of the path. rename() replaces a name, it does not follow it: a symlink that is
 * slipped in after the check is lost, not written through.
 *
 * Alternative rejected: O_TMPFILE, which would leave nothing behind even after SIGKILL. linkat()
 * cannot replace a file, so that it needs the second name all the same.
 */
#include "output/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"

struct output_file {
	int folder, fd;
	char *name;	    /* the final one, in folder */
	char temporary[32]; /* the present one; "" once there is nothing to remove */
	struct output_owner owner;
	bool does_not_wait;
};

/* For output_file_remove_temporary(), which a signal handler calls. */
static struct output_file *volatile in_progress;

static bool parse_id(const char *s, uint32_t *id)
{
	unsigned long long value;
	char *end;

	if (!s || *s < '0' || *s > '9')
		return false;
	errno = 0;
	value = strtoull(s, &end, 10);
	if (errno || *end || value >= UINT32_MAX) /* (uid_t)-1 means "leave it" to chown() */
		return false;
	*id = value;
	return true;
}

struct output_owner output_owner_from_env(void)
{
	struct output_owner owner = {0};
	uint32_t uid, gid;

	if (geteuid() == 0 && parse_id(getenv("SUDO_UID"), &uid) &&
	    parse_id(getenv("SUDO_GID"), &gid))
		owner = (struct output_owner){.given = true, .uid = uid, .gid = gid};
	return owner;
}

/* Opens the folder of path as *folder; *name is the rest of path. */
static int open_folder(const char *path, int *folder, const char **name)
{
	const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
	char *folder_path scoped(freep) = NULL;
	int fd;

	if (!*path)
		return -ENOENT;
	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (!*last || !strcmp(last, ".") || !strcmp(last, ".."))
		return -EEXIST; /* a folder */
	if (strlen(last) > NAME_MAX)
		return -ENAMETOOLONG;
	folder_path = slash ? xasprintf("%.*s", (int)(last - path), path) : xstrdup(".");
	fd = open(folder_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*folder = fd;
	*name = last;
	return 0;
}

/* May name in folder be taken by a file of ours? */
static int check_name(int folder, const char *name, const struct output_owner *owner)
{
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	if (!S_ISREG(st.st_mode))
		return -EEXIST;
	if (st.st_uid != geteuid() && !(owner->given && st.st_uid == owner->uid))
		return -EEXIST;
	return 0;
}

static int check_place(int folder, const char *name, const struct output_owner *owner)
{
	if (faccessat(folder, ".", W_OK | X_OK, AT_EACCESS))
		return -errno;
	return check_name(folder, name, owner);
}

/*
 * A file system without owners, or one that maps root to nobody, refuses the gift; the profile is worth more than its
 * owner.
 */
static void give_to_owner(int fd, const struct output_owner *owner)
{
	if (owner->given && fchown(fd, owner->uid, owner->gid))
		warn("cannot change the owner of the output from uid %u to uid %u: %s", geteuid(),
		     owner->uid, strerror(errno));
}

/* Opens a new file under a name that nobody can foresee. */
static int open_temporary(int folder, char *name, size_t name_bytes)
{
	uint64_t dice;
	int fd;

	for (int tries = 0; tries < 100; tries++) {
		if (getrandom(&dice, sizeof(dice), 0) != sizeof(dice))
			return -EIO;
		snprintf(name, name_bytes, ".cprof-%016" PRIx64, dice);
		fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0600);
		if (fd >= 0 || errno != EEXIST)
			return fd >= 0 ? fd : -errno;
	}
	return -EEXIST;
}

int output_file_create_at(int folder, const char *name, const struct output_owner *owner,
			  struct output_file **file)
{
	struct output_file *made;
	int own_folder, err = check_place(folder, name, owner);

	if (err)
		return err;
	own_folder = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	if (own_folder < 0)
		return -errno;
	made = xcalloc(1, sizeof(*made)); /* all memory before there is a file to remove */
	made->folder = own_folder;
	made->name = xstrdup(name);
	made->owner = *owner;
	made->fd = open_temporary(own_folder, made->temporary, sizeof(made->temporary));
	if (made->fd < 0) {
		err = made->fd;
		made->temporary[0] = '\0';
		output_file_abandon(made);
		return err;
	}
	in_progress = made;
	alloc_clean_up_with(output_file_remove_temporary);
	*file = made;
	return 0;
}

int output_file_create(const char *path, const struct output_owner *owner,
		       struct output_file **file)
{
	int folder scoped(closep) = -1;
	const char *name = NULL;
	int err = open_folder(path, &folder, &name);

	return err ? err : output_file_create_at(folder, name, owner, file);
}

int output_file_open_new(const char *path, const struct output_owner *owner)
{
	int folder scoped(closep) = -1;
	const char *name = NULL;
	int fd, err = open_folder(path, &folder, &name);

	if (!err)
		err = check_place(folder, name, owner);
	if (!err && unlinkat(folder, name, 0) && errno != ENOENT)
		err = -errno;
	if (err)
		return err;
	fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		give_to_owner(fd, owner);
	return fd < 0 ? -errno : fd;
}

void output_file_remove_temporary(void)
{
	const struct output_file *file = in_progress;

	if (file && file->temporary[0])
		unlinkat(file->folder, file->temporary, 0);
}

/* Some places (procfs, a full quota) only show at the attempt that they take no new file. */
int output_file_check(const char *path, const struct output_owner *owner)
{
	struct output_file *file;
	int err = output_file_create(path, owner, &file);

	if (!err)
		output_file_abandon(file);
	return err;
}

void output_file_do_not_wait(struct output_file *file)
{
	file->does_not_wait = true;
}

static int write_all(int fd, const void *bytes, size_t len_bytes)
{
	const char *p = bytes;

	while (len_bytes) {
		ssize_t nr = write(fd, p, len_bytes);

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr <= 0)
			return nr < 0 ? -errno : -EIO;
		p += nr;
		len_bytes -= nr;
	}
	return 0;
}

int output_file_write(void *ctx, const void *bytes, size_t len_bytes)
{
	const struct output_file *file = ctx;

	return write_all(file->fd, bytes, len_bytes);
}

int output_stdout_write(void *ctx, const void *bytes, size_t len_bytes)
{
	(void)ctx;
	return write_all(STDOUT_FILENO, bytes, len_bytes);
}

bool output_is_stdout(const char *path)
{
	return !strcmp(path, "-");
}

/* From the temporary to the final name, or -errno with the temporary still there. */
static int move_into_place(struct output_file *file)
{
	int fd, err;

	/* umask may have taken from 0600. */
	if (fchmod(file->fd, 0600))
		return -errno;
	give_to_owner(file->fd, &file->owner);
	if (!file->does_not_wait && fsync(file->fd))
		return -errno;
	fd = file->fd;
	file->fd = -1;
	if (close(fd)) /* where NFS says that the disk is full */
		return -errno;
	err = check_name(file->folder, file->name, &file->owner);
	if (err)
		return err;
	if (renameat(file->folder, file->temporary, file->folder, file->name))
		return -errno;
	file->temporary[0] = '\0';
	return 0;
}

int output_file_commit(struct output_file *file)
{
	int err = move_into_place(file);

	output_file_abandon(file);
	return err;
}

void output_file_abandon(struct output_file *file)
{
	if (!file)
		return;
	in_progress = NULL;
	if (file->temporary[0])
		unlinkat(file->folder, file->temporary, 0);
	if (file->fd >= 0)
		close(file->fd);
	close(file->folder);
	free(file->name);
	free(file);
}

/* What the two errors mean that are ours; NULL: what strerror() says. */
static const char *refusal_of(int err)
{
	if (err == -ELOOP)
		return "a symbolic link: give the file itself";
	if (err == -EEXIST)
		return "there already, and is not a regular file of yours: remove it or choose "
		       "another name";
	return NULL;
}

int output_file_fail(int err, const char *path)
{
	const char *refusal = refusal_of(err);
	char safe[512];

	text_escape(path, safe, sizeof(safe));
	return refusal ? fail(err, "output '%s' is %s.", safe, refusal)
		       : fail(err, "cannot write '%s'", safe);
}
