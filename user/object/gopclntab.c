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

#define MAGIC_1_16 0xfffffffau
#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

#define POINTER_BYTES 8

struct function {
	uint64_t start; /* elf_addr */
	uint32_t name;	/* in names */
};

struct gopclntab {
	vec_of(struct function) functions; /* ascending */
	uint64_t limit;			   /* of the last one */
	char *names;			   /* owned; a NUL is behind the last byte */
	size_t names_bytes;
};

/* The table in the file, while it is read. */
struct source {
	const uint8_t *bytes;
	size_t len_bytes;
	uint64_t elf_addr;
	uint32_t magic;
	uint64_t nr, text;
	uint64_t names_off, names_limit, functions_off;
};

static uint64_t number(const uint8_t *at, size_t width_bytes)
{
	uint64_t value = 0;

	memcpy(&value, at, width_bytes);
	return value;
}

/* The header -------------------------------------------------------------------------------------- */

/* The word after the magic number, two zeros, the size of an instruction (1) and that of a pointer. */
static uint64_t header_word(const uint8_t *bytes, size_t i)
{
	return number(bytes + 8 + i * POINTER_BYTES, POINTER_BYTES);
}

static bool is_header(const uint8_t *bytes, size_t len_bytes)
{
	static const uint8_t rest[] = {0, 0, 1, POINTER_BYTES};
	uint32_t magic;

	if (len_bytes < 8 + 8 * POINTER_BYTES)
		return false;
	magic = number(bytes, 4);
	return (magic == MAGIC_1_16 || magic == MAGIC_1_18 || magic == MAGIC_1_20) &&
	       !memcmp(bytes + 4, rest, sizeof(rest));
}

/*
 * The words are: functions, files, (from 1.18: start of the code,) then the offsets of function names, compilation
 * units, file names, pc tables, functions.
 */
static bool read_header(struct source *source)
{
	size_t skipped;

	if (!is_header(source->bytes, source->len_bytes))
		return false;
	source->magic = number(source->bytes, 4);
	skipped = source->magic == MAGIC_1_16 ? 0 : 1;
	source->nr = header_word(source->bytes, 0);
	source->text = skipped ? header_word(source->bytes, 2) : 0;
	source->names_off = header_word(source->bytes, 2 + skipped);
	source->names_limit = header_word(source->bytes, 3 + skipped);
	source->functions_off = header_word(source->bytes, 6 + skipped);
	return source->nr && source->nr <= GOPCLNTAB_MAX_FUNCTIONS &&
	       source->names_off <= source->names_limit &&
	       source->names_limit <= source->functions_off &&
	       source->functions_off <= source->len_bytes;
}

/* A linker that was given all of Go's read-only data as one section: headers are aligned there. */
static bool search_header(struct source *source)
{
	const uint8_t *bytes = source->bytes;
	size_t len_bytes = source->len_bytes;
	uint64_t elf_addr = source->elf_addr;

	for (size_t at = -elf_addr % POINTER_BYTES; at < len_bytes; at += POINTER_BYTES) {
		source->bytes = bytes + at;
		source->len_bytes = len_bytes - at;
		source->elf_addr = elf_addr + at;
		if (read_header(source))
			return true;
	}
	return false;
}

static bool find_source(const struct elf_file *file, struct source *source)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro"};
	struct elf_section section;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!elf_file_section_named(file, names[i], &section) ||
		    section.len_bytes > GOPCLNTAB_MAX_BYTES ||
		    !elf_file_section(file, names[i], &section) || !section.bytes)
			continue;
		*source = (struct source){.bytes = section.bytes,
					  .len_bytes = section.len_bytes,
					  .elf_addr = section.elf_addr};
		if (search_header(source))
			return true;
	}
	return false;
}

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

/* The pairs of a function's address and the offset of what is known about it; one more ends the last function. */
static size_t pair_bytes(const struct source *source)
{
	return source->magic == MAGIC_1_16 ? 2 * POINTER_BYTES : 2 * sizeof(uint32_t);
}

static bool read_pair(const struct source *source, uint64_t i, uint64_t *start, uint64_t *about)
{
	size_t pair = pair_bytes(source), width = pair / 2;
	const uint8_t *at = source->bytes + source->functions_off;
	uint64_t room = source->len_bytes - source->functions_off;

	if ((i + 1) * pair > room)
		return false;
	*start = source->text + number(at + i * pair, width);
	*about = number(at + i * pair + width, width);
	return true;
}

/* What is known about a function begins with its address again, then comes its name. */
static bool read_name(const struct source *source, uint64_t about, uint32_t *name)
{
	size_t width = pair_bytes(source) / 2;
	uint64_t room = source->len_bytes - source->functions_off;

	if (about > room || room - about < width + sizeof(*name))
		return false;
	*name = number(source->bytes + source->functions_off + about + width, sizeof(*name));
	return *name < source->names_limit - source->names_off;
}

/* Nothing is left of a table with one function that cannot be: who knows what the others are. */
static bool read_functions(const struct source *source, struct gopclntab *table)
{
	uint64_t about, earlier = 0;

	for (uint64_t i = 0; i < source->nr; i++) {
		struct function function;

		if (!read_pair(source, i, &function.start, &about) || function.start < earlier ||
		    !read_name(source, about, &function.name))
			return false;
		earlier = function.start;
		vec_push(&table->functions, function);
	}
	return read_pair(source, source->nr, &table->limit, &about) && table->limit > earlier;
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

/* From 1.18 on addresses count from the start of Go's code. */
static bool find_text(const struct elf_file *file, struct source *source)
{
	struct gomodule module = {
		.table = source->elf_addr,
		.names = source->elf_addr + source->names_off,
		.functions = source->elf_addr + source->functions_off,
	};

	if (source->magic == MAGIC_1_16 || source->text)
		return true;
	if (!gomodule_find(file, &module))
		return false;
	source->text = module.text;
	return true;
}

static bool read_table(const struct elf_file *file, struct gopclntab *table)
{
	struct source source;

	if (!find_source(file, &source) || !find_text(file, &source) ||
	    !read_functions(&source, table) ||
	    !is_code(file, table->functions.at[0].start, table->limit))
		return false;
	table->names_bytes = source.names_limit - source.names_off;
	table->names = xmalloc(table->names_bytes + 1);
	memcpy(table->names, source.bytes + source.names_off, table->names_bytes);
	table->names[table->names_bytes] = '\0';
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

const char *gopclntab_find(const struct gopclntab *table, uint64_t elf_addr, uint64_t *start)
{
	size_t low = 0, high = table ? table->functions.nr : 0;

	if (!table || elf_addr < table->functions.at[0].start || elf_addr >= table->limit)
		return NULL;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (table->functions.at[middle].start <= elf_addr)
			low = middle;
		else
			high = middle;
	}
	*start = table->functions.at[low].start;
	return table->names + table->functions.at[low].name;
}
