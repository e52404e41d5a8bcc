// SPDX-License-Identifier: BSD-2-Clause
/*
 * Texts are wrapped at the blanks, greedily, at 80 columns. Help texts begin in one column in every command; a
 * flag that is too long for that has a line of its own.
 */
#include "cli/arghelp.h"

#include <stdio.h>
#include <string.h>

#define COLUMNS	    80
#define HELP_COLUMN 28

const struct arg_row arghelp_row = {"help",	      'h', {.kind = ARG_KIND_HELP}, NULL,
				    "show this help", NULL};

void arghelp_wrap(FILE *out, const char *text, int at, int indent)
{
	bool is_first = true;

	while (*text) {
		int len = strcspn(text, " \n");

		if (!is_first && at + 1 + len > COLUMNS) {
			fprintf(out, "\n%*s", indent, "");
			at = indent;
		} else if (!is_first) {
			putc(' ', out);
			at++;
		}
		fprintf(out, "%.*s", len, text);
		at += len;
		is_first = text[len] == '\n';
		if (is_first) {
			fprintf(out, "\n%*s", indent, "");
			at = indent;
		}
		text += len + !!text[len];
	}
	putc('\n', out);
}

static bool is_optional(const struct arg_row *row)
{
	return row->type.kind == ARG_KIND_MAYBE_FILE || row->type.kind == ARG_KIND_MAYBE_TEXT;
}

/* One option: "  -o, --output FILE", and its help beside it or, if that is too long, below it. */
static void print_option(const struct arg_row *row)
{
	const char *value = row->value_name ? row->value_name : "";
	const char *before = !row->value_name ? "" : is_optional(row) ? "[=" : " ";
	char letter[] = {'-', row->letter, ',', ' ', '\0'};
	int len = printf("  %s--%s%s%s%s", row->letter ? letter : "    ", row->name, before, value,
			 is_optional(row) ? "]" : "");

	if (len > HELP_COLUMN - 2) {
		putchar('\n');
		len = 0;
	}
	printf("%*s", HELP_COLUMN - len, "");
	arghelp_wrap(stdout, row->help, HELP_COLUMN, HELP_COLUMN);
}

/* --help itself stands at the end of the rows without a heading, or at the end of all. */
static void print_options(const struct args *args)
{
	bool is_printed = false;

	for (size_t i = 0; i < args->nr_rows; i++) {
		const struct arg_row *row = &args->rows[i];

		if (row->type.kind == ARG_KIND_GROUP) {
			if (i && !is_printed && args->rows[0].type.kind != ARG_KIND_GROUP) {
				print_option(&arghelp_row);
				is_printed = true;
			}
			printf("%s%s:\n", i ? "\n" : "", row->help);
		} else if (row->help) {
			print_option(row);
		}
	}
	if (!is_printed)
		print_option(&arghelp_row);
}

void arghelp_print(const struct args *args)
{
	printf("usage: cprof %s [options]%s%s\n\n", args->command, *args->operands ? " " : "",
	       args->operands);
	arghelp_wrap(stdout, args->about, 0, 0);
	if (args->implied)
		arghelp_wrap(stdout, args->implied->about, 0, 0);
	putchar('\n');
	print_options(args);
	if (args->epilog) {
		putchar('\n');
		arghelp_wrap(stdout, args->epilog, 0, 0);
	}
}

/* The possible values; one with "=" is any text, which nobody can offer. */
static void print_words(const char *words)
{
	const char *before = "";

	for (const char *word = words; word && *word; word += strspn(word, " ")) {
		size_t len = strcspn(word, " ");

		if (!memchr(word, '=', len)) {
			printf("%s%.*s", before, (int)len, word);
			before = " ";
		}
		word += len;
	}
	if (!*before)
		putchar('-');
}

static void list_option(const struct arg_row *row)
{
	char letter[] = {'-', row->letter, '\0'};

	printf("--%s\t%s\t%s\t", row->name, letter, row->value_name ? row->value_name : "-");
	print_words(row->type.words);
	printf("\t%s\n", row->help);
}

void arghelp_list(const struct args *args)
{
	for (size_t i = 0; i < args->nr_rows; i++)
		if (args->rows[i].help && args->rows[i].name)
			list_option(&args->rows[i]);
	list_option(&arghelp_row);
}
