/* SPDX-License-Identifier: BSD-2-Clause */
/* Only the header and the section of strings are read. */
#include "machine/kernelnames.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

#define MAX_STRINGS_BYTES (64u << 20)

static int read_at(int fd, void *to, size_t len_bytes, uint64_t offset)
{
	size_t done = 0;

	while (done < len_bytes) {
		ssize_t nr = pread(fd, (char *)to + done, len_bytes - done, (off_t)(offset + done));

		if (nr <= 0)
			return nr < 0 ? -errno : -EBADMSG;
		done += (size_t)nr;
	}
	return 0;
}

int kernelnames_read(const char *path, struct kernelnames *names)
{
	int fd scoped(closep) = open(path, O_RDONLY | O_CLOEXEC), err;
	struct btf_header header;

	*names = (struct kernelnames){0};
	if (fd < 0)
		return -errno;
	err = read_at(fd, &header, sizeof(header), 0);
	if (err)
		return err;
	if (header.magic != BTF_MAGIC || header.str_len < 1 || header.str_len > MAX_STRINGS_BYTES)
		return -EBADMSG;
	names->len_bytes = header.str_len;
	names->strings = xmalloc(names->len_bytes);
	return read_at(fd, names->strings, names->len_bytes,
		       (uint64_t)header.hdr_len + header.str_off);
}

bool kernelnames_has(const struct kernelnames *names, const char *name)
{
	char between[66] = "";
	int len = snprintf(between + 1, sizeof(between) - 1, "%s", name);

	return names->strings && (size_t)len + 2 <= sizeof(between) &&
	       memmem(names->strings, names->len_bytes, between, (size_t)len + 2);
}

void kernelnames_release(struct kernelnames *names)
{
	free(names->strings);
}
