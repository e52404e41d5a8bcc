// SPDX-License-Identifier: BSD-2-Clause
/*
 * Each function's name is matched once, each location gets a fate from its functions, and each
 * sample is cut by the fates of its locations: the regexes cost what the names cost, not what the
 * samples do.
 *
 * A location with inlined functions may be cut within: the lines from the outermost dropped one
 * inwards go, in every stack that has the location, as in pprof.
 *
 * A name is matched without its argument list, which begins at the first '(' that is not part of
 * "(anonymous namespace)" or "operator()".
 */
#include "profile/prune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/allocframes.h"
#include "profile/merge.h"
#include "base/saferegex.h"

/* What becomes of a location, by id. */
enum fate {
	STAYS,
	CUT_BELOW, /* its outer lines stay, what is below goes */
	GOES,
};

struct prune_rule {
	regex_t drop, keep;
	bool has_drop, has_keep;
};

/* "^(text)$". */
static int compile_whole(const char *text, regex_t *regex)
{
	char *anchored scoped(freep) = xasprintf("^(%s)$", text);

	return saferegex_compile(anchored, regex);
}

void prune_rule_free(struct prune_rule *rule)
{
	if (rule && rule->has_drop)
		regfree(&rule->drop);
	if (rule && rule->has_keep)
		regfree(&rule->keep);
	free(rule);
}

static void rule_release(struct prune_rule **rule)
{
	prune_rule_free(*rule);
}

struct prune_rule *prune_rule_new(const char *drop, const char *keep)
{
	struct prune_rule *rule = xcalloc(1, sizeof(*rule));

	rule->has_drop = !compile_whole(drop, &rule->drop);
	rule->has_keep = keep && rule->has_drop && !compile_whole(keep, &rule->keep);
	if (rule->has_drop && (!keep || rule->has_keep))
		return rule;
	prune_rule_free(rule);
	return NULL;
}

/* How long the name is without its argument list: up to the first '(' that is no part of it. */
static size_t plain_length(const char *name)
{
	static const char *const reserved[] = {"(anonymous namespace)", "operator()"};
	const char *s = name;

	while (*s) {
		size_t skip = *s != '(';

		for (size_t i = 0; i < 2; i++)
			if (!strncmp(s, reserved[i], strlen(reserved[i])))
				skip = strlen(reserved[i]);
		if (!skip)
			break;
		s += skip;
	}
	return s - name;
}

bool prune_rule_drops(const struct prune_rule *rule, const char *name)
{
	size_t len;

	name += *name == '.'; /* of the PPC64 ELF v1 ABI */
	len = plain_length(name);
	return saferegex_matches(&rule->drop, name, len) &&
	       !(rule->has_keep && saferegex_matches(&rule->keep, name, len));
}

static enum fate cut_location(struct profile_location *location, const bool *dropped)
{
	uint32_t i = location->nr_lines;

	while (i && !dropped[location->lines[i - 1].function])
		i--;
	if (!i)
		return STAYS;
	if (i == location->nr_lines)
		return GOES;
	location->lines += i;
	location->nr_lines -= i;
	return CUT_BELOW;
}

static void cut_sample(struct profile_sample *sample, const enum fate *fates)
{
	bool found_user = false;

	for (uint32_t i = sample->nr_locations; i-- > 0;) {
		enum fate fate = fates[sample->locations[i]];

		if (fate == STAYS) {
			found_user = true;
		} else if (found_user) {
			i += fate == GOES;
			sample->locations += i;
			sample->nr_locations -= i;
			return;
		}
	}
}

static void prune(struct profile *profile, const struct prune_rule *rule)
{
	bool *dropped scoped(freep) = xcalloc(profile->functions.nr + 1, sizeof(*dropped));
	enum fate *fates scoped(freep) = xcalloc(profile->locations.nr + 1, sizeof(*fates));

	for (size_t i = 0; i < profile->functions.nr; i++) {
		uint32_t name = profile->functions.at[i].name;

		dropped[i + 1] = name &&
				 prune_rule_drops(rule, strtab_get(&profile->strings, name));
	}
	for (size_t i = 0; i < profile->locations.nr; i++)
		fates[i + 1] = cut_location(&profile->locations.at[i], dropped);
	vec_for_each(&profile->samples, sample)
		cut_sample(sample, fates);
	profile_forget_interned(profile);
}

static int drop_frames(struct profile *profile)
{
	const char *drop = strtab_get(&profile->strings, profile->drop_frames);
	const char *keep = strtab_get(&profile->strings, profile->keep_frames);
	struct prune_rule *rule scoped(rule_release) = NULL;

	if (!*drop)
		return 0;
	rule = prune_rule_new(drop, *keep ? keep : NULL);
	if (!rule)
		return -EINVAL;
	prune(profile, rule);
	return 0;
}

int profile_prune(struct profile *profile)
{
	int err = drop_frames(profile);

	if (!err && profile_is_heap(profile))
		profile_cut_allocators(profile);
	return err;
}

int profile_pruned_copy(const struct profile *profile, struct profile **pruned)
{
	struct profile *copy;
	int err;

	*pruned = NULL;
	if (!profile->drop_frames && !profile_is_heap(profile))
		return 0;
	copy = profile_compact(profile);
	err = profile_prune(copy);
	if (err)
		profile_free(copy);
	else
		*pruned = copy;
	return err;
}
