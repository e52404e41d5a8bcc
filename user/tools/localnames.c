// SPDX-License-Identifier: BSD-2-Clause
/*
 * Mappings are taken one at a time, with their file and debug file open only that long: a profile
 * may name very many. A path is opened with O_PATH first, which has no effect on a FIFO or a
 * device, and for reading only once it is known to be a regular file.
 */
#include "tools/localnames.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "base/vec.h"
#include "object/buildid.h"
#include "object/demangle.h"
#include "object/elf.h"
#include "object/functab.h"
#include "object/symtab.h"
#include "profile/renaming.h"

#define MAX_FILE_BYTES (4ull << 30)
#define DEBUG_FOLDER   "/usr/lib/debug/.build-id"
#define MIN_ID_DIGITS  8
#define MAX_ID_DIGITS  (2 * BUILD_ID_MAX_BYTES)
static const char deleted[] = " (deleted)";

/* One ELF file, as far as it was needed. */
struct binary {
	int fd;
	struct elf_file *elf; /* NULL: not there, not readable, not the one that is meant */
	struct symtab *symtab;
	int64_t changed_ns; /* CLOCK_REALTIME, the last time in any way */
};

/* What names the locations of a mapping. */
struct source {
	struct binary file, debug;
	bool debug_is_tried;
	struct functab *functab; /* NULL: not needed so far */
};

struct naming {
	struct profile *profile;
	vec_of(uint32_t) nameless; /* positions of locations */
	size_t nr_opened, nr_named;
	struct source source; /* of the mapping at hand */
	struct localnames_by_path *by_path;
};

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), len_end = strlen(end);

	return len >= len_end && !strcmp(text + len - len_end, end);
}

/* Files ------------------------------------------------------------------------------------------ */

/* -1: it is no file to be read. Nothing is opened for reading before it is known to be a regular file. */
static int open_regular(const char *path, int64_t *changed_ns)
{
	int found scoped(closep) = open(path, O_PATH | O_CLOEXEC);
	char link[64];
	struct stat st;

	if (found < 0 || fstat(found, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    (uint64_t)st.st_size > MAX_FILE_BYTES)
		return -1;
	*changed_ns = st.st_ctim.tv_sec * 1000000000ll + st.st_ctim.tv_nsec;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	return open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static void binary_release(struct binary *binary)
{
	symtab_free(binary->symtab);
	elf_file_close(binary->elf);
	if (binary->fd > 0)
		close(binary->fd);
	*binary = (struct binary){0};
}

/* build_id: it must have that; "": any will do. */
static void binary_open(struct naming *naming, struct binary *binary, const char *path,
			const char *build_id)
{
	if (naming->nr_opened == LOCALNAMES_MAX_FILES)
		return;
	naming->nr_opened++;
	binary->fd = open_regular(path, &binary->changed_ns);
	if (binary->fd < 0 || elf_file_open(binary->fd, &binary->elf))
		return;
	if (*build_id && strcasecmp(build_id, elf_file_build_id(binary->elf))) {
		elf_file_close(binary->elf);
		binary->elf = NULL;
		return;
	}
	binary->symtab = symtab_new(binary->elf);
}

static bool is_build_id(const char *text)
{
	size_t len = strlen(text);

	for (const char *at = text; *at; at++)
		if (!isxdigit((unsigned char)*at))
			return false;
	return len >= MIN_ID_DIGITS && len <= MAX_ID_DIGITS;
}

static void open_debug_file(struct naming *naming)
{
	struct source *source = &naming->source;
	const char *build_id = elf_file_build_id(source->file.elf);
	char path[sizeof(DEBUG_FOLDER) + MAX_ID_DIGITS + 16];

	source->debug_is_tried = true;
	if (!is_build_id(build_id))
		return;
	snprintf(path, sizeof(path), DEBUG_FOLDER "/%.2s/%s.debug", build_id, build_id + 2);
	binary_open(naming, &source->debug, path, build_id);
}

static void source_release(struct source *source)
{
	binary_release(&source->file);
	binary_release(&source->debug);
	functab_free(source->functab);
	*source = (struct source){.debug_is_tried = false};
}

static void source_open(struct naming *naming, const struct profile_mapping *mapping)
{
	const char *path = strtab_get(&naming->profile->strings, mapping->path);
	const char *build_id = strtab_get(&naming->profile->strings, mapping->build_id);
	bool is_gone = ends_with(path, deleted);
	char *plain scoped(freep) = NULL;

	/* Another file may have taken the place of one that was deleted: only a build-id can tell. */
	if (*path != '/' || (is_gone && !*build_id))
		return;
	plain = xstrdup(path);
	if (is_gone)
		plain[strlen(path) - (sizeof(deleted) - 1)] = '\0';
	binary_open(naming, &naming->source.file, plain, build_id);
}

/* Names ------------------------------------------------------------------------------------------ */

static bool find_symbol(struct naming *naming, uint64_t elf_addr, struct symbol *symbol)
{
	struct source *source = &naming->source;

	if (symtab_find(source->file.symtab, elf_addr, symbol) && *symbol->name)
		return true;
	if (!source->debug_is_tried)
		open_debug_file(naming);
	return source->debug.elf && symtab_find(source->debug.symtab, elf_addr, symbol) &&
	       *symbol->name;
}

/* "libfoo.so.6+0x1234": where its function begins, else where it is itself. */
static char *made_up_name(struct source *source, const char *path, uint64_t elf_addr)
{
	uint64_t start = elf_addr;

	if (!source->functab)
		source->functab = functab_new(source->file.elf);
	functab_find(source->functab, elf_addr, &start);
	return xasprintf("%s+0x%" PRIx64, text_base_name(path), start);
}

static void set_symbol(struct profile *profile, struct profile_location *location,
		       const char *symbol)
{
	char *demangled scoped(freep) = demangle(symbol);
	const struct renaming_frame frame = {
		.name = demangled ? demangled : symbol, .system_name = symbol, .path = ""};

	renaming_apply(profile, location, &frame, 1);
}

static void set_made_up_name(struct naming *naming, struct profile_location *location,
			     const struct profile_mapping *mapping, uint64_t elf_addr)
{
	struct profile *profile = naming->profile;
	char *name scoped(freep) = made_up_name(
		&naming->source, strtab_get(&profile->strings, mapping->path), elf_addr);

	renaming_apply(profile, location,
		       &(struct renaming_frame){.name = name, .system_name = "", .path = ""}, 1);
}

/* false: it has no function, not even one with a made-up name. */
static bool name_location(struct naming *naming, struct profile_location *location,
			  const struct profile_mapping *mapping)
{
	struct symbol symbol;
	uint64_t elf_addr;

	if (location->address < mapping->start ||
	    elf_file_addr(naming->source.file.elf,
			  location->address - mapping->start + mapping->file_off, &elf_addr))
		return location->nr_lines;
	if (find_symbol(naming, elf_addr, &symbol))
		set_symbol(naming->profile, location, symbol.name);
	else if (!location->nr_lines)
		set_made_up_name(naming, location, mapping, elf_addr);
	else
		return true;
	naming->nr_named++;
	return true;
}

/* Mappings --------------------------------------------------------------------------------------- */

static uint32_t mapping_of(const struct profile *profile, uint32_t location)
{
	return profile->locations.at[location].mapping;
}

static int by_mapping(const void *a, const void *b, void *ctx)
{
	uint32_t x = mapping_of(ctx, *(const uint32_t *)a),
		 y = mapping_of(ctx, *(const uint32_t *)b);

	return x < y ? -1 : x > y;
}

/* The mapping has no build-id: nothing tells whether the file at its path is the one that was mapped. */
static void count_by_path(struct naming *naming, const struct profile_mapping *mapping, size_t nr)
{
	struct localnames_by_path *by_path = naming->by_path;
	int64_t time_ns = naming->profile->time_ns;

	by_path->nr += nr;
	if (nr && !by_path->changed && time_ns > 0 && naming->source.file.changed_ns > time_ns)
		by_path->changed = xstrdup(strtab_get(&naming->profile->strings, mapping->path));
}

/* nr nameless locations at first, all of one mapping. */
static void name_mapping(struct naming *naming, const uint32_t *first, size_t nr)
{
	struct profile *profile = naming->profile;
	struct profile_mapping *mapping = &profile->mappings.at[mapping_of(profile, *first) - 1];
	size_t nr_before = naming->nr_named;
	bool all = true;

	source_open(naming, mapping);
	if (naming->source.file.elf) {
		for (size_t i = 0; i < nr; i++)
			all &= name_location(naming, &profile->locations.at[first[i]], mapping);
		mapping->has_functions |= all;
	}
	if (!mapping->build_id)
		count_by_path(naming, mapping, naming->nr_named - nr_before);
	source_release(&naming->source);
}

/* A name that is there is only replaced by one from the very same file: build-ids tell. */
static bool is_nameless(const struct profile *profile, const struct profile_location *location)
{
	unsigned int need = renaming_needs(profile, location);

	return need & RENAMING_NAME ||
	       (need & RENAMING_SYMBOL && profile->mappings.at[location->mapping - 1].build_id);
}

static void find_nameless(struct naming *naming)
{
	struct profile *profile = naming->profile;

	for (uint32_t i = 0; i < profile->locations.nr; i++)
		if (is_nameless(profile, &profile->locations.at[i]))
			vec_push(&naming->nameless, i);
}

bool localnames_add(struct profile *profile, struct localnames_by_path *by_path)
{
	struct naming naming = {.profile = profile, .by_path = by_path};
	size_t nr = 0;

	find_nameless(&naming);
	if (naming.nameless.nr)
		qsort_r(naming.nameless.at, naming.nameless.nr, sizeof(*naming.nameless.at),
			by_mapping, profile);
	for (size_t first = 0; first < naming.nameless.nr; first += nr) {
		const uint32_t *at = naming.nameless.at + first;

		for (nr = 1; first + nr < naming.nameless.nr &&
			     mapping_of(profile, at[nr]) == mapping_of(profile, *at);)
			nr++;
		name_mapping(&naming, at, nr);
	}
	vec_release(&naming.nameless);
	if (naming.nr_named)
		profile_forget_interned(profile);
	return naming.nr_named;
}

void localnames_say(struct localnames_by_path *by_path)
{
	char path[512];

	if (by_path->changed) {
		text_escape(by_path->changed, path, sizeof(path));
		warn("%s addresses were named by the files at their paths, of which %s has changed "
		     "since the profile was taken",
		     text_count(by_path->nr), path);
	} else if (by_path->nr) {
		warn("%s addresses were named by the files at their paths: no build-id tells "
		     "whether these are the right ones",
		     text_count(by_path->nr));
	}
	free(by_path->changed);
	*by_path = (struct localnames_by_path){0};
}
