// SPDX-License-Identifier: BSD-2-Clause
/*
 * From symbol tables to an index in four steps:
 *
 *	collect	 every function of .symtab, .dynsym and .gnu_debugdata, and the PLT stubs, as 24-byte entries
 *		 whose names still are offsets in the file's string tables (object/rawsyms.h)
 *	sort	 by address, and at one address from the worst name to the best; the tables say most
 *		 things twice, so equal neighbours become one
 *	place	 symbols nest and overlap: object/spans.h says whose an address is
 *	copy	 the names that are left, into one block; the file is not needed any more
 *
 * A find is then a binary search in an array of addresses. Cost: 24 bytes a symbol, 12 a span, and
 * the names. The sections are read through an elf_file of this call's own, so that what they took
 * is given back at its end.
 */
#include "object/symtab.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "object/functab.h"
#include "object/rawsyms.h"
#include "object/spans.h"

struct symtab {
	vec_of(struct rawsym) entries; /* sorted: see compare() */
	struct spans spans;	       /* owners are positions in entries */
	char *names;
};

struct builder {
	struct symtab *symtab;
	struct rawsyms raw;
	struct functab *functab; /* NULL: every symbol has a size */
};

/* Sort ------------------------------------------------------------------------------------------- */

/* By address, then from the worst name to the best; equal only if all that a user sees is equal. */
static int compare(const void *a, const void *b, void *ctx)
{
	const struct rawsym *x = a, *y = b;

	if (x->elf_addr != y->elf_addr)
		return x->elf_addr < y->elf_addr ? -1 : 1;
	return rawsyms_compare(ctx, x, y);
}

static void sort(struct builder *builder)
{
	struct symtab *symtab = builder->symtab;
	size_t nr = 0;

	if (!symtab->entries.nr)
		return;
	qsort_r(symtab->entries.at, symtab->entries.nr, sizeof(*symtab->entries.at), compare,
		&builder->raw);
	vec_for_each(&symtab->entries, entry) {
		struct rawsym *last = nr ? &symtab->entries.at[nr - 1] : NULL;

		if (!last || compare(last, entry, &builder->raw))
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

/* Guesses the end of a symbol at addr that has no size. around: the end of what contains it. */
static uint64_t guess_limit(const struct builder *builder, uint64_t addr, uint64_t next_addr,
			    uint64_t around)
{
	uint64_t section = coderegions_limit(&builder->raw.regions, addr);
	bool covers = false;
	uint64_t function = builder->functab ? functab_limit(builder->functab, addr, &covers)
					     : UINT64_MAX;

	return least(least(section, around), covers ? function : least(function, next_addr));
}

/* A symbol without type and size in the middle of a function is a label in it. */
static bool is_within(const struct builder *builder, const struct rawsym *entry, uint64_t around)
{
	uint64_t start;

	if (!entry->is_notype)
		return false;
	return around != UINT64_MAX ||
	       (builder->functab && functab_find(builder->functab, entry->elf_addr, &start) &&
		start != entry->elf_addr);
}

/*
 * Says of all symbols at one address, entries [first, last], how far they reach. One without a size:
 * to the end of the function by its call frame information, else to the next symbol or function; at most
 * to the end of its section, and of what it lies in: a label in the middle of a function is no function
 * that goes on behind it.
 */
static void place_group(struct builder *builder, size_t first, size_t last, uint64_t next_addr)
{
	struct symtab *symtab = builder->symtab;
	uint64_t addr = symtab->entries.at[first].elf_addr;
	uint64_t around = spans_advance(&symtab->spans, addr);
	bool has_sized = symtab->entries.at[last].len_bytes;

	for (size_t i = first; i <= last; i++) {
		struct rawsym *entry = &symtab->entries.at[i];

		/* An alias whose sized twin says where it ends. */
		if (!entry->len_bytes && (has_sized || is_within(builder, entry, around)))
			continue;
		if (!entry->len_bytes) {
			entry->len_bytes = guess_limit(builder, addr, next_addr, around) - addr;
			entry->is_guessed = true;
		}
		spans_add(&symtab->spans, addr, addr + entry->len_bytes, i);
	}
}

static bool has_unsized(const struct symtab *symtab)
{
	for (size_t i = 0; i < symtab->entries.nr; i++)
		if (!symtab->entries.at[i].len_bytes)
			return true;
	return false;
}

static void place(struct builder *builder, const struct elf_file *file)
{
	struct symtab *symtab = builder->symtab;
	size_t nr = symtab->entries.nr, end;

	if (has_unsized(symtab))
		builder->functab = functab_new(file);
	for (size_t first = 0; first < nr; first = end) {
		uint64_t addr = symtab->entries.at[first].elf_addr;

		for (end = first + 1; end < nr; end++)
			if (symtab->entries.at[end].elf_addr != addr)
				break;
		place_group(builder, first, end - 1,
			    end < nr ? symtab->entries.at[end].elf_addr : UINT64_MAX);
	}
	spans_finish(&symtab->spans);
	functab_free(builder->functab);
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
		memcpy(symtab->names + used, rawsyms_name(&builder->raw, entry), entry->name_bytes);
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

	if (!file || !elf_file_is_linked(file) || rawsyms_read(&builder.raw, file))
		return symtab;
	symtab->entries.at = builder.raw.all.at;
	symtab->entries.nr = builder.raw.all.nr;
	symtab->entries.cap = builder.raw.all.cap;
	builder.raw.all.at = NULL;
	sort(&builder);
	place(&builder, file);
	copy_names(&builder);
	rawsyms_release(&builder.raw);
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
	const struct rawsym *entry = &symtab->entries.at[i];

	*symbol = (struct symbol){entry->elf_addr, entry->len_bytes, symtab->names + entry->name,
				  entry->is_guessed};
}

bool symtab_find(const struct symtab *symtab, uint64_t elf_addr, struct symbol *symbol)
{
	uint32_t i = spans_find(&symtab->spans, elf_addr);

	if (i == SPANS_NONE)
		return false;
	give(symtab, i, symbol);
	return true;
}

/* Ranks the definitions of one name. */
static int rank(const struct rawsym *entry)
{
	return entry->binding == RAWSYM_GLOBAL ? 2 : entry->binding == RAWSYM_WEAK;
}

bool symtab_lookup(const struct symtab *symtab, const char *name, struct symbol *symbol,
		   bool *is_ifunc)
{
	const struct rawsym *best = NULL;

	for (size_t i = 0; i < symtab->entries.nr; i++) {
		const struct rawsym *entry = &symtab->entries.at[i];

		if (!strcmp(symtab->names + entry->name, name) &&
		    (!best || rank(entry) > rank(best)))
			best = entry;
	}
	if (!best)
		return false;
	give(symtab, best - symtab->entries.at, symbol);
	*is_ifunc = best->is_ifunc;
	return true;
}
