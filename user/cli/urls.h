/* SPDX-License-Identifier: BSD-2-Clause */
/* The servers that an option names, or where it names none, an environment variable. */
#ifndef CPROF_CLI_URLS_H
#define CPROF_CLI_URLS_H

/*
 * given: as of ARG_MAYBE_TEXT. *urls: one URL or several, separated by blanks, of which at least one is http:// or https://;
 * borrowed from given or the environment. -EINVAL: there is none, printed.
 */
int urls_find(const char *option, const char *given, const char *variable, const char **urls);

#endif
