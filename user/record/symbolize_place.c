// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where an ip of a process is: in a file, in JIT code, in the vdso; and what is said of that place without a profile.
 */
#include "record/symbolize_state.h"

#include <string.h>

#include "base/text.h"
#include "symbolize/codenames.h"

/* From (mapping, ip) to the place it is for every process. *is_certain is set in JIT code: files may not say more of it. */
static struct code_address code_address_in(struct symbolizer *symbolizer, struct image *image,
					   const struct mapping *map, uint64_t ip, uint64_t time_ns,
					   bool *is_certain)
{
	const char *name = strtab_get(tasks_names(symbolizer->tasks), map->name);
	struct jitsym *jitsym;
	struct code_address address = {.space = SPACE_ANON,
				       .position = ip,
				       .map_start = map->start,
				       .map_limit = map->limit,
				       .map_name = map->name};

	if (!jitsymfiles_is_memory(name) && map->file != FILE_NONE)
		return (struct code_address){.space = map->file,
					     .position = ip - map->start + map->file_off};
	/* Below 4 GiB it is the vdso of a 32-bit process, which is another one. */
	if (!strcmp(name, "[vdso]") && map->limit > UINT32_MAX)
		return (struct code_address){.space = SPACE_VDSO, .position = ip - map->start};
	jitsym = jitsyms_find(&image->jitsyms, ip, time_ns);
	*is_certain = jitsym && !jitsym->was_told;
	if (jitsym) { /* also in a file of memfd_create(2) */
		address.space = SPACE_JIT;
		address.base = symbolize_jitsym(symbolizer, &image->jitsyms, jitsym);
	} else if (map->file != FILE_NONE) {
		return (struct code_address){.space = map->file,
					     .position = ip - map->start + map->file_off};
	}
	return address;
}

/* May the process say what is there, in a file that it writes? */
static bool may_be_told(const struct symbolizer *symbolizer, const struct image *image,
			const struct mapping *map)
{
	return map && image->jitsym_files &&
	       jitsymfiles_is_memory(strtab_get(tasks_names(symbolizer->tasks), map->name));
}

struct code_address symbolize_place(struct symbolizer *symbolizer, struct image *image, uint64_t ip,
				    uint64_t time_ns, bool is_caller, bool is_expected,
				    const struct mapping **map)
{
	bool guessed = ip & IP_GUESSED, is_certain = false;
	struct code_address address = {.space = SPACE_UNKNOWN};

	*map = NULL;
	if (IP_IS_METHOD(ip))
		return symbolize_method(symbolizer, image, ip, time_ns);
	ip = ip_named(ip, is_caller);
	address.position = ip;
	*map = tasks_mapping(symbolizer->tasks, image, ip, time_ns);
	if (*map)
		address = code_address_in(symbolizer, image, *map, ip, time_ns, &is_certain);
	if (!is_certain && may_be_told(symbolizer, image, *map)) {
		if (is_expected) {
			jitsymnames_expect(symbolizer->jitsyms, image, ip, time_ns);
		} else {
			jitsymnames_ask(symbolizer->jitsyms, image, ip, time_ns);
			address =
				code_address_in(symbolizer, image, *map, ip, time_ns, &is_certain);
		}
	}
	if (!is_expected && IS_FILE(address.space))
		address.base = symbolize_ifunc(symbolizer, image, address.space, address.position);
	address.guessed = guessed;
	return address;
}

void symbolize_expect(struct symbolizer *symbolizer, struct image *image, uint64_t ip,
		      uint64_t time_ns, bool is_caller, uint64_t weight)
{
	const struct mapping *map;
	struct code_address address =
		symbolize_place(symbolizer, image, ip, time_ns, is_caller, true, &map);
	uint64_t elf_addr = address.position;

	if (address.space == SPACE_VDSO)
		codenames_expect(symbolizer->names, PARSER_VDSO, elf_addr, weight);
	else if (IS_FILE(address.space) && !symbolize_is_found(symbolizer, &address) &&
		 symbolize_address_in_file(symbolizer, address.space, address.position, &elf_addr))
		codenames_expect(symbolizer->names, address.space, elf_addr, weight);
}

uint32_t symbolize_user_name(struct symbolizer *symbolizer, struct image *image, uint64_t ip,
			     uint64_t time_ns, bool is_caller, const char **name)
{
	const struct mapping *map;
	struct code_address address =
		symbolize_place(symbolizer, image, ip, time_ns, is_caller, false, &map);
	uint32_t display = symbolize_find(symbolizer, &address, map)->display;

	*name = strtab_get(&symbolizer->strings, display);
	return display;
}

/* What is known of the runtime in the file that the ip is in, and its address there. NULL: there is none. */
static const struct message_runtime *runtime_at(struct symbolizer *symbolizer, struct image *image,
						uint64_t ip, uint64_t time_ns, bool is_caller,
						uint64_t *elf_addr)
{
	const struct reply_file *elf;
	const struct mapping *map;

	ip = ip_named(ip, is_caller);
	map = tasks_mapping(symbolizer->tasks, image, ip, time_ns);
	elf = map && map->file != FILE_NONE ? codenames_file(symbolizer->names, map->file) : NULL;
	if (!elf || !elf->runtime.runtime ||
	    segments_addr(elf->segments, ip - map->start + map->file_off, elf_addr))
		return NULL;
	return &elf->runtime;
}

uint32_t symbolize_runtime(struct symbolizer *symbolizer, struct image *image, uint64_t ip,
			   uint64_t time_ns, bool is_caller)
{
	uint64_t elf_addr;
	const struct message_runtime *about =
		runtime_at(symbolizer, image, ip, time_ns, is_caller, &elf_addr);

	return about ? about->runtime : 0;
}

/* Is the address in one of them? */
static bool is_in(const uint64_t ranges[MESSAGE_MAX_LOOPS][2], uint64_t elf_addr)
{
	for (size_t i = 0; i < MESSAGE_MAX_LOOPS; i++)
		if (elf_addr >= ranges[i][0] && elf_addr < ranges[i][1])
			return true;
	return false;
}

bool symbolize_is_loop(struct symbolizer *symbolizer, struct image *image, uint64_t ip,
		       uint64_t time_ns, bool is_caller)
{
	uint64_t elf_addr;
	const struct message_runtime *about =
		runtime_at(symbolizer, image, ip, time_ns, is_caller, &elf_addr);

	return about && is_in(about->loops, elf_addr);
}

bool symbolize_is_inner(struct symbolizer *symbolizer, struct image *image, uint64_t ip,
			uint64_t time_ns, bool is_caller)
{
	uint64_t elf_addr;
	const struct message_runtime *about =
		runtime_at(symbolizer, image, ip, time_ns, is_caller, &elf_addr);

	return about && is_in(about->inner, elf_addr);
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
	return symbolize_pseudo_name(symbolizer, map);
}
