// SPDX-License-Identifier: BSD-2-Clause
/*
 * Distributions strip libruby, and since 3.3 it exports neither of the two. But the loop shows what it is: each of about 120
 * instructions ends with a jump to the next one, whose place is in a register or in memory. No other function comes near: the
 * regular expressions' has 48 to 69 such jumps. rb_vm_exec() is the one that calls it.
 *
 * Rejected: the jumps of a table (switch), which any function may have; and offsets for each build.
 */
#include "runtime/rubyloop.h"

#include <string.h>

#include "runtime/jumps.h"

#define MIN_BYTES	(8u << 10) /* of the loop: 17 to 24 KB */
#define MAX_BYTES	(1u << 20)
#define MIN_JUMPS	96
#define MIN_JUMPS_ARM64 128 /* of 173 to 176; the regular expressions' has 87 to 105 */

/* The code of a file, as far as it is in .text. */
struct text {
	struct object *object;
	const uint8_t *code;
	uint64_t start, limit;
	const struct arch *arch;
	struct jumps jumps;
};

static bool text_init(struct text *text, struct object *object)
{
	struct elf_section section;

	if (!elf_file_section(object_elf(object), ".text", &section) || !section.bytes)
		return false;
	text->object = object;
	text->code = section.bytes;
	text->start = section.elf_addr;
	text->limit = section.elf_addr + section.len_bytes;
	text->arch = elf_file_arch(object_elf(object));
	return jumps_init(&text->jumps, text->arch);
}

/* Jumps to where a register or memory that it leads to says; what is in the file's own tables does not count. */
static uint32_t count_jumps(struct text *text, uint64_t start, uint64_t limit)
{
	struct jump jump;
	uint32_t nr = 0;

	text->jumps.loaded = 0; /* what another function loaded is not what this one jumps to */
	for (uint64_t at = start; at < limit; at += jump.len_bytes) {
		if (!jumps_next(&text->jumps, text->code + (at - text->start), limit - at, at,
				&jump))
			break;
		nr += jump.kind == JUMP_LOADED;
	}
	return nr;
}

/* The function with the most such jumps. false: none has enough. */
static bool find_core(struct text *text, uint64_t *core)
{
	const struct functab *functab = object_functab(text->object);
	uint32_t least = text->arch == &arch_arm64 ? MIN_JUMPS_ARM64 : MIN_JUMPS;
	uint32_t most = least - 1, nr;
	uint64_t limit;
	bool covers;

	for (uint64_t at = text->start; at < text->limit; at = limit) {
		limit = functab_limit(functab, at, &covers);
		if (limit <= at || limit > text->limit)
			break;
		if (!covers || limit - at < MIN_BYTES || limit - at > MAX_BYTES)
			continue;
		nr = count_jumps(text, at, limit);
		if (nr <= most)
			continue;
		most = nr;
		*core = at;
	}
	return most >= least;
}

/* The one function that calls the one at an address. false: there is none, or there are several. */
static bool find_caller(const struct text *text, uint64_t callee, uint64_t *caller)
{
	bool is_found = false;
	uint64_t start;

	for (uint64_t at = text->start; at < text->limit; at += text->arch->instruction_bytes) {
		if (jumps_call(&text->jumps, text->code + (at - text->start), text->limit - at,
			       at) != callee ||
		    !functab_find(object_functab(text->object), at, &start))
			continue;
		if (is_found && start != *caller)
			return false;
		is_found = true;
		*caller = start;
	}
	return is_found;
}

static bool find_by_name(struct object *object, const char *name, uint64_t *elf_addr)
{
	struct symbol symbol;
	bool is_ifunc;

	if (!symtab_lookup(object_symtab(object), name, &symbol, &is_ifunc) || is_ifunc)
		return false;
	*elf_addr = symbol.elf_addr;
	return true;
}

bool rubyloop_find(struct object *object, struct rubyloop *found)
{
	uint64_t exec = 0, core = 0, caller;
	struct text text;
	bool has_name = find_by_name(object, "rb_vm_exec", &exec);

	*found = (struct rubyloop){0};
	if (!text_init(&text, object) || !find_core(&text, &core))
		return false;
	if (!has_name || core != exec) {
		if (!find_caller(&text, core, &caller) || (has_name && caller != exec))
			return false;
		exec = caller;
		loop_find_at(object, core, found->core);
	}
	loop_find_at(object, exec, found->exec);
	return found->exec[0].limit;
}
