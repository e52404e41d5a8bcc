/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * How many newlines are in a piece of the target's memory. For objects that are loaded by themselves, as shadow.bpf.h.
 *
 * A word at a time: where it has a newline, its difference to a word of newlines is 0. Without branches on what is read, so that the
 * verifier goes through each turn once.
 */
#ifndef CPROF_NEWLINES_BPF_H
#define CPROF_NEWLINES_BPF_H

#include "prelude.bpf.h"

#define NEWLINES_WORDS 512
#define NEWLINES_BYTES 4088u /* at a time; a multiple of 8 */

struct newlines_piece {
	u64 words[NEWLINES_WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ABI_NR_SLOTS);
	__type(key, u32);
	__type(value, struct newlines_piece);
} newlines_pieces SEC(".maps");

/* In len_bytes, at most NEWLINES_BYTES, of characters of one byte or (is_wide) two. -1: they cannot be read. */
__noinline int newlines_count(u32 slot, u64 address, u32 len_bytes, u32 is_wide)
{
	struct newlines_piece *piece = bpf_map_lookup_elem(&newlines_pieces, &slot);
	u32 nr = 0, len = len_bytes, lane = is_wide ? 15 : 7;
	u64 ones = is_wide ? 0x0001000100010001ull : 0x0101010101010101ull;
	u64 low = ~(ones << lane), last;

	barrier_var(len);
	len &= 8 * NEWLINES_WORDS - 1;
	if (!piece || bpf_probe_read_user(piece->words, len, (void *)address))
		return -1;
	last = len / 8;
	barrier_var(last);
	piece->words[last & (NEWLINES_WORDS - 1)] |= ~0ull << 8 * (len & 7);
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < NEWLINES_WORDS; i++) {
		u64 word = piece->words[i] ^ ones * '\n';

		if (i > last)
			break;
		nr += (~(((word & low) + low) | word | low) >> lane) * ones >> (63 - lane);
	}
	return nr;
}

#endif
