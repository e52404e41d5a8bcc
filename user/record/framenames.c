// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a target can make cprof hold is bounded: a program that makes functions as fast as it can has the names of its first
 * half a million. Once a function is named its texts are freed; what stays counts.
 *
 * A place is the offset of the instruction that ran last in the bytecode: before 3.10 in bytes, in 3.10 in units of two, and -1
 * before the first; since 3.11 BPF computes it in bytes. Of PHP and Perl it is the line, 0: unknown; of Ruby, the
 * number of the word that ran. Of V8 it is not used.
 */
#include "record/framenames.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/vec.h"
#include "sandbox/funcparser.h"

_Static_assert((int)NR_TEXT_PARTS == (int)MESSAGE_NR_TEXTS,
	       "a question has all parts, in this order");

struct function {
	uint32_t tgid;
	uint64_t start_ns, identity;
	uint32_t runtime; /* ABI_RUNTIME() */
	bool is_told;	  /* all of its texts have come */
	bool is_cut;	  /* there was no room for one of them */
	bool was_asked;
	struct reply_function *code; /* NULL: not asked for, or it has no name */
	struct funcparser_text texts[NR_TEXT_PARTS];
};

struct framenames {
	struct parser *parser;
	vec_of(struct function) functions;
	struct hash index;
	size_t nr_bytes, most_bytes;
};

struct framenames *framenames_new(struct parser *parser, size_t most_bytes)
{
	struct framenames *names = xcalloc(1, sizeof(*names));

	names->parser = parser;
	names->most_bytes = most_bytes;
	return names;
}

static void free_texts(struct framenames *names, struct function *function)
{
	for (size_t i = 0; i < NR_TEXT_PARTS; i++) {
		names->nr_bytes -= function->texts[i].len_bytes;
		free((void *)function->texts[i].bytes);
		function->texts[i] = (struct funcparser_text){0};
	}
}

void framenames_free(struct framenames *names)
{
	if (!names)
		return;
	vec_for_each(&names->functions, function) {
		free_texts(names, function);
		free(function->code);
	}
	vec_release(&names->functions);
	hash_release(&names->index);
	free(names);
}

/* Functions ------------------------------------------------------------------------------------- */

static bool same_function(const void *ctx, uint32_t value, const void *key)
{
	const struct framenames *names = ctx;
	const struct function *a = &names->functions.at[value], *b = key;

	return a->identity == b->identity && a->tgid == b->tgid && a->start_ns == b->start_ns;
}

static uint64_t code_of(const struct function *function)
{
	return hash_combine(function->identity,
			    (uint64_t)function->tgid << 32 ^ function->start_ns);
}

/* Borrowed until the next one is added. */
static struct function *find(struct framenames *names, const struct function *key, bool adds)
{
	uint64_t code = code_of(key);
	uint32_t i = hash_find(&names->index, code, same_function, names, key);

	if (i == HASH_NONE) {
		if (!adds)
			return NULL;
		i = names->functions.nr;
		vec_push(&names->functions, *key);
		hash_insert(&names->index, code, i);
		names->nr_bytes += sizeof(*key);
	}
	return &names->functions.at[i];
}

void framenames_text(struct framenames *names, const struct runtime_text *text)
{
	const struct function key = {.tgid = text->tgid,
				     .start_ns = text->start_ns,
				     .identity = text->function,
				     .runtime = text->runtime};
	struct function *function;
	void *copy;

	if (names->nr_bytes + text->len_bytes + sizeof(key) > names->most_bytes) {
		function = find(names, &key, false);
		if (function)
			function->is_cut =
				true; /* it would have another's name, or a part of its own */
		return;
	}
	function = find(names, &key, true);
	if (function->is_told || function->texts[text->part].bytes)
		return;
	copy = xmalloc(text->len_bytes + 1);
	memcpy(copy, text->bytes, text->len_bytes);
	function->texts[text->part] = (struct funcparser_text){copy, text->len_bytes};
	names->nr_bytes += text->len_bytes;
	function->is_told = text->part == TEXT_OBJECT && !function->is_cut;
}

/* Names ----------------------------------------------------------------------------------------- */

static size_t size_of(const struct reply_function *code)
{
	return sizeof(*code) + code->nr_lines * sizeof(code->lines[0]) + strlen(code->name) +
	       strlen(code->file);
}

static void ask(struct framenames *names, struct function *function)
{
	function->was_asked = true;
	if (parser_function(names->parser, function->tgid, function->runtime, function->texts,
			    &function->code))
		function->code = NULL;
	free_texts(names, function);
	names->nr_bytes += function->code ? size_of(function->code) : 0;
}

static uint32_t line_of(const struct function *function, uint32_t place)
{
	const struct reply_function *code = function->code;
	uint32_t low = 0, high = code->nr_lines;

	if (ABI_RUNTIME_KIND(function->runtime) == ABI_RUNTIME_V8)
		return code->start_line;
	if (ABI_RUNTIME_KIND(function->runtime) == ABI_RUNTIME_PHP ||
	    ABI_RUNTIME_KIND(function->runtime) == ABI_RUNTIME_PERL)
		return place ? place : code->start_line;
	if ((int32_t)place < 0)
		return code->start_line;
	if (function->runtime == ABI_RUNTIME(ABI_RUNTIME_PYTHON, 0x030a))
		place *= 2;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (code->lines[middle].limit > place)
			high = middle;
		else
			low = middle + 1;
	}
	if (low < code->nr_lines && code->lines[low].line)
		return code->lines[low].line;
	return ABI_RUNTIME_KIND(function->runtime) == ABI_RUNTIME_RUBY ? code->start_line : 0;
}

enum framename_state framenames_find(struct framenames *names, uint32_t tgid, uint64_t start_ns,
				     const struct shadow_frame *frame, bool may_ask,
				     struct framename *found)
{
	const struct function key = {
		.tgid = tgid, .start_ns = start_ns, .identity = frame->function};
	struct function *function = find(names, &key, false);

	if (!function || !function->is_told)
		return FRAMENAME_GONE;
	if (!function->was_asked && !may_ask)
		return FRAMENAME_NO_TIME;
	if (!function->was_asked)
		ask(names, function);
	if (!function->code)
		return FRAMENAME_GONE;
	*found = (struct framename){.function = (uint32_t)(function - names->functions.at),
				    .runtime = function->runtime,
				    .name = function->code->name,
				    .file = function->code->file,
				    .line = line_of(function, frame->place),
				    .start_line = function->code->start_line};
	return FRAMENAME_FOUND;
}
