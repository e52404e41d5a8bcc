/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What a JavaScript function is called, where it stands, and the texts that tell user space so. For objects that are loaded by
 * themselves, as shadow.bpf.h.
 *
 *	SharedFunctionInfo --> Script --> name, source
 *		      \--> ScopeInfo --> name of the function, where it begins
 */
#ifndef CPROF_V8FUNCTION_BPF_H
#define CPROF_V8FUNCTION_BPF_H

#include "prelude.bpf.h"

#include "newlines.bpf.h"
#include "shadow.bpf.h"
#include "v8objects.bpf.h"

#define NR_SHARED_WORDS 8
#define NR_SCOPE_WORDS	4  /* map, flags, parameters, local names */
#define MAX_INLINED	75 /* names of locals that are in a ScopeInfo itself */
#define NR_NAME_WORDS	5
#define OLD_FIRST_VARS	32 /* there is no position in front of the names */
#define MAX_PIECES	64

enum {
	COUNT_DONE = 1,
	COUNT_LATE,
	COUNT_FAILED
};

/* Bits of a ScopeInfo's flags. */
#define HAS_CLASS_VARIABLE (1u << 10)
#define HAS_NAME	   (3u << 12)
#define HAS_INFERRED	   (1u << 14)

enum string {
	STRING_NAME,
	STRING_REST,
	STRING_LAST,
	STRING_FILE,
	NR_STRINGS
};

struct work {
	u64 shared_map; /* met in this walk, and known to be that of SharedFunctionInfo; 0: none */
	u64 script, script_id; /* met last in this walk; 0: none */
	u64 scope, scope_start;
	u64 shared[NR_SHARED_WORDS];
	u64 words[8];
	u64 strings[4]; /* by enum string; 0: there is none */
	u16 types[4];
	s64 line;		    /* 0: not known */
	u64 source_at, source_left; /* while lines are counted: what comes next, its bytes */
	u32 is_wide;
	int nr_lines;	  /* what newlines_count() returned last */
	u64 deadline_ns;  /* of this walk */
	u32 nr_described; /* in it */
	u32 is_nameless;  /* a string that is there cannot be read */
};

/* Names and lines ------------------------------------------------------------------------------- */

/* Puts a string, or what it stands for, in its place. Of one that consists of two it is the first. */
__noinline int v8_set_string(u32 slot, u32 which, u64 string)
{
	struct work *work = work_at(slot);
	u32 type = NO_TYPE, shape, cut = 0;

	if (!work)
		return 0;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < 3; i++) {
		type = v8_type(string);
		shape = type & STRING_SHAPE;
		if (type >= FIRST_NONSTRING || (shape != SHAPE_THIN && shape != SHAPE_CONS))
			break;
		if (shape == SHAPE_CONS && length_of(word_in(string, STRING_HEAD + 8)))
			cut = ABI_V8_CUT;
		string = word_in(string, STRING_HEAD);
	}
	work->is_nameless |= type == NO_TYPE && is_object(string);
	work->strings[which & 3] = type < FIRST_NONSTRING ? string : 0;
	work->types[which & 3] = type | cut;
	return 0;
}

/*
 * The name of a function. Names that V8 infers ("Module.prototype.load") are mostly made of strings that are made of two each, of which
 * the second goes on.
 */
static __always_inline void set_name(u32 slot, u64 string)
{
#pragma clang loop unroll(disable)
	for (u32 i = STRING_NAME; i <= STRING_LAST; i++) {
		bool is_cons = (v8_type(string) & STRING_SHAPE) == SHAPE_CONS;

		v8_set_string(slot, i,
			      is_cons && i < STRING_LAST ? word_in(string, STRING_HEAD) : string);
		string = is_cons ? word_in(string, STRING_HEAD + 8) : 0;
	}
}

/*
 * What a ScopeInfo says: behind the names of locals, the function's name and the one that V8 inferred from where it was
 * assigned, if it has none; then where it begins. 0: it cannot be read.
 */
__noinline int v8_read_scope(u32 slot, u64 scope)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_v8 *v8 = walk_at(slot, &work, &shadow);
	u32 flags, nr, at, i = 0;

	if (!v8 || bpf_probe_read_user(work->words, NR_SCOPE_WORDS * 8, (void *)(scope - 1)))
		return 0;
	flags = work->words[1]; /* in new versions it is all of a word */
	if (!flags)
		flags = work->words[1] >> 32;
	nr = work->words[3] >> 32;
	at = v8->first_vars_at + 8 * (nr < MAX_INLINED ? 2 * nr : nr + 1);
	if (flags & HAS_CLASS_VARIABLE)
		at += 8;
	if (nr > 1u << 20 ||
	    bpf_probe_read_user(work->words, NR_NAME_WORDS * 8, (void *)(scope - 1 + at)))
		return 0;
	if (flags & HAS_NAME) {
		if (length_of(work->words[0]))
			set_name(slot, work->words[0]);
		i = 2;
	}
	if (flags & HAS_INFERRED) {
		if (!work->strings[STRING_NAME] && length_of(work->words[i & 7]))
			set_name(slot, work->words[i & 7]);
		i++;
	}
	work->scope_start = v8->first_vars_at == OLD_FIRST_VARS
				    ? work->words[i & 7]
				    : word_in(scope, v8->first_vars_at - 16);
	return 1;
}

/* Counts in the next piece of the source. 0: there is more. What it counts stands in a map, as of newlines_count_words(). */
static __always_inline int count_piece(u32 slot, struct work *work)
{
	u64 len;

	len = work->source_left < NEWLINES_BYTES ? work->source_left : NEWLINES_BYTES;
	if (!len)
		return COUNT_DONE;
	if (bpf_ktime_get_ns() > work->deadline_ns)
		return COUNT_LATE;
	work->nr_lines = newlines_count(slot, work->source_at, len, work->is_wide, work->nr_lines);
	if (work->nr_lines < 0)
		return COUNT_FAILED;
	work->line += work->nr_lines & (NEWLINES_AFTER_CR - 1);
	work->source_at += len;
	work->source_left -= len;
	return 0;
}

/*
 * The line of the position in work->scope_start: ends of lines before it are counted, in so much of the source. This is
 * done once for a function. (V8 has a table of them, but only after a stack was printed.) 1: there is no time left.
 */
__noinline int v8_find_line(u32 slot, u32 script_name_at)
{
	struct work *work = work_at(slot);
	int way = 0;

	if (!work || work->scope_start & 1)
		return 0;
	work->is_wide = 0;
	work->source_at = characters_of(word_in(work->script, script_name_at - 8), &work->is_wide);
	work->source_left = work->scope_start >> 32 << (work->is_wide & 1);
	if (!work->source_at || work->source_left > MAX_PIECES * NEWLINES_BYTES)
		return 0;
	work->nr_lines = 0;
	work->line = 1 + ((s64)word_in(work->script, script_name_at + 8) >> 32);
#pragma clang loop unroll(disable)
	for (u32 i = 0; i <= MAX_PIECES && !way; i++)
		way = count_piece(slot, work);
	if (way != COUNT_DONE)
		work->line = 0;
	return way == COUNT_LATE;
}

/* Texts ----------------------------------------------------------------------------------------- */

/* As many bytes of a string as are of use; its type says how wide its characters are. */
static __always_inline int send_string(u32 slot, const struct work *work, u32 which, u32 part)
{
	u64 string = work->strings[which];
	u32 len = length_of(string);

	if (!string)
		return 0;
	if (len > STR_MAX_BYTES)
		len = STR_MAX_BYTES;
	if (!(work->types[which] & ONE_BYTE))
		len *= 2;
	return shadow_send_text(slot, string - 1, part, STRING_HEAD + len);
}

/* The last text: with it the function is known. */
static __always_inline int send_function(u32 slot, const struct work *work)
{
	struct abi_text *text = text_at(slot);
	struct abi_v8_function *function;

	if (!text)
		return 1;
	function = (struct abi_v8_function *)text->bytes;
	for (u32 i = 0; i < NR_STRINGS; i++)
		function->types[i] = work->types[i];
	function->script = work->script;
	function->script_id = work->script_id;
	function->line = work->line;
	return send_bytes_of_text(slot, text, ABI_TEXT_OBJECT, sizeof(*function));
}

/* All texts of the function in work->shared. 0: all of them were sent. */
__noinline int v8_describe(u32 slot, u64 function)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_v8 *v8 = walk_at(slot, &work, &shadow);
	u64 name;

	if (!v8)
		return 1;
	name = work->shared[v8->name_at / 8 & 7];
	work->strings[STRING_NAME] = work->strings[STRING_REST] = work->strings[STRING_LAST] = 0;
	work->scope_start = 1;
	work->is_nameless = 0;
	if (v8_type(name) == v8->scope_type)
		work->is_nameless = !v8_read_scope(slot, name);
	else if (is_string(name))
		set_name(slot, name);
	else
		work->is_nameless = is_object(name) && v8_type(name) == NO_TYPE;
	v8_set_string(slot, STRING_FILE, word_in(work->script, v8->script_name_at));
	if (work->is_nameless)
		return 1;
	work->line = 0;
	/*
	 * The first function of a walk has as much time as a walk, whatever was walked before: if that is not enough it has no
	 * line. Others are asked for again.
	 */
	if (!work->nr_described)
		work->deadline_ns = bpf_ktime_get_ns() + shadow->walk_ns;
	if (v8_find_line(slot, v8->script_name_at) && work->nr_described)
		return 1;
	work->nr_described++;
	if (!begin_texts(slot, shadow, function, ABI_RUNTIME(ABI_RUNTIME_V8, v8->version)) ||
	    send_string(slot, work, STRING_NAME, ABI_TEXT_NAME) ||
	    send_string(slot, work, STRING_REST, ABI_TEXT_QUALIFIED) ||
	    send_string(slot, work, STRING_LAST, ABI_TEXT_LINES) ||
	    send_string(slot, work, STRING_FILE, ABI_TEXT_FILE))
		return 1;
	return send_function(slot, work);
}

#endif
