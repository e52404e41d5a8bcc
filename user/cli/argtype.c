// SPDX-License-Identifier: BSD-2-Clause
/*
 * A function for each kind checks the text and stores the value. It says what would have been right where the text is
 * not; the sentence about that is put together in one place. strtod() takes more than we do (hex, blanks, "inf",
 * "nan"), which is ruled out before it is called.
 */
#include "cli/argtype.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/smallfile.h"
#include "base/text.h"
#include "base/vec.h"

#define MAX_SIZE     (1ull << 40)
#define WANTED_BYTES 512

int argtype_whole(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
	unsigned long long n;

	if (!*text || text[strspn(text, "0123456789")])
		return -EINVAL;
	errno = 0;
	n = strtoull(text, NULL, 10);
	if (errno || n < least || n > most)
		return -ERANGE;
	*value = n;
	return 0;
}

/* Each of these: NULL, or what text should have been; space has WANTED_BYTES. */

static const char *store_count(const struct arg_type *type, const char *text, uint32_t *value,
			       char *space)
{
	uint64_t n;
	int err = argtype_whole(text, type->least, type->most, &n);

	if (!err)
		*value = n;
	if (!err)
		return NULL;
	if (!type->least && type->most == UINT32_MAX && err == -EINVAL)
		return "a whole number";
	snprintf(space, WANTED_BYTES, "a whole number from %u to %u", type->least, type->most);
	return space;
}

static const char *store_size(const char *text, uint64_t *value)
{
	return argtype_whole(text, 1, MAX_SIZE, value) ? "a number of bytes from 1 to 2^40" : NULL;
}

/* perf refuses to tick faster than this, by throttling: samples would go missing without a word. */
static uint64_t highest_frequency(void)
{
	long max = smallfile_number("/proc/sys/kernel/perf_event_max_sample_rate", -1);

	return max >= 0 && max < UINT32_MAX ? (uint64_t)max : 100000;
}

static const char *store_frequency(const char *text, uint32_t *value, char *space)
{
	uint64_t max = highest_frequency(), hz;

	if (argtype_whole(text, 1, max, &hz)) {
		snprintf(space, WANTED_BYTES,
			 "a rate from 1 to %lu ticks a second (kernel.perf_event_max_sample_rate)",
			 max);
		return space;
	}
	*value = hz;
	return NULL;
}

/* The number that text begins with; *end is what follows. false: it does not begin with one. */
static bool read_real(const char *text, const char **end, double *value)
{
	const char *digits = text + (*text == '-' || *text == '+');
	char *rest;
	double x;

	if (!isdigit((unsigned char)*digits) && *digits != '.')
		return false;
	if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
		return false;
	x = strtod(text, &rest);
	if (rest == text || !isfinite(x))
		return false;
	*value = x;
	*end = rest;
	return true;
}

static const char *store_real(const char *text, double *value)
{
	const char *end;
	double x;

	if (!read_real(text, &end, &x) || *end)
		return "a number";
	*value = x;
	return NULL;
}

static const char *store_percent(const char *text, double *value)
{
	const char *end;
	double x;

	if (*text == '-' || !read_real(text, &end, &x) ||
	    (*end && strcmp(end, "%") != 0 && strcmp(end, "pp") != 0))
		return "a percentage such as 10%";
	*value = x;
	return NULL;
}

static const char *store_duration(const char *text, uint64_t *value)
{
	return clock_parse_duration(text, value) ? "a duration such as 30s, 500ms or 2m" : NULL;
}

static bool is_word(const char *text, size_t len, const char *words)
{
	for (const char *word = words; *word; word += strspn(word, " ")) {
		size_t word_len = strcspn(word, " "), fixed = strcspn(word, " =");

		if (fixed < word_len && len > fixed + 1 && !strncmp(text, word, fixed + 1))
			return true;
		if (fixed == word_len && word_len == len && !strncmp(text, word, len))
			return true;
		word += word_len;
	}
	return false;
}

/* All of a list "a,b", or the one. */
static bool are_words(const struct arg_type *type, const char *text)
{
	const char *end;

	do {
		end = type->is_list ? strchrnul(text, ',') : text + strlen(text);
		if (!is_word(text, end - text, type->words))
			return false;
		text = end + 1;
	} while (*end);
	return true;
}

static const char *check_choice(const struct arg_type *type, const char *text, char *space)
{
	size_t used = snprintf(space, WANTED_BYTES, "one of ");

	if (are_words(type, text))
		return NULL;
	for (const char *word = type->words; *word && used < WANTED_BYTES - 2; word++) {
		if (*word == ' ')
			space[used++] = ',';
		space[used++] = *word;
	}
	space[used] = '\0';
	return space;
}

/* Storing --------------------------------------------------------------------------------------- */

int argtype_regex(const char *what, const char *text, regex_t *regex)
{
	int status = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
	char why[128], safe[512];

	if (!status)
		return 0;
	regerror(status, regex, why, sizeof(why));
	return fail(-EINVAL, "%s '%s' is not a regular expression: %s.", what,
		    text_escape(text, safe, sizeof(safe)), why);
}

static int check_regex(const char *name, const char *text)
{
	regex_t regex;
	int err = argtype_regex(name, text, &regex);

	if (!err)
		regfree(&regex);
	return err;
}

/* A text, or another one of a list; it is good by its kind. */
static int store_text(const struct arg_type *type, const char *name, const char *text, void *value)
{
	if (!*text && type->kind == ARG_KIND_FILE)
		return fail(-EINVAL, "%s: the file name is empty.", name);
	if (!*text && type->is_list)
		return fail(-EINVAL, "%s: the value is empty.", name);
	if (type->is_list)
		vec_push((struct arg_list *)value, text);
	else
		*(const char **)value = text;
	return 0;
}

/* The kinds that hold something else than texts. */
static const char *store_number(const struct arg_type *type, const char *text, void *value,
				char *space)
{
	switch (type->kind) {
	case ARG_KIND_COUNT:
		return store_count(type, text, value, space);
	case ARG_KIND_SIZE:
		return store_size(text, value);
	case ARG_KIND_FREQUENCY:
		return store_frequency(text, value, space);
	case ARG_KIND_REAL:
		return store_real(text, value);
	case ARG_KIND_PERCENT:
		return store_percent(text, value);
	default:
		return store_duration(text, value);
	}
}

/* An option whose text may be missing. */
static int store_optional(const struct arg_type *type, const char *name, const char *text,
			  void *value)
{
	struct arg_list *list = value;

	if (text && !*text)
		return fail(-EINVAL, "%s: the %s is empty.", name,
			    type->kind == ARG_KIND_MAYBE_TEXT ? "text" : "file name");
	if (type->kind != ARG_KIND_OPERANDS) {
		*(const char **)value = text ? text : "-";
		return 0;
	}
	list->given = true;
	if (text)
		vec_push(list, text);
	return 0;
}

int argtype_store(const struct arg_type *type, const char *name, const char *text, void *value)
{
	char space[WANTED_BYTES], safe[512];
	const char *wanted;

	switch (type->kind) {
	case ARG_KIND_FLAG:
	case ARG_KIND_CLEAR:
		*(bool *)value = type->kind == ARG_KIND_FLAG;
		return 0;
	case ARG_KIND_MAYBE_FILE:
	case ARG_KIND_MAYBE_TEXT:
	case ARG_KIND_OPERANDS:
		return store_optional(type, name, text, value);
	case ARG_KIND_CALL:
		return type->parse(name, text, value);
	case ARG_KIND_REGEX:
		if (check_regex(name, text))
			return -EINVAL;
		return store_text(type, name, text, value);
	case ARG_KIND_TEXT:
	case ARG_KIND_FILE:
		return store_text(type, name, text, value);
	case ARG_KIND_CHOICE:
		wanted = check_choice(type, text, space);
		break;
	default:
		wanted = store_number(type, text, value, space);
		break;
	}
	if (wanted)
		return fail(-EINVAL, "%s %s: not %s.", name,
			    *text ? text_escape(text, safe, sizeof(safe)) : "''", wanted);
	return type->kind == ARG_KIND_CHOICE ? store_text(type, name, text, value) : 0;
}
