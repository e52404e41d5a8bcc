/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Machine code for an analyser of asmflow.h's kind, of an input: a byte, whose lowest bit says whether more code follows, the next
 * two bits how many functions begin for certain, the next two how many are called. Where, says a byte for each, how far from
 * the one before. The code is behind them.
 */
#ifndef CPROF_FUZZ_FLOWCODE_H
#define CPROF_FUZZ_FLOWCODE_H

#include "fuzz/rows.h"
#include "unwind/asmflow.h"

struct flowcode {
	struct asmflow_code code;
	uint64_t begins[3], called[3];
};

/* Ascending; those beyond the code are left out. */
static inline size_t flowcode_addresses(const uint8_t *from, size_t nr, size_t len_bytes,
					uint64_t *to)
{
	uint64_t offset = 0;
	size_t nr_read = 0;

	for (size_t i = 0; i < nr; i++) {
		offset += from[i];
		if (offset < len_bytes)
			to[nr_read++] = ROWS_ADDR + offset;
	}
	return nr_read;
}

static inline void flowcode_leads_to(void *ctx, uint64_t elf_addr)
{
	(void)ctx;
	if (elf_addr < ROWS_ADDR)
		abort();
}

/* false: the input is too short. *flow must stay where it is, and data with it. */
static inline bool flowcode_read(struct flowcode *flow, const uint8_t *data, size_t size)
{
	size_t nr_begins = size ? data[0] >> 1 & 3 : 0, nr_called = size ? data[0] >> 3 & 3 : 0;
	struct asmflow_code *code = &flow->code;

	if (size < 2 + nr_begins + nr_called)
		return false;
	*code = (struct asmflow_code){.addr = ROWS_ADDR, .leads_to = flowcode_leads_to};
	code->goes_on = data[0] & 1;
	code->bytes = data + 1 + nr_begins + nr_called;
	code->len_bytes = size - 1 - nr_begins - nr_called;
	code->begins = flow->begins;
	code->nr_begins = flowcode_addresses(data + 1, nr_begins, code->len_bytes, flow->begins);
	code->called = flow->called;
	code->nr_called =
		flowcode_addresses(data + 1 + nr_begins, nr_called, code->len_bytes, flow->called);
	return true;
}

/* Aborts unless the rows are right, and cover so much of the code as an analyser may not leave; it may leave unit - 1 bytes more. */
static inline void flowcode_check(const struct flowcode *flow, const struct rows_seen *seen,
				  size_t len_bytes, size_t unit)
{
	size_t all_bytes = flow->code.len_bytes;

	rows_check(seen, len_bytes);
	if (len_bytes > all_bytes || len_bytes + unit - 1 < all_bytes / 2 ||
	    (!flow->code.goes_on && len_bytes < all_bytes))
		abort();
}

#endif
