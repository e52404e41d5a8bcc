// SPDX-License-Identifier: BSD-2-Clause
#include "gate/identity.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define RUST_HASH_DIGITS 16
#define LENGTH(array)	 (sizeof(array) / sizeof((array)[0]))

/* What follows a '.' in the name of a clone: GCC's, then LLVM's. Digits may follow, after a '.'. */
static const char *const clone_words[] = {"constprop", "isra",	     "part", "cold",
					  "lto_priv",  "localalias", "llvm", "__uniq"};

static size_t nr_digits_before(const char *name, size_t len)
{
	size_t nr = 0;

	while (nr < len && isdigit((unsigned char)name[len - nr - 1]))
		nr++;
	return nr;
}

/* How long the name is without a last ".word" or ".word.123"; len if it has none. */
static size_t without_clone_suffix(const char *name, size_t len)
{
	size_t end = len, nr = nr_digits_before(name, len);

	if (nr && nr < len && name[len - nr - 1] == '.')
		end = len - nr - 1;
	for (size_t i = 0; i < LENGTH(clone_words); i++) {
		size_t word = strlen(clone_words[i]);

		if (end > word + 1 && !memcmp(name + end - word, clone_words[i], word) &&
		    name[end - word - 1] == '.')
			return end - word - 1;
	}
	return len;
}

/* Demanglers write " [clone .cold]" (GCC's) and " (.cold)" (LLVM's). */
static size_t without_clone_note(const char *name, size_t len)
{
	static const char *const openers[] = {" [clone .", " (."};

	if (!len || (name[len - 1] != ']' && name[len - 1] != ')'))
		return len;
	for (size_t i = 0; i < LENGTH(openers); i++) {
		const char *found = memmem(name, len, openers[i], strlen(openers[i]));

		if (found && found > name)
			return found - name;
	}
	return len;
}

static size_t without_rust_hash(const char *name, size_t len)
{
	size_t at = len - RUST_HASH_DIGITS;

	if (len <= RUST_HASH_DIGITS + 3 || memcmp(name + at - 3, "::h", 3))
		return len;
	for (size_t i = at; i < len; i++)
		if (!isdigit((unsigned char)name[i]) && (name[i] < 'a' || name[i] > 'f'))
			return len;
	return at - 3;
}

/* Does name[..len) end in "operator", and then nothing but such characters? */
static bool ends_in_operator(const char *name, size_t len, const char *characters)
{
	static const char word[] = "operator";
	size_t word_len = sizeof(word) - 1;

	while (len && strchr(characters, name[len - 1]))
		len--;
	return len >= word_len && !memcmp(name + len - word_len, word, word_len);
}

/* Is the '<' or '>' at name[at] part of an operator's name, or of "->"? */
static bool is_operator(const char *name, size_t at)
{
	if (at && name[at] == '>' && name[at - 1] == '-')
		return true;
	return ends_in_operator(name, at, "<>=-");
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Leaves out what stands in <...> right behind a word, in place. Unbalanced names stay whole. */
static void drop_templates(char *name)
{
	char *copy scoped(freep) = xstrdup(name);
	size_t depth = 0, used = 0;

	for (size_t i = 0; name[i]; i++) {
		bool angle = (name[i] == '<' || name[i] == '>') && !is_operator(name, i);

		if (angle && name[i] == '<' && (depth || (i && is_word(name[i - 1]))))
			depth++;
		else if (angle && name[i] == '>' && depth)
			depth--;
		else if (!depth)
			copy[used++] = name[i];
	}
	copy[used] = '\0';
	if (!depth && used)
		memcpy(name, copy, used + 1);
}

char *identity_name(const struct identity *identity, const char *name)
{
	size_t len = strlen(name), before;
	char *result = xstrdup(name);

	do { /* foo.isra.0.cold has two */
		before = len;
		len = without_clone_suffix(name, len);
		len = without_clone_note(name, len);
		len = without_rust_hash(name, len);
	} while (len < before);
	result[len] = '\0';
	if (identity->drop_templates)
		drop_templates(result);
	for (size_t i = 0; i < identity->nr_renames; i++) {
		if (strcmp(result, identity->renames[i].from))
			continue;
		free(result);
		return xstrdup(identity->renames[i].to);
	}
	return result;
}

/* A name may hold "operator==": an '=' of an operator does not count. */
int identity_parse_rename(const char *text, struct identity_rename *rename)
{
	for (const char *p = strchr(text, '='); p; p = strchr(p + 1, '=')) {
		char *from;

		if (ends_in_operator(text, p - text, "=!<>+-*/%&|^") || p == text || !p[1])
			continue;
		from = xstrdup(text);
		from[p - text] = '\0';
		*rename = (struct identity_rename){from, xstrdup(p + 1)};
		return 0;
	}
	return -EINVAL;
}

void identity_release_rename(struct identity_rename *rename)
{
	free((char *)rename->from);
	free((char *)rename->to);
}
