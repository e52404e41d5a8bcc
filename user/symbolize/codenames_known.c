// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is known of addresses in files: a table by file and address. Names come before lines, and lines of split units after
 * all others: an answer may be made of several replies.
 */
#include "symbolize/codenames_state.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/vec.h"

static bool same_address(const void *ctx, uint32_t value, const void *key)
{
	const struct codename *a = &((const struct codenames *)ctx)->known.at[value], *b = key;

	return a->file == b->file && a->elf_addr == b->elf_addr;
}

static uint64_t code_of(uint32_t file, uint64_t elf_addr)
{
	return hash_combine(hash_combine(0, file), elf_addr);
}

uint32_t codenames_position(const struct codenames *names, uint32_t file, uint64_t elf_addr)
{
	const struct codename key = {.file = file, .elf_addr = elf_addr};

	return hash_find(&names->index, code_of(file, elf_addr), same_address, names, &key);
}

void codenames_put(struct codenames *names, const struct codename *name)
{
	uint32_t i = codenames_position(names, name->file, name->elf_addr);

	if (i != HASH_NONE) {
		names->known.at[i] = *name;
		return;
	}
	hash_insert(&names->index, code_of(name->file, name->elf_addr), names->known.nr);
	vec_push(&names->known, *name);
}

static void set_symbol(struct codenames *names, struct codename *name,
		       const struct reply_name *reply)
{
	name->state = CODENAME_SYMBOL;
	name->raw = strtab_intern(names->strings, reply->raw);
	name->display = strtab_intern(names->strings, reply->display);
}

static void set_frames(struct codenames *names, struct codename *name,
		       const struct reply_name *reply)
{
	name->frames = names->frames.nr;
	name->nr_frames = reply->nr_frames;
	for (uint32_t i = 0; i < reply->nr_frames; i++) {
		const struct reply_frame *frame = &reply->frames[i];

		vec_push(&names->frames,
			 (struct codename_frame){
				 .raw = strtab_intern(names->strings, frame->raw),
				 .display = strtab_intern(names->strings, frame->display),
				 .file = strtab_intern(names->strings, frame->file),
				 .line = frame->line,
				 .start_line = frame->start_line});
	}
}

void codenames_learn(struct codenames *names, uint32_t file, uint64_t elf_addr,
		     const struct reply_name *reply)
{
	struct codename name = {.file = file,
				.elf_addr = elf_addr,
				.start = reply->start,
				.is_cut = reply->is_cut || names->is_naming,
				.is_bare = names->is_naming};

	uint32_t at = codenames_position(names, file, elf_addr);

	if (at != HASH_NONE && names->known.at[at].is_bare) {
		name.state = names->known.at[at].state;
		name.raw = names->known.at[at].raw;
		name.display = names->known.at[at].display;
	}
	if (reply->kind == MESSAGE_NAME_START && name.state != CODENAME_SYMBOL)
		name.state = CODENAME_START;
	if (reply->kind == MESSAGE_NAME_SYMBOL)
		set_symbol(names, &name, reply);
	set_frames(names, &name, reply);
	codenames_put(names, &name);
}

void codenames_learn_more(struct codenames *names, struct codename *name,
			  const struct reply_name *reply)
{
	if (reply->kind == MESSAGE_NAME_SYMBOL && name->state != CODENAME_SYMBOL)
		set_symbol(names, name, reply);
	if (reply->nr_frames)
		set_frames(names, name, reply);
	name->is_cut = reply->is_cut || (name->is_cut && !reply->nr_frames);
}
