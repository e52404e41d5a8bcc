// SPDX-License-Identifier: BSD-2-Clause
/*
 * Names of code in the cache on disk: which key a file has, and what is kept.
 *
 * The key has all that an answer depends on: the file itself, not its build-id alone, since a stripped file and one that
 * somebody made have the same one; its debug file as it is now; whether alternate files are there; what is asked. What is in split units may be in any of many
 * files: it is not kept. Nor is anything where debug files may be downloaded: whether there is one, only a server can tell.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "symbolize/codenames_state.h"
#include "symbolize/namecache.h"

#define ID_BYTES 192

/*
 * Makes an id of the file that changes with its content. false: the file has no name any more, so it is never seen again. A
 * remote server is not asked: it may not answer, and was asked when the file was opened.
 */
static bool identify(int fd, char id[ID_BYTES])
{
	struct statx st;

	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st) ||
	    !st.stx_nlink)
		return false;
	snprintf(id, ID_BYTES, "%u:%u %llu %llu %lld.%09u %lld.%09u", st.stx_dev_major,
		 st.stx_dev_minor, (unsigned long long)st.stx_ino, (unsigned long long)st.stx_size,
		 (long long)st.stx_mtime.tv_sec, st.stx_mtime.tv_nsec,
		 (long long)st.stx_ctime.tv_sec, st.stx_ctime.tv_nsec);
	return true;
}

static bool has_alt(struct codenames *names, uint32_t key)
{
	return names->what & MESSAGE_NAMES_LINES && parser_knows(names->parser, key) &&
	       altfiles_find(names->altfiles, key);
}

bool codenames_cache_key(struct codenames *names, uint32_t file, char key[NAMEFILE_KEY_BYTES])
{
	char id[ID_BYTES], debug_id[ID_BYTES] = "none";
	const struct reply_file *elf;
	int debug_fd scoped(closep) = -1;
	uint32_t debug_key = 0;
	bool debug_alt = false;

	if (!names->cache || names->is_fetching || file == PARSER_VDSO)
		return false;
	elf = codenames_file(names, file);
	if (!elf || !*elf->build_id)
		return false;
	debug_fd = debugfiles_open(names->debugfiles, file, &debug_key);
	if (debug_fd >= 0) {
		debug_alt = has_alt(names, debug_key);
		if (!identify(debug_fd, debug_id))
			return false;
	}
	if (!identify(names->files.fd(names->files.ctx, file), id))
		return false;
	snprintf(key, NAMEFILE_KEY_BYTES,
		 "cprof %s asks %u\nfile %s %s alternate %d\ndebug file %s alternate %d\n",
		 namecache_version(names->cache), names->what, elf->build_id, id,
		 has_alt(names, file), debug_id, debug_alt);
	return true;
}

/* Reading ----------------------------------------------------------------------------------------- */

struct reading {
	struct codenames *names;
	const struct work *works;
	size_t nr;
};

static int by_address(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = ((const struct work *)b)->elf_addr;

	return (left > right) - (left < right);
}

static void learn_wanted(void *ctx, uint64_t elf_addr, const struct reply_name *name)
{
	const struct reading *reading = ctx;

	if (bsearch(&elf_addr, reading->works, reading->nr, sizeof(*reading->works), by_address))
		codenames_learn(reading->names, reading->works->file, elf_addr, name);
}

void codenames_cache_read(struct codenames *names, const char *key, const struct work *works,
			  size_t nr)
{
	struct reading reading = {names, works, nr};

	namecache_read(names->cache, key, learn_wanted, &reading);
}

/* Writing ----------------------------------------------------------------------------------------- */

static bool is_all_there_is(const struct codename *name)
{
	return name->state <= CODENAME_SYMBOL && !name->is_cut && !name->is_split;
}

/* frames: room for those of the name. */
static struct namefile_name entry_of(const struct codenames *names, const struct codename *name,
				     struct reply_frame *frames)
{
	static const enum message_name_kind kinds[] = {
		[CODENAME_NONE] = MESSAGE_NAME_NONE,
		[CODENAME_START] = MESSAGE_NAME_START,
		[CODENAME_SYMBOL] = MESSAGE_NAME_SYMBOL,
	};
	bool is_start = name->state == CODENAME_START;

	for (uint32_t i = 0; i < name->nr_frames; i++) {
		const struct codename_frame *frame = &names->frames.at[name->frames + i];

		frames[i] =
			(struct reply_frame){.raw = strtab_get(names->strings, frame->raw),
					     .display = strtab_get(names->strings, frame->display),
					     .file = strtab_get(names->strings, frame->file),
					     .line = frame->line,
					     .start_line = frame->start_line};
	}
	return (struct namefile_name){
		name->elf_addr,
		{.kind = kinds[name->state],
		 .start = is_start ? name->start : 0,
		 .raw = name->raw ? strtab_get(names->strings, name->raw) : "",
		 .display = name->raw ? strtab_get(names->strings, name->display) : "",
		 .frames = frames,
		 .nr_frames = name->nr_frames}};
}

void codenames_cache_write(const struct codenames *names, const char *key, const struct work *works,
			   size_t nr)
{
	struct namefile_name *entries scoped(freep) = xcalloc(nr + 1, sizeof(*entries));
	struct reply_frame *frames scoped(freep) = NULL;
	size_t nr_frames = 0, nr_entries = 0;

	for (size_t i = 0; i < nr; i++)
		nr_frames +=
			names->known.at[codenames_position(names, works[i].file, works[i].elf_addr)]
				.nr_frames;
	frames = xcalloc(nr_frames + 1, sizeof(*frames));
	nr_frames = 0;
	for (size_t i = 0; i < nr; i++) {
		const struct codename *name =
			&names->known
				 .at[codenames_position(names, works[i].file, works[i].elf_addr)];

		if (!is_all_there_is(name))
			continue;
		entries[nr_entries++] = entry_of(names, name, frames + nr_frames);
		nr_frames += name->nr_frames;
	}
	namecache_write(names->cache, key, entries, nr_entries);
}
