// SPDX-License-Identifier: BSD-2-Clause
/*
 * The formats are those of Go's runtime/symtab.go and cmd/link/internal/ld/pcln.go. A header has the offsets of all
 * else; functions are sorted by address, relative to the start of Go's code from Go 1.18 on. Where that is,
 * the header says until 1.25, unless a linker left it to a relocation; the runtime's moduledata
 * (object/gomodule.h) says it in all versions.
 */
#include "object/gopclntab.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "object/gomodule.h"
#include "object/gotable.h"

struct function {
	uint64_t start;	  /* elf_addr */
	uint32_t name;	  /* in names */
	uint32_t details; /* what else is known of it, in the table's functions */
};

struct gopclntab {
	vec_of(struct function) functions; /* ascending */
	uint64_t limit;			   /* of the last one */
	char *names;			   /* owned; a NUL is behind the last byte */
	size_t names_bytes;
	uint64_t data; /* elf_addr that offsets of functions' data count from; 0: not known */
};

bool gopclntab_is_there(const struct elf_file *file)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab", ".go.buildinfo",
					    ".note.go.buildid"};
	struct elf_section section;

	for (size_t i = 0; file && i < sizeof(names) / sizeof(names[0]); i++)
		if (elf_file_section_named(file, names[i], &section))
			return true;
	return false;
}

/* Functions --------------------------------------------------------------------------------------- */

/* The pairs of a function's address and the offset of its details; one more ends the last function. */
static bool read_pair(const struct gotable *source, uint64_t i, uint64_t *start, uint64_t *details)
{
	size_t width = gotable_address_bytes(source), pair = 2 * width;
	const uint8_t *at = source->bytes + source->functions_off;
	uint64_t room = source->len_bytes - source->functions_off;

	if ((i + 1) * pair > room)
		return false;
	*start = source->text + gotable_number(at + i * pair, width);
	*details = gotable_number(at + i * pair + width, width);
	return true;
}

/* A function's details begin with its address again, then comes its name. */
static bool read_name(const struct gotable *source, uint64_t details, uint32_t *name)
{
	size_t width = gotable_address_bytes(source);
	uint64_t room = source->len_bytes - source->functions_off;

	if (details > room || room - details < width + sizeof(*name))
		return false;
	*name = gotable_number(source->bytes + source->functions_off + details + width,
			       sizeof(*name));
	return *name < source->units_off - source->names_off;
}

/* Nothing is left of a table with one function that cannot be: who knows what the others are. */
static bool read_functions(const struct gotable *source, struct gopclntab *table)
{
	uint64_t details, earlier = 0;

	for (uint64_t i = 0; i < source->nr; i++) {
		struct function function;

		if (!read_pair(source, i, &function.start, &details) || function.start < earlier ||
		    !read_name(source, details, &function.name))
			return false;
		earlier = function.start;
		function.details = details;
		vec_push(&table->functions, function);
	}
	return read_pair(source, source->nr, &table->limit, &details) && table->limit > earlier;
}

static bool is_code(const struct elf_file *file, uint64_t start, uint64_t limit)
{
	struct segments segments = elf_file_segments(file);

	for (size_t i = 0; i < segments.nr; i++) {
		const struct elf_segment *segment = &segments.at[i];

		if (segment->executable && start >= segment->elf_addr &&
		    start - segment->elf_addr < segment->mem_bytes &&
		    limit - segment->elf_addr <= segment->mem_bytes)
			return true;
	}
	return false;
}

/* Since Go 1.18, addresses are relative to the start of Go's code, and functions' data to an address in moduledata. */
static bool find_bases(const struct elf_file *file, struct gotable *source, struct gopclntab *table)
{
	struct gomodule module = {
		.table = source->elf_addr,
		.names = source->elf_addr + source->names_off,
		.functions = source->elf_addr + source->functions_off,
		.has_coverage = source->magic == GO_MAGIC_1_20,
	};

	if (source->magic == GO_MAGIC_1_16)
		return true;
	if (gomodule_find(file, &module)) {
		table->data = module.data;
		if (!source->text)
			source->text = module.text;
	}
	return source->text != 0;
}

static void copy_names(const struct gotable *source, struct gopclntab *table)
{
	table->names_bytes = source->units_off - source->names_off;
	table->names = xmalloc(table->names_bytes + 1);
	memcpy(table->names, source->bytes + source->names_off, table->names_bytes);
	table->names[table->names_bytes] = '\0';
}

static bool read_table(const struct elf_file *file, struct gopclntab *table)
{
	struct gotable source;

	if (!gotable_find(file, &source) || !find_bases(file, &source, table) ||
	    !read_functions(&source, table) ||
	    !is_code(file, table->functions.at[0].start, table->limit))
		return false;
	copy_names(&source, table);
	vec_fit(&table->functions);
	return true;
}

struct gopclntab *gopclntab_new(const struct elf_file *file)
{
	struct gopclntab *table;
	struct elf_file *own;
	bool is_whole;

	if (!file || !elf_file_is_linked(file) || elf_file_reopen(file, &own))
		return NULL;
	table = xcalloc(1, sizeof(*table));
	is_whole = read_table(own, table);
	elf_file_close(own);
	if (is_whole)
		return table;
	gopclntab_free(table);
	return NULL;
}

void gopclntab_free(struct gopclntab *table)
{
	if (!table)
		return;
	vec_release(&table->functions);
	free(table->names);
	free(table);
}

size_t gopclntab_nr(const struct gopclntab *table)
{
	return table->functions.nr;
}

bool gopclntab_function(const struct gopclntab *table, uint64_t elf_addr,
			struct gopclntab_function *function)
{
	size_t low = 0, high = table ? table->functions.nr : 0;
	const struct function *found;

	if (!table || elf_addr < table->functions.at[0].start || elf_addr >= table->limit)
		return false;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (table->functions.at[middle].start <= elf_addr)
			low = middle;
		else
			high = middle;
	}
	found = &table->functions.at[low];
	*function = (struct gopclntab_function){table->names + found->name, found->start,
						found->details};
	return true;
}

const char *gopclntab_find(const struct gopclntab *table, uint64_t elf_addr, uint64_t *start)
{
	struct gopclntab_function function;

	if (!gopclntab_function(table, elf_addr, &function))
		return NULL;
	*start = function.start;
	return function.name;
}

const char *gopclntab_name(const struct gopclntab *table, uint32_t name)
{
	return name < table->names_bytes ? table->names + name : NULL;
}

uint64_t gopclntab_data(const struct gopclntab *table)
{
	return table->data;
}
