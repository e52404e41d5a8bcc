// SPDX-License-Identifier: BSD-2-Clause
/*
 * The names of code: by the symbols of its file, by where its function begins, by what a process said of code that it
 * made, or by its address.
 *
 * Each distinct address is looked up once in a run, and its name kept, whatever profiles it comes to stand in.
 */
#include "record/symbolize_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "object/demangle.h"

struct object *symbolize_object(struct symbolizer *symbolizer, uint32_t file)
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
	struct object *object = symbolize_object(symbolizer, file);
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

const char *symbolize_pseudo_name(struct symbolizer *symbolizer, const struct mapping *map)
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
		name_number(symbolizer, finding, symbolize_pseudo_name(symbolizer, map),
			    finding->elf_addr);
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
	       a->guessed == b->guessed && a->map_start == b->map_start &&
	       a->map_limit == b->map_limit && a->map_name == b->map_name;
}

struct finding *symbolize_find(struct symbolizer *symbolizer, const struct code_address *address,
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
