/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kinds of values that options take: durations, sizes, counts, frequencies, percentages, choices, regular
 * expressions, file names.
 *
 * One function checks the text of each kind, stores the value, and prints what is wrong with it, so that every
 * command rejects "-d soon" in the same words.
 */
#ifndef CPROF_CLI_ARGTYPE_H
#define CPROF_CLI_ARGTYPE_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum arg_kind {		/* and the type of what is stored */
	ARG_KIND_GROUP, /* not an option, but a heading */
	ARG_KIND_HELP,	/* private to args.c */
	ARG_KIND_FLAG,	/* bool: true */
	ARG_KIND_CLEAR, /* bool: false */
	ARG_KIND_TEXT,	/* const char * */
	ARG_KIND_FILE,	/* const char *: not empty */
	/* const char *: the FILE of --name=FILE, or an operand right behind it; "-" without either */
	ARG_KIND_MAYBE_FILE,
	ARG_KIND_MAYBE_TEXT, /* const char *: not empty; "-": the option was given without one */
	ARG_KIND_OPERANDS,   /* struct arg_list: all operands up to the next option, or to "--" */
	ARG_KIND_CHOICE,     /* const char *: one of a few words */
	ARG_KIND_REGEX,	     /* const char *: a POSIX extended regular expression, which compiles */
	ARG_KIND_COUNT,	     /* uint32_t: a whole number */
	ARG_KIND_SIZE,	     /* uint64_t: a whole number of bytes, 1 to 2^40 */
	ARG_KIND_FREQUENCY,  /* uint32_t: times a second, from 1 to what the kernel allows */
	ARG_KIND_REAL,	     /* double: a finite number */
	ARG_KIND_PERCENT,    /* double: "10%", "10pp" or "10" is 10.0; not negative */
	ARG_KIND_DURATION,   /* uint64_t: nanoseconds, of "30s" (base/clock.h) */
	ARG_KIND_CALL,	     /* what `parse` takes */
};

struct arg_list {
	const char **at;
	size_t nr, cap;
	bool given; /* ARG_OPERANDS: the option was given, even without operands */
};

/* Stores the value of text; name is the option's, as it was given. -EINVAL: not usable, printed. */
typedef int (*arg_parse_fn)(const char *name, const char *text, void *value);

struct arg_type {
	enum arg_kind kind;
	bool is_list;	/* text, file, regex, choice: a struct arg_list is appended to; never "" */
	bool is_output; /* a file that the command writes, not one that it reads */
	const char
		*words; /* of a choice, separated by blanks; "tag=KEY" is any text after "tag=" */
	uint32_t least, most; /* of a count */
	arg_parse_fn parse;   /* of a call */
	bool (*more)(
		const char *
			word); /* whether the word behind a value belongs to the option, too; NULL: no */
};

#define ARG_FLAG                      \
	{                             \
		.kind = ARG_KIND_FLAG \
	}
#define ARG_CLEAR                      \
	{                              \
		.kind = ARG_KIND_CLEAR \
	}
#define ARG_TEXT                      \
	{                             \
		.kind = ARG_KIND_TEXT \
	}
#define ARG_TEXTS                                      \
	{                                              \
		.kind = ARG_KIND_TEXT, .is_list = true \
	}
#define ARG_FILE                      \
	{                             \
		.kind = ARG_KIND_FILE \
	}
#define ARG_FILES                                      \
	{                                              \
		.kind = ARG_KIND_FILE, .is_list = true \
	}
#define ARG_OUTPUT                                       \
	{                                                \
		.kind = ARG_KIND_FILE, .is_output = true \
	}
#define ARG_OUTPUTS                                                       \
	{                                                                 \
		.kind = ARG_KIND_FILE, .is_list = true, .is_output = true \
	}
#define ARG_MAYBE_FILE                                         \
	{                                                      \
		.kind = ARG_KIND_MAYBE_FILE, .is_output = true \
	}
#define ARG_MAYBE_TEXT                      \
	{                                   \
		.kind = ARG_KIND_MAYBE_TEXT \
	}
#define ARG_OPERANDS                      \
	{                                 \
		.kind = ARG_KIND_OPERANDS \
	}
#define ARG_CHOICE(of)                               \
	{                                            \
		.kind = ARG_KIND_CHOICE, .words = of \
	}
#define ARG_CHOICES(of)                                               \
	{                                                             \
		.kind = ARG_KIND_CHOICE, .words = of, .is_list = true \
	} /* "a,b" is one entry */
#define ARG_REGEX                      \
	{                              \
		.kind = ARG_KIND_REGEX \
	}
#define ARG_REGEXES                                     \
	{                                               \
		.kind = ARG_KIND_REGEX, .is_list = true \
	}
#define ARG_COUNT                                          \
	{                                                  \
		.kind = ARG_KIND_COUNT, .most = UINT32_MAX \
	}
#define ARG_COUNT_FROM(a, b)                                  \
	{                                                     \
		.kind = ARG_KIND_COUNT, .least = a, .most = b \
	}
#define ARG_SIZE                      \
	{                             \
		.kind = ARG_KIND_SIZE \
	}
#define ARG_FREQUENCY                      \
	{                                  \
		.kind = ARG_KIND_FREQUENCY \
	}
#define ARG_REAL                      \
	{                             \
		.kind = ARG_KIND_REAL \
	}
#define ARG_PERCENT                      \
	{                                \
		.kind = ARG_KIND_PERCENT \
	}
#define ARG_DURATION                      \
	{                                 \
		.kind = ARG_KIND_DURATION \
	}
#define ARG_CALL(fn, fn_more)                                       \
	{                                                           \
		.kind = ARG_KIND_CALL, .parse = fn, .more = fn_more \
	}

/*
 * Stores the value of text at value; text NULL: none was given. name is the option's, as it was given.
 * -EINVAL: not usable, printed; value is untouched.
 */
int argtype_store(const struct arg_type *type, const char *name, const char *text, void *value);
/* Compiles a regular expression for regfree(); `what` names the option or operand. -EINVAL, printed. */
int argtype_regex(const char *what, const char *text, regex_t *regex);
/* A whole number in decimal digits alone. -EINVAL: it is not, -ERANGE: not from least to most; untouched. */
int argtype_whole(const char *text, uint64_t least, uint64_t most, uint64_t *value);

#endif
