// SPDX-License-Identifier: BSD-2-Clause
/*
 * The input is arm64 machine code, behind a byte: its lowest bit says whether more code follows, the next two how many functions begin
 * for certain, the next two how many are called. Where, says a byte for each, how far from the one before.
 */
#include "fuzz/rows.h"
#include "unwind/a64flow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ascending; those beyond the code are left out. */
static size_t read_addresses(const uint8_t *from, size_t nr, size_t len_bytes, uint64_t *to)
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

static void leads_to(void *ctx, uint64_t elf_addr)
{
	(void)ctx;
	if (elf_addr < ROWS_ADDR)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct asmflow_code code = {.addr = ROWS_ADDR, .leads_to = leads_to};
	size_t nr_begins = size ? data[0] >> 1 & 3 : 0, nr_called = size ? data[0] >> 3 & 3 : 0;
	uint64_t begins[3], called[3];
	struct rows_seen seen = {0};
	size_t len_bytes;

	if (size < 2 + nr_begins + nr_called)
		return 0;
	code.goes_on = data[0] & 1;
	code.bytes = data + 1 + nr_begins + nr_called;
	code.len_bytes = size - 1 - nr_begins - nr_called;
	code.begins = begins;
	code.nr_begins = read_addresses(data + 1, nr_begins, code.len_bytes, begins);
	code.called = called;
	code.nr_called = read_addresses(data + 1 + nr_begins, nr_called, code.len_bytes, called);
	a64flow_plt_rows(&code, rows_take, &(struct rows_seen){0});
	len_bytes = a64flow_rows(&code, rows_take, &seen);
	rows_check(&seen, len_bytes);
	if (len_bytes > code.len_bytes || len_bytes + 3 < code.len_bytes / 2 ||
	    (!code.goes_on && len_bytes < code.len_bytes))
		abort();
	return 0;
}
