// SPDX-License-Identifier: BSD-2-Clause
/* One read(2): the kernel gives such a file whole. */
#include "base/smallfile.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

bool smallfile_line(const char *path, char *text, size_t text_bytes)
{
	int fd scoped(closep) = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, text_bytes - 1);

	if (len < 0)
		return false;
	text[len] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return true;
}

long smallfile_number(const char *path, long otherwise)
{
	char text[64], *end;
	long value;

	if (!smallfile_line(path, text, sizeof(text)))
		return otherwise;
	value = strtol(text, &end, 10);
	return end == text ? otherwise : value;
}
