/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses the command line of every command from a table: one row for each option. Its kind says what the value
 * may be; the value is checked, and stored where the row says. `--help` and the listing for the shells' completions
 * are printed from the same rows.
 *
 *	struct top_options { bool cum; uint32_t limit; const char *focus; } options = {.limit = 20};
 *	const struct arg_row rows[] = {
 *		{"cum", 'c', ARG_FLAG, NULL, "sort by cum, not by flat", &options.cum},
 *		{"limit", 'n', ARG_COUNT, "N", "show at most N rows (default 20)", &options.limit},
 *		ARG_GROUP("Selection"),
 *		{"focus", 0, ARG_REGEX, "REGEX", "keep only matching stacks", &options.focus},
 *	};
 *	struct args args scoped(args_release) = {
 *		.command = "top", .operands = "FILE...", .needs_file = true,
 *		.about = "List where the values are.", .rows = rows, .nr_rows = ARRAY_SIZE(rows)};
 *	enum exit_code code;
 *
 *	return args_begin(&args, argc, argv, &code) ? show(&options, &args.operand) : code;
 *
 * As with getopt_long(): options and operands mix in any order, "--" ends the options, "-" is an operand, "-nVALUE"
 * and "--name=VALUE" are one word, letters without values may share a word, and a long name may be shortened
 * while only one begins so. Texts are borrowed from argv; lists belong to the args, wherever their rows store them.
 */
#ifndef CPROF_CLI_ARGS_H
#define CPROF_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/argtype.h"
#include "exit.h"

struct arg_row {
	const char *name; /* without "--" */
	char letter;	  /* 0: none */
	struct arg_type type;
	const char *value_name; /* for --help; NULL for flags */
	const char *help;	/* one text, wrapped by --help; NULL: a hidden option */
	void *value;		/* where to store, of the kind's type */
};

/* The rows that follow have a heading of their own in --help. */
#define ARG_GROUP(title)                                             \
	{                                                            \
		NULL, 0, {.kind = ARG_KIND_GROUP}, NULL, title, NULL \
	}

/* The operand of a command that was given none. */
struct args_implied {
	char *(*find)(
		void);	   /* says what it found, and returns it, malloc()ed; NULL: there is none */
	const char *about; /* a sentence for --help */
	const char *missing; /* "no profile in this folder": the message if there is none */
};

/* Another command's options, so that the message about one of them can name that command. */
struct args_other {
	const char *command;
	const struct arg_row *rows;
	size_t nr_rows;
};

struct args {
	const char *command; /* "top" */
	const char *
		operands; /* as in the usage line: "FILE..."; "": it takes none, which is checked */
	const char *about;  /* what the command does; wrapped, '\n' begins a paragraph's line */
	const char *epilog; /* after the options: exit codes, examples; NULL: none */
	bool needs_file;    /* there must be an operand */
	bool runs_command;  /* the first operand, or "--", ends the options: a command follows */
	const struct args_implied *implied; /* NULL: none */
	const struct arg_row *rows;
	size_t nr_rows;
	struct args_other other;
	struct arg_list operand; /* filled */
	char **child_argv; /* filled with runs_command; borrowed from argv; NULL: no command */
	char *found;	   /* private: the implied operand */
};

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* 0; -EINVAL: not usable, printed; 1: --help or the listing was asked for and printed. */
int args_parse(struct args *args, int argc, char **argv);
/* The same as a command's first step. false: it ends here, with *code; else *code is EXIT_DONE. */
bool args_begin(struct args *args, int argc, char **argv, enum exit_code *code);
/*
 * The files that a parsed command line names, to read (the operands are among them) and to write. "-" is a standard
 * stream. The caller releases the lists.
 */
void args_files(const struct args *args, struct arg_list *inputs, struct arg_list *outputs);
/* Adds the implied operand; false: there is none. */
bool args_imply(struct args *args);
/* Parsed or not: the operands, and the lists of all rows. */
void args_release(struct args *args);

#endif
