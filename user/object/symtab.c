// SPDX-License-Identifier: BSD-2-Clause
/*
 * From symbol tables to an index in four steps:
 *
 *	collect	 every function of .symtab and .dynsym, and the PLT stubs, as 24-byte entries whose
 *		 names still are offsets in the file's string tables
 *	sort	 by address, and at one address from the worst name to the best; the two tables
 *		 say most things twice, so equal neighbours become one
 *	place	 symbols nest and overlap: object/spans.h says whose an address is
 *	copy	 the names that are left, into one block; the file is not needed any more
 *
 * A find is then a binary search in an array of addresses. Cost: 24 bytes a symbol, 12 a span, and
 * the names. The sections are read through an elf_file of this call's own, so that what they took
 * is given back at its end.
 *
 * The tables are given up at NR_MAX symbols or NAMES_MAX_BYTES of names: many symbols may share one
 * long name in a hostile file, and names are both copied and compared.
 */
#include "object/symtab.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "object/coderegions.h"
#include "object/plt.h"
#include "object/spans.h"

#define NR_MAX		(4u << 20)
#define NAMES_MAX_BYTES (256u << 20)
#define NAME_MAX_BYTES	(64u << 10) /* longer ones are cut */

enum {
	NAMES_SYMTAB,
	NAMES_DYNSYM,
	NR_NAMES
};

struct entry {
	uint64_t elf_addr, len_bytes;
	uint32_t name; /* while building: offset in strings[table]; then: in names */
	uint32_t name_bytes : 20;
	uint32_t table : 2;
	uint32_t binding : 2; /* 0 local, 1 weak, 2 global */
	uint32_t is_ifunc : 1;
	uint32_t is_plt : 1;
};

_Static_assert(sizeof(struct entry) == 24, "one per symbol");
_Static_assert(NAME_MAX_BYTES < 1 << 20, "name_bytes");

struct symtab {
	vec_of(struct entry) entries; /* sorted: see compare() */
	struct spans spans;	      /* owners are positions in entries */
	char *names;
};

struct builder {
	struct symtab *symtab;
	struct coderegions regions;
	struct elf_section strings[NR_NAMES];
	size_t names_bytes;
};

/* Collect ---------------------------------------------------------------------------------------- */

/* The name at name_off, up to its NUL, the "@VERSION" that ld writes into .symtab, or the limit. */
static size_t name_len(const struct elf_section *strings, uint32_t name_off)
{
	const char *name, *at;
	size_t len, max;

	if (!strings->bytes || name_off >= strings->len_bytes)
		return 0;
	name = (const char *)strings->bytes + name_off;
	max = strings->len_bytes - name_off;
	len = strnlen(name, max < NAME_MAX_BYTES ? max : NAME_MAX_BYTES);
	at = len ? memchr(name + 1, '@', len - 1) : NULL;
	return at ? (size_t)(at - name) : len;
}

/* Labels that assemblers and ARM's mapping symbols leave behind. ("$s..." is Swift.) */
static bool is_label(const char *name, size_t len)
{
	if (len >= 2 && name[0] == '.' && name[1] == 'L')
		return true;
	return len >= 2 && name[0] == '$' && strchr("xdat", name[1]) &&
	       (len == 2 || name[2] == '.');
}

/* Names count even where they are not taken: looking for their end is work as well. */
static bool is_full(const struct builder *builder)
{
	return builder->symtab->entries.nr >= NR_MAX || builder->names_bytes >= NAMES_MAX_BYTES;
}

static void add(struct builder *builder, struct entry entry)
{
	const struct elf_section *strings = &builder->strings[entry.table];
	uint64_t limit = coderegions_limit(&builder->regions, entry.elf_addr);
	size_t len;

	if (!limit || is_full(builder))
		return;
	len = name_len(strings, entry.name);
	builder->names_bytes += len;
	if (!len || is_label((const char *)strings->bytes + entry.name, len))
		return;
	if (entry.len_bytes > limit - entry.elf_addr)
		entry.len_bytes = limit - entry.elf_addr;
	entry.name_bytes = len;
	vec_push(&builder->symtab->entries, entry);
}

static void collect_symbol(struct builder *builder, const Elf64_Sym *symbol, unsigned int table)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);
	unsigned int binding = ELF64_ST_BIND(symbol->st_info);

	if (symbol->st_shndx == SHN_UNDEF)
		return;
	if (type != STT_FUNC && type != STT_GNU_IFUNC && !(type == STT_NOTYPE && symbol->st_size))
		return;
	add(builder, (struct entry){.elf_addr = symbol->st_value,
				    .len_bytes = symbol->st_size,
				    .name = symbol->st_name,
				    .table = table,
				    .binding = binding == STB_LOCAL  ? 0
					       : binding == STB_WEAK ? 1
								     : 2,
				    .is_ifunc = type == STT_GNU_IFUNC});
}

/* The first section of this type; its string table stays in builder->strings[table]. */
static void collect_table(struct builder *builder, const struct elf_file *file, uint32_t type,
			  unsigned int table)
{
	struct elf_section section = {0};
	size_t i = 0, nr = elf_file_nr_sections(file);

	while (i < nr && (!elf_file_section_header(file, i, &section) || section.type != type))
		i++;
	if (i == nr || section.entry_bytes != sizeof(Elf64_Sym) ||
	    !elf_file_section_at(file, i, &section) || !section.bytes ||
	    !elf_file_section_at(file, section.link, &builder->strings[table]))
		return;
	for (size_t off = 0; off + sizeof(Elf64_Sym) <= section.len_bytes;
	     off += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, (const char *)section.bytes + off, sizeof(symbol));
		collect_symbol(builder, &symbol, table);
	}
}

static void collect_plt(struct builder *builder, const struct elf_file *file)
{
	struct plt plt = {0};

	plt_read(&plt, file);
	vec_for_each(&plt.slots, slot)
		add(builder, (struct entry){.elf_addr = slot->elf_addr,
					    .len_bytes = PLT_SLOT_BYTES,
					    .name = slot->name,
					    .table = NAMES_DYNSYM,
					    .is_plt = true});
	plt_release(&plt);
}

/* Sort ------------------------------------------------------------------------------------------- */

static const char *raw_name(const struct builder *builder, const struct entry *entry)
{
	return (const char *)builder->strings[entry->table].bytes + entry->name;
}

static size_t leading_underscores(const char *name, size_t len)
{
	size_t i = 0;

	while (i < len && name[i] == '_')
		i++;
	return i;
}

/* By address, then from the worst name to the best; equal only if all that a user sees is equal. */
static int compare(const void *a, const void *b, void *ctx)
{
	const struct entry *x = a, *y = b;
	const char *x_name, *y_name;
	size_t x_under, y_under;

	if (x->elf_addr != y->elf_addr)
		return x->elf_addr < y->elf_addr ? -1 : 1;
	if (!x->len_bytes != !y->len_bytes)
		return x->len_bytes ? 1 : -1;
	if (x->binding != y->binding)
		return x->binding > y->binding ? 1 : -1;
	x_name = raw_name(ctx, x);
	y_name = raw_name(ctx, y);
	x_under = leading_underscores(x_name, x->name_bytes);
	y_under = leading_underscores(y_name, y->name_bytes);
	if (x_under != y_under)
		return x_under < y_under ? 1 : -1;
	if (x->name_bytes != y->name_bytes)
		return x->name_bytes < y->name_bytes ? 1 : -1;
	return memcmp(y_name, x_name, x->name_bytes);
}

static void sort(struct builder *builder)
{
	struct symtab *symtab = builder->symtab;
	size_t nr = 0;

	if (!symtab->entries.nr)
		return;
	qsort_r(symtab->entries.at, symtab->entries.nr, sizeof(*symtab->entries.at), compare,
		builder);
	vec_for_each(&symtab->entries, entry) {
		struct entry *last = nr ? &symtab->entries.at[nr - 1] : NULL;

		if (!last || compare(last, entry, builder))
			symtab->entries.at[nr++] = *entry;
		else if (last->len_bytes < entry->len_bytes)
			last->len_bytes = entry->len_bytes;
	}
	symtab->entries.nr = nr;
	vec_fit(&symtab->entries);
}

/* Place ------------------------------------------------------------------------------------------ */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Says of all symbols at one address, entries [first, last], how far they reach. One without a size:
 * to the next symbol, the end of its section, or the end of what it lies in: a label in the middle of
 * a function is no function that goes on behind it.
 */
static void place_group(struct builder *builder, size_t first, size_t last, uint64_t next_addr)
{
	struct symtab *symtab = builder->symtab;
	uint64_t addr = symtab->entries.at[first].elf_addr;
	uint64_t around = spans_advance(&symtab->spans, addr);
	uint64_t guess =
		least(least(around, next_addr), coderegions_limit(&builder->regions, addr));
	bool has_sized = symtab->entries.at[last].len_bytes;

	for (size_t i = first; i <= last; i++) {
		struct entry *entry = &symtab->entries.at[i];

		/* An alias whose sized twin says where it ends. */
		if (!entry->len_bytes && has_sized)
			continue;
		if (!entry->len_bytes)
			entry->len_bytes = guess - addr;
		spans_add(&symtab->spans, addr, addr + entry->len_bytes, i);
	}
}

static void place(struct builder *builder)
{
	struct symtab *symtab = builder->symtab;
	size_t nr = symtab->entries.nr, end;

	for (size_t first = 0; first < nr; first = end) {
		uint64_t addr = symtab->entries.at[first].elf_addr;

		for (end = first + 1; end < nr; end++)
			if (symtab->entries.at[end].elf_addr != addr)
				break;
		place_group(builder, first, end - 1,
			    end < nr ? symtab->entries.at[end].elf_addr : UINT64_MAX);
	}
	spans_finish(&symtab->spans);
}

/* Copy ------------------------------------------------------------------------------------------- */

static void copy_names(struct builder *builder)
{
	static const char plt_suffix[] = "@plt";
	struct symtab *symtab = builder->symtab;
	size_t need = 0, used = 0;

	vec_for_each(&symtab->entries, entry)
		need += entry->name_bytes + sizeof(plt_suffix);
	symtab->names = xmalloc(need);
	vec_for_each(&symtab->entries, entry) {
		memcpy(symtab->names + used, raw_name(builder, entry), entry->name_bytes);
		entry->name = used;
		used += entry->name_bytes;
		if (entry->is_plt) {
			memcpy(symtab->names + used, plt_suffix, strlen(plt_suffix));
			used += strlen(plt_suffix);
		}
		symtab->names[used++] = '\0';
	}
	symtab->names = xreallocarray(symtab->names, used, 1);
}

struct symtab *symtab_new(const struct elf_file *file)
{
	struct symtab *symtab = xcalloc(1, sizeof(*symtab));
	struct builder builder = {.symtab = symtab};
	struct elf_file *own = NULL;

	if (!file || !elf_file_is_linked(file) || elf_file_reopen(file, &own) < 0)
		return symtab;
	coderegions_read(&builder.regions, own);
	collect_table(&builder, own, SHT_SYMTAB, NAMES_SYMTAB);
	collect_table(&builder, own, SHT_DYNSYM, NAMES_DYNSYM);
	collect_plt(&builder, own);
	sort(&builder);
	place(&builder);
	copy_names(&builder);
	coderegions_release(&builder.regions);
	elf_file_close(own);
	return symtab;
}

void symtab_free(struct symtab *symtab)
{
	if (!symtab)
		return;
	vec_release(&symtab->entries);
	spans_release(&symtab->spans);
	free(symtab->names);
	free(symtab);
}

size_t symtab_nr(const struct symtab *symtab)
{
	return symtab->entries.nr;
}

static void give(const struct symtab *symtab, uint32_t i, struct symbol *symbol)
{
	const struct entry *entry = &symtab->entries.at[i];

	*symbol = (struct symbol){entry->elf_addr, entry->len_bytes, symtab->names + entry->name};
}

bool symtab_find(const struct symtab *symtab, uint64_t elf_addr, struct symbol *symbol)
{
	uint32_t i = spans_find(&symtab->spans, elf_addr);

	if (i == SPANS_NONE)
		return false;
	give(symtab, i, symbol);
	return true;
}

bool symtab_lookup(const struct symtab *symtab, const char *name, struct symbol *symbol,
		   bool *is_ifunc)
{
	const struct entry *best = NULL;

	for (size_t i = 0; i < symtab->entries.nr; i++) {
		const struct entry *entry = &symtab->entries.at[i];

		if (!strcmp(symtab->names + entry->name, name) &&
		    (!best || entry->binding > best->binding))
			best = entry;
	}
	if (!best)
		return false;
	give(symtab, best - symtab->entries.at, symbol);
	*is_ifunc = best->is_ifunc;
	return true;
}
