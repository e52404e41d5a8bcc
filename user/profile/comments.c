// SPDX-License-Identifier: BSD-2-Clause
/* Comments are alike if their shapes are the same: the text with a mark in place of each number. */
#include "profile/comments.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define LIKE	   " more comments like this: "
#define OWN_PREFIX "cprof "
#define MARK	   '\x01'

struct group {
	uint64_t nr;
	uint32_t first; /* the first that stands by itself, 0: none does */
	uint32_t text;	/* what those are like that are folded already, 0: there are none */
	bool has_first, has_rest; /* written */
};

struct groups {
	struct strtab shapes; /* id: the place in groups */
	vec_of(struct group) groups;
};

/* What an earlier merge has folded counts for as many as it says. Returns the comment itself. */
static const char *unfolded(const char *comment, uint64_t *nr)
{
	const char *like = strstr(comment, LIKE);
	uint64_t value = 0;

	*nr = 1;
	if (!like || like == comment)
		return comment;
	for (const char *at = comment; at < like; at++) {
		if (*at == ',')
			continue;
		if (!isdigit((unsigned char)*at) || value > UINT32_MAX)
			return comment;
		value = 10 * value + (uint64_t)(*at - '0');
	}
	*nr = value;
	return like + strlen(LIKE);
}

bool profile_comment_is_folded(const char *comment)
{
	uint64_t nr;

	return unfolded(comment, &nr) != comment;
}

static uint32_t shape_of(struct groups *groups, const char *comment)
{
	char *shape scoped(freep) = xasprintf("%s", comment), *to = shape;
	uint32_t id;

	for (const char *at = comment; *at; at++) {
		bool is_inside = to > shape && to[-1] == MARK && strchr(",.", *at) &&
				 isdigit((unsigned char)at[1]);

		if (is_inside || (isdigit((unsigned char)*at) && to > shape && to[-1] == MARK))
			continue;
		*to++ = isdigit((unsigned char)*at) ? MARK : *at;
	}
	*to = '\0';
	id = strtab_intern(&groups->shapes, shape);
	while (groups->groups.nr <= id)
		vec_push(&groups->groups, (struct group){0});
	return id;
}

static bool is_of_a_run(const char *comment)
{
	return !strncmp(comment, OWN_PREFIX, strlen(OWN_PREFIX));
}

/* What becomes of a comment: itself, one for many, or 0: nothing. */
static uint32_t folded(struct profile *profile, struct group *group, uint32_t comment)
{
	char *text scoped(freep) = NULL;

	if (group->nr <= COMMENTS_MOST_ALIKE)
		return comment;
	if (comment == group->first && !group->has_first) {
		group->has_first = true;
		return comment;
	}
	if (group->has_rest)
		return 0;
	group->has_rest = true;
	text = xasprintf("%s" LIKE "%s", text_count(group->nr - !!group->first),
			 strtab_get(&profile->strings, group->first ? group->first : group->text));
	return profile_string(profile, text);
}

void profile_fold_comments(struct profile *profile)
{
	struct groups groups = {0};
	uint32_t *ids scoped(freep) = xcalloc(profile->comments.nr, sizeof(*ids));
	size_t nr = 0;

	for (size_t i = 0; i < profile->comments.nr; i++) {
		uint64_t alike;
		const char *text = strtab_get(&profile->strings, profile->comments.at[i]);
		const char *comment = unfolded(text, &alike);
		struct group *group;

		if (is_of_a_run(text))
			continue;
		ids[i] = shape_of(&groups, comment);
		group = &groups.groups.at[ids[i]];
		group->nr += alike;
		if (comment == text && !group->first)
			group->first = profile->comments.at[i];
		if (comment != text && !group->text)
			group->text = profile_string(profile, comment);
	}
	for (size_t i = 0; i < profile->comments.nr; i++) {
		uint32_t comment = profile->comments.at[i];

		if (ids[i])
			comment = folded(profile, &groups.groups.at[ids[i]], comment);
		if (comment)
			profile->comments.at[nr++] = comment;
	}
	profile->comments.nr = nr;
	strtab_release(&groups.shapes);
	vec_release(&groups.groups);
}
