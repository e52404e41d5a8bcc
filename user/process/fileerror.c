// SPDX-License-Identifier: BSD-2-Clause
/* An error number alone would mislead: ESTALE is "Stale file handle" to strerror(3), and ENOTSUP says nothing of the file. */
#include "process/fileerror.h"

#include <errno.h>
#include <string.h>

const char *file_error_words(const struct file_state *state)
{
	switch (state->error) {
	case 0:
		return "";
	case -ENOENT:
	case -ESRCH:
	case -ESTALE:
		if (state->is_overwritten)
			return "overwritten since it was opened";
		return state->was_open ? "deleted or replaced after it was closed"
				       : "deleted or replaced, or its process has ended";
	case -ENOTSUP:
		return "not a regular file, or empty";
	case -ETIME:
		return "there was no time";
	case -ETIMEDOUT:
		return "its file system or its process did not answer";
	default:
		return strerror(-state->error);
	}
}
