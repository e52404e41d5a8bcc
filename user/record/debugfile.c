// SPDX-License-Identifier: BSD-2-Clause
/* The path is made of a folder of the system and hexadecimal digits; what it leads to is vetted as any other file. */
#include "record/debugfile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "process/vetted.h"

#define PREFIX_DIGITS 2 /* of the build-id: the name of the folder in .build-id */

int debugfile_open(const char *folder, const char *build_id)
{
	char path[PATH_MAX];
	int len;

	if (strspn(build_id, "0123456789abcdef") != strlen(build_id) ||
	    strlen(build_id) <= PREFIX_DIGITS)
		return -ENOENT;
	len = snprintf(path, sizeof(path), "%s/.build-id/%.*s/%s.debug", folder, PREFIX_DIGITS,
		       build_id, build_id + PREFIX_DIGITS);
	return len < (int)sizeof(path) ? file_open_vetted(path, 0, 0, 0) : -ENAMETOOLONG;
}
