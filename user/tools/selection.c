// SPDX-License-Identifier: BSD-2-Clause
/*
 * Everything that can be wrong with the options is found before the profile is changed: regexes
 * are compiled and the sample type is looked up first. Then drop_frames, the total that shares are
 * of, and the filters, in this order, so that 100 % is the profile before any filter.
 */
#include "tools/selection.h"

#include <errno.h>
#include <regex.h>
#include <string.h>

#include "base/log.h"
#include "profile/algebra.h"
#include "profile/filter.h"
#include "profile/merge.h"
#include "profile/prune.h"
#include "profile/summary.h"
#include "tools/load.h"
#include "tools/localnames.h"

#define NR_REGEXES 5

/* The regexes of one selection, compiled; those not given are not in the filter. */
struct compiled {
	regex_t regexes[NR_REGEXES];
	size_t nr;
	struct tag *tag_focus, *tag_ignore;
	struct profile_filter filter;
};

static void compiled_release(struct compiled *compiled)
{
	for (size_t i = 0; i < compiled->nr; i++)
		regfree(&compiled->regexes[i]);
	tag_free(compiled->tag_focus);
	tag_free(compiled->tag_ignore);
}

static int compile_tag(const char *option, const char *text, struct tag **tag)
{
	char why[TAG_WHY_BYTES];

	if (!text || !tag_new(text, tag, why))
		return 0;
	return fail(-EINVAL, "%s '%s' is not a regular expression: %s.", option, text, why);
}

static int compile_all(const struct selection *selection, struct compiled *compiled)
{
	struct profile_filter *filter = &compiled->filter;
	const struct {
		const char *option, *text;
		const regex_t **regex;
	} rows[NR_REGEXES] = {
		{"--focus", selection->focus, &filter->focus},
		{"--ignore", selection->ignore, &filter->ignore},
		{"--hide", selection->hide, &filter->hide},
		{"--show", selection->show, &filter->show},
		{"--show-from", selection->show_from, &filter->show_from},
	};

	for (size_t i = 0; i < NR_REGEXES; i++) {
		regex_t *regex = &compiled->regexes[compiled->nr];
		int err = rows[i].text ? argtype_regex(rows[i].option, rows[i].text, regex) : 0;

		if (err)
			return err;
		if (!rows[i].text)
			continue;
		*rows[i].regex = regex;
		compiled->nr++;
	}
	if (compile_tag("--tag-focus", selection->tag_focus, &compiled->tag_focus) ||
	    compile_tag("--tag-ignore", selection->tag_ignore, &compiled->tag_ignore))
		return -EINVAL;
	filter->tag_focus = compiled->tag_focus;
	filter->tag_ignore = compiled->tag_ignore;
	return 0;
}

int selection_apply(struct selection *selection, struct profile *profile, uint32_t *type)
{
	struct compiled compiled scoped(compiled_release) = {.nr = 0};
	int err = compile_all(selection, &compiled);

	if (!err)
		err = load_sample_type(profile, selection->sample_type, type);
	if (err)
		return err;
	if (!selection->all_frames && profile_prune(profile))
		warn("the profile's drop_frames is not a regular expression: showing all frames");
	selection->total = profile_whole(profile, *type);
	load_warn_of_sums(profile, *type);
	if (profile_filter_samples(profile, &compiled.filter) && !profile->samples.nr)
		warn("no samples match the selection (--focus, --ignore, --tag-focus, ...)");
	return 0;
}

int selection_load(struct selection *selection, const struct arg_list *paths,
		   struct profile **profile, uint32_t *type)
{
	struct localnames_by_path by_path = {0};
	struct profile *loaded;
	int err = load_merged(paths, &loaded);

	if (err)
		return err;
	if (!selection->no_symbolize && localnames_add(loaded, &by_path) && paths->nr > 1) {
		/* What one file has a name for, another one had not: now they are the same. */
		struct profile *merged = profile_compact(loaded);

		profile_free(loaded);
		loaded = merged;
	}
	localnames_say(&by_path);
	err = selection_apply(selection, loaded, type);
	if (err)
		profile_free(loaded);
	else
		*profile = loaded;
	return err;
}

const char *selection_hint(const struct selection *selection, const struct profile *profile,
			   uint32_t type)
{
	const char *name = strtab_get(&profile->strings, profile->types[type].type);
	int allocated = profile_find_type(profile, "alloc_space");

	if (selection->total || strncmp(name, "inuse_", 6) || allocated < 0 ||
	    !profile_whole(profile, allocated))
		return NULL;
	return "nothing is in use at the end: try --sample-type alloc_space, or record with --peak";
}
