// SPDX-License-Identifier: BSD-2-Clause
/*
 * A condition is parsed once, as a range if it reads as one and else as a list of regexes, which
 * is pprof's order of trying. A range keeps its unit, that of the lower end; a label's number is
 * converted into it when it is compared.
 *
 * Regexes are compiled by regcomp() itself and not by saferegex_compile(): they come from the
 * command line, not from a file, and regerror() says what is wrong with one. Matching is bounded
 * all the same.
 */
#include "profile/tag.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/saferegex.h"
#include "profile/unit.h"

#define TAG_UNIT_BYTES 32

struct tag {
	char *key;	    /* NULL: any label */
	bool is_range;	    /* else regexes */
	double least, most; /* in unit */
	char unit[TAG_UNIT_BYTES];
	vec_of(regex_t) regexes;
};

/* A number and the letters behind it, "128kb"; what follows it, or NULL: it is none. */
static const char *parse_number(const char *text, double *value, char unit[TAG_UNIT_BYTES])
{
	const char *s = text + (*text == '+' || *text == '-'), *letters;
	size_t len;

	if (!isdigit((unsigned char)*s))
		return NULL;
	letters = s + strspn(s, "0123456789");
	for (len = 0; isalpha((unsigned char)letters[len]);)
		len++;
	if (len >= TAG_UNIT_BYTES)
		return NULL;
	*value = strtoll(text, NULL, 10); /* sticks at the ends */
	memcpy(unit, letters, len);
	unit[len] = '\0';
	return letters + len;
}

/* "32kb", ":64kb", "4mb:", "128kb:1mb". */
static bool parse_range(const char *text, struct tag *tag)
{
	char unit[TAG_UNIT_BYTES];
	double factor;
	const char *rest;

	tag->least = -INFINITY;
	tag->most = INFINITY;
	if (*text == ':') {
		rest = parse_number(text + 1, &tag->most, tag->unit);
		return rest && !*rest;
	}
	rest = parse_number(text, &tag->least, tag->unit);
	if (!rest || (*rest && *rest != ':'))
		return false;
	if (!*rest)
		tag->most = tag->least;
	if (!*rest || !*++rest)
		return true;
	rest = parse_number(rest, &tag->most, unit);
	if (!rest || *rest || unit_factor(unit, tag->unit, &factor))
		return false;
	tag->most *= factor;
	return true;
}

static int add_regex(struct tag *tag, const char *text, char why[TAG_WHY_BYTES])
{
	regex_t regex;
	int status = regcomp(&regex, text, REG_EXTENDED | REG_NOSUB);

	if (status) {
		regerror(status, &regex, why, TAG_WHY_BYTES);
		return -EINVAL;
	}
	vec_push(&tag->regexes, regex);
	return 0;
}

int tag_new(const char *text, struct tag **result, char why[TAG_WHY_BYTES])
{
	struct tag *tag = xcalloc(1, sizeof(*tag));
	const char *equals = strchr(text, '=');
	char *copy scoped(freep) = NULL;
	char *rest;
	int err = 0;

	if (equals) {
		tag->key = xasprintf("%.*s", (int)(equals - text), text);
		text = equals + 1;
	}
	tag->is_range = parse_range(text, tag);
	rest = copy = xstrdup(text);
	while (!tag->is_range && !err && rest)
		err = add_regex(tag, strsep(&rest, ","), why);
	if (err)
		tag_free(tag);
	else
		*result = tag;
	return err;
}

void tag_free(struct tag *tag)
{
	if (!tag)
		return;
	vec_for_each(&tag->regexes, regex)
		regfree(regex);
	vec_release(&tag->regexes);
	free(tag->key);
	free(tag);
}

/* What pprof infers for keys without any unit. */
static const char *unit_of(const struct profile *profile, const struct profile_label *label)
{
	const char *key = strtab_get(&profile->strings, label->key);

	if (label->num_unit)
		return strtab_get(&profile->strings, label->num_unit);
	return !strcmp(key, "request") || !strcmp(key, "alignment") ? "bytes" : key;
}

static bool in_range(const struct tag *tag, const struct profile *profile,
		     const struct profile_label *label)
{
	double factor = 1;

	if (label->str || (*tag->unit && unit_factor(unit_of(profile, label), tag->unit, &factor)))
		return false;
	return label->num * factor >= tag->least && label->num * factor <= tag->most;
}

/* With a key against the value, else against "key:value". */
static bool matches_label(const struct tag *tag, const regex_t *regex,
			  const struct profile *profile, const struct profile_label *label)
{
	const char *key = strtab_get(&profile->strings, label->key);
	const char *value = strtab_get(&profile->strings, label->str);
	char *text scoped(freep) = NULL;

	if (!label->str)
		return false;
	if (tag->key)
		return !strcmp(key, tag->key) && saferegex_matches(regex, value, strlen(value));
	text = xasprintf("%s:%s", key, value);
	return saferegex_matches(regex, text, strlen(text));
}

static bool any_in_range(const struct tag *tag, const struct profile *profile,
			 const struct profile_sample *sample)
{
	for (uint32_t i = 0; i < sample->nr_labels; i++) {
		const struct profile_label *label = &sample->labels[i];
		const char *key = strtab_get(&profile->strings, label->key);

		if ((!tag->key || !strcmp(key, tag->key)) && in_range(tag, profile, label))
			return true;
	}
	return false;
}

static bool any_matches(const struct tag *tag, const regex_t *regex, const struct profile *profile,
			const struct profile_sample *sample)
{
	for (uint32_t i = 0; i < sample->nr_labels; i++)
		if (matches_label(tag, regex, profile, &sample->labels[i]))
			return true;
	return false;
}

bool tag_matches(const struct tag *tag, const struct profile *profile,
		 const struct profile_sample *sample)
{
	bool one_is_enough = tag->key;

	if (tag->is_range)
		return any_in_range(tag, profile, sample);
	vec_for_each(&tag->regexes, regex)
		if (any_matches(tag, regex, profile, sample) == one_is_enough)
			return one_is_enough;
	return !one_is_enough;
}
