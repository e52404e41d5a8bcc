/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regular expressions from untrusted files, limited to forms that compile and match in bounded time and
 * memory.
 *
 * glibc compiles some regexes to a size exponential in the length of their text: r+ becomes rr*, so
 * ((((r+)+)+)+)+ doubles at each level, and r{9}{9}{9} multiplies. Its parser recurses at every parenthesis
 * (CVE-2010-4051, not fixed), and back-references make it try every possible match. A safe regex has none of
 * these. The texts are not trusted either: glibc allocates about 10 bytes for each byte that it looks at.
 */
#ifndef CPROF_BASE_SAFEREGEX_H
#define CPROF_BASE_SAFEREGEX_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#define SAFEREGEX_MAX_TEXT_BYTES 65536 /* text beyond this is ignored */

/*
 * Whether a regex is safe: no intervals, no back-references, parentheses at most 16 deep, and at most 8192
 * characters where everything under a + counts twice.
 */
bool saferegex_is(const char *text);

/* Compiles a POSIX extended regex, for regfree(). -EINVAL: not safe, or not a regex; *regex is unset then. */
int saferegex_compile(const char *text, regex_t *regex);

/*
 * Whether regex matches anywhere in the len bytes at text, which need no NUL. The regex may also be one of
 * the user's own, compiled without saferegex_compile().
 */
bool saferegex_matches(const regex_t *regex, const char *text, size_t len);

#endif
