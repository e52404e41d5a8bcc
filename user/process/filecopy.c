// SPDX-License-Identifier: BSD-2-Clause
/*
 * statfs(2) tells of an overlay and not of its layers. Every container's files are on one, so those that somebody privileged has
 * mounted (process/mounts.h) count as local.
 *
 * Not copied, though they may be held too: files on NFS and other network file systems, or on an overlay of one, which only
 * root can mount. What main asks of such a file is answered from memory (AT_STATX_DONT_SYNC), but to close it or to probe
 * it may wait for the server.
 */
#include "process/filecopy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/alloc.h"
#include "base/clock.h"

#ifndef FUSE_SUPER_MAGIC /* Linux 5.17 has it in this header; fs/fuse/inode.c */
#define FUSE_SUPER_MAGIC 0x65735546
#endif
#ifndef MFD_NOEXEC_SEAL /* Linux 6.3 */
#define MFD_NOEXEC_SEAL 8U
#endif

#define CHUNK_BYTES (1u << 20) /* between looks at the clock */
#define SEALS	    (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

bool filecopy_is_needed(struct mounts *mounts, uint32_t task, int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs)) /* FUSE asks its server, which may refuse */
		return true;
	return fs.f_type == FUSE_SUPER_MAGIC ||
	       (fs.f_type == OVERLAYFS_SUPER_MAGIC && !mounts_are_privileged(mounts, task, fd));
}

static int make_memory_file(void)
{
	const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create("cprof", flags | MFD_NOEXEC_SEAL);

	return fd < 0 && errno == EINVAL ? memfd_create("cprof", flags) : fd;
}

static int copy_bytes(int from, int to, off_t size)
{
	uint64_t began_ns = clock_monotonic_ns();

	for (off_t done = 0; done < size;) {
		ssize_t nr = sendfile(to, from, &done,
				      size - done < CHUNK_BYTES ? size - done : CHUNK_BYTES);

		if (nr <= 0)
			return nr ? -errno : -EIO;
		if (clock_monotonic_ns() - began_ns > FILECOPY_MAX_NS)
			return -ETIMEDOUT;
	}
	return 0;
}

int filecopy_make(int fd)
{
	int copy scoped(closep) = -1, made, err;
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if ((uint64_t)st.st_size > FILECOPY_MAX_BYTES)
		return -EFBIG;
	copy = make_memory_file();
	if (copy < 0)
		return -errno;
	err = copy_bytes(fd, copy, st.st_size);
	if (err)
		return err;
	if (futimens(copy, (struct timespec[]){st.st_mtim, st.st_mtim}) ||
	    fcntl(copy, F_ADD_SEALS, SEALS))
		return -errno;
	made = copy;
	copy = -1;
	return made;
}
