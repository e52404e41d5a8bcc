// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two profiles out of one input: a byte each, how long the first is (low, high), then both. What is
 * merged must be sound, add up to what went in, be compact already, and be nothing when it is
 * subtracted from itself. Filters, pruning and splitting must leave it sound, and the parts add up.
 */
#include "fuzz/reencode.h"
#include "profile/algebra.h"
#include "profile/align.h"
#include "profile/filter.h"
#include "profile/merge.h"
#include "profile/prune.h"
#include "profile/split.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds, const char *what)
{
	if (!holds)
		fuzz_die("merge", what);
}

static void check_sound(const struct profile *profile)
{
	if (profile_judge(profile))
		fuzz_die("not sound", profile_judge(profile));
}

/* Could a sum of some of the values have stuck? Then totals need not add up. */
static bool may_stick(const struct profile *profile)
{
	for (uint32_t i = 0; i < profile->nr_types; i++)
		if (profile_total(profile, i, true) > INT64_MAX / 4)
			return true;
	return false;
}

static void check_compact(const struct profile *profile)
{
	struct profile *again = profile_compact(profile);

	if (profile_differs(profile, again))
		fuzz_die("compact is not idempotent", profile_differs(profile, again));
	profile_free(again);
}

static void check_nothing(const struct profile *profile)
{
	struct merger *merger = merger_new();
	struct profile *nothing;

	check(!merger_add(merger, profile, NULL), "an empty merger refuses");
	check(!merger_add_scaled(merger, profile, -1, NULL), "it differs from itself");
	nothing = merger_finish(merger);
	check(!nothing->samples.nr, "something is left of it less itself");
	profile_free(nothing);
}

static int add_part(void *ctx, const char *value, const struct profile *part)
{
	int64_t *totals = ctx;

	(void)value;
	check_sound(part);
	for (uint32_t i = 0; i < part->nr_types; i++)
		totals[i] += profile_total(part, i, false);
	return 0;
}

static void check_split(const struct profile *profile)
{
	int64_t totals[PROFILE_MAX_TYPES] = {0};

	check(!profile_split(profile, "comm", add_part, totals), "split fails");
	for (uint32_t i = 0; i < profile->nr_types; i++)
		check(totals[i] == profile_total(profile, i, false), "the parts are not the whole");
}

static void change(struct profile *profile)
{
	struct profile_filter filter = {0};
	regex_t regex;
	struct tag *tag;
	char why[TAG_WHY_BYTES];

	if (regcomp(&regex, "a", REG_EXTENDED | REG_NOSUB) || tag_new("1:100b", &tag, why))
		fuzz_die("compile", "fails");
	profile_prune(profile);
	check_sound(profile);
	filter.hide = &regex;
	filter.tag_ignore = tag;
	profile_filter_samples(profile, &filter);
	check_sound(profile);
	regfree(&regex);
	tag_free(tag);
	profile_set_label(profile, "comm", "x");
	profile_scale(profile, .5);
	check_sound(profile);
}

static void check_merged(const struct profile *a, const struct profile *b, bool stuck)
{
	struct merger *merger = merger_new();
	const char *why = NULL;
	struct profile *merged;

	check(!merger_add(merger, a, NULL), "an empty merger refuses");
	if (merger_add(merger, b, &why)) {
		check(why && *why, "refused without a word");
		merger_free(merger);
		return;
	}
	merged = merger_finish(merger);
	check_sound(merged);
	for (uint32_t i = 0; !stuck && i < merged->nr_types; i++)
		check(profile_total(merged, i, false) ==
			      profile_total(a, i, false) + profile_total(b, i, false),
		      "totals do not add up");
	check_compact(merged);
	if (!stuck) {
		check_nothing(merged);
		check_split(merged);
	}
	change(merged);
	profile_free(merged);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *a, *b;
	size_t len;

	if (size < 2)
		return 0;
	len = data[0] | (size_t)data[1] << 8;
	data += 2;
	size -= 2;
	if (len > size)
		len = size;
	a = fuzz_parse(data, len);
	b = fuzz_parse(data + len, size - len);
	if (a && b) {
		bool stuck = may_stick(a) || may_stick(b);

		check_merged(a, b, stuck);
		check_merged(a, a, stuck);
		if (!profile_align(a, b)) {
			check(profile_same_types(a, b), "aligned, and not the same");
			check_sound(a);
			check_sound(b);
			check_merged(a, b, may_stick(a) || may_stick(b));
		}
	}
	profile_free(a);
	profile_free(b);
	return 0;
}
