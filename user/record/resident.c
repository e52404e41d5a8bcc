// SPDX-License-Identifier: BSD-2-Clause
/*
 * /proc/PID/status and not smaps: it tells anonymous memory (the heap, stacks, and what a program maps for itself) from
 * files and shared memory, may be read by anybody, and costs the target nothing, whereas smaps walks all of its page
 * tables and holds the lock that its page faults need.
 *
 * Blocks need not be resident: what was never written to, or is swapped out, is in use all the same.
 */
#include "record/resident.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "process/procfs.h"

/* The value of a line "NAME = 5120 kB", in bytes. */
static bool read_value(const char *text, const char *name, uint64_t *bytes)
{
	char *line scoped(freep) = xasprintf("%s = ", name);
	const char *found = text;
	size_t len = strlen(line);

	while (found && strncmp(found, line, len)) {
		found = strchr(found, '\n');
		found = found ? found + 1 : NULL;
	}
	if (!found)
		return false;
	*bytes = strtoull(found + len, NULL, 10) * 1024;
	return true;
}

bool resident_read(const char *text, struct resident *resident)
{
	*resident = (struct resident){0};
	read_value(text, "VmSwap", &resident->swap);
	return read_value(text, "VmRSS", &resident->rss) &&
	       read_value(text, "RssAnon", &resident->anon) &&
	       read_value(text, "RssFile", &resident->file) &&
	       read_value(text, "RssShmem", &resident->shmem);
}

static const char *kib(uint64_t bytes)
{
	return text_count(bytes / 1024);
}

/* What of it is resident, or what else is. */
static void describe_rest(const struct resident *resident, const struct resident_inuse *inuse,
			  char *text, size_t text_bytes)
{
	const char *bound = bound_word(bound_of_rest(inuse->bound));
	bool is_within = resident->anon >= inuse->bytes;
	uint64_t rest = is_within ? resident->anon - inuse->bytes : inuse->bytes - resident->anon;

	if (rest < 2 * inuse->error_bytes)
		snprintf(text, text_bytes,
			 "the difference to resident memory is within that error");
	else if (is_within)
		snprintf(text, text_bytes, "%s%s kB of the anonymous memory are in no such block",
			 bound, kib(rest));
	else
		snprintf(text, text_bytes, "%s%s kB of it are not resident",
			 bound_word(inuse->bound), kib(rest));
}

void resident_say(const char *proc_root, uint32_t tgid, const struct resident_inuse *inuse)
{
	char *text scoped(freep) = NULL;
	struct resident resident;
	char rest[96], error[64] = "";

	if (procfs_memory(proc_root, tgid, &text) || !resident_read(text, &resident))
		return;
	describe_rest(&resident, inuse, rest, sizeof(rest));
	if (inuse->error_bytes)
		snprintf(error, sizeof(error), " (standard error %s)", kib(inuse->error_bytes));
	say("resident: %s kB = anonymous %s + files %s + shared %s (swapped out: %s); in use, of "
	    "what was allocated since the start: %s%s kB%s; %s",
	    kib(resident.rss), kib(resident.anon), kib(resident.file), kib(resident.shmem),
	    kib(resident.swap), bound_word(inuse->bound), kib(inuse->bytes), error, rest);
}
