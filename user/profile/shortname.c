// SPDX-License-Identifier: BSD-2-Clause
/*
 * One pass from left to right, with a stack of the brackets that are open. What is between two of them
 * is silent (left out) or not:
 *
 *	<	behind a name or an operator: template arguments, silent. Else a part of the name:
 *		Rust's <T as Trait>, <impl T>; Java's <init>
 *	(	behind a name, an operator or template arguments: an argument list, silent. Else a part
 *		of the name: Go's main.(*T).f
 *	{	a part of the name: {lambda(int)#1}, {{closure}}
 *	[	copied up to its end: [abi:cxx11], [clone .cold], Go's [go.shape.int]
 *
 * "operator" takes the brackets that are its own with it.
 */
#include "profile/shortname.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define MAX_DEPTH 64

struct bracket {
	char closing;
	bool is_silent; /* it, or one around it */
};

struct shortening {
	const char *name, *at; /* all of it, and what is left to read */
	char *out;
	size_t len;
	struct bracket open[MAX_DEPTH];
	size_t depth;
	size_t start; /* in out: behind the last blank between words, where the name may begin */
	bool is_operator; /* at the outermost level: its blanks part no words */
	bool ends_name;	  /* what was read last may have arguments */
};

static bool is_silent(const struct shortening *s)
{
	return s->depth && s->open[s->depth - 1].is_silent;
}

static void emit(struct shortening *s, const char *text, size_t len)
{
	if (is_silent(s))
		return;
	memcpy(s->out + s->len, text, len);
	s->len += len;
}

/* Copies the next len bytes. */
static void copy(struct shortening *s, size_t len)
{
	emit(s, s->at, len);
	s->at += len;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static size_t skip_text(const char *at, const char *text)
{
	size_t len = strlen(text);

	return strncmp(at, text, len) ? 0 : len;
}

/* The length of the first of these that the text begins with; 0: none. The list ends with NULL. */
static size_t skip_one(const char *at, const char *const *texts)
{
	for (size_t len; *texts; texts++)
		if ((len = skip_text(at, *texts)))
			return len;
	return 0;
}

/* "operator" and what it is of, as far as that has brackets; false: no such word here. */
static bool take_operator(struct shortening *s)
{
	static const char *const symbols[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<",
					      ">>", "<=", ">=",	 "->",	"<",   ">",   NULL};
	size_t len = skip_text(s->at, "operator");

	if (!len || is_word(s->at[len]) || (s->at > s->name && is_word(s->at[-1])))
		return false;
	copy(s, len);
	copy(s, skip_one(s->at, symbols));
	if (skip_text(s->at, " <")) /* of templates: "operator< <int>" */
		copy(s, 1);
	s->is_operator |= !s->depth;
	s->ends_name = true;
	return true;
}

static bool open_bracket(struct shortening *s, char closing, bool silent)
{
	if (s->depth == MAX_DEPTH)
		return false;
	silent |= is_silent(s);
	s->open[s->depth++] = (struct bracket){closing, silent};
	s->at++;
	s->ends_name = false;
	return true;
}

/* Is what begins with this '<' a list of template arguments? */
static bool is_template(const struct shortening *s)
{
	static const char *const parts[] = {"<impl ", "<lambda", "<init>", "<clinit>", NULL};

	if (s->ends_name)
		return true;
	return s->at - s->name >= 2 && !memcmp(s->at - 2, "::", 2) && !skip_one(s->at, parts);
}

static bool take_angle(struct shortening *s)
{
	bool silent = is_template(s);

	emit(s, "<>", silent ? 2 : 1);
	return open_bracket(s, '>', silent);
}

/* What a template returns stands before its name. */
static void drop_return_type(struct shortening *s)
{
	memmove(s->out, s->out + s->start, s->len - s->start);
	s->len -= s->start;
	s->start = 0;
}

static bool take_parenthesis(struct shortening *s)
{
	size_t len = skip_text(s->at, "(anonymous namespace)");

	if (len) {
		copy(s, len);
		s->ends_name = false;
		return true;
	}
	if (!s->ends_name) {
		emit(s, "(", 1);
		return open_bracket(s, ')', false);
	}
	if (!s->depth && s->at[-1] == '>')
		drop_return_type(s);
	if (!s->depth)
		s->is_operator = false;
	return open_bracket(s, ')', true);
}

/* Up to the bracket that closes this one. */
static bool take_square(struct shortening *s)
{
	size_t depth = 0, len = 0;

	do {
		depth += s->at[len] == '[';
		depth -= s->at[len] == ']';
		len++;
	} while (depth && s->at[len]);
	copy(s, len);
	s->ends_name = true;
	return !depth;
}

/* " const" and the like, behind an argument list. */
static void skip_qualifiers(struct shortening *s)
{
	static const char *const qualifiers[] = {" const", " volatile", " noexcept",
						 " &&",	   " &",	NULL};
	size_t len;

	while ((len = skip_one(s->at, qualifiers)) && !is_word(s->at[len]))
		s->at += len;
}

static bool close_bracket(struct shortening *s)
{
	char c = *s->at;
	bool was_silent = is_silent(s);

	if (c == '>' && (!s->depth || s->open[s->depth - 1].closing != c || s->at[-1] == '-')) {
		copy(s, 1); /* an arrow, or a comparison in parentheses */
		s->ends_name = false;
		return s->depth || (s->at - s->name > 1 && s->at[-2] == '-');
	}
	if (!s->depth || s->open[s->depth - 1].closing != c)
		return false;
	s->depth--;
	if (was_silent)
		s->at++;
	else
		copy(s, 1);
	if (was_silent && c == ')' && !is_silent(s))
		skip_qualifiers(s);
	s->ends_name = c != ')';
	return true;
}

/* Reads on by one step. false: not understood. */
static bool step(struct shortening *s)
{
	if (take_operator(s))
		return true;
	switch (*s->at) {
	case '<':
		return take_angle(s);
	case '(':
		return take_parenthesis(s);
	case '[':
		return take_square(s);
	case '{':
		emit(s, "{", 1);
		return open_bracket(s, '}', false);
	case '>':
	case ')':
	case '}':
		return close_bracket(s);
	case ']':
		return false;
	}
	s->ends_name = is_word(*s->at) || *s->at == '\'' || (s->ends_name && s->is_operator);
	copy(s, 1);
	if (s->at[-1] == ' ' && !s->depth && !s->is_operator)
		s->start = s->len;
	return true;
}

char *short_name(const char *name)
{
	struct shortening s = {.name = name, .at = name};

	if (!name[strcspn(name, "<(")])
		return xstrdup(name);
	s.out = xmalloc(strlen(name) + 2); /* "<>" may come before the '>' is read */
	while (*s.at)
		if (!step(&s))
			break;
	s.out[s.len] = '\0';
	if (!*s.at && !s.depth && s.len)
		return s.out;
	free(s.out);
	return xstrdup(name);
}
