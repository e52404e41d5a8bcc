// SPDX-License-Identifier: BSD-2-Clause
/*
 * getopt_long() does the parsing; its tables are made from the rows, whose position is the value
 * that it returns. Numbers are checked here, once, so that a command sees only values of the right
 * kind.
 */
#include "tools/args.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/optiontext.h"
#include "base/suggest.h"
#include "base/text.h"
#include "output/format.h"
#include "tools/newest.h"

#define FIRST_LONG  256 /* what getopt returns for row 0; letters are below */
#define AN_OPERAND  1	/* and for an operand in its place */
#define MAX_ROWS    64
#define HELP_COLUMN 31

/* What the value of an option may be, where that is one of a few words. */
static const char *words_of(const struct args *args, const struct arg_row *row, char *space,
			    size_t space_bytes)
{
	static const struct {
		const char *command, *option, *words; /* command NULL: of any */
	} known[] = {
		{NULL, "by", "function line file mapping address pid comm tid thread"},
		{NULL, "as", "share absolute both"},
		{NULL, "measure", "flat cum both"},
		{NULL, "inconclusive", "pass fail"},
		{"flame", "format", "html svg"},
		{"convert", "format", NULL}, /* all of them */
		{"convert", "to", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(row->name, known[i].option) != 0 ||
		    (known[i].command && strcmp(args->command, known[i].command) != 0))
			continue;
		return known[i].words ? known[i].words : format_words(space, space_bytes);
	}
	return NULL;
}

/* All options that are not hidden: for people, or for a shell. */
static void print_rows(const struct args *args, bool is_listing)
{
	static const struct arg_row help = {
		.name = "help", .letter = 'h', .help = "show this help"};
	char space[256];

	for (size_t i = 0; i <= args->nr_rows; i++) {
		const struct arg_row *row = i < args->nr_rows ? &args->rows[i] : &help;
		struct option_text option = {
			.name = row->name,
			.letter = row->letter,
			.value = row->value_name,
			.is_optional = row->kind == ARG_MAYBE_FILE,
			.words = words_of(args, row, space, sizeof(space)),
			.help = row->help,
		};
		char *text scoped(freep) = NULL;

		if (!row->help)
			continue;
		text = is_listing ? option_listing(&option) : option_help(&option, HELP_COLUMN);
		fputs(text, stdout);
	}
}

static void print_help(const struct args *args)
{
	printf("usage: cprof %s [options] %s\n\n%s\n%s\n", args->command, args->operands,
	       args->about,
	       args->takes_newest
		       ? "Without a FILE, read the newest profile in the current folder.\n"
		       : "");
	print_rows(args, false);
	if (args->epilog)
		printf("\n%s\n", args->epilog);
}

static int parse_count(const char *text, uint32_t *value)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || n > UINT32_MAX)
		return -EINVAL;
	*value = n;
	return 0;
}

static int parse_real(const char *text, bool percent, double *value)
{
	char *end;
	double x = strtod(text, &end);

	if (end == text || !isfinite(x))
		return -EINVAL;
	if (percent && *end)
		end += *end == '%' ? 1 : strcmp(end, "pp") ? 0 : 2;
	if (*end || (percent && x < 0))
		return -EINVAL;
	*value = x;
	return 0;
}

static int store(const struct arg_row *row, const char *text)
{
	const char *wanted = NULL;

	switch (row->kind) {
	case ARG_FLAG:
		*(bool *)row->value = true;
		return 0;
	case ARG_TEXT:
		*(const char **)row->value = text;
		return 0;
	case ARG_LIST:
		vec_push((struct arg_list *)row->value, text);
		return 0;
	case ARG_MAYBE_FILE:
		*(const char **)row->value = text ? text : "-";
		return 0;
	case ARG_OPERANDS: /* text only where it was given as --name=TEXT */
		((struct arg_list *)row->value)->given = true;
		if (text)
			vec_push((struct arg_list *)row->value, text);
		return 0;
	case ARG_COUNT:
		wanted = parse_count(text, row->value) ? "a whole number" : NULL;
		break;
	case ARG_REAL:
		wanted = parse_real(text, false, row->value) ? "a number" : NULL;
		break;
	case ARG_PERCENT:
		wanted = parse_real(text, true, row->value) ? "a percentage such as 10%" : NULL;
		break;
	case ARG_DURATION:
		wanted = clock_parse_duration(text, row->value)
				 ? "a duration such as 30s, 500ms or 2m"
				 : NULL;
		break;
	}
	return wanted ? fail(-EINVAL, "--%s %s: not %s.", row->name, text, wanted) : 0;
}

static const char *nearest_option(const struct args *args, const char *text)
{
	struct suggestion suggestion = suggestion_for(text + 2, strcspn(text + 2, "="));

	for (size_t i = 0; i < args->nr_rows; i++)
		if (args->rows[i].help)
			suggestion_offer(&suggestion, args->rows[i].name);
	suggestion_offer(&suggestion, "help");
	return suggestion.best;
}

/* What getopt choked on, as the user wrote it. */
static int complain(int value, char **argv, const struct args *args)
{
	char letter[] = {'-', optopt, '\0'};
	bool is_letter = optopt > 0 && optopt < FIRST_LONG;
	const char *text = is_letter ? letter : argv[optind - 1];
	const char *nearest = is_letter ? NULL : nearest_option(args, text);

	if (value == ':')
		return fail(-EINVAL, "%s needs an argument (see cprof %s --help).", text,
			    args->command);
	if (nearest)
		return fail(-EINVAL, "unknown option %s. Did you mean --%s?", text, nearest);
	return fail(-EINVAL, "unknown option %s (see cprof %s --help).", text, args->command);
}

static const struct arg_row *row_of(const struct args *args, int value)
{
	if (value >= FIRST_LONG)
		return &args->rows[value - FIRST_LONG];
	for (size_t i = 0; i < args->nr_rows; i++)
		if (args->rows[i].letter == value)
			return &args->rows[i];
	return NULL;
}

static int has_arg(const struct arg_row *row)
{
	if (row->kind == ARG_FLAG)
		return no_argument;
	return row->kind == ARG_OPERANDS || row->kind == ARG_MAYBE_FILE ? optional_argument
									: required_argument;
}

/*
 * The tables that getopt_long() wants: longs has room for all rows and two more, shorts twice that.
 * "-": operands come in their place; ":": a missing argument is reported as ':', not as '?'.
 */
static void make_tables(const struct args *args, struct option *longs, char *shorts)
{
	if (args->nr_rows > MAX_ROWS)
		abort(); /* a table in the source is too long */
	shorts = stpcpy(shorts, "-:h");
	for (size_t i = 0; i < args->nr_rows; i++) {
		const struct arg_row *row = &args->rows[i];

		longs[i] = (struct option){row->name, has_arg(row), NULL, FIRST_LONG + i};
		if (!row->letter)
			continue;
		*shorts++ = row->letter;
		if (row->kind != ARG_FLAG)
			*shorts++ = ':';
	}
	longs[args->nr_rows] = (struct option){"help", 0, NULL, 'h'};
}

/* Where an operand goes: by the option before it. */
struct operand_slots {
	struct arg_list *operands;
	const char **maybe_file; /* an option just before that may take it; NULL: none */
};

static void put_operand(struct operand_slots *place, const char *operand)
{
	if (place->maybe_file)
		*place->maybe_file = operand;
	else
		vec_push(place->operands, operand);
	place->maybe_file = NULL;
}

int args_parse(struct args *args, int argc, char **argv)
{
	struct option longs[MAX_ROWS + 2] = {{0}};
	char shorts[2 * MAX_ROWS + 6] = "";
	struct operand_slots place = {.operands = &args->operand};
	const struct arg_row *given;
	int value, err = 0;

	if (argc == 2 && !strcmp(argv[1], OPTION_LISTING)) {
		print_rows(args, true);
		return 1;
	}
	make_tables(args, longs, shorts);
	optind = 0; /* GNU: begin anew, whatever was parsed before */
	opterr = 0;
	while (!err && (value = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (value == 'h') {
			print_help(args);
			return 1;
		}
		if (value == AN_OPERAND) {
			put_operand(&place, optarg);
			continue;
		}
		if (value == '?' || value == ':') {
			err = complain(value, argv, args);
			continue;
		}
		given = row_of(args, value);
		place = (struct operand_slots){
			.operands = given->kind == ARG_OPERANDS ? given->value : &args->operand,
			.maybe_file = given->kind == ARG_MAYBE_FILE && !optarg ? given->value
									       : NULL};
		err = store(given, optarg);
	}
	for (int i = optind; !err && i < argc; i++)
		vec_push(&args->operand, argv[i]);
	return err;
}

bool args_take_newest(struct args *args)
{
	char safe[512];

	args->newest = newest_profile(".");
	if (!args->newest)
		return false;
	say("no FILE given: reading %s, the newest profile in this folder",
	    text_escape(args->newest, safe, sizeof(safe)));
	vec_push(&args->operand, args->newest);
	return true;
}

bool args_begin(struct args *args, int argc, char **argv, enum exit_code *code)
{
	int parsed = args_parse(args, argc, argv);

	*code = parsed < 0 ? EXIT_USAGE : EXIT_DONE;
	if (parsed)
		return false;
	if (!args->needs_file || args->operand.nr || (args->takes_newest && args_take_newest(args)))
		return true;
	warn("%s: no FILE given%s: give one, or - for stdin (see cprof %s --help).", args->command,
	     args->takes_newest ? ", and no profile in this folder" : "", args->command);
	*code = EXIT_USAGE;
	return false;
}

void args_release(struct args *args)
{
	for (size_t i = 0; i < args->nr_rows; i++)
		if (args->rows[i].kind == ARG_LIST || args->rows[i].kind == ARG_OPERANDS)
			vec_release((struct arg_list *)args->rows[i].value);
	vec_release(&args->operand);
	free(args->newest);
}
