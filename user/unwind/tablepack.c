/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packing is a fold over rows in address order: a rule is packed to 20 bits, dropped if it equals
 * the one in force, joined to the row before if it continues a run, and each page boundary that is
 * passed gets a row that repeats the one in force.
 *
 *	rows in    11f0 A:8   11f2 A:16   11f4 A:24   1204 B   3006 gap   300a C   3010 gap
 *	start      1000
 *	page 0     000 gap | 1f0 A:8 and two more, 2 bytes apart | 204 B
 *	page 1     000 B
 *	page 2     000 B | 006 C (the padding before it included) | 010 gap
 *	pages[]    0 3 4 7
 *
 * Measured on libLLVM-14, bytes per FDE: 41.0 with a row for every change, 37.2 without those for
 * padding, 20.1 with runs. A u16 row that points into a table of rules would be half the size of
 * one of ours, but then needs 64 KB pages, and the rule another look-up.
 */
#include "unwind/tablepack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/vec.h"

struct builder {
	const struct unwind_arch *arch;
	vec_of(uint32_t) pages;
	vec_of(uint32_t) rows;
	vec_of(struct unwind_rule) extended;
	struct hash extended_index;
	uint64_t start;	    /* of the first page */
	uint32_t packed;    /* the rule in force, without a run */
	uint64_t entry;	    /* of the program; 0: not known */
	uint64_t gap_start; /* if gap_pending: a gap that may turn out to be padding */
	bool gap_pending, gap_is_code;
	uint32_t nr_extended_dropped;
	bool truncated;
	struct unwind_rule
		last_extended; /* the one packed last, and as what: often the next one too */
	uint32_t last_packed;
};

static void builder_release(struct builder *builder)
{
	vec_release(&builder->pages);
	vec_release(&builder->rows);
	vec_release(&builder->extended);
	hash_release(&builder->extended_index);
}

static bool equal_rules(const struct unwind_rule *a, const struct unwind_rule *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static bool same_extended(const void *ctx, uint32_t value, const void *key)
{
	const struct builder *builder = ctx;

	return equal_rules(&builder->extended.at[value], key);
}

/* The index of an extended rule, UNWIND_EXTENDED_UNSUPPORTED where there is no room for another. */
static uint32_t intern_extended(struct builder *builder, const struct unwind_rule *rule)
{
	/* The stack's address is random: rules cannot be made to collide. */
	uint64_t code = hash_bytes(rule, sizeof(*rule), (uintptr_t)builder);
	uint32_t found = hash_find(&builder->extended_index, code, same_extended, builder, rule);

	if (found != HASH_NONE)
		return found;
	if (builder->extended.nr == UNWIND_MAX_EXTENDED) {
		builder->nr_extended_dropped++;
		return UNWIND_EXTENDED_UNSUPPORTED;
	}
	found = (uint32_t)builder->extended.nr;
	vec_push(&builder->extended, *rule);
	hash_insert(&builder->extended_index, code, found);
	return found;
}

static uint32_t pack_rule(struct builder *builder, const struct unwind_rule *rule)
{
	uint32_t packed = builder->arch->pack(rule);

	if (packed != UNWIND_RULE_EXTENDED)
		return packed;
	if (!equal_rules(rule, &builder->last_extended)) {
		builder->last_extended = *rule;
		builder->last_packed = UNWIND_RULE_EXTENDED | intern_extended(builder, rule);
	}
	return builder->last_packed;
}

/* The fixed extended rules; the first, a gap, is in force before the first row. */
static void builder_init(struct builder *builder, const struct unwind_arch *arch)
{
	static const uint8_t kinds[UNWIND_NR_FIXED_EXTENDED] = {
		[UNWIND_EXTENDED_GAP] = UNWIND_GAP,
		[UNWIND_EXTENDED_ROOT] = UNWIND_ROOT,
		[UNWIND_EXTENDED_UNSUPPORTED] = UNWIND_UNSUPPORTED,
		[UNWIND_EXTENDED_FP] = UNWIND_FP,
	};

	builder->arch = arch;
	for (size_t i = 0; i < UNWIND_NR_FIXED_EXTENDED; i++)
		intern_extended(builder, &(struct unwind_rule){.kind = kinds[i]});
	builder->last_packed = builder->packed = UNWIND_RULE_EXTENDED | UNWIND_EXTENDED_GAP;
}

/* Begins pages until nr of them have begun, each with the rule in force. */
static void begin_pages(struct builder *builder, size_t nr)
{
	while (builder->pages.nr < nr) {
		vec_push(&builder->pages, (uint32_t)builder->rows.nr);
		vec_push(&builder->rows, unwind_row_pack(0, builder->packed));
	}
}

/* Makes a rule for pc, in the page of the last row, a step of that row's run, if it is one. */
static bool extend_run(struct builder *builder, uint32_t pc, uint32_t packed)
{
	uint32_t *last = &builder->rows.at[builder->rows.nr - 1];
	uint32_t delta = pc - (unwind_row_pc(*last) << builder->arch->machine->pc_shift);

	return builder->arch->extend_run &&
	       builder->arch->extend_run(last, builder->packed, delta, packed);
}

static void put(struct builder *builder, uint64_t elf_addr, uint32_t packed)
{
	const struct unwind_machine *machine = builder->arch->machine;
	uint32_t pc = elf_addr % unwind_arch_page_bytes(builder->arch);
	uint32_t *last;
	uint64_t page;

	if (builder->pages.nr == 0)
		builder->start = elf_addr - pc;
	page = (elf_addr - builder->start) >> machine->page_shift;
	if (page >= UNWIND_TABLE_MAX_PAGES) {
		begin_pages(builder, UNWIND_TABLE_MAX_PAGES);
		builder->truncated = true;
		return;
	}
	if (packed == builder->packed)
		return;
	begin_pages(builder, page + 1);
	last = &builder->rows.at[builder->rows.nr - 1];
	if (unwind_row_pc(*last) == pc >> machine->pc_shift)
		*last = unwind_row_pack(pc >> machine->pc_shift, packed);
	else if (!extend_run(builder, pc, packed))
		vec_push(&builder->rows, unwind_row_pack(pc >> machine->pc_shift, packed));
	builder->packed = packed;
}

static bool gap_has_entry(const struct builder *builder, uint64_t limit)
{
	return builder->entry != 0 && builder->entry >= builder->gap_start &&
	       builder->entry < limit;
}

/*
 * The gap ends at limit. Where the entry point is in it (ld.so's _start is assembly that nothing
 * describes), the stack ends: the kernel came from nowhere.
 */
static void put_gap(struct builder *builder, uint64_t limit)
{
	const uint32_t gap = UNWIND_RULE_EXTENDED | UNWIND_EXTENDED_GAP;
	uint64_t entry = builder->entry;

	if (!builder->gap_pending)
		return;
	builder->gap_pending = false;
	if (!gap_has_entry(builder, limit)) {
		put(builder, builder->gap_start, gap);
		return;
	}
	if (entry > builder->gap_start)
		put(builder, builder->gap_start, gap);
	put(builder, entry, UNWIND_RULE_EXTENDED | UNWIND_EXTENDED_ROOT);
	if (limit - entry > CFA_ENTRY_BYTES)
		put(builder, entry + CFA_ENTRY_BYTES, gap);
}

/*
 * glibc's clone and clone3 end their description before the system call and begin it again, without a
 * caller, where the new thread goes on: in between are the few instructions that tell the two apart.
 * In a gap that is only padding the same rule does no harm.
 */
static void put_clone(struct builder *builder, uint64_t limit)
{
	const struct unwind_rule leaf = {.kind = UNWIND_FRAME,
					 .cfa_reg = X86_REG_SP,
					 .how = unwind_how_pack(UNWIND_SAME, UNWIND_AT_CFA),
					 .cfa_off = 8,
					 .ra_off = -8};
	const struct unwind_rule clone = {.kind = UNWIND_CLONE};

	if (builder->arch->machine->has_link || !builder->gap_pending || builder->gap_is_code ||
	    limit - builder->gap_start >= UNWIND_PADDING_BYTES ||
	    builder->packed != builder->arch->pack(&leaf) || gap_has_entry(builder, limit))
		return;
	builder->gap_pending = false;
	put(builder, builder->gap_start, UNWIND_RULE_EXTENDED | intern_extended(builder, &clone));
}

static void add_row(void *ctx, const struct unwind_row *row)
{
	struct builder *builder = ctx;
	uint64_t elf_addr = row->elf_addr;
	uint32_t packed;

	if (row->rule.kind == UNWIND_GAP) {
		builder->gap_is_code = row->rule.cfa_reg == CFA_GAP_IS_CODE ||
				       (builder->gap_pending && builder->gap_is_code);
		if (!builder->gap_pending)
			builder->gap_start = elf_addr;
		builder->gap_pending = true;
		return;
	}
	packed = pack_rule(builder, &row->rule);
	if (builder->gap_pending && !(packed & UNWIND_RULE_EXTENDED) &&
	    elf_addr - builder->gap_start < UNWIND_PADDING_BYTES && !builder->gap_is_code &&
	    !gap_has_entry(builder, elf_addr)) {
		elf_addr = builder->gap_start;
		builder->gap_pending = false;
	}
	if (row->rule.kind == UNWIND_ROOT)
		put_clone(builder, elf_addr);
	put_gap(builder, elf_addr);
	put(builder, elf_addr, packed);
}

/* The last row is a gap; one that starts a page says what being outside the table says as well. */
static void drop_last_gap(struct builder *builder)
{
	const uint32_t gap = unwind_row_pack(0, UNWIND_RULE_EXTENDED | UNWIND_EXTENDED_GAP);

	if (builder->rows.nr > 0 && builder->rows.at[builder->rows.nr - 1] == gap) {
		builder->rows.nr--;
		builder->pages.nr--;
	}
}

static void *shrink(void *at, size_t nr, size_t size_bytes)
{
	return nr ? xreallocarray(at, nr, size_bytes) : at;
}

/* The table takes the builder's arrays. */
static struct unwind_table *finish(struct builder *builder)
{
	struct unwind_table *table = xcalloc(1, sizeof(*table));

	put_gap(builder, UINT64_MAX);
	drop_last_gap(builder);
	table->arch = builder->arch;
	table->start = builder->start;
	table->nr_pages = (uint32_t)builder->pages.nr;
	table->nr_rows = (uint32_t)builder->rows.nr;
	table->nr_extended = (uint32_t)builder->extended.nr;
	vec_push(&builder->pages, table->nr_rows);
	table->pages = shrink(builder->pages.at, builder->pages.nr, sizeof(*table->pages));
	table->rows = shrink(builder->rows.at, builder->rows.nr, sizeof(*table->rows));
	table->extended =
		shrink(builder->extended.at, builder->extended.nr, sizeof(*table->extended));
	table->truncated = builder->truncated;
	table->nr_extended_dropped = builder->nr_extended_dropped;
	builder->pages.at = NULL;
	builder->rows.at = NULL;
	builder->extended.at = NULL;
	return table;
}

struct unwind_table *unwind_table_pack(const struct unwind_arch *arch, unwind_produce_fn produce,
				       void *ctx, uint64_t entry)
{
	struct builder builder scoped(builder_release) = {0};

	builder_init(&builder, arch);
	builder.entry = entry;
	produce(ctx, add_row, &builder);
	return finish(&builder);
}

struct unwind_table *unwind_table_of(const struct unwind_arch *arch, unwind_produce_fn produce,
				     void *ctx)
{
	return unwind_table_pack(arch, produce, ctx, 0);
}

struct unwind_table *unwind_table_uniform(const struct unwind_arch *arch, uint64_t start,
					  uint64_t limit, enum unwind_kind kind)
{
	struct builder builder scoped(builder_release) = {0};

	builder_init(&builder, arch);
	add_row(&builder, &(struct unwind_row){start, {.kind = kind}});
	add_row(&builder, &(struct unwind_row){limit, {.kind = UNWIND_GAP}});
	return finish(&builder);
}
