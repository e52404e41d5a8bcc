// SPDX-License-Identifier: BSD-2-Clause
/*
 * While one profile is merged, a thread reads the next (struct ahead). Errors are printed in the
 * order of the command line, whichever file failed first. A single file is not merged with itself:
 * it stays as it is, duplicates and order included.
 */
#include "tools/load.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "base/thread.h"
#include "input/input.h"
#include "profile/algebra.h"
#include "profile/comments.h"
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

/*
 * The next file is read while this one is merged: reading shares nothing with merging but the memory
 * allocator, and takes about as long. An error in a file is printed when that file is merged.
 */
struct ahead {
	pthread_t thread;
	bool has_thread;
	const char *path;
	struct profile *profile;
	struct input_error error;
	int err;
};

static void *read_path(void *ctx)
{
	struct ahead *ahead = ctx;

	ahead->err = input_read(ahead->path, &input_default_limits, &ahead->profile, NULL,
				&ahead->error);
	return NULL;
}

static void ahead_begin(struct ahead *ahead, const char *path)
{
	*ahead = (struct ahead){.path = path, .error = {.offset = INPUT_NO_OFFSET}};
	ahead->has_thread = !thread_start(&ahead->thread, read_path, ahead);
	if (!ahead->has_thread)
		read_path(ahead);
}

static int ahead_end(struct ahead *ahead, struct profile **profile)
{
	if (ahead->has_thread)
		pthread_join(ahead->thread, NULL);
	*profile = ahead->profile;
	return ahead->err ? load_fail(ahead->path, ahead->err, &ahead->error) : 0;
}

/* Without a word about it. */
static void ahead_drop(struct ahead *ahead)
{
	if (ahead->has_thread)
		pthread_join(ahead->thread, NULL);
	profile_free(ahead->profile);
}

/* Frees source. *nr_types: the most that any has had. */
static int add_source(struct merger *merger, const char *path, struct profile *source,
		      uint32_t *nr_types)
{
	char name[512];
	const char *why = NULL;
	int err;

	if (source->nr_types > *nr_types)
		*nr_types = source->nr_types;
	err = merger_add_aligned(merger, source, &why);
	profile_free(source);
	return err ? fail(err, "%s: %s.", text_escape(path, name, sizeof(name)), why) : 0;
}

static int add_paths(struct merger *merger, const struct arg_list *paths, uint32_t *nr_types)
{
	struct ahead ahead;
	int err = 0;

	ahead_begin(&ahead, paths->at[0]);
	for (size_t i = 0; !err && i < paths->nr; i++) {
		struct profile *source;

		err = ahead_end(&ahead, &source);
		if (err)
			return err;
		if (i + 1 == paths->nr)
			return add_source(merger, paths->at[i], source, nr_types);
		ahead_begin(&ahead, paths->at[i + 1]);
		err = add_source(merger, paths->at[i], source, nr_types);
	}
	ahead_drop(&ahead);
	return err;
}

int load_merged(const struct arg_list *paths, struct profile **profile)
{
	struct merger *merger;
	uint32_t nr_types = 0;
	int err;

	if (paths->nr == 1)
		return load_profile(paths->at[0], profile);
	merger = merger_new();
	err = add_paths(merger, paths, &nr_types);
	if (err) {
		merger_free(merger);
		return err;
	}
	*profile = merger_finish(merger);
	profile_fold_comments(*profile);
	if ((*profile)->nr_types < nr_types)
		warn("dropped sample types that are not in all of the profiles");
	return 0;
}

int load_sample_type(const struct profile *profile, const char *name, uint32_t *type)
{
	char names[512] = "";
	int found;

	if (!profile->nr_types)
		return fail(-EINVAL, "the profile has no sample types.");
	found = name ? profile_find_type(profile, name) : (int)profile_main_type(profile);
	if (found >= 0) {
		*type = found;
		return 0;
	}
	for (uint32_t i = 0; i < profile->nr_types; i++) {
		const char *known = strtab_get(&profile->strings, profile->types[i].type);
		size_t used = strlen(names);

		snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "", known);
	}
	return fail(-EINVAL, "no sample type '%s': use one of %s.", name,
		    text_escape(names, (char[1024]){0}, 1024));
}

void load_warn_of_sums(const struct profile *profile, uint32_t type)
{
	char name[256];

	if (profile_total(profile, type, true) < INT64_MAX)
		return;
	text_escape(strtab_get(&profile->strings, profile->types[type].type), name, sizeof(name));
	warn("%s: values add up to more than 2^63 - 1: larger sums are shown as 2^63 - 1", name);
}
