// SPDX-License-Identifier: BSD-2-Clause
/* The checksum is the CRC-32 of zlib and xz; liblzma computes 16 bytes at a time with tables. */
#include "object/debuglink.h"

#include <errno.h>
#include <lzma.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_BYTES (64u << 10)

int debuglink_read(const struct elf_file *file, struct debuglink *link)
{
	struct elf_section section;
	struct debuglink read = {0};
	size_t name_bytes, crc_at;

	if (!elf_file_section(file, ".gnu_debuglink", &section) || !section.bytes)
		return -ENOENT;
	name_bytes = strnlen(section.bytes, section.len_bytes) + 1;
	crc_at = (name_bytes + 3) & ~(size_t)3;
	if (name_bytes > sizeof(read.name) || crc_at > section.len_bytes ||
	    section.len_bytes - crc_at < sizeof(read.crc))
		return -EBADMSG;
	memcpy(read.name, section.bytes, name_bytes);
	memcpy(&read.crc, (const char *)section.bytes + crc_at, sizeof(read.crc));
	if (!debuglink_is_name(read.name))
		return -EBADMSG;
	*link = read;
	return 0;
}

int debuglink_crc(int fd, uint32_t *crc)
{
	uint8_t chunk[CHUNK_BYTES];
	struct stat st;
	uint32_t sum = 0;
	uint64_t at = 0;
	ssize_t len;

	if (fstat(fd, &st))
		return -errno;
	if ((uint64_t)st.st_size > DEBUGLINK_MAX_BYTES)
		return -EFBIG;
	while (at < DEBUGLINK_MAX_BYTES && (len = pread(fd, chunk, sizeof(chunk), (off_t)at)) > 0) {
		sum = lzma_crc32(chunk, (size_t)len, sum);
		at += (uint64_t)len;
	}
	if (len < 0)
		return -errno;
	*crc = sum;
	return 0;
}
