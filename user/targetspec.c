// SPDX-License-Identifier: BSD-2-Clause
/*
 * Only words are handled here, nothing is looked up. A word of digits (or one that can only be a mistyped number) is a
 * process id and never a name, so that a mistake like -p -1 is an error and not a search for a process of this name.
 */
#include "targetspec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"

/* -1, +5 and 4294967297 are mistakes, not names. */
static bool is_number(const char *word)
{
	return !word[strspn(word, "+-0123456789")];
}

bool targetspec_is_pid(const char *word)
{
	return *word && !word[strspn(word, "0123456789")];
}

static int add(struct targetspec *spec, const char *word)
{
	unsigned long long pid;

	if (!is_number(word)) {
		vec_push(&spec->names, xstrdup(word));
		return 0;
	}
	errno = 0;
	pid = strtoull(word, NULL, 10);
	if (errno || !targetspec_is_pid(word) || !pid || pid > INT32_MAX)
		return fail(-EINVAL, "-p: '%s' is not a process ID.", word);
	vec_push(&spec->pids, pid);
	return 0;
}

int targetspec_parse(const char *text, struct targetspec *spec)
{
	char *copy scoped(freep) = xstrdup(text), *rest = copy, *part, *word;
	int err = 0;

	while (!err && (part = strsep(&rest, ","))) {
		bool is_empty = true;

		while (!err && (word = strsep(&part, " \t\n"))) {
			if (!*word)
				continue;
			is_empty = false;
			err = add(spec, word);
		}
		if (is_empty)
			return fail(-EINVAL, "-p '%s': a process ID or name is missing.", text);
	}
	return err;
}

bool targetspec_names(const struct targetspec *spec)
{
	return spec->pids.nr || spec->names.nr;
}

bool targetspec_filters(const struct targetspec *spec)
{
	for (int i = 0; i < NR_TARGETSPEC_FILTERS; i++)
		if (spec->filters[i].nr)
			return true;
	return false;
}

void targetspec_release(struct targetspec *spec)
{
	vec_for_each(&spec->names, name)
		free(*name);
	vec_release(&spec->names);
	vec_release(&spec->pids);
	for (int i = 0; i < NR_TARGETSPEC_FILTERS; i++)
		vec_release(&spec->filters[i]);
}
