/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regular expressions that a file gives, and that nobody has read. What glibc makes of a regex can be
 * exponential in its text: r+ is compiled as rr*, so that ((((r+)+)+)+)+ doubles at each level, and
 * r{9}{9}{9} multiplies; its parser recurses at every parenthesis (CVE-2010-4051, not mended); and
 * back-references make it search every way there is. A tame one has none of this. Nor are the texts
 * to be trusted: glibc needs some 10 bytes for each that it looks at.
 */
#ifndef CPROF_BASE_SAFEREGEX_H
#define CPROF_BASE_SAFEREGEX_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#define TAME_MAX_TEXT 65536 /* bytes: what is beyond is not looked at */

/*
 * Is it small once compiled? No intervals, no back-references, parentheses at most 16 deep, at most
 * 8192 characters with everything under a + counted twice.
 */
bool saferegex_is(const char *text);

/* POSIX extended, without subexpressions. -EINVAL: not tame, or not a regex. */
int saferegex_compile(const char *text, regex_t *regex);

/* Is there a match in the first len bytes? They need no NUL. The regex may be anybody's. */
bool saferegex_matches(const regex_t *regex, const char *text, size_t len);

#endif
