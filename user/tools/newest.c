// SPDX-License-Identifier: BSD-2-Clause
/*
 * One pass over the folder, keeping the best so far: a lower rank, then a later change, then the
 * later name. Links are not followed, so that a name in a shared folder cannot lead elsewhere.
 */
#include "tools/newest.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"

#define MAX_LOOKED_AT 65536
#define NOT_ONE	      2

struct candidate {
	char *name;
	unsigned int rank; /* 0: what record and heap write by default */
	struct timespec changed;
};

static unsigned int rank_of(const char *name)
{
	static const struct {
		const char *suffix;
		unsigned int rank;
	} rows[] = {{".pb.gz", 0}, {".pb", 0},	 {".pprof", 0},
		    {".prof", 0},  {".heap", 1}, {".folded", 1}};
	size_t len = strlen(name);

	if (*name == '.')
		return NOT_ONE;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t suffix_len = strlen(rows[i].suffix);

		if (len > suffix_len && !strcmp(name + len - suffix_len, rows[i].suffix))
			return rows[i].rank;
	}
	return NOT_ONE;
}

static bool is_better(const struct candidate *a, const struct candidate *b)
{
	if (!b->name || a->rank != b->rank)
		return !b->name || a->rank < b->rank;
	if (a->changed.tv_sec != b->changed.tv_sec)
		return a->changed.tv_sec > b->changed.tv_sec;
	if (a->changed.tv_nsec != b->changed.tv_nsec)
		return a->changed.tv_nsec > b->changed.tv_nsec;
	return strcmp(a->name, b->name) > 0;
}

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

char *newest_profile(const char *folder)
{
	DIR *dir scoped(closedirp) = opendir(folder);
	struct candidate best = {.name = NULL};
	const struct dirent *entry;
	size_t nr = 0;

	while (dir && nr < MAX_LOOKED_AT && (entry = readdir(dir))) {
		struct candidate candidate = {.name = (char *)entry->d_name,
					      .rank = rank_of(entry->d_name)};
		struct stat stat;

		if (candidate.rank == NOT_ONE)
			continue;
		nr++;
		if (fstatat(dirfd(dir), entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(stat.st_mode) || !stat.st_size)
			continue;
		candidate.changed = stat.st_mtim;
		if (!is_better(&candidate, &best))
			continue;
		free(best.name);
		best = candidate;
		best.name = xstrdup(entry->d_name);
	}
	return best.name;
}

static char *find_operand(void)
{
	char *name = newest_profile("."), safe[512];

	if (name)
		say("no FILE given: reading %s, the newest profile in this folder",
		    text_escape(name, safe, sizeof(safe)));
	return name;
}

const struct args_implied newest_operand = {
	.find = find_operand,
	.about = "Without a FILE, read the newest profile in the current folder.",
	.missing = "no profile in this folder",
};
