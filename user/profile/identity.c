// SPDX-License-Identifier: BSD-2-Clause
/*
 * A chain of small scanners, each of which removes one kind of ending or insertion; every function
 * of both profiles passes through, so none of them is a regex. The order matters:
 *
 *	1. names made of a file and an address, or of a file alone, are none of a function: done at once
 *	2. insertions anywhere: numbers of hidden classes, ABI tags, crate hashes
 *	3. endings, again until there is none: foo.isra.0.cold has two
 *	4. symbol version, then template arguments on request
 *	5. the user's renames, which are on names as they are now
 *
 * A scanner that is not sure leaves the name alone: two functions taken for one hide a change, one
 * taken for two shows up as one that went and one that came.
 *
 * Rejected: comparing mangled names. Profiles of other tools have none, and C++ mangles ABI tags
 * and template arguments into them as well.
 */
#include "profile/identity.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

#define RUST_HASH_DIGITS 16
#define HEX_DIGITS	 "0123456789abcdef"
#define LENGTH(array)	 (sizeof(array) / sizeof((array)[0]))

/* What follows a '.' in the name of a clone, without or with digits after one more '.'; with digits only: "pkg.part" is no clone. */
static const char *const bare_words[] = {"cold", "localalias"};
static const char *const numbered_words[] = {"constprop", "isra", "part",
					     "lto_priv",  "llvm", "__uniq"};

static size_t nr_digits_before(const char *name, size_t len)
{
	size_t nr = 0;

	while (nr < len && isdigit((unsigned char)name[len - nr - 1]))
		nr++;
	return nr;
}

/* How long the name is without a last ".word" that is one of these; len if it has none. */
static size_t without_word(const char *name, size_t len, const char *const *words, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		size_t word = strlen(words[i]);

		if (len > word + 1 && !memcmp(name + len - word, words[i], word) &&
		    name[len - word - 1] == '.')
			return len - word - 1;
	}
	return len;
}

/* The same with a last ".word" or ".word.123". */
static size_t without_clone_suffix(const char *name, size_t len)
{
	size_t nr = nr_digits_before(name, len), end, numbered;

	if (!nr || nr >= len || name[len - nr - 1] != '.')
		return without_word(name, len, bare_words, LENGTH(bare_words));
	end = len - nr - 1;
	numbered = without_word(name, end, numbered_words, LENGTH(numbered_words));
	if (numbered == end)
		numbered = without_word(name, end, bare_words, LENGTH(bare_words));
	return numbered < end ? numbered : len;
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

/* What is made up in the midst of a name ------------------------------------------------------------ */

/* How long "[abi:cxx11]" is, or the hash of a crate in Rust's v0 mangling; 0: neither begins here. */
static size_t tag_len(const char *at)
{
	static const char abi[] = "[abi:";
	size_t nr = strspn(at + 1, HEX_DIGITS);

	if (nr >= 8 && nr <= RUST_HASH_DIGITS && at[1 + nr] == ']')
		return nr + 2;
	if (strncmp(at, abi, sizeof(abi) - 1))
		return 0;
	for (nr = sizeof(abi) - 1; is_word(at[nr]) || at[nr] == '.'; nr++)
		;
	return at[nr] == ']' ? nr + 1 : 0;
}

static void drop_tags(char *name)
{
	size_t to = 0, len;

	for (const char *at = name; *at; at += len) {
		len = *at == '[' && to && is_word(name[to - 1]) ? tag_len(at) : 0;
		if (len)
			continue;
		name[to++] = *at;
		len = 1;
	}
	name[to] = '\0';
}

/* "/0x00000008000c4840" of a hidden class, and before it the number of a lambda: "Lambda$14". */
static void drop_hidden_class(char *name)
{
	size_t to = 0;

	for (const char *at = name; *at;) {
		size_t nr_hex = strncmp(at, "/0x", 3) ? 0 : strspn(at + 3, HEX_DIGITS);
		size_t nr = nr_hex >= 8 ? nr_digits_before(name, to) : 0;

		if (nr_hex < 8) {
			name[to++] = *at++;
			continue;
		}
		at += 3 + nr_hex;
		if (nr && nr < to && name[to - nr - 1] == '$')
			to -= nr + 1;
	}
	name[to] = '\0';
}

/* "memcpy@@GLIBC_2.14"; not "memcpy@plt". */
static void drop_version(char *name)
{
	char *at = strchr(name, '@');

	if (!at || at == name)
		return;
	if (isupper((unsigned char)at[1 + (at[1] == '@')]) && !strpbrk(name, " (<"))
		*at = '\0';
}

/* Files ------------------------------------------------------------------------------------------- */

/* How long "srv-v2", "app-1.2.3" and "python3.11" are without their version; len if they have none. */
static size_t without_version(const char *file, size_t len)
{
	size_t at = len;
	bool dotted;

	while (at && (isdigit((unsigned char)file[at - 1]) || file[at - 1] == '.'))
		at--;
	dotted = memchr(file + at, '.', len - at) && file[at] != '.';
	if (at == len || file[len - 1] == '.')
		return len;
	if (at > 1 && file[at - 1] == 'v' && (file[at - 2] == '-' || file[at - 2] == '.'))
		at--;
	if (at > 1 && file[at - 1] == '-')
		return at - 1;
	if (file[at] == '.')
		return at ? at : len;
	return dotted && at ? at : len;
}

/* In the name of a library, only a part with a '.' is a version: "libc-2.31.so", but "ld-linux-x86-64.so". */
static size_t without_versions(const char *file, size_t len, bool is_library)
{
	for (;;) {
		size_t shorter = without_version(file, len);

		if (shorter == len || (is_library && !memchr(file + shorter, '.', len - shorter)))
			return len;
		len = shorter;
	}
}

/* "libx.so.1.2" and "libx-1.2.so" are "libx.so", "srv-v2" is "srv". */
static char *stem_of(const char *file, size_t len)
{
	const char *so = memmem(file, len, ".so", 3);
	bool is_library = so && so > file && (so + 3 == file + len || so[3] == '.');
	size_t before = without_versions(file, is_library ? (size_t)(so - file) : len, is_library);

	return xasprintf("%.*s%s", (int)before, file, is_library ? ".so" : "");
}

/* The "+0x1234" of a name that is made up of a file and an address; NULL: it is another kind of name. */
static const char *made_up_address(const char *name)
{
	const char *plus = strstr(name, "+0x"), *end;

	if (!plus || plus == name || strpbrk(name, "(<"))
		return NULL;
	end = plus + 3 + strspn(plus + 3, HEX_DIGITS);
	return end > plus + 3 && (!*end || *end == ' ') ? plus : NULL;
}

/* Kernel code has an address that is the same until the next boot. */
static bool is_in_no_file(const char *name)
{
	return *name == '[' && strncmp(name, "[kernel", strlen("[kernel")) != 0;
}

/* "[libx.so.1.2]", not "[truncated: ...]". */
static bool is_bracketed_file(const char *name, size_t len)
{
	return len > 2 && name[0] == '[' && name[len - 1] == ']' && strcspn(name, " :]") == len - 1;
}

static char *bracketed(const char *file, size_t len)
{
	char *stem scoped(freep) = stem_of(file, len);

	return xasprintf("[%s]", stem);
}

char *identity_file_of_path(const char *path)
{
	const char *base = text_base_name(path);
	size_t len = strlen(base);

	return is_bracketed_file(base, len) ? bracketed(base + 1, len - 2) : bracketed(base, len);
}

/* A name of a file and an address, or of a file alone; NULL: it is none. */
static char *name_of_file_code(const char *name)
{
	const char *address = made_up_address(name);
	size_t len = strlen(name);
	char *stem scoped(freep) = NULL;

	if (!address)
		return is_bracketed_file(name, len) ? bracketed(name + 1, len - 2) : NULL;
	if (is_in_no_file(name))
		return xasprintf("%.*s", (int)(address - name), name);
	stem = stem_of(name, address - name);
	return xasprintf("%s%s", stem, address);
}

/* Names ------------------------------------------------------------------------------------------- */

static char *renamed(const struct identity *identity, char *name)
{
	for (size_t i = 0; i < identity->nr_renames; i++) {
		if (strcmp(name, identity->renames[i].from))
			continue;
		free(name);
		return xstrdup(identity->renames[i].to);
	}
	return name;
}

char *identity_file(const char *name)
{
	const char *address = made_up_address(name);

	if (!address || *name == '[')
		return NULL;
	return bracketed(name, address - name);
}

char *identity_name(const struct identity *identity, const char *name)
{
	size_t len = strlen(name), before;
	char *result = name_of_file_code(name);

	if (result)
		return renamed(identity, result);
	result = xstrdup(name);
	drop_hidden_class(result);
	drop_tags(result);
	len = strlen(result);
	do { /* foo.isra.0.cold has two */
		before = len;
		len = without_clone_suffix(result, len);
		len = without_clone_note(result, len);
		len = without_rust_hash(result, len);
	} while (len < before);
	result[len] = '\0';
	drop_version(result);
	if (identity->drop_templates)
		drop_templates(result);
	return renamed(identity, result);
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
