// SPDX-License-Identifier: BSD-2-Clause
/*
 * The functions of JIT code: what was compiled into it, innermost first.
 *
 * Code of the same functions at the same lines is the same for the symbolizer, whichever process has it and
 * how often it was compiled: a chain has a number. A piece of code keeps it, since it is asked for at each of its samples.
 */
#include "record/symbolize_state.h"

#include <string.h>

static bool same_frames(const struct codename_frame *a, const struct codename_frame *b, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (a[i].raw != b[i].raw || a[i].file != b[i].file || a[i].line != b[i].line ||
		    a[i].start_line != b[i].start_line)
			return false;
	return true;
}

/* A chain that is looked for. */
struct wanted {
	struct symbolizer *symbolizer;
	uint32_t raw, nr;
	const struct codename_frame *frames;
};

static bool same_chain(const void *ctx, uint32_t value, const void *key)
{
	const struct symbolizer *symbolizer = ctx;
	const struct jitsym_chain *chain = &symbolizer->chains.at[value];
	const struct wanted *wanted = key;

	return chain->raw == wanted->raw && chain->nr_frames == wanted->nr &&
	       (!wanted->nr || same_frames(codenames_frames(symbolizer->names, chain->frames),
					   wanted->frames, wanted->nr));
}

static uint32_t number_of(struct symbolizer *symbolizer, const struct wanted *wanted)
{
	uint64_t code = hash_combine(0, wanted->raw);
	struct jitsym_chain chain = {.raw = wanted->raw, .nr_frames = wanted->nr};
	uint32_t i;

	for (i = 0; i < wanted->nr; i++) {
		code = hash_combine(code,
				    (uint64_t)wanted->frames[i].raw << 32 | wanted->frames[i].line);
		code = hash_combine(code, wanted->frames[i].file);
	}
	i = hash_find(&symbolizer->chain_index, code, same_chain, symbolizer, wanted);
	if (i != HASH_NONE)
		return i + 1;
	for (i = 0; i < wanted->nr; i++) {
		uint32_t at = codenames_add_frame(symbolizer->names, &wanted->frames[i]);

		if (!i)
			chain.frames = at;
	}
	hash_insert(&symbolizer->chain_index, code, symbolizer->chains.nr);
	vec_push(&symbolizer->chains, chain);
	return symbolizer->chains.nr;
}

uint32_t symbolize_jitsym(struct symbolizer *symbolizer, const struct jitsyms *code,
			  struct jitsym *piece)
{
	struct codename_frame frames[MESSAGE_MAX_FRAMES];
	uint32_t first = codenames_asks_for(symbolizer->names, MESSAGE_NAMES_INLINED)
				 ? 0
				 : piece->nr_frames - 1;
	struct wanted wanted = {.symbolizer = symbolizer, .frames = frames};
	struct jitframe frame = {0};

	if (piece->mark)
		return piece->mark;
	for (uint32_t i = first; i < piece->nr_frames && wanted.nr < MESSAGE_MAX_FRAMES; i++) {
		bool is_last = i == piece->nr_frames - 1;

		frame = jitsyms_frame(code, piece, i);
		wanted.raw = strtab_intern(&symbolizer->strings, frame.name);
		frames[wanted.nr++] = (struct codename_frame){
			.raw = is_last ? 0 : wanted.raw, /* the finding has it */
			.display = is_last ? 0 : wanted.raw,
			.file = strtab_intern(&symbolizer->strings, frame.file),
			.line = frame.line,
			.start_line = frame.start_line,
		};
	}
	if (!codenames_asks_for(symbolizer->names, MESSAGE_NAMES_LINES) ||
	    (wanted.nr == 1 && !frames[0].file))
		wanted.nr = 0;
	piece->mark = number_of(symbolizer, &wanted);
	return piece->mark;
}

uint64_t symbolize_frame_addr(const char *name, const char *file, uint32_t line)
{
	return (uint32_t)hash_combine(
		hash_combine(hash_bytes(name, strlen(name), 0), hash_bytes(file, strlen(file), 0)),
		line);
}

/* An interpreted method has one frame at most: nothing is inlined into it. */
void symbolize_name_jit(struct symbolizer *symbolizer, struct finding *finding)
{
	const struct jitsym_chain *chain = &symbolizer->chains.at[finding->address.base - 1];
	const struct codename_frame *frame =
		chain->nr_frames ? codenames_frames(symbolizer->names, chain->frames) : NULL;

	finding->raw = finding->display = chain->raw;
	finding->frames = chain->frames;
	finding->nr_frames = chain->nr_frames;
	if (finding->address.space == SPACE_METHOD)
		finding->elf_addr = symbolize_frame_addr(
			strtab_get(&symbolizer->strings, chain->raw),
			strtab_get(&symbolizer->strings, frame ? frame->file : 0),
			frame ? frame->line : 0);
}

struct code_address symbolize_method(struct symbolizer *symbolizer, struct image *image,
				     uint64_t word, uint64_t time_ns)
{
	struct jitsym *method = jitsyms_find(&image->jitsyms, word, time_ns);

	if (!method || method->since_ns > time_ns)
		return symbolize_note_address(symbolizer, CODE_IS_GONE);
	return (struct code_address){.space = SPACE_METHOD,
				     .base = symbolize_jitsym(symbolizer, &image->jitsyms, method)};
}
