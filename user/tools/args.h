/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses the options of the commands that read profiles, from a table: one row for each option, its
 * value stored where the row says, `--help` printed from the same rows. (record and heap, whose options
 * depend on one another, have options.h.)
 *
 *	struct top_options { bool cum; uint32_t limit; const char *focus; } options = {.limit = 20};
 *	const struct arg_row rows[] = {
 *		{"cum", 'c', ARG_FLAG, NULL, "sort by what is below, too", &options.cum},
 *		{"limit", 'n', ARG_COUNT, "N", "so many rows (default 20)", &options.limit},
 *		{"focus", 0, ARG_TEXT, "REGEX", "only stacks with such a frame", &options.focus},
 *	};
 *	struct args args scoped(args_release) = {
 *		.command = "top", .operands = "FILE...", .needs_file = true,
 *		.about = "Where the values are.", .rows = rows, .nr_rows = ARRAY_SIZE(rows)};
 *	enum exit_code code;
 *
 *	return args_begin(&args, argc, argv, &code) ? show(&options, &args.operand) : code;
 *
 * Options and operands mix in any order; "--" ends the options. Texts are borrowed from argv; lists
 * belong to the args, wherever their rows store them.
 */
#ifndef CPROF_TOOLS_ARGS_H
#define CPROF_TOOLS_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "exit.h"

enum arg_kind {
	ARG_FLAG,     /* bool: true */
	ARG_TEXT,     /* const char * */
	ARG_LIST,     /* struct arg_list: appended to; "a,b" is one entry */
	ARG_OPERANDS, /* struct arg_list: all operands up to the next option, or to "--" */
	/* const char *: the FILE of --name=FILE, or an operand right behind it; "-" without either */
	ARG_MAYBE_FILE,
	ARG_COUNT,    /* uint32_t: a whole number */
	ARG_REAL,     /* double: a finite number */
	ARG_PERCENT,  /* double: "10%", "10pp" or "10" is 10.0; not negative */
	ARG_DURATION, /* uint64_t: nanoseconds, of "30s" (base/clock.h) */
};

struct arg_list {
	const char **at;
	size_t nr, cap;
	bool given; /* ARG_OPERANDS: the option was there, be it with nothing behind it */
};

struct arg_row {
	const char *name; /* without "--" */
	char letter;	  /* 0: none */
	enum arg_kind kind;
	const char *value_name; /* for --help; NULL for flags */
	const char *help;	/* lines parted by '\n'; NULL: not shown */
	void *value;		/* where to store, of the kind's type */
};

struct args {
	const char *command;  /* "top" */
	const char *operands; /* as in the usage line: "FILE..." */
	bool needs_file;      /* there must be an operand */
	bool takes_newest;    /* without one, it is the newest profile here (tools/newest.h) */
	const char *about;    /* one or more lines for --help, without the last '\n' */
	const struct arg_row *rows;
	size_t nr_rows;
	const char *epilog;	 /* after the options in --help: exit codes, examples; NULL: none */
	struct arg_list operand; /* filled */
	char *newest;		 /* private */
};

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* 0; -EINVAL: not usable, printed; 1: --help was asked for and printed. */
int args_parse(struct args *args, int argc, char **argv);
/* The same as a command's first step. false: it ends here, with *code; else *code is EXIT_DONE. */
bool args_begin(struct args *args, int argc, char **argv, enum exit_code *code);
/* Adds the newest profile of this folder as an operand, and says so; false: there is none. */
bool args_take_newest(struct args *args);
/* Parsed or not: the operands, and the lists of all rows. */
void args_release(struct args *args);

#endif
