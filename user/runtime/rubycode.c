// SPDX-License-Identifier: BSD-2-Clause
/*
 * Texts come without what is around them in memory; one that is longer than what is sent is cut there.
 *
 * An iseq's entries have a line each, for one or more instructions from some word of the code on. Which word an entry begins at is
 * not in it, but in an index of one bit a word, so that the entry of a word is found by counting bits (iseq.c: succ_index_table):
 *
 *	6 words		for each of the first 54 words of code how many bits are set up to it, seven bits each, nine in a word
 *	80 bytes	for each 512 words of code that follow:
 *		rank		how many bits are set before (4 bytes, 4 unused)
 *		ranks		in its first 1, 2, .. 7 words, nine bits each
 *		8 words		the bits themselves
 */
#include "runtime/rubycode.h"

#include <string.h>

#include "base/text.h"
#include "ruby_abi.h"
#include "runtime/ruby.h"

#define NR_WORDS_AT    4 /* in rb_iseq_constant_body */
#define FIRST_LINE_AT  88
#define TEXT_MAX_BYTES 1024 /* what is sent of one */

#define NR_IMMEDIATE	54
#define IMMEDIATES	9 /* in a word */
#define IMMEDIATE_BITS	7
#define IMMEDIATE_BYTES 48
#define BLOCK_WORDS	512
#define BLOCK_BYTES	80
#define RANKS_AT	8 /* in a block */
#define BITS_AT		16
#define RANK_BITS	9

/* The text of a copy, cut with "..." where it is longer than there is room. false: it is empty. */
static bool read_text(const struct memory_copy *copy, char *to, size_t to_bytes)
{
	if (!copy->len_bytes || !copy->bytes[0])
		return false;
	text_escape_part((const char *)copy->bytes, copy->len_bytes,
			 copy->len_bytes >= TEXT_MAX_BYTES, to, to_bytes);
	return *to;
}

/* The number of the entry of a word of code, from 1 on; 0: not known. */
static uint64_t entry_of(const struct memory_copy *index, uint32_t word)
{
	size_t block =
		IMMEDIATE_BYTES + (size_t)((word - NR_IMMEDIATE) / BLOCK_WORDS) * BLOCK_BYTES;
	uint32_t in_block = (word - NR_IMMEDIATE) % BLOCK_WORDS, rank;
	uint64_t ranks, bits;

	if (word < NR_IMMEDIATE) {
		if (!memory_copy_get(index, word / IMMEDIATES * sizeof(ranks), &ranks,
				     sizeof(ranks)))
			return 0;
		return ranks >> word % IMMEDIATES * IMMEDIATE_BITS & ((1u << IMMEDIATE_BITS) - 1);
	}
	if (!memory_copy_get(index, block, &rank, sizeof(rank)) ||
	    !memory_copy_get(index, block + RANKS_AT, &ranks, sizeof(ranks)) ||
	    !memory_copy_get(index, block + BITS_AT + in_block / 64 * sizeof(bits), &bits,
			     sizeof(bits)))
		return 0;
	ranks = in_block / 64 ? ranks >> (in_block / 64 - 1) * RANK_BITS : 0;
	return (uint64_t)rank + (ranks & ((1u << RANK_BITS) - 1)) +
	       (uint64_t)__builtin_popcountll(bits << (63 - in_block % 64));
}

/* false: no entry says it. */
static bool line_of(const struct rubycode_copies *copies, size_t entry_bytes, uint32_t word,
		    uint32_t *line)
{
	uint64_t entry = entry_of(&copies->index, word);
	int32_t number;

	if (!entry || entry > copies->lines.len_bytes ||
	    !memory_copy_get(&copies->lines, (size_t)(entry - 1) * entry_bytes, &number,
			     sizeof(number)))
		return false;
	*line = number > 0 ? (uint32_t)number : 0;
	return true;
}

static void read_lines(const struct rubycode_copies *copies, size_t entry_bytes,
		       struct rubycode *code)
{
	uint32_t nr_words, line;

	if (!memory_copy_get(&copies->body, NR_WORDS_AT, &nr_words, sizeof(nr_words)))
		return;
	for (uint32_t word = 0; word < nr_words; word++) {
		if (!line_of(copies, entry_bytes, word, &line))
			return;
		if (code->rows.nr && code->rows.at[code->rows.nr - 1].line == line)
			code->rows.at[code->rows.nr - 1].limit = word + 1;
		else if (code->rows.nr < RUBYCODE_MAX_ROWS)
			vec_push(&code->rows, (struct rubycode_row){word + 1, line});
		else
			return;
	}
}

bool rubycode_read(const struct rubycode_copies *copies, struct rubycode *code)
{
	struct abi_ruby layout;
	uint32_t line;

	*code = (struct rubycode){0};
	if (!ruby_layout(copies->version, &layout) ||
	    !read_text(&copies->label, code->name, sizeof(code->name)))
		return false;
	if (!read_text(&copies->path, code->file, sizeof(code->file)))
		code->file[0] = '\0';
	if (memory_copy_get(&copies->body, FIRST_LINE_AT, &line, sizeof(line)))
		code->start_line = copies->version < 0x0302 ? line >> 1
							    : line; /* once an Integer */
	read_lines(copies, layout.entry_bytes, code);
	return true;
}

void rubycode_release(struct rubycode *code)
{
	vec_release(&code->rows);
}
