// SPDX-License-Identifier: BSD-2-Clause
/*
 * cprof merge: the algebra of profiles, from files to a file.
 *
 *	read, merged -> sample types chosen -> scaled -> stamped -> written, or split and written
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/strtab.h"
#include "base/text.h"
#include "cmd.h"
#include "exit.h"
#include "output/folder.h"
#include "profile/algebra.h"
#include "profile/heapview.h"
#include "profile/merge.h"
#include "profile/split.h"
#include "cli/args.h"
#include "tools/load.h"
#include "tools/reading.h"
#include "tools/save.h"

#define MAX_PARTS  10000 /* files of --split; a mistaken label has as many values as samples */
#define NAME_BYTES 64	 /* of a label's value, in a file's name */

struct options {
	const char *output, *split;
	double scale;
	struct arg_list keep, drop;
	bool restamp, inuse, delta;
};

/* Marks the named types. A list of 0 names marks nothing. */
static int mark_types(const struct profile *profile, const struct arg_list *names, bool *marks)
{
	for (size_t i = 0; i < names->nr; i++) {
		uint32_t type;
		int err = load_sample_type(profile, names->at[i], &type);

		if (err)
			return err;
		marks[type] = true;
	}
	return 0;
}

static int choose_types(const struct options *options, struct profile *profile)
{
	bool keep[PROFILE_MAX_TYPES] = {false}, drop[PROFILE_MAX_TYPES] = {false};
	bool any = false;
	int err = mark_types(profile, &options->keep, keep);

	if (!err)
		err = mark_types(profile, &options->drop, drop);
	if (err)
		return err;
	for (uint32_t i = 0; i < profile->nr_types; i++) {
		keep[i] = (keep[i] || !options->keep.nr) && !drop[i];
		any |= keep[i];
	}
	if (!any)
		return fail(-EINVAL, "--keep-type and --drop-type leave no sample type.");
	if (options->keep.nr || options->drop.nr)
		profile_keep_types(profile, keep);
	return 0;
}

/* Joins duplicates and removes unused entries, as merging does. */
static void compact(struct profile **profile)
{
	struct profile *whole = *profile;

	*profile = profile_compact(whole);
	profile_free(whole);
}

/* One file, which has to be a heap profile. */
static int load_heap(const char *path, struct profile **profile)
{
	struct profile *loaded;
	char name[512], why[HEAPVIEW_WHY_BYTES];
	int err = load_profile(path, &loaded);

	if (err)
		return err;
	err = heapview_check(loaded, why);
	if (err) {
		profile_free(loaded);
		return fail(err, "%s: %s.", text_escape(path, name, sizeof(name)), why);
	}
	*profile = loaded;
	return 0;
}

static int load_delta(const struct arg_list *paths, struct profile **delta)
{
	struct profile *first, *second;
	char why[HEAPVIEW_WHY_BYTES];
	int err;

	if (paths->nr != 2)
		return fail(-EINVAL, "--delta needs two heap profiles, the earlier one first.");
	err = load_heap(paths->at[0], &first);
	if (err)
		return err;
	err = load_heap(paths->at[1], &second);
	if (!err) {
		if (heapview_delta(first, second, delta, why))
			err = fail(-EINVAL, "--delta: %s.", why);
		profile_free(second);
	}
	profile_free(first);
	return err;
}

/* What is in use, of heap profiles that were merged. */
static int keep_inuse(struct profile *profile)
{
	char why[HEAPVIEW_WHY_BYTES];

	if (heapview_check(profile, why))
		return fail(-EINVAL, "--inuse: %s.", why);
	heapview_inuse(profile);
	return 0;
}

static int load(const struct options *options, const struct arg_list *paths,
		struct profile **profile)
{
	struct profile *loaded;
	int err = options->delta ? load_delta(paths, &loaded) : load_merged(paths, &loaded);

	if (err)
		return err;
	err = options->inuse ? keep_inuse(loaded) : 0;
	if (!err)
		err = choose_types(options, loaded);
	if (err)
		profile_free(loaded);
	else
		*profile = loaded;
	return err;
}

/* Loads, chooses and scales. */
static int make(const struct options *options, const struct arg_list *paths,
		struct profile **profile)
{
	struct profile *loaded;
	bool is_changed = options->scale != 1 || options->keep.nr || options->drop.nr ||
			  options->inuse;
	int err = load(options, paths, &loaded);

	if (err)
		return err;
	if (options->scale != 1)
		profile_scale(loaded, options->scale);
	for (uint32_t i = 0; i < loaded->nr_types; i++)
		load_warn_of_sums(loaded, i);
	if (is_changed || paths->nr == 1)
		compact(&loaded);
	if (options->restamp)
		loaded->time_ns = clock_realtime_ns();
	*profile = loaded;
	return 0;
}

struct parts {
	const char *label, *folder;
	int folder_fd;
	struct strtab names; /* of the files that were written */
	size_t nr;
	bool has_label; /* any of them */
};

/* A path for this value that no other part has: "out/comm.nginx.pb.gz", "out/no-comm.pb.gz". */
static char *part_path(struct parts *parts, const char *value)
{
	char name[NAME_BYTES + 1], *label scoped(freep) = xstrdup(parts->label);
	char *stem scoped(freep) = NULL, *unique scoped(freep) = NULL;

	snprintf(name, sizeof(name), "%s", value ? value : "");
	for (char *c = name; *c; c++)
		*c = isalnum((unsigned char)*c) || strchr("._-+", *c) ? *c : '_';
	for (char *c = label; *c; c++)
		*c = isalnum((unsigned char)*c) ? *c : '_';
	stem = value ? xasprintf("%s.%s", label, name) : xasprintf("no-%s", label);
	unique = xstrdup(stem);
	for (size_t i = 2, nr = strtab_nr(&parts->names);; i++) {
		strtab_intern(&parts->names, unique);
		if (strtab_nr(&parts->names) > nr) /* it was not there */
			return xasprintf("%s/%s.pb.gz", parts->folder, unique);
		free(unique);
		unique = xasprintf("%s-%zu", stem, i);
	}
}

static int write_part(void *ctx, const char *value, const struct profile *part)
{
	struct parts *parts = ctx;
	char *path scoped(freep) = NULL;

	if (parts->nr++ == MAX_PARTS)
		return fail(-E2BIG, "the label '%s' has more than %d values.", parts->label,
			    MAX_PARTS);
	parts->has_label |= value != NULL;
	path = part_path(parts, value);
	return save_profile_in(part, parts->folder_fd, path);
}

static int write_parts(const struct options *options, const struct profile *profile)
{
	struct parts parts = {.label = options->split, .folder = options->output};
	struct output_owner owner = output_owner_from_env();
	char name[512];
	int err = output_folder_open(parts.folder, OUTPUT_FOLDER_ANY, &owner, &parts.folder_fd);

	if (err)
		return err;
	vec_push(&parts.names.strings, ""); /* id 0 is there from the start: see part_path() */
	err = profile_split(profile, options->split, write_part, &parts);
	strtab_release(&parts.names);
	close(parts.folder_fd);
	if (!err && parts.nr && !parts.has_label)
		warn("no sample has a label '%s': all are in one profile",
		     text_escape(options->split, name, sizeof(name)));
	if (!err)
		say("%zu %s in %s", parts.nr, parts.nr == 1 ? "profile" : "profiles",
		    text_escape(parts.folder, name, sizeof(name)));
	return err;
}

static int merge(const struct options *options, const struct arg_list *paths)
{
	struct profile *profile;
	int err;

	if (options->split && (!options->output || !strcmp(options->output, "-")))
		return fail(-EINVAL, "--split writes several files: use -o FOLDER.");
	err = make(options, paths, &profile);
	if (err)
		return err;
	err = options->split ? write_parts(options, profile)
			     : save_profile(profile, options->output);
	profile_free(profile);
	return err;
}

int cmd_merge(int argc, char **argv)
{
	struct options options = {.scale = 1};
	struct reading reading = {.no_sandbox = false};
	const struct arg_row rows[] = {
		{"output", 'o', ARG_OUTPUT, "FILE",
		 "write to FILE; - is stdout, the default unless that is a "
		 "terminal",
		 &options.output},
		{"scale", 0, ARG_REAL, "X", "multiply every value by X (-1 to subtract)",
		 &options.scale},
		{"keep-type", 0, ARG_TEXTS, "NAME",
		 "keep only this sample type; may be given several times", &options.keep},
		{"drop-type", 0, ARG_TEXTS, "NAME",
		 "drop this sample type; may be given several times", &options.drop},
		{"inuse", 0, ARG_FLAG, NULL,
		 "keep only what heap profiles have in use: set allocation "
		 "values to 0, and drop empty samples",
		 &options.inuse},
		{"delta", 0, ARG_FLAG, NULL,
		 "write what was allocated between two heap profiles, the "
		 "earlier one first",
		 &options.delta},
		{"split", 0, ARG_TEXT, "LABEL",
		 "write one file for each value of this label (comm, pid) to "
		 "the folder that -o names",
		 &options.split},
		{"restamp", 0, ARG_FLAG, NULL,
		 "set the profile's time to now: servers refuse old ones", &options.restamp},
		READING_ROWS(&reading),
	};
	struct args args scoped(args_release) = {
		.command = "merge",
		.operands = "FILE...",
		.needs_file = true,
		.about = "Merge profiles as pprof does: add up equal stacks with equal labels. "
			 "Read any format that cprof knows; write pprof (gzip-compressed "
			 "profile.proto).",
		.rows = rows,
		.nr_rows = ARRAY_SIZE(rows),
		.epilog = "Exit codes: 0 success, 2 usage error, or a file cannot be read or "
			  "written.",
	};
	enum exit_code code;

	if (reading_begin(&reading, &args, argc, argv, &code) && merge(&options, &args.operand))
		code = EXIT_USAGE;
	return code;
}
