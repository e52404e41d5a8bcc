// SPDX-License-Identifier: BSD-2-Clause
/*
 * process_vm_readv() stops at the first piece that it cannot read and says only how many bytes it has read.
 * So the pieces before that are good, that one is not, and the next call begins after it.
 *
 * Rejected: /proc/PID/mem, which takes a system call for each piece.
 */
#include "process/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>

#define MAX_PIECES 256 /* in one call; the kernel's limit is 1024 */

/* The first of nr pieces that were not read, given how many bytes were. */
static size_t count_read(const struct memory_piece *pieces, size_t nr, ssize_t len_bytes)
{
	size_t i = 0;

	for (; i < nr && len_bytes >= (ssize_t)pieces[i].len_bytes; i++)
		len_bytes -= (ssize_t)pieces[i].len_bytes;
	return i;
}

/* Reads up to the first piece that fails. Returns how many were read. */
static size_t read_some(uint32_t tgid, const struct memory_piece *pieces, size_t nr)
{
	struct iovec from[MAX_PIECES] = {{NULL, 0}}, to[MAX_PIECES] = {{NULL, 0}};
	ssize_t len_bytes;

	for (size_t i = 0; i < nr; i++) {
		from[i] = (struct iovec){(void *)(uintptr_t)pieces[i].addr, pieces[i].len_bytes};
		to[i] = (struct iovec){pieces[i].to, pieces[i].len_bytes};
	}
	len_bytes = process_vm_readv((pid_t)tgid, to, nr, from, nr, 0);
	return len_bytes < 0 ? 0 : count_read(pieces, nr, len_bytes);
}

void remote_read(uint32_t tgid, struct memory_piece *pieces, size_t nr)
{
	size_t at = 0;

	while (at < nr) {
		size_t some = nr - at < MAX_PIECES ? nr - at : MAX_PIECES;
		size_t nr_read = read_some(tgid, pieces + at, some);

		for (size_t i = 0; i < some && i <= nr_read; i++)
			pieces[at + i].was_read = i < nr_read;
		at += nr_read < some ? nr_read + 1 : some;
	}
}

int remote_open(uint32_t tgid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/mem", tgid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
