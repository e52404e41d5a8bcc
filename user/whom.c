// SPDX-License-Identifier: BSD-2-Clause
#include "whom.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"

/* -1, 0x1 and 4294967297 are mistakes, not names. */
static bool is_number(const char *word)
{
	return !word[strspn(word, "+-0123456789")];
}

bool whom_is_pid(const char *word)
{
	return *word && !word[strspn(word, "0123456789")];
}

static int add(struct whom *whom, const char *word)
{
	unsigned long long pid;

	if (!is_number(word)) {
		vec_push(&whom->names, xstrdup(word));
		return 0;
	}
	errno = 0;
	pid = strtoull(word, NULL, 10);
	if (errno || !whom_is_pid(word) || !pid || pid > INT32_MAX)
		return fail(-EINVAL, "-p: '%s' is not a process id.", word);
	vec_push(&whom->pids, pid);
	return 0;
}

int whom_parse(const char *text, struct whom *whom)
{
	char *copy scoped(freep) = xstrdup(text), *rest = copy, *part, *word;
	int err = 0;

	while (!err && (part = strsep(&rest, ","))) {
		bool is_empty = true;

		while (!err && (word = strsep(&part, " \t\n"))) {
			if (!*word)
				continue;
			is_empty = false;
			err = add(whom, word);
		}
		if (is_empty)
			return fail(-EINVAL, "-p '%s': a process id or a name is missing.", text);
	}
	return err;
}

int whom_add_filter(struct whom *whom, enum whom_filter filter, const char *text)
{
	static const char *const names[] = {"--comm", "--uid", "--cgroup", "--container"};

	if (!*text)
		return fail(-EINVAL, "%s: an empty word.", names[filter]);
	vec_push(&whom->filters[filter], text);
	return 0;
}

bool whom_names(const struct whom *whom)
{
	return whom->pids.nr || whom->names.nr;
}

bool whom_filters(const struct whom *whom)
{
	for (int i = 0; i < NR_WHOM_FILTERS; i++)
		if (whom->filters[i].nr)
			return true;
	return false;
}

void whom_release(struct whom *whom)
{
	vec_for_each(&whom->names, name)
		free(*name);
	vec_release(&whom->names);
	vec_release(&whom->pids);
	for (int i = 0; i < NR_WHOM_FILTERS; i++)
		vec_release(&whom->filters[i]);
}
