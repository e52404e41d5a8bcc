// SPDX-License-Identifier: BSD-2-Clause
/*
 * Counted from the candidates when it is asked for, since a file may still change its state: one that could not be
 * opened is tried again when the next process maps it.
 */
#include "heap/unprobed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define KERNEL_ENOTSUPP 524 /* include/linux/errno.h; no C library knows it */

const char *unprobed_error(int err)
{
	switch (-err) {
	case KERNEL_ENOTSUPP:
		return "an instruction there cannot be replaced by a probe";
	case EIO:
		return "its file system does not support probes";
	case EREMOTE: /* the kernel reads the instruction, and waits for that in a way that cannot be ended */
		return "it is on a FUSE file system, or an overlay that a user mounted, which may "
		       "keep a probe waiting for ever";
	case EINPROGRESS:
		return "a process that maps it keeps its memory locked, and the kernel waits for "
		       "that";
	case ENOTCONN:
		return "the process that places probes was killed";
	case ETIME:
	case EPIPE:
	case EBADMSG:
		return "the process that parses it failed";
	case EMFILE:
	case ENFILE:
		return "too many open files (raise the limit: ulimit -n)";
	default:
		return strerror(-err);
	}
}

struct tally {
	uint32_t nr;
	const struct candidate *first;
};

static size_t add_words(const struct tally *tally, const char *what, const struct files *files,
			char *out, size_t len, size_t out_bytes)
{
	char path[512] = "", safe[1024] = "", example[1400] = "";
	const struct candidate *first = tally->first;

	if (!tally->nr || len >= out_bytes)
		return len;
	if (first->err) {
		snprintf(path, sizeof(path), "%s", files_path(files, first->file));
		snprintf(example, sizeof(example), " (%s'%s': %s)", tally->nr > 1 ? "such as " : "",
			 text_escape(path, safe, sizeof(safe)), unprobed_error(first->err));
	}
	return len + snprintf(out + len, out_bytes - len, "%s%s file%s %s%s", len ? ", " : "",
			      text_count(tally->nr), tally->nr == 1 ? "" : "s", what, example);
}

char *unprobed_words(const struct candidates *candidates, const struct files *files, char *out,
		     size_t out_bytes)
{
	struct tally tallies[CANDIDATE_HELD + 1] = {{0}};
	char beyond[96];
	size_t len = 0;

	*out = '\0';
	vec_for_each(&candidates->all, candidate) {
		struct tally *tally = &tallies[candidate->state];

		if (!tally->nr++)
			tally->first = candidate;
	}
	if (candidates->most)
		snprintf(beyond, sizeof(beyond), "beyond the limit of %s (%s for one user)",
			 text_count(candidates->most), text_count(candidates->most_for_user));
	else
		snprintf(beyond, sizeof(beyond), "beyond the limit of %s for one process",
			 text_count(candidates->most_for_user));
	len = add_words(&tallies[CANDIDATE_REFUSED], "that cannot be probed", files, out, len,
			out_bytes);
	len = add_words(&tallies[CANDIDATE_HELD], "without probes so far", files, out, len,
			out_bytes);
	len = add_words(&tallies[CANDIDATE_BEYOND], beyond, files, out, len, out_bytes);
	len = add_words(&tallies[CANDIDATE_CLOSED], "that could not be opened", files, out, len,
			out_bytes);
	add_words(&tallies[CANDIDATE_WAITS], "not examined in time", files, out, len, out_bytes);
	return out;
}
