// SPDX-License-Identifier: BSD-2-Clause
/*
 * Formats one option at a time into a string of its own. The help text is split at its newlines: the first
 * line stands beside the option, the others below it in the same column.
 */
#include "base/optiontext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

char *option_help(const struct option_text *option, int column)
{
	const char *value = option->value ? option->value : "";
	const char *before = !option->value ? "" : option->is_optional ? "[=" : " ";
	char flag[96], letter[] = {'-', option->letter, ',', ' ', '\0'};
	char *text = xstrdup("");

	snprintf(flag, sizeof(flag), "%s--%s%s%s%s", option->letter ? letter : "    ", option->name,
		 before, value, option->is_optional ? "]" : "");
	for (const char *help = option->help, *end; help; help = *end ? end + 1 : NULL) {
		char *so_far scoped(freep) = text;

		end = strchrnul(help, '\n');
		text = xasprintf("%s  %-*s %.*s\n", so_far, column - 3, flag, (int)(end - help),
				 help);
		flag[0] = '\0';
	}
	return text;
}

char *option_listing(const struct option_text *option)
{
	char letter[] = {'-', option->letter, '\0'};
	char *text = xasprintf("--%s\t%s\t%s\t%s\t%s\n", option->name, letter,
			       option->value ? option->value : "-",
			       option->words ? option->words : "-", option->help);

	for (char *c = text; c[1]; c++)
		if (*c == '\n')
			*c = ' ';
	return text;
}
