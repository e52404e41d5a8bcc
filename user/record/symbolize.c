// SPDX-License-Identifier: BSD-2-Clause
/*
 * Three numbers name one instruction, and a profile wants the third:
 *
 *	ip		0x7f3a5c0a1234	where this process had it (another one has it elsewhere)
 *	file_off	0x0a0234	ip - mapping.start + mapping.file_off
 *	elf_addr	0x0a1234	file_off - p_offset + p_vaddr of the segment it is in
 *
 * With elf_addr one libc is one libc, whatever the address space layout. record/filemap.h says which
 * mapping goes with it.
 */
#include "record/symbolize.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/strtab.h"
#include "base/text.h"
#include "base/vec.h"
#include "object/demangle.h"
#include "record/filemap.h"

#define PAGE_BYTES 4096ull
/* The upper half of the address space on every 64-bit Linux. */
#define KERNEL_START (1ull << 63)

/* Where a position counts from, where it is not a file (those are their index). */
#define SPACE_VDSO     (FILE_NONE - 1) /* bytes from the start of the vdso */
#define SPACE_KERNEL   (FILE_NONE - 2) /* ip */
#define SPACE_UNKNOWN  (FILE_NONE - 3) /* ip */
#define SPACE_ANON     (FILE_NONE - 4) /* ip, in the mapping that begins at base */
#define SPACE_NOTE     (FILE_NONE - 5) /* hash of the words, in base their strtab id */
#define SPACE_MADE     (FILE_NONE - 6) /* ip, of code that a process made; in base its name's id */
#define IS_FILE(space) ((space) < SPACE_MADE)

/* A code position that means the same in every profile of the run. */
struct code_address {
	uint32_t space;
	uint64_t position, base;
	bool guessed; /* reached by a frame pointer nobody promised: a name of its own says so */
};

/* What is known of a place: its names for good, its location in one profile. */
struct finding {
	struct code_address address;
	uint64_t elf_addr;
	uint32_t raw, display; /* strtab ids; raw 0: it has no symbol, display is made up */
	uint64_t serial;       /* of the profile that location is an id of */
	uint32_t location;
};

struct symbolizer {
	struct tasks *tasks;
	struct files *files;
	struct objects *objects;
	const struct kallsyms *kallsyms;
	bool (*is_hurried)(void); /* NULL: there is time */
	size_t nr_unnamed, nr_closed;
	uint32_t closed_file; /* one of these */
	vec_of(struct finding) findings;
	struct hash index;
	struct strtab strings;
};

struct symbolizer *symbolizer_new(struct tasks *tasks, struct files *files, struct objects *objects,
				  const struct kallsyms *kallsyms)
{
	struct symbolizer *symbolizer = xcalloc(1, sizeof(*symbolizer));

	symbolizer->tasks = tasks;
	symbolizer->files = files;
	symbolizer->objects = objects;
	symbolizer->kallsyms = kallsyms;
	return symbolizer;
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	vec_release(&symbolizer->findings);
	hash_release(&symbolizer->index);
	strtab_release(&symbolizer->strings);
	free(symbolizer);
}

void symbolizer_hurry_when(struct symbolizer *symbolizer, bool (*is_hurried)(void))
{
	symbolizer->is_hurried = is_hurried;
}

size_t symbolizer_nr_unnamed(const struct symbolizer *symbolizer)
{
	return symbolizer->nr_unnamed;
}

size_t symbolizer_nr_closed(const struct symbolizer *symbolizer, const char **file,
			    const char **why)
{
	if (symbolizer->nr_closed) {
		*file = files_path(symbolizer->files, symbolizer->closed_file);
		*why = files_why(symbolizer->files, symbolizer->closed_file);
	}
	return symbolizer->nr_closed;
}

/* The names of what a place holds ---------------------------------------------------------------- */

/* With a descriptor, if one is needed to look for names. */
static struct object *file_object(struct symbolizer *symbolizer, uint32_t file)
{
	struct object *object = objects_known(symbolizer->objects, file);

	if (!object || object_needs_file(object))
		object = objects_get(symbolizer->objects, file, files_fd(symbolizer->files, file));
	return object;
}

static void name_symbol(struct symbolizer *symbolizer, struct finding *finding, const char *raw)
{
	char *display scoped(freep) = demangle(raw);

	finding->raw = strtab_intern(&symbolizer->strings, raw);
	finding->display = display ? strtab_intern(&symbolizer->strings, display) : finding->raw;
}

static void name_number(struct symbolizer *symbolizer, struct finding *finding, const char *what,
			uint64_t addr)
{
	char *name scoped(freep) = xasprintf("%s+0x%" PRIx64, what, addr);

	finding->raw = 0;
	finding->display = strtab_intern(&symbolizer->strings, name);
}

/* By its symbol, else by where its function begins, so that a function has one name; else by itself. */
static void name_in_object(struct symbolizer *symbolizer, struct finding *finding,
			   struct object *object, const char *what)
{
	uint64_t start = finding->elf_addr;
	struct symbol symbol;

	if (object && symbolizer->is_hurried && symbolizer->is_hurried()) {
		symbolizer->nr_unnamed++;
		object = NULL;
	}
	if (object && symtab_find(object_symtab(object), finding->elf_addr, &symbol) &&
	    *symbol.name)
		return name_symbol(symbolizer, finding, symbol.name);
	if (object)
		functab_find(object_functab(object), finding->elf_addr, &start);
	name_number(symbolizer, finding, what, start);
}

static void name_in_file(struct symbolizer *symbolizer, struct finding *finding)
{
	uint32_t file = finding->address.space;
	struct object *object = file_object(symbolizer, file);
	const struct elf_file *elf = object_elf(object);

	if (object_needs_file(object)) {
		symbolizer->nr_closed++;
		symbolizer->closed_file = file;
	}

	/* What is not in a segment (or not ELF) is named by where it is in the file. */
	finding->elf_addr = finding->address.position;
	if (!elf || elf_file_addr(elf, finding->address.position, &finding->elf_addr))
		object = NULL;
	name_in_object(symbolizer, finding, object,
		       text_base_name(files_path(symbolizer->files, file)));
}

static void name_in_kernel(struct symbolizer *symbolizer, struct finding *finding)
{
	struct kernel_symbol symbol;

	finding->elf_addr = finding->address.position;
	if (symbolizer->kallsyms &&
	    kallsyms_find(symbolizer->kallsyms, finding->elf_addr, &symbol) && *symbol.name)
		name_symbol(symbolizer, finding, symbol.name);
	else
		name_number(symbolizer, finding, "[kernel]", finding->elf_addr);
}

/* "[anon]" for what has no name at all, else what the kernel calls it: "[vsyscall]". */
static const char *pseudo_name(struct symbolizer *symbolizer, const struct mapping *map)
{
	const char *name = strtab_get(tasks_names(symbolizer->tasks), map->name);

	return *name && strcmp(name, "//anon") ? text_base_name(name) : "[anon]";
}

static void name_place(struct symbolizer *symbolizer, struct finding *finding,
		       const struct mapping *map)
{
	finding->elf_addr = finding->address.position;
	switch (finding->address.space) {
	case SPACE_VDSO:
		name_in_object(symbolizer, finding, objects_vdso(symbolizer->objects), "[vdso]");
		break;
	case SPACE_KERNEL:
		name_in_kernel(symbolizer, finding);
		break;
	case SPACE_UNKNOWN:
		name_number(symbolizer, finding, "[unknown]", finding->elf_addr);
		break;
	case SPACE_ANON:
		name_number(symbolizer, finding, pseudo_name(symbolizer, map), finding->elf_addr);
		break;
	case SPACE_MADE:
		finding->raw = finding->display = (uint32_t)finding->address.base;
		break;
	case SPACE_NOTE:
		finding->raw = 0;
		finding->display = finding->address.base;
		break;
	default:
		name_in_file(symbolizer, finding);
	}
	if (finding->address.guessed) {
		const char *display = strtab_get(&symbolizer->strings, finding->display);
		char *marked scoped(freep) = xasprintf("%s [guessed]", display);

		finding->display = strtab_intern(&symbolizer->strings, marked);
	}
}

static bool same_place(const void *ctx, uint32_t value, const void *key)
{
	const struct symbolizer *symbolizer = ctx;
	const struct code_address *a = &symbolizer->findings.at[value].address, *b = key;

	return a->space == b->space && a->position == b->position && a->base == b->base &&
	       a->guessed == b->guessed;
}

/* What is at a address, looked up when it is first asked for. Borrowed until the next call. */
static struct finding *find(struct symbolizer *symbolizer, const struct code_address *address,
			    const struct mapping *map)
{
	uint64_t code = hash_combine(hash_combine(address->space, address->position),
				     address->base + address->guessed);
	uint32_t i = hash_find(&symbolizer->index, code, same_place, symbolizer, address);
	struct finding finding = {.address = *address};

	if (i == HASH_NONE) {
		name_place(symbolizer, &finding, map);
		i = symbolizer->findings.nr;
		vec_push(&symbolizer->findings, finding);
		hash_insert(&symbolizer->index, code, i);
	}
	return &symbolizer->findings.at[i];
}

/* Mappings --------------------------------------------------------------------------------------- */

static struct profile_mapping file_mapping(struct symbolizer *symbolizer, struct profile *profile,
					   uint32_t file, uint64_t file_off,
					   const struct mapping *map, bool is_named)
{
	struct object *object = objects_known(symbolizer->objects, file);
	struct filemap_file described = {object ? object : file_object(symbolizer, file),
					 files_path(symbolizer->files, file)};

	return filemap_of_file(profile, &described, file_off, map, is_named);
}

static struct profile_mapping mapping_of(struct symbolizer *symbolizer, struct profile *profile,
					 const struct finding *finding, const struct mapping *map)
{
	switch (finding->address.space) {
	case SPACE_VDSO:
		return filemap_of_vdso(profile, objects_vdso(symbolizer->objects),
				       map->limit - map->start);
	case SPACE_KERNEL:
		return filemap_of_name(profile, "[kernel.kallsyms]", KERNEL_START, UINT64_MAX);
	case SPACE_UNKNOWN:
		/* Garbage can be any number; pprof knows this range as "not relocated". */
		return filemap_of_name(profile, "[unknown]", 0, UINT64_MAX);
	case SPACE_ANON:
	case SPACE_MADE:
		return filemap_of_name(profile,
				       strtab_get(tasks_names(symbolizer->tasks), map->name),
				       map->start, map->limit);
	case SPACE_NOTE:
		return filemap_of_name(profile, "[cprof]", 0, 1ull << 32);
	default:
		return file_mapping(symbolizer, profile, finding->address.space,
				    finding->address.position, map, finding->raw);
	}
}

/* Locations -------------------------------------------------------------------------------------- */

/* map is the mapping that place was found in; NULL for the spaces that have none. */
static uint32_t locate(struct symbolizer *symbolizer, struct profile *profile,
		       const struct code_address *address, const struct mapping *map)
{
	struct finding *finding = find(symbolizer, address, map);
	struct profile_function function = {0};
	struct profile_line line = {0};
	struct profile_location location = {.lines = &line, .nr_lines = 1};
	struct profile_mapping mapping;

	if (finding->serial == profile->serial)
		return finding->location;
	mapping = mapping_of(symbolizer, profile, finding, map);
	location.address = finding->elf_addr;
	if (location.address >= mapping.limit) /* a damaged file: where it is counts for more */
		location.address = mapping.limit - 1;
	if (location.address < mapping.start)
		location.address = mapping.start;
	location.mapping = filemap_enter(profile, &mapping, IS_FILE(address->space), finding->raw);

	function.name = profile_string(profile, strtab_get(&symbolizer->strings, finding->display));
	function.system_name = function.name;
	if (finding->raw)
		function.system_name =
			profile_string(profile, strtab_get(&symbolizer->strings, finding->raw));
	line.function = profile_function_id(profile, &function);
	finding->location = profile_location_id(profile, &location);
	finding->serial = profile->serial;
	return finding->location;
}

/* From (mapping, ip) to the place it is for every process. */
static struct code_address code_address_in(struct symbolizer *symbolizer, struct image *image,
					   const struct mapping *map, uint64_t ip, uint64_t time_ns)
{
	const char *name = strtab_get(tasks_names(symbolizer->tasks), map->name), *made;

	if (map->file != FILE_NONE)
		return (struct code_address){.space = map->file,
					     .position = ip - map->start + map->file_off};
	/* Below 4 GiB it is the vdso of a 32-bit process, which is another one. */
	if (!strcmp(name, "[vdso]") && map->limit > UINT32_MAX)
		return (struct code_address){.space = SPACE_VDSO, .position = ip - map->start};
	made = jitsyms_find(&image->made, ip, time_ns);
	if (made)
		return (struct code_address){.space = SPACE_MADE,
					     .position = ip,
					     .base = strtab_intern(&symbolizer->strings, made)};
	return (struct code_address){.space = SPACE_ANON, .position = ip, .base = map->start};
}

/* *map: that the place is in; NULL: none. */
static struct code_address place_of(struct symbolizer *symbolizer, struct image *image, uint64_t ip,
				    uint64_t time_ns, bool is_return_address,
				    const struct mapping **map)
{
	bool guessed = ip & IP_GUESSED;
	struct code_address address;

	ip &= ~IP_GUESSED;
	if (is_return_address && ip)
		ip--;
	*map = tasks_mapping(symbolizer->tasks, image, ip, time_ns);
	if (*map)
		address = code_address_in(symbolizer, image, *map, ip, time_ns);
	else
		address = (struct code_address){.space = SPACE_UNKNOWN, .position = ip};
	address.guessed = guessed;
	return address;
}

uint32_t symbolize_user(struct symbolizer *symbolizer, struct profile *profile, struct image *image,
			uint64_t ip, uint64_t time_ns, bool is_return_address)
{
	const struct mapping *map;
	struct code_address address =
		place_of(symbolizer, image, ip, time_ns, is_return_address, &map);

	return locate(symbolizer, profile, &address, map);
}

uint32_t symbolize_user_name(struct symbolizer *symbolizer, struct image *image, uint64_t ip,
			     uint64_t time_ns, bool is_return_address, const char **name)
{
	const struct mapping *map;
	struct code_address address =
		place_of(symbolizer, image, ip, time_ns, is_return_address, &map);
	uint32_t display = find(symbolizer, &address, map)->display;

	*name = strtab_get(&symbolizer->strings, display);
	return display;
}

uint32_t symbolize_kernel(struct symbolizer *symbolizer, struct profile *profile, uint64_t ip,
			  bool is_return_address)
{
	struct code_address address = {.space = SPACE_KERNEL};

	address.position = is_return_address && ip ? ip - 1 : ip;
	if (address.position < KERNEL_START)
		address.space = SPACE_UNKNOWN;
	return locate(symbolizer, profile, &address, NULL);
}

uint32_t symbolize_note(struct symbolizer *symbolizer, struct profile *profile, const char *text)
{
	struct code_address address = {.space = SPACE_NOTE};

	address.position = (uint32_t)hash_bytes(text, strlen(text), 0);
	address.base = strtab_intern(&symbolizer->strings, text);
	return locate(symbolizer, profile, &address, NULL);
}

/* The mapping of the lowest address that is a file's, of those there are or were. */
static const struct mapping *first_file(const struct mappings *mappings)
{
	const struct mapping *first = NULL;

	for (size_t i = 0; i < mappings->now.nr; i++)
		if (mappings->now.at[i].file != FILE_NONE)
			return &mappings->now.at[i];
	for (size_t i = 0; i < mappings->past.nr; i++)
		if (mappings->past.at[i].file != FILE_NONE &&
		    (!first || mappings->past.at[i].start < first->start))
			first = &mappings->past.at[i];
	return first;
}

void symbolize_main_mapping(struct symbolizer *symbolizer, struct profile *profile,
			    struct image *image)
{
	const struct mapping *map = first_file(&image->mappings);
	char *name scoped(freep) = NULL;
	struct profile_mapping mapping;

	if (map) {
		mapping = file_mapping(symbolizer, profile, map->file, map->file_off, map, true);
	} else {
		/* A kernel thread, or gone before it was looked at: as ps(1) names what has no file. */
		name = xasprintf("[%.*s]", COMM_BYTES, image->comm);
		mapping = (struct profile_mapping){.path = profile_string(profile, name),
						   .limit = PAGE_BYTES};
	}
	profile_set_main_mapping(profile, profile_mapping_id(profile, &mapping));
}

const char *symbolize_why_closed(struct symbolizer *symbolizer, struct image *image, uint64_t ip,
				 uint64_t time_ns)
{
	const struct mapping *map = tasks_mapping(symbolizer->tasks, image, ip, time_ns);

	return map && map->file != FILE_NONE ? files_why(symbolizer->files, map->file) : "";
}

const char *symbolize_mapping_name(struct symbolizer *symbolizer, struct image *image, uint64_t ip,
				   uint64_t time_ns)
{
	const struct mapping *map = tasks_mapping(symbolizer->tasks, image, ip, time_ns);

	if (!map)
		return "[unknown]";
	if (map->file != FILE_NONE)
		return text_base_name(files_path(symbolizer->files, map->file));
	return pseudo_name(symbolizer, map);
}
