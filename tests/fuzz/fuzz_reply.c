// SPDX-License-Identifier: BSD-2-Clause
/*
 * The input is the payload of a worker's reply: kind (1 byte), number of items (4 bytes), payload. Whatever is
 * accepted is used as main uses it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/require.h"
#include "sandbox/jvmreply.h"
#include "sandbox/jitsymparser.h"
#include "sandbox/funcparser.h"
#include "sandbox/namesreply.h"
#include "sandbox/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void use_file(const struct reply_file *file)
{
	uint64_t addr, off;

	require(strlen(file->build_id) < sizeof(file->build_id));
	require(strlen(file->interp) < sizeof(file->interp));
	for (size_t i = 0; i < file->segments.nr; i++) {
		const struct elf_segment *segment = &file->segments.at[i];
		const uint64_t offs[] = {segment->file_off, segment->file_off - 1,
					 segment->file_off + segment->file_bytes, 0, UINT64_MAX};

		for (size_t j = 0; j < sizeof(offs) / sizeof(offs[0]); j++)
			if (!segments_addr(file->segments, offs[j], &addr))
				sink += segments_offset(file->segments, addr, &off);
	}
}

static void use_table(const struct unwind_table *table)
{
	uint64_t page_bytes = unwind_arch_page_bytes(table->arch);
	uint64_t limit = table->start + table->nr_pages * page_bytes;
	struct unwind_rule rule;

	for (uint32_t page = 0; page < table->nr_pages; page++)
		for (uint64_t pc = 0; pc < page_bytes; pc += 255) {
			uint64_t addr = table->start + page * page_bytes + pc;

			require(unwind_table_find(table, addr, &rule));
			require(rule.kind < UNWIND_NR_KINDS && rule.cfa_reg < UNWIND_NR_REGS);
			sink += rule.cfa_off;
		}
	require(!unwind_table_find(table, limit, &rule));
	require(!unwind_table_find(table, table->start - 1, &rule));
}

static void use_names(const struct reply_name *names, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		sink += strlen(names[i].raw) + strlen(names[i].display);
		require((names[i].kind == MESSAGE_NAME_SYMBOL) == (*names[i].raw != '\0'));
		require(names[i].nr_frames <= MESSAGE_MAX_FRAMES);
		for (uint32_t k = 0; k < names[i].nr_frames; k++) {
			const struct reply_frame *frame = &names[i].frames[k];

			sink += strlen(frame->raw) + strlen(frame->display) + strlen(frame->file) +
				frame->line + frame->start_line;
			require((*frame->raw == '\0') == (k + 1 == names[i].nr_frames));
		}
	}
}

static void use_splits(const struct reply_splits *splits, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		require(splits->unit_of[i] <= splits->nr_units);
	for (uint32_t i = 0; i < splits->nr_units; i++) {
		require(strlen(splits->units[i].name) < MESSAGE_SPLIT_BYTES);
		require(strlen(splits->units[i].dir) < MESSAGE_SPLIT_BYTES);
	}
}

static void use_sites(const struct reply_sites *sites)
{
	require(sites->nr <= ALLOC_MAX_SITES);
	for (size_t i = 0; i < sites->nr; i++) {
		require(sites->sites[i].shape < NR_SHAPES);
		require(strlen(sites->functions[i]) < sizeof(sites->functions[i]));
	}
}

static void use_look(const struct reply_look *look)
{
	uint64_t after = 0;

	require(strlen(look->missing) < sizeof(look->missing));
	require(look->nr_heaps <= MESSAGE_MAX_HEAPS);
	for (size_t i = 0; i < look->nr_heaps; i++) {
		const struct reply_heap *heap = &look->heaps[i];

		require(heap->start >= after && heap->start <= heap->limit);
		require(heap->limit <= heap->reserved);
		after = heap->reserved;
		if (heap->table)
			use_table(heap->table);
	}
}

static void use_code(const struct reply_code *code)
{
	struct unwind_rule rule;

	require(code->start < code->limit && code->nr_rows);
	for (uint64_t step = 0; step < 64; step++) {
		uint64_t ip = code->start + (code->limit - code->start - 1) / 63 * step;

		reply_code_find(code, ip, &rule);
		require(reply_is_rule(&rule));
	}
}

static void use_methods(const struct reply_method *methods, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		require(methods[i].start < methods[i].limit);
		require(methods[i].nr_frames && methods[i].nr_frames <= MESSAGE_MAX_FRAMES);
		for (uint32_t k = 0; k < methods[i].nr_frames; k++) {
			const struct reply_method_frame *frame = &methods[i].frames[k];

			require(*frame->name && strlen(frame->name) < MESSAGE_METHOD_BYTES);
			require(strlen(frame->file) < MESSAGE_METHOD_BYTES);
		}
	}
}

static void use_jitsyms(const struct reply_jitsym *jitsyms, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		require(jitsyms[i].start < jitsyms[i].limit);
		require(*jitsyms[i].name && strlen(jitsyms[i].name) < MESSAGE_METHOD_BYTES);
		require(strlen(jitsyms[i].file) < MESSAGE_METHOD_BYTES);
	}
}

static void use_slots(const struct reply_slot *slots, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		require(*slots[i].name && strlen(slots[i].name) < MESSAGE_SLOT_NAME_BYTES);
}

static void use_function(const struct reply_function *code)
{
	require(*code->name && strlen(code->name) < MESSAGE_FUNCNAME_BYTES);
	require(strlen(code->file) < MESSAGE_FUNCFILE_BYTES);
	for (uint32_t i = 1; i < code->nr_lines; i++)
		require(code->lines[i - 1].limit <= code->lines[i].limit);
}

/* About JVMs. */
static void read_jvm(uint8_t kind, const uint8_t *payload, size_t size, uint32_t nr)
{
	struct reply_look look = {.nr_heaps = 0};
	struct reply_code *code = NULL;
	struct reply_method *methods = NULL;

	if (kind == 0 && !reply_read_look(payload, size, nr, &look))
		use_look(&look);
	if (kind == 1 && !reply_read_code(payload, size, nr, &code))
		use_code(code);
	if (kind == 2 && !reply_read_methods(payload, size, nr, &methods))
		use_methods(methods, nr);
	reply_look_release(&look);
	free(code);
	free(methods);
}

/* Exact lengths; a CRC-32 has 32 bits. */
static void read_numbers(bool are_variables, const uint8_t *payload, size_t size)
{
	uint64_t elf_addrs[MESSAGE_NR_VARIABLES];
	uint64_t number = 0;
	uint32_t crc;

	if (are_variables)
		require(!reply_read_variables(payload, size, elf_addrs) ==
			(size == sizeof(elf_addrs)));
	else if (!reply_read_crc(payload, size, &crc))
		require(size == sizeof(number) && memcpy(&number, payload, size) && number == crc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reply_file *file = NULL;
	struct unwind_table *table = NULL;
	struct reply_name *names = NULL;
	struct reply_jitsym *jitsyms = NULL;
	struct reply_slot *slots = NULL;
	struct reply_function *pycode = NULL;
	struct reply_splits *splits = NULL;
	struct reply_sites sites;
	size_t nr_split;
	uint32_t nr;

	if (size < 1 + sizeof(nr))
		return 0;
	memcpy(&nr, data + 1, sizeof(nr));
	size -= 1 + sizeof(nr);
	switch (data[0] % 13) {
	case 0:
		if (!reply_read_file(data + 5, size, nr, &file))
			use_file(file);
		break;
	case 1:
		if (!reply_read_table(data + 5, size, &table))
			use_table(table);
		break;
	case 2:
		if (!reply_read_names(data + 5, size, nr, &names, &nr_split))
			use_names(names, nr);
		break;
	case 3:
		if (!reply_read_sites(data + 5, size, nr, &sites))
			use_sites(&sites);
		break;
	case 11:
	case 12:
		read_numbers(data[0] % 13 == 12, data + 5, size);
		break;
	case 10:
		if (!reply_read_splits(data + 5, size, nr, &splits))
			use_splits(splits, nr);
		break;
	case 7:
		if (!reply_read_jitsyms(data + 5, size, nr, &jitsyms))
			use_jitsyms(jitsyms, nr);
		break;
	case 8:
		if (!reply_read_slots(data + 5, size, nr, &slots))
			use_slots(slots, nr);
		break;
	case 9:
		if (!reply_read_function(data + 5, size, nr, &pycode))
			use_function(pycode);
		break;
	default:
		read_jvm(data[0] % 13 - 4, data + 5, size, nr);
		break;
	}
	free(file);
	free(jitsyms);
	free(slots);
	free(pycode);
	free(splits);
	unwind_table_free(table);
	free(names);
	return 0;
}
