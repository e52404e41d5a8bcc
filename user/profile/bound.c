// SPDX-License-Identifier: BSD-2-Clause
/* Writer and readers of the comment have the same words from bound_say(). */
#include "profile/bound.h"

#include <stdio.h>
#include <string.h>

const char *bound_word(enum bound bound)
{
	static const char *const words[] = {"", "at least ", "at most ", "about "};

	return words[bound];
}

enum bound bound_of_rest(enum bound bound)
{
	static const enum bound rests[] = {BOUND_NONE, BOUND_MOST, BOUND_LEAST, BOUND_ABOUT};

	return rests[bound];
}

char *bound_say(const char *what, enum bound bound, char *out, size_t out_bytes)
{
	snprintf(out, out_bytes, "%s is %sthis", what, bound_word(bound));
	return out;
}

enum bound bound_said(const struct profile *profile, const char *type)
{
	const char *what = !strncmp(type, "inuse", strlen("inuse"))   ? "in use"
			   : !strncmp(type, "alloc", strlen("alloc")) ? "allocated"
								      : NULL;
	unsigned int said = BOUND_NONE;
	char text[64];

	vec_for_each(&profile->comments, comment)
		for (int bound = BOUND_LEAST; what && bound <= BOUND_ABOUT; bound++)
			if (strstr(strtab_get(&profile->strings, *comment),
				   bound_say(what, bound, text, sizeof(text))))
				said |= bound;
	return said;
}
