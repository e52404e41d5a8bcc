/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * How many lines of JavaScript end in a piece of the target's memory: at "\n", "\r", "\r\n", U+2028 and U+2029. For objects that are
 * loaded by themselves, as shadow.bpf.h.
 *
 * A word at a time: where it has a character, its difference to a word of nothing else is 0. Without branches on what is read, so
 * that the verifier goes through each turn once.
 */
#ifndef CPROF_NEWLINES_BPF_H
#define CPROF_NEWLINES_BPF_H

#include "prelude.bpf.h"

#define NEWLINES_WORDS	 512
#define NEWLINES_AT_ONCE 32    /* words */
#define NEWLINES_BYTES	 4088u /* at a time; a multiple of 8 */

struct newlines_piece {
	u64 words[NEWLINES_WORDS];
	u64 carry,
		carried; /* the bit behind a "\r" at the end of the last word, and of the word before it */
	u32 nr;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ABI_NR_SLOTS);
	__type(key, u32);
	__type(value, struct newlines_piece);
} newlines_pieces SEC(".maps");

#define NEWLINES_AFTER_CR (1u << 16)

/* Sets the highest bit of each lane of word that is c. low: all other bits. */
static __always_inline u64 newlines_equal(u64 word, u64 ones, u64 low, u64 c)
{
	word ^= ones * c;
	return ~(((word & low) + low) | word | low);
}

/*
 * Counts in NEWLINES_AT_ONCE words from first on, at most to last. Global, and what it counts in a map: to be verified
 * once, and not each word with all that may have been counted before.
 */
__noinline int newlines_count_words(u32 slot, u32 first, u32 last, u32 is_wide)
{
	struct newlines_piece *piece = bpf_map_lookup_elem(&newlines_pieces, &slot);
	u32 width = is_wide ? 16 : 8;
	u64 ones = is_wide ? 0x0001000100010001ull : 0x0101010101010101ull;
	u64 low = ~(ones << (width - 1)), wide = is_wide ? ~0ull : 0;

	if (!piece)
		return 0;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < NEWLINES_AT_ONCE && first + i <= last; i++) {
		u64 word = piece->words[(first + i) & (NEWLINES_WORDS - 1)];
		u64 feeds = newlines_equal(word, ones, low, '\n');
		u64 returns = newlines_equal(word, ones, low, '\r');
		u64 others = newlines_equal(word & ~ones, ones, low, 0x2028) & wide;

		feeds &= ~(returns << width | piece->carry);
		piece->nr += ((feeds | returns | others) >> (width - 1)) * ones >> (64 - width);
		piece->carried = piece->carry;
		piece->carry = returns >> (64 - width);
	}
	return 0;
}

/*
 * In len_bytes, at most NEWLINES_BYTES, of characters of one byte or (is_wide) two. before: what the piece before returned, which had
 * NEWLINES_BYTES. -1: they cannot be read; else the number, and NEWLINES_AFTER_CR if what follows is behind a "\r".
 */
__noinline int newlines_count(u32 slot, u64 address, u32 len_bytes, u32 is_wide, u32 before)
{
	struct newlines_piece *piece = bpf_map_lookup_elem(&newlines_pieces, &slot);
	u32 len = len_bytes;
	u64 last;

	barrier_var(len);
	len &= 8 * NEWLINES_WORDS - 1;
	if (!piece || bpf_probe_read_user(piece->words, len, (void *)address))
		return -1;
	last = len / 8;
	barrier_var(last);
	piece->words[last & (NEWLINES_WORDS - 1)] |= ~0ull << 8 * (len & 7);
	piece->carry = before & NEWLINES_AFTER_CR ? 1ull << (is_wide ? 15 : 7) : 0;
	piece->carried = piece->nr = 0;
	for (u32 i = 0; i < NEWLINES_WORDS && i <= last; i += NEWLINES_AT_ONCE)
		newlines_count_words(slot, i, last, is_wide);
	return (piece->nr & (NEWLINES_AFTER_CR - 1)) | (piece->carried ? NEWLINES_AFTER_CR : 0);
}

#endif
