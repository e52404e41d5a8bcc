// SPDX-License-Identifier: BSD-2-Clause
/*
 * The names of code: by the symbols of its file, by where its function begins, by the JIT symbols of its
 * process, or by its address.
 *
 * Each distinct address is looked up once in a run, and its name kept, whatever profiles it comes to stand in.
 */
#include "record/symbolize_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "object/demangle.h"

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

/* Of what has no name because of how things went, rather than because there is none. */
static void count_unnamed(struct symbolizer *symbolizer, struct finding *finding, uint32_t file,
			  enum codename_state state, bool is_bare)
{
	finding->is_untried = state == CODENAME_NO_TIME || is_bare;
	finding->is_left_out |= finding->is_untried;
	symbolizer->nr_unnamed += finding->is_left_out;
	if (state != CODENAME_CLOSED)
		return;
	symbolizer->nr_closed++;
	symbolizer->closed_file = file;
}

/* By its symbol, else by where its function begins, so that a function has one name; else by itself. */
static void name_in_object(struct symbolizer *symbolizer, struct finding *finding, uint32_t file,
			   const char *what)
{
	struct codename name = codenames_find(symbolizer->names, file, finding->elf_addr);

	finding->is_left_out = name.is_cut;
	count_unnamed(symbolizer, finding, file, name.state, name.is_bare);
	finding->frames = name.frames;
	finding->nr_frames = name.nr_frames;
	if (name.state == CODENAME_SYMBOL) {
		finding->raw = name.raw;
		finding->display = name.display;
		return;
	}
	name_number(symbolizer, finding, what,
		    name.state == CODENAME_START ? name.start : finding->elf_addr);
	if (finding->address.base && name.state == CODENAME_START)
		finding->display = (uint32_t)finding->address.base;
}

bool symbolize_address_in_file(struct symbolizer *symbolizer, uint32_t file, uint64_t file_off,
			       uint64_t *elf_addr)
{
	const struct reply_file *elf = codenames_file(symbolizer->names, file);

	return elf && !segments_addr(elf->segments, file_off, elf_addr);
}

uint32_t symbolize_ifunc(struct symbolizer *symbolizer, const struct image *image, uint32_t file,
			 uint64_t file_off)
{
	struct codename name;
	const char *ifunc;
	uint64_t elf_addr;

	if (!symbolizer->ifuncnames || !ifuncnames_has(symbolizer->ifuncnames, image, file) ||
	    !symbolize_address_in_file(symbolizer, file, file_off, &elf_addr))
		return 0;
	name = codenames_find(symbolizer->names, file, elf_addr);
	if (name.state != CODENAME_START)
		return 0;
	ifunc = ifuncnames_find(symbolizer->ifuncnames, image, file, name.start);
	return ifunc ? strtab_intern(&symbolizer->strings, ifunc) : 0;
}

static void name_in_file(struct symbolizer *symbolizer, struct finding *finding)
{
	uint32_t file = finding->address.space;
	const char *what = text_base_name(files_path(symbolizer->files, file));

	/* What is not in a segment (or not ELF) is named by where it is in the file. */
	finding->elf_addr = finding->address.position;
	if (symbolize_address_in_file(symbolizer, file, finding->address.position,
				      &finding->elf_addr)) {
		name_in_object(symbolizer, finding, file, what);
		return;
	}
	if (!codenames_file(symbolizer->names, file))
		count_unnamed(symbolizer, finding, file,
			      codenames_why_no_file(symbolizer->names, file), false);
	name_number(symbolizer, finding, what, finding->elf_addr);
}

static const struct kallsyms *kallsyms_of(struct symbolizer *symbolizer)
{
	if (symbolizer->read_kallsyms)
		symbolizer->kallsyms = symbolizer->read_kallsyms(symbolizer->kallsyms_ctx);
	symbolizer->read_kallsyms = NULL;
	return symbolizer->kallsyms;
}

static void name_in_kernel(struct symbolizer *symbolizer, struct finding *finding)
{
	const struct kallsyms *kallsyms = kallsyms_of(symbolizer);
	struct kernel_symbol symbol;

	finding->elf_addr = finding->address.position;
	if (finding->address.base && finding->address.base != KERNEL_NO_NAME)
		name_symbol(symbolizer, finding,
			    strtab_get(&symbolizer->strings, finding->address.base));
	else if (!finding->address.base && kallsyms &&
		 kallsyms_find(kallsyms, finding->elf_addr, &symbol) && *symbol.name)
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
		name_in_object(symbolizer, finding, PARSER_VDSO, "[vdso]");
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
	case SPACE_JIT:
	case SPACE_METHOD:
		symbolize_name_jit(symbolizer, finding);
		break;
	case SPACE_FRAME:
		break; /* symbolize_frame() */
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

static uint64_t code_of(const struct code_address *address)
{
	return hash_combine(hash_combine(address->space, address->position),
			    address->base + address->guessed);
}

static uint32_t position_of(const struct symbolizer *symbolizer, const struct code_address *address)
{
	return hash_find(&symbolizer->index, code_of(address), same_place, symbolizer, address);
}

/* What there was no time for is looked up when there is. */
static bool is_stale(const struct symbolizer *symbolizer, const struct finding *finding)
{
	return finding->is_untried && codenames_has_time(symbolizer->names);
}

bool symbolize_is_found(const struct symbolizer *symbolizer, const struct code_address *address)
{
	uint32_t i = position_of(symbolizer, address);

	return i != HASH_NONE && !is_stale(symbolizer, &symbolizer->findings.at[i]);
}

struct finding *symbolize_find(struct symbolizer *symbolizer, const struct code_address *address,
			       const struct mapping *map)
{
	uint32_t i = position_of(symbolizer, address);
	struct finding finding = {.address = *address};

	if (i != HASH_NONE && !is_stale(symbolizer, &symbolizer->findings.at[i]))
		return &symbolizer->findings.at[i];
	name_place(symbolizer, &finding, map);
	if (i == HASH_NONE) {
		i = symbolizer->findings.nr;
		vec_push(&symbolizer->findings, finding);
		hash_insert(&symbolizer->index, code_of(address), i);
	} else {
		symbolizer->nr_unnamed--;
		symbolizer->findings.at[i] = finding;
	}
	return &symbolizer->findings.at[i];
}
