// SPDX-License-Identifier: BSD-2-Clause
/*
 * The names of code in files: how they are to be found, what is expected and what is known. codenames_ask.c asks.
 */
#include "symbolize/codenames.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/vec.h"
#include "symbolize/codenames_state.h"

struct codenames *codenames_new(const struct codefiles *files, struct parser *parser,
				struct strtab *strings)
{
	struct codenames *names = xcalloc(1, sizeof(*names));

	names->files = *files;
	names->parser = parser;
	names->strings = strings;
	names->debugfiles = debugfiles_new(files, parser);
	names->altfiles = altfiles_new(names->debugfiles, parser);
	names->splitnames = splitnames_new(names->debugfiles, parser, ALTFILES_MAX + 1);
	names->what = MESSAGE_NAMES_LINES | MESSAGE_NAMES_INLINED;
	return names;
}

void codenames_free(struct codenames *names)
{
	if (!names)
		return;
	vec_release(&names->expected);
	vec_release(&names->known);
	vec_release(&names->frames);
	vec_release(&names->unread);
	hash_release(&names->index);
	splitnames_free(names->splitnames);
	altfiles_free(names->altfiles);
	debugfiles_free(names->debugfiles);
	free(names);
}

void codenames_ask_for(struct codenames *names, uint32_t what)
{
	names->what = what;
}

bool codenames_asks_for(const struct codenames *names, enum message_names_what what)
{
	return names->what & what;
}

void codenames_hurry_when(struct codenames *names, bool (*is_hurried)(void))
{
	names->is_hurried = is_hurried;
}

void codenames_until(struct codenames *names, uint64_t until_ns)
{
	names->until_ns = until_ns;
}

void codenames_wait(struct codenames *names, uint64_t waited_ns)
{
	if (names->until_ns)
		names->until_ns += waited_ns;
}

void codenames_look_in(struct codenames *names, struct debugfile_dirs dirs)
{
	debugfiles_look_in(names->debugfiles, dirs);
	names->is_fetching = dirs.fetcher;
}

void codenames_use_cache(struct codenames *names, struct namecache *cache)
{
	names->cache = cache;
}

char *codenames_say_left_out(uint64_t nr, uint64_t nr_all)
{
	return xasprintf("%s of %s addresses were not looked up, or not wholly: time was up",
			 text_count(nr), text_count(nr_all));
}

static char *say_no_altfile(const struct codenames *names)
{
	char safe_file[512], safe_path[512], others[64] = "";
	const char *path;
	uint32_t file;
	size_t nr = altfiles_nr_missing(names->altfiles, &file, &path);

	if (!nr)
		return NULL;
	if (nr > 1)
		snprintf(others, sizeof(others), "; nor were those of %s other files",
			 text_count(nr - 1));
	return xasprintf("inlined functions of %s may be missing: '%s', which its debug "
			 "information refers to, was not found%s",
			 text_escape(text_base_name(names->files.path(names->files.ctx, file)),
				     safe_file, sizeof(safe_file)),
			 text_escape(path, safe_path, sizeof(safe_path)), others);
}

static char *say_unread(const struct codenames *names)
{
	size_t nr = names->unread.nr;
	char safe[512], others[64] = "";
	struct debugfile_place place;

	if (!nr || !debugfiles_place(names->debugfiles, names->unread.at[0], &place))
		return NULL;
	if (nr > 1)
		snprintf(others, sizeof(others), "; nor that of %s other files",
			 text_count(nr - 1));
	return xasprintf(
		"lines and inlined functions may be missing: the debug information in '%s' could "
		"not all be read%s",
		text_escape(place.path, safe, sizeof(safe)), others);
}

char *codenames_say_missing(const struct codenames *names, enum codenames_missing what)
{
	switch (what) {
	case CODENAMES_NO_ALTFILE:
		return say_no_altfile(names);
	case CODENAMES_NO_SPLITS:
		return splitnames_say_missing(names->splitnames);
	default:
		return say_unread(names);
	}
}

void codenames_expect(struct codenames *names, uint32_t file, uint64_t elf_addr, uint64_t weight)
{
	vec_push(&names->expected,
		 (struct work){.file = file, .elf_addr = elf_addr, .weight = weight});
}

struct codename codenames_find(struct codenames *names, uint32_t file, uint64_t elf_addr)
{
	if (!codenames_is_known(names, file, elf_addr)) {
		codenames_expect(names, file, elf_addr, 1);
		codenames_ask_all(names);
	}
	return names->known.at[codenames_position(names, file, elf_addr)];
}

const struct codename_frame *codenames_frames(const struct codenames *names, uint32_t frames)
{
	return &names->frames.at[frames];
}

uint32_t codenames_add_frame(struct codenames *names, const struct codename_frame *frame)
{
	vec_push(&names->frames, *frame);
	return names->frames.nr - 1;
}
