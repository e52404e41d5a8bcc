// SPDX-License-Identifier: BSD-2-Clause
/*
 * Three layers, outermost first:
 *
 *	_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE.llvm.42@plt
 *	|			    |			    |	     `- a stub: taken off, put back
 *	|			    |			    `- clone suffix: taken off
 *	|			    `- Rust legacy: the last part is 'h' and 16 hex digits
 *	`- C++ (Itanium C++ ABI, chapter 5.1), if it was not Rust
 *
 * Rust's legacy mangling is only a nested name, so it is read here: a row of <length><identifier>. Its
 * newer one begins with _R (rustv0.h), D's with _D (dlang.h). Everything else is C++ (itanium.h).
 */
#include "object/demangle.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/vec.h"
#include "object/dlang.h"
#include "object/itanium.h"
#include "object/rustv0.h"

#define NAME_MAX_BYTES (64u << 10)

struct text {
	vec_of(char) bytes;
};

static void append(struct text *text, const char *bytes, size_t len)
{
	vec_reserve(&text->bytes, len);
	memcpy(text->bytes.at + text->bytes.nr, bytes, len);
	text->bytes.nr += len;
}

/* Rust legacy ------------------------------------------------------------------------------------ */

/* Encodes point as UTF-8. Returns the length; 0: it is not a character. */
static size_t encode_utf8(uint32_t point, char *out)
{
	if (point < 0x20 || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	return text_put_utf8(point, out);
}

/* "$LT$" and its kind at s: appends what it means, and returns its length; 0: no such escape. */
static size_t rust_escape(struct text *out, const char *s, size_t len)
{
	static const struct {
		const char *escape, *meaning;
	} escapes[] = {{"$LT$", "<"}, {"$GT$", ">"}, {"$RF$", "&"}, {"$BP$", "*"},
		       {"$LP$", "("}, {"$RP$", ")"}, {"$C$", ","},  {"$SP$", "@"}};
	uint32_t point = 0;
	char utf8[4];
	size_t i;

	for (i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
		size_t escape_len = strlen(escapes[i].escape);

		if (escape_len <= len && !memcmp(s, escapes[i].escape, escape_len)) {
			append(out, escapes[i].meaning, 1);
			return escape_len;
		}
	}
	/* "$u7e$": a code point in hex. */
	if (len < 4 || s[1] != 'u')
		return 0;
	for (i = 2; i < len && i < 8 && isxdigit((unsigned char)s[i]); i++) {
		char digit[2] = {s[i], '\0'};

		point = point << 4 | (uint32_t)strtoul(digit, NULL, 16);
	}
	if (i == 2 || i == len || s[i] != '$' || !encode_utf8(point, utf8))
		return 0;
	append(out, utf8, encode_utf8(point, utf8));
	return i + 1;
}

static void rust_identifier(struct text *out, const char *s, size_t len)
{
	size_t i = 0;

	/* An identifier must not begin with '$', so an underscore stands before one that would. */
	if (len >= 2 && s[0] == '_' && s[1] == '$')
		i = 1;
	while (i < len) {
		size_t taken = s[i] == '$' ? rust_escape(out, s + i, len - i) : 0;

		if (!taken && i + 1 < len && s[i] == '.' && s[i + 1] == '.') {
			append(out, "::", 2);
			taken = 2;
		}
		if (!taken) {
			append(out, s + i, 1);
			taken = 1;
		}
		i += taken;
	}
}

static bool is_rust_hash(const char *s, size_t len)
{
	if (len != 17 || s[0] != 'h')
		return false;
	for (size_t i = 1; i < len; i++)
		if (!isdigit((unsigned char)s[i]) && !(s[i] >= 'a' && s[i] <= 'f'))
			return false;
	return true;
}

/* NULL: not a legacy Rust name. */
static char *demangle_rust(const char *name, size_t name_bytes)
{
	const char *p = name + 3, *end = name + name_bytes, *identifier;
	struct text out = {0};
	bool is_rust = false;

	if (name_bytes < 4 || memcmp(name, "_ZN", 3) != 0 || end[-1] != 'E')
		return NULL;
	for (end--; p < end && !is_rust; p = identifier) {
		size_t len = 0;

		for (; p < end && isdigit((unsigned char)*p) && len < NAME_MAX_BYTES; p++)
			len = len * 10 + (size_t)(*p - '0');
		if (!len || len > (size_t)(end - p))
			break;
		identifier = p + len;
		is_rust = identifier == end && is_rust_hash(p, len) && out.bytes.nr;
		if (is_rust)
			break;
		if (out.bytes.nr)
			append(&out, "::", 2);
		rust_identifier(&out, p, len);
	}
	append(&out, "", 1);
	if (!is_rust)
		vec_release(&out.bytes);
	return out.bytes.at;
}

/* Clone suffixes --------------------------------------------------------------------------------- */

/* What compilers append. All but the first two have a number behind: "pkg.clone" is a function of Go, Zig or Odin. */
static bool is_clone_suffix(const char *s, size_t len, bool has_number)
{
	static const char *const words[] = {".cold",	  ".localalias", ".part",     ".clone",
					    ".constprop", ".isra",	 ".lto_priv", ".llvm"};
	const size_t nr_bare = 2;

	for (size_t i = 0; i < (has_number ? sizeof(words) / sizeof(words[0]) : nr_bare); i++) {
		size_t word_len = strlen(words[i]);

		if (len == word_len && !memcmp(s, words[i], word_len))
			return true;
	}
	return false;
}

/* The length of name without its last clone suffix; len if it has none. numbered: one without a number does not count. */
static size_t without_clone(const char *name, size_t len, bool numbered)
{
	size_t word_end = len, dot;
	bool has_number;

	while (word_end && isdigit((unsigned char)name[word_end - 1]))
		word_end--;
	/* "foo.part.0": the number goes with the word before it. */
	has_number = word_end < len && word_end && name[word_end - 1] == '.';
	word_end = has_number ? word_end - 1 : len;
	for (dot = word_end; dot && name[dot - 1] != '.'; dot--)
		;
	if (dot < 2 || (numbered && !has_number) ||
	    !is_clone_suffix(name + dot - 1, word_end - (dot - 1), has_number))
		return len;
	return dot - 1;
}

/*
 * The length of name without the clone suffixes at its end. A name with further dots that is not mangled is of a language that
 * separates its modules by these, where "pkg.list.cold" is a function of its own.
 */
static size_t without_clones(const char *name, size_t len)
{
	size_t end = len, numbered = len, next;

	while ((next = without_clone(name, end, false)) < end)
		end = next;
	while ((next = without_clone(name, numbered, true)) < numbered)
		numbered = next;
	return *name == '_' || !memchr(name, '.', end) ? end : numbered;
}

char *demangle(const char *raw)
{
	size_t len = strnlen(raw, NAME_MAX_BYTES + 1), bare_len;
	char *bare scoped(freep) = NULL, *name scoped(freep) = NULL;
	const char *plt = "";

	if (len > NAME_MAX_BYTES)
		return NULL;
	if (len > 4 && !strcmp(raw + len - 4, "@plt")) {
		plt = "@plt";
		len -= 4;
	}
	bare_len = without_clones(raw, len);
	bare = xmalloc(bare_len + 1);
	memcpy(bare, raw, bare_len);
	bare[bare_len] = '\0';
	name = demangle_rust(bare, bare_len);
	if (!name)
		name = rustv0_demangle(bare, bare_len);
	if (!name)
		name = itanium_demangle(bare, bare_len);
	if (!name)
		name = dlang_name(bare, bare_len);
	if (!name && bare_len == len)
		return NULL;
	return xasprintf("%.*s%s", (int)NAME_MAX_BYTES, name ? name : bare, plt);
}
