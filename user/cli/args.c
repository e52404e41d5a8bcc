// SPDX-License-Identifier: BSD-2-Clause
/*
 * Walks argv once, from left to right. getopt_long() is not used: it keeps its position in globals, calls an ambiguous
 * option unknown, and does not say which word it choked on.
 *
 * Where an operand goes depends on the option before it (--base FILE..., --json FILE), which the walk keeps.
 */
#include "cli/args.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/suggest.h"
#include "base/text.h"
#include "base/vec.h"
#include "cli/arghelp.h"

#define NAME_BYTES 64

struct walk {
	struct args *args;
	int argc, at; /* at: the next word */
	char **argv;
	struct arg_list *operands; /* where the next operand goes */
	const char **maybe_file;   /* an option just before that may take it; NULL: none */
};

/* The i-th option, --help being the last; NULL after that. Headings have no name. */
static const struct arg_row *row_at(const struct args *args, size_t i)
{
	return i < args->nr_rows ? &args->rows[i] : i == args->nr_rows ? &arghelp_row : NULL;
}

static const struct arg_row *row_of_letter(const struct args *args, char letter)
{
	const struct arg_row *row;

	for (size_t i = 0; (row = row_at(args, i)); i++)
		if (row->name && row->letter == letter)
			return row;
	return NULL;
}

/* What is wrong ---------------------------------------------------------------------------------- */

static void offer(struct suggestion *suggestion, const struct arg_row *row)
{
	if (row->name && row->help)
		suggestion_offer(suggestion, row->name);
}

static int unknown_option(const struct args *args, const char *word)
{
	const struct args_other *other = &args->other;
	struct suggestion suggestion = suggestion_for(word + 2, strcspn(word + 2, "="));
	const struct arg_row *row;
	const char *own;
	char safe[256];

	text_escape(word, safe, sizeof(safe));
	for (size_t i = 0; (row = row_at(args, i)); i++)
		offer(&suggestion, row);
	own = suggestion.best;
	for (size_t i = 0; i < other->nr_rows; i++)
		offer(&suggestion, &other->rows[i]);
	if (!suggestion.best)
		return fail(-EINVAL, "unknown option %s (see cprof %s --help).", safe,
			    args->command);
	if (suggestion.best == own)
		return fail(-EINVAL, "unknown option %s. Did you mean --%s?", safe, own);
	return fail(-EINVAL, "unknown option %s: --%s is an option of cprof %s, not of %s.", safe,
		    suggestion.best, other->command, args->command);
}

static int unknown_letter(const struct args *args, char letter)
{
	char word[] = {letter, '\0'}, safe[8];

	return fail(-EINVAL, "unknown option -%s (see cprof %s --help).",
		    text_escape(word, safe, sizeof(safe)), args->command);
}

/* Several options begin with the len letters of name. */
static int ambiguous_option(const struct args *args, const char *name, size_t len)
{
	char *names scoped(freep) = xstrdup("");
	const struct arg_row *row;

	for (size_t i = 0; (row = row_at(args, i)); i++)
		if (row->name && row->help && !strncmp(row->name, name, len)) {
			char *before scoped(freep) = names;

			names = xasprintf("%s%s--%s", before, *before ? ", " : "", row->name);
		}
	return fail(-EINVAL, "ambiguous option --%.*s. Did you mean one of %s?", (int)len, name,
		    names);
}

/* The walk --------------------------------------------------------------------------------------- */

/* The option with the name of len letters, or the only one shown that begins so. -EINVAL, printed. */
static int find_long(const struct args *args, const char *word, size_t len,
		     const struct arg_row **found)
{
	const struct arg_row *row, *near = NULL;
	size_t nr = 0;

	for (size_t i = 0; (row = row_at(args, i)); i++) {
		if (!row->name || strncmp(row->name, word + 2, len) != 0)
			continue;
		if (!row->name[len]) {
			*found = row;
			return 0;
		}
		nr += !!row->help;
		near = row->help ? row : near;
	}
	if (!len || !nr)
		return unknown_option(args, word);
	if (nr > 1)
		return ambiguous_option(args, word + 2, len);
	*found = near;
	return 0;
}

static bool takes_none(const struct arg_row *row)
{
	return row->type.kind == ARG_KIND_FLAG || row->type.kind == ARG_KIND_CLEAR ||
	       row->type.kind == ARG_KIND_HELP;
}

static bool takes_operands(const struct arg_row *row)
{
	return row->type.kind == ARG_KIND_OPERANDS || row->type.kind == ARG_KIND_MAYBE_FILE ||
	       row->type.kind == ARG_KIND_MAYBE_TEXT;
}

/* One option, which was given as `name`. text: behind "=" or the letter; NULL: the next word, if it needs one. */
static int take_option(struct walk *walk, const struct arg_row *row, const char *name,
		       const char *text)
{
	const char *command = walk->args->command;
	bool needs_text = !takes_none(row) && !takes_operands(row);
	int err;

	if (text && takes_none(row))
		return fail(-EINVAL, "%s takes no argument (see cprof %s --help).", name, command);
	if (row->type.kind == ARG_KIND_HELP) {
		arghelp_print(walk->args);
		return 1;
	}
	if (needs_text && !text && walk->at == walk->argc)
		return fail(-EINVAL, "%s needs an argument (see cprof %s --help).", name, command);
	if (needs_text && !text)
		text = walk->argv[walk->at++];
	walk->operands = row->type.kind == ARG_KIND_OPERANDS ? row->value : &walk->args->operand;
	walk->maybe_file = row->type.kind == ARG_KIND_MAYBE_FILE && !text ? row->value : NULL;
	err = argtype_store(&row->type, name, text, row->value);
	while (!err && row->type.more && walk->at < walk->argc &&
	       row->type.more(walk->argv[walk->at]))
		err = argtype_store(&row->type, name, walk->argv[walk->at++], row->value);
	return err;
}

/* --name, --name=TEXT */
static int take_long(struct walk *walk, const char *word)
{
	size_t len = strcspn(word + 2, "=");
	const char *text = word[2 + len] ? word + 2 + len + 1 : NULL;
	const struct arg_row *row = NULL;
	char name[NAME_BYTES];
	int err = find_long(walk->args, word, len, &row);

	if (!row)
		return err;
	snprintf(name, sizeof(name), "--%s", row->name);
	return take_option(walk, row, name, text);
}

/* -a, -ab, -nTEXT */
static int take_letters(struct walk *walk, const char *word)
{
	int err = 0;

	for (const char *letter = word + 1; !err && *letter; letter++) {
		const struct arg_row *row = row_of_letter(walk->args, *letter);
		const char name[] = {'-', *letter, '\0'};

		if (!row)
			return unknown_letter(walk->args, *letter);
		if (!takes_none(row))
			return take_option(walk, row, name, letter[1] ? letter + 1 : NULL);
		err = take_option(walk, row, name, NULL);
	}
	return err;
}

static void take_operand(struct walk *walk, const char *operand)
{
	if (walk->maybe_file)
		*walk->maybe_file = operand;
	else
		vec_push(walk->operands, operand);
	walk->maybe_file = NULL;
}

int args_parse(struct args *args, int argc, char **argv)
{
	struct walk walk = {
		.args = args, .argc = argc, .at = 1, .argv = argv, .operands = &args->operand};
	bool is_end = false;
	int err = 0;

	if (argc == 2 && !strcmp(argv[1], ARGS_LISTING)) {
		arghelp_list(args);
		return 1;
	}
	while (!err && !is_end && walk.at < argc) {
		const char *word = argv[walk.at];
		bool is_option = word[0] == '-' && word[1];

		is_end = !strcmp(word, "--") || (args->runs_command && !is_option);
		walk.at += is_option || !is_end;
		if (is_end)
			break;
		if (!is_option)
			take_operand(&walk, word);
		else
			err = word[1] == '-' ? take_long(&walk, word) : take_letters(&walk, word);
	}
	if (err)
		return err;
	if (args->runs_command && walk.at < argc)
		args->child_argv = argv + walk.at;
	for (int i = walk.at; !args->runs_command && i < argc; i++)
		vec_push(&args->operand, argv[i]);
	return 0;
}

bool args_imply(struct args *args)
{
	args->found = args->implied->find();
	if (args->found)
		vec_push(&args->operand, args->found);
	return args->found;
}

/* Are there as many operands as there must be? Printed if not. */
static bool has_operands(struct args *args)
{
	char safe[256];

	if (args->operand.nr && !*args->operands) {
		warn("unexpected argument '%s': cprof %s takes none (see cprof %s --help).",
		     text_escape(args->operand.at[0], safe, sizeof(safe)), args->command,
		     args->command);
		return false;
	}
	if (!args->needs_file || args->operand.nr || (args->implied && args_imply(args)))
		return true;
	warn("%s: no FILE given%s%s: give one, or - for stdin (see cprof %s --help).",
	     args->command, args->implied ? ", and " : "",
	     args->implied ? args->implied->missing : "", args->command);
	return false;
}

bool args_begin(struct args *args, int argc, char **argv, enum exit_code *code)
{
	int parsed = args_parse(args, argc, argv);

	*code = parsed > 0 || (!parsed && has_operands(args)) ? EXIT_DONE : EXIT_USAGE;
	return !parsed && !*code;
}

static void add_all(struct arg_list *to, const struct arg_list *from)
{
	vec_for_each(from, path)
		vec_push(to, *path);
}

void args_files(const struct args *args, struct arg_list *inputs, struct arg_list *outputs)
{
	add_all(inputs, &args->operand);
	for (size_t i = 0; i < args->nr_rows; i++) {
		const struct arg_row *row = &args->rows[i];
		struct arg_list *to = row->type.is_output ? outputs : inputs;
		const char *path;

		if (row->type.kind == ARG_KIND_OPERANDS ||
		    (row->type.kind == ARG_KIND_FILE && row->type.is_list)) {
			add_all(to, row->value);
		} else if (row->type.kind == ARG_KIND_FILE ||
			   row->type.kind == ARG_KIND_MAYBE_FILE) {
			path = *(const char **)row->value;
			if (path)
				vec_push(to, path);
		}
	}
}

static bool has_list(const struct arg_row *row)
{
	return row->type.is_list || row->type.kind == ARG_KIND_OPERANDS;
}

void args_release(struct args *args)
{
	for (size_t i = 0; i < args->nr_rows; i++)
		if (has_list(&args->rows[i]))
			vec_release((struct arg_list *)args->rows[i].value);
	vec_release(&args->operand);
	free(args->found);
}
