// SPDX-License-Identifier: BSD-2-Clause
/*
 * An inlined call's DIE has no name: it refers to the function's abstract instance, that of a method to its declaration
 * in the class, and either may be in another unit (link time optimization) or another file (dwz):
 *
 *	inlined_subroutine  -- abstract_origin -->  subprogram  -- specification -->  subprogram
 *						    decl_line 7			      name "f", linkage_name "_ZN1A1fEv"
 *
 * What is nearest counts. A name that a linker sees is looked for to the end of the chain before one that it does not.
 *
 * The same functions are inlined again and again, so answers are kept, by DIE.
 */
#include "object/dwarfnames.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/alloc.h"

#define CHAIN_MAX 16
#define KEEP_MAX  (256u << 10)

struct kept {
	const struct dwarffile *file;
	uint64_t off;
	struct dwarfname name;
};

struct dwarfnames {
	struct dwarfabbrev_cache *cache;
	struct dwarfunit unit; /* the last one; file NULL: none */
	vec_of(struct kept) kept;
	struct hash index;
};

/* What a chain of DIEs says so far, and where it goes on. */
struct chain {
	struct dwarfname name;
	const char *plain; /* DW_AT_name */
	const struct dwarffile *file;
	uint64_t off;
};

struct dwarfnames *dwarfnames_new(struct dwarfabbrev_cache *cache)
{
	struct dwarfnames *names = xcalloc(1, sizeof(*names));

	names->cache = cache;
	return names;
}

void dwarfnames_free(struct dwarfnames *names)
{
	if (!names)
		return;
	vec_release(&names->kept);
	hash_release(&names->index);
	free(names);
}

static const struct dwarfunit *unit_of(struct dwarfnames *names, const struct dwarffile *file,
				       uint64_t off)
{
	struct dwarfunit *unit = &names->unit;
	size_t i;

	if (unit->file != file || off < unit->off || off >= unit->end) {
		i = dwarfunit_at(file, off);
		if (i == file->units.nr || dwarfunit_open(file, i, unit))
			return NULL;
	}
	return off >= unit->first_die && off < unit->end ? unit : NULL;
}

/* Takes one attribute into the chain. true: it is a reference to go on with. */
static void take(const struct dwarfunit *unit, uint16_t name, const struct dwarfvalue *value,
		 struct chain *chain)
{
	switch (name) {
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		if (!chain->name.text)
			chain->name.text = dwarfunit_string(unit, value);
		break;
	case DW_AT_name:
		if (!chain->plain)
			chain->plain = dwarfunit_string(unit, value);
		break;
	case DW_AT_decl_line:
		if (!chain->name.line)
			chain->name.line = (uint32_t)value->number;
		break;
	case DW_AT_specification:
	case DW_AT_abstract_origin:
		if (!dwarfunit_reference(unit, value, &chain->file, &chain->off))
			chain->file = NULL;
		break;
	}
}

/* Reads the chain's next DIE. false: it was the last. */
static bool read_link(struct dwarfnames *names, struct chain *chain)
{
	const struct dwarfunit *unit = unit_of(names, chain->file, chain->off);
	const struct dwarfabbrevs *table;
	const struct dwarfabbrev *abbrev;
	struct dwarfcursor cursor;

	if (!unit || !dwarfwork_spend(unit->file->work, 1))
		return false;
	cursor = dwarffile_cursor(unit->file, DWARF_INFO, chain->off);
	cursor.end = cursor.at + (unit->end - chain->off);
	chain->file = NULL;
	dwarfabbrev_trim(names->cache);
	table = dwarfabbrev_get(names->cache, unit->file, unit->abbrev_off, unit->shape);
	abbrev = dwarfabbrev_find(table, dwarfcursor_uleb(&cursor));
	if (!abbrev || abbrev->tag != DW_TAG_subprogram)
		if (!abbrev || abbrev->tag != DW_TAG_inlined_subroutine)
			return false;
	for (uint32_t i = 0; i < abbrev->nr_attrs && !cursor.is_bad; i++) {
		const struct dwarfattr *attr = &table->attrs.at[abbrev->first_attr + i];
		struct dwarfvalue value = dwarfunit_read(unit, &cursor, attr);

		take(unit, attr->name, &value, chain);
	}
	return chain->file && !(chain->name.text && chain->name.line);
}

static bool same_die(const void *ctx, uint32_t value, const void *key)
{
	const struct dwarfnames *names = ctx;
	const struct kept *kept = &names->kept.at[value], *wanted = key;

	return kept->off == wanted->off && kept->file == wanted->file;
}

struct dwarfname dwarfnames_get(struct dwarfnames *names, const struct dwarffile *file,
				uint64_t off)
{
	struct kept kept = {.file = file, .off = off};
	uint64_t code = hash_combine(hash_combine(0, off), (uintptr_t)file);
	uint32_t found = hash_find(&names->index, code, same_die, names, &kept);
	struct chain chain = {.file = file, .off = off};

	if (found != HASH_NONE)
		return names->kept.at[found].name;
	for (size_t i = 0; i < CHAIN_MAX && read_link(names, &chain); i++)
		;
	kept.name = chain.name;
	if (!kept.name.text || !*kept.name.text)
		kept.name.text = chain.plain && *chain.plain ? chain.plain : NULL;
	if (names->kept.nr >= KEEP_MAX) {
		names->kept.nr = 0;
		hash_release(&names->index);
	}
	hash_insert(&names->index, code, (uint32_t)names->kept.nr);
	vec_push(&names->kept, kept);
	return kept.name;
}
