// SPDX-License-Identifier: BSD-2-Clause
/*
 * Estimates the compiled size in one pass over the text, before regcomp() sees it: a stack of group sizes, in
 * which a + doubles the item before it, as glibc does.
 *
 * Rejected: RE2 or PCRE2 with limits, a dependency for the sake of a few expressions that pprof files carry;
 * regcomp() in a child with a memory limit, which costs a fork per file.
 */
#include "base/saferegex.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#define MAX_SIZE  8192
#define MAX_DEPTH 16

/* The end of the bracket expression that begins at s; NULL: it has none. */
static const char *skip_brackets(const char *s)
{
	s += s[1] == '^' ? 2 : 1;
	if (*s == ']')
		s++;
	for (; *s && *s != ']'; s++)
		if (*s == '[' && (s[1] == ':' || s[1] == '.' || s[1] == '=')) {
			const char close[] = {s[1], ']', '\0'};

			s = strstr(s + 2, close);
			if (!s)
				return NULL;
			s++;
		}
	return *s ? s : NULL;
}

bool saferegex_is(const char *text)
{
	size_t sizes[MAX_DEPTH + 1] = {0}; /* of each open group, without its last item */
	size_t depth = 0, last = 0;	   /* last: size of the last item, which a + repeats */

	for (const char *s = text; s && *s; s++) {
		if (strchr("*?+", *s)) {
			last = *s == '+' ? 2 * last : last + 1;
		} else if (*s == ')') {
			if (!depth)
				return false;
			last += sizes[depth--] + 1;
		} else {
			sizes[depth] += last;
			last = *s != '(';
			if (*s == '(' && ++depth > MAX_DEPTH)
				return false;
			if (*s == '(')
				sizes[depth] = 0;
			if (*s == '{')
				return false;
			if (*s == '[')
				s = skip_brackets(s);
			else if (*s == '\\' && (!*++s || isdigit((unsigned char)*s)))
				return false;
		}
		if (!s || sizes[depth] + last > MAX_SIZE)
			return false;
	}
	return !depth;
}

int saferegex_compile(const char *text, regex_t *regex)
{
	return saferegex_is(text) && !regcomp(regex, text, REG_EXTENDED | REG_NOSUB) ? 0 : -EINVAL;
}

bool saferegex_matches(const regex_t *regex, const char *text, size_t len)
{
	regmatch_t part = {0, len < SAFEREGEX_MAX_TEXT_BYTES ? len : SAFEREGEX_MAX_TEXT_BYTES};

	return !regexec(regex, text, 1, &part, REG_STARTEND);
}
