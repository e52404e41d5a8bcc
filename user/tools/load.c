// SPDX-License-Identifier: BSD-2-Clause
#include "tools/load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "input/input.h"
#include "profile/algebra.h"
#include "profile/merge.h"

int load_fail(const char *path, int err, const struct input_error *error)
{
	char name[512], where[64] = "";

	if (error->line)
		snprintf(where, sizeof(where), " (line %lu)", error->line);
	else if (error->offset != INPUT_NO_OFFSET)
		snprintf(where, sizeof(where), " (at byte %lu)", error->offset);
	return fail(err, "%s: %s%s.",
		    strcmp(path, "-") ? text_escape(path, name, sizeof(name)) : "stdin",
		    error->message, where);
}

int load_profile(const char *path, struct profile **profile)
{
	struct input_error error = {.offset = INPUT_NO_OFFSET};
	int err = input_read(path, &input_default_limits, profile, NULL, &error);

	return err ? load_fail(path, err, &error) : 0;
}

/* Reads one and adds it. *nr_types: the most that any has had. */
static int add_path(struct merger *merger, const char *path, uint32_t *nr_types)
{
	struct profile *source;
	char name[512];
	const char *why = NULL;
	int err = load_profile(path, &source);

	if (err)
		return err;
	if (source->nr_types > *nr_types)
		*nr_types = source->nr_types;
	err = merger_add_aligned(merger, source, &why);
	profile_free(source);
	return err ? fail(err, "%s: %s.", text_escape(path, name, sizeof(name)), why) : 0;
}

int load_merged(const struct arg_list *paths, struct profile **profile)
{
	struct merger *merger;
	uint32_t nr_types = 0;
	int err = 0;

	if (paths->nr == 1)
		return load_profile(paths->at[0], profile);
	merger = merger_new();
	for (size_t i = 0; !err && i < paths->nr; i++)
		err = add_path(merger, paths->at[i], &nr_types);
	if (err) {
		merger_free(merger);
		return err;
	}
	*profile = merger_finish(merger);
	if ((*profile)->nr_types < nr_types)
		warn("sample types that are not in all of the profiles are left out");
	return 0;
}

int load_sample_type(const struct profile *profile, const char *name, uint32_t *type)
{
	char names[512] = "";
	int found;

	if (!profile->nr_types)
		return fail(-EINVAL, "the profile has no sample types.");
	found = profile_find_type(
		profile, name ? name : strtab_get(&profile->strings, profile->default_type));
	if (!name && found < 0) /* no default, or one that is not there */
		found = profile->nr_types - 1;
	if (found >= 0) {
		*type = found;
		return 0;
	}
	for (uint32_t i = 0; i < profile->nr_types; i++) {
		const char *known = strtab_get(&profile->strings, profile->types[i].type);
		size_t used = strlen(names);

		snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "", known);
	}
	return fail(-EINVAL, "no sample type '%s': there are %s.", name,
		    text_escape(names, (char[1024]){0}, 1024));
}
