// SPDX-License-Identifier: BSD-2-Clause
/*
 * The first question is for all addresses at once, with the package, if there is one; what that lacks is asked unit by unit:
 *
 *	names of 512 addresses	->  40 of them are in split units that are not there
 *	... with FILE.dwp	->  12 of them are
 *	which units?		->  two: a.dwo (7 addresses), b.dwo (5)
 *	names of 7 with a.dwo	->  0
 *
 * A file that has another unit than it should is noticed by its answer: as many are missing as before. What is missing is
 * remembered by the unit's id, and not looked for again. A program can have thousands of units, so how many files are opened
 * in a run is bounded.
 */
#include "symbolize/splitnames.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/vec.h"
#include "symbolize/splitfile.h"

#define MAX_OPENED   10000 /* .dwo files and packages of a run */
#define MAX_PACKAGES 4096  /* files whose packages are looked for */

struct package {
	uint32_t key;	 /* of the file that it belongs to */
	bool is_known;	 /* it was looked for */
	uint32_t number; /* as a companion; 0: there is none */
	struct debugfile_place place;
};

struct splitnames {
	struct debugfiles *debugfiles;
	struct parser *parser;
	uint32_t next_number, nr_opened;
	vec_of(struct package *) packages;
	vec_of(uint64_t) missing; /* dwo_ids */
	struct hash missing_index;
	size_t nr_missing_addrs;
	uint32_t missing_file;
	char *missing_name;
};

/* One splitnames_ask(). */
struct asking {
	struct splitnames *splitnames;
	struct parser_code code;
	uint32_t file;
	const uint64_t *elf_addrs;
	size_t nr;
	splitnames_fn fn;
	void *ctx;
};

struct splitnames *splitnames_new(struct debugfiles *debugfiles, struct parser *parser,
				  uint32_t first_number)
{
	struct splitnames *splitnames = xcalloc(1, sizeof(*splitnames));

	splitnames->debugfiles = debugfiles;
	splitnames->parser = parser;
	splitnames->next_number = first_number;
	return splitnames;
}

void splitnames_free(struct splitnames *splitnames)
{
	if (!splitnames)
		return;
	vec_for_each(&splitnames->packages, package)
		free(*package);
	vec_release(&splitnames->packages);
	vec_release(&splitnames->missing);
	hash_release(&splitnames->missing_index);
	free(splitnames->missing_name);
	free(splitnames);
}

char *splitnames_say_missing(const struct splitnames *splitnames)
{
	size_t nr = splitnames->missing.nr;
	char safe_file[512], safe_name[512];
	struct debugfile_place owner;

	if (!nr || !debugfiles_place(splitnames->debugfiles, splitnames->missing_file, &owner))
		return NULL;
	return xasprintf("inlined functions of %s code addresses are missing: %s .dwo %s not found "
			 "('%s' of %s%s)",
			 text_count(splitnames->nr_missing_addrs), text_count(nr),
			 nr > 1 ? "files were" : "file was",
			 text_escape(splitnames->missing_name, safe_name, sizeof(safe_name)),
			 text_escape(text_base_name(owner.path), safe_file, sizeof(safe_file)),
			 nr > 1 ? ", and others" : "");
}

/* Missing units --------------------------------------------------------------------------------- */

static bool same_id(const void *ctx, uint32_t value, const void *key)
{
	return ((const struct splitnames *)ctx)->missing.at[value] == *(const uint64_t *)key;
}

static bool is_missing(const struct splitnames *splitnames, uint64_t dwo_id)
{
	return hash_find(&splitnames->missing_index, hash_u64(dwo_id), same_id, splitnames,
			 &dwo_id) != HASH_NONE;
}

static void note_missing(const struct asking *asking, const struct reply_split *unit)
{
	struct splitnames *splitnames = asking->splitnames;

	if (!splitnames->missing.nr) {
		splitnames->missing_file = asking->file;
		splitnames->missing_name = xstrdup(unit->name);
	}
	hash_insert(&splitnames->missing_index, hash_u64(unit->dwo_id), splitnames->missing.nr);
	vec_push(&splitnames->missing, unit->dwo_id);
}

/* Questions -------------------------------------------------------------------------------------- */

/*
 * Names the addresses at these positions with the file at a place. Returns how many are still missing; all are where it is not
 * there. *number: its own as a companion, 0 where it has none yet.
 */
static size_t try_place(const struct asking *asking, const struct debugfile_place *place,
			const uint32_t *positions, size_t nr, uint32_t *number)
{
	struct splitnames *splitnames = asking->splitnames;
	struct parser_companion companion = {.kind = MESSAGE_COMPANION_SPLIT, .number = *number};
	struct parser_code code = asking->code;
	int fd scoped(closep) = -1;
	size_t nr_split = nr;

	if (splitnames->nr_opened == MAX_OPENED)
		return nr;
	companion.fd = fd = debugfiles_open_place(splitnames->debugfiles, asking->file, place);
	if (fd < 0)
		return nr;
	splitnames->nr_opened++;
	if (!companion.number)
		*number = companion.number = splitnames->next_number++;
	code.companion = &companion;
	for (size_t from = 0; from < nr;) {
		struct parser_named named = {0};
		uint64_t elf_addrs[MESSAGE_MAX_NAMES];

		for (size_t i = from; i < nr; i++)
			elf_addrs[i - from] = asking->elf_addrs[positions[i]];
		if (parser_names(splitnames->parser, &code, elf_addrs, nr - from, &named))
			return nr_split;
		if (!from)
			nr_split = named.nr_split;
		for (size_t i = 0; i < named.nr && nr_split < nr; i++)
			asking->fn(asking->ctx, positions[from + i], &named.names[i]);
		from += named.nr;
		free(named.names);
	}
	return nr_split;
}

/* Packages --------------------------------------------------------------------------------------- */

/* NULL: there is no room for more. */
static struct package *know_package(const struct asking *asking)
{
	struct splitnames *splitnames = asking->splitnames;
	struct package *package;

	vec_for_each(&splitnames->packages, known)
		if ((*known)->key == asking->code.key)
			return *known;
	if (splitnames->packages.nr == MAX_PACKAGES)
		return NULL;
	package = xcalloc(1, sizeof(*package));
	package->key = asking->code.key;
	vec_push(&splitnames->packages, package);
	return package;
}

/* Tries each place until one has a unit of these. */
static size_t look_for_package(const struct asking *asking, struct package *package,
			       const uint32_t *positions)
{
	size_t left = asking->nr;

	for (size_t i = 0;
	     splitfile_package(asking->splitnames->debugfiles, package->key, i, &package->place);
	     i++) {
		package->number = 0;
		if (*package->place.path)
			left = try_place(asking, &package->place, positions, asking->nr,
					 &package->number);
		if (left < asking->nr)
			return left;
	}
	package->number = 0;
	return left;
}

/* Returns how many of the addresses are still missing. */
static size_t ask_package(const struct asking *asking, struct package *package,
			  const uint32_t *positions)
{
	if (package && !package->is_known) {
		package->is_known = true;
		return look_for_package(asking, package, positions);
	}
	return package && package->number
		       ? try_place(asking, &package->place, positions, asking->nr, &package->number)
		       : asking->nr;
}

/* .dwo files ------------------------------------------------------------------------------------- */

static void ask_unit(const struct asking *asking, const struct reply_split *unit,
		     const uint32_t *positions, size_t nr)
{
	struct splitnames *splitnames = asking->splitnames;
	struct debugfile_place place;
	size_t left = nr;

	if (is_missing(splitnames, unit->dwo_id)) {
		splitnames->nr_missing_addrs += nr;
		return;
	}
	for (size_t i = 0; left && splitfile_dwo(splitnames->debugfiles, asking->file, unit->dir,
						 unit->name, i, &place);
	     i++) {
		uint32_t number = 0;

		if (*place.path)
			left = try_place(asking, &place, positions, nr, &number);
	}
	if (left)
		note_missing(asking, unit);
	splitnames->nr_missing_addrs += left;
}

/* package: the one that is there already; NULL: none. */
static void ask_units(const struct asking *asking, const struct parser_companion *package)
{
	struct reply_splits *splits scoped(freep) = NULL;
	struct parser_code code = asking->code;
	uint32_t positions[MESSAGE_MAX_NAMES];

	code.companion = package;
	if (parser_splits(asking->splitnames->parser, &code, asking->elf_addrs, asking->nr,
			  &splits))
		return;
	for (uint32_t unit = 0; unit < splits->nr_units; unit++) {
		size_t nr = 0;

		for (uint32_t i = 0; i < asking->nr; i++)
			if (splits->unit_of[i] == unit)
				positions[nr++] = i;
		if (nr)
			ask_unit(asking, &splits->units[unit], positions, nr);
	}
}

void splitnames_ask(struct splitnames *splitnames, const struct parser_code *code,
		    const uint64_t *elf_addrs, size_t nr, splitnames_fn fn, void *ctx)
{
	struct asking asking = {splitnames, *code, 0, elf_addrs, nr, fn, ctx};
	struct parser_companion companion = {.kind = MESSAGE_COMPANION_SPLIT};
	uint32_t positions[MESSAGE_MAX_NAMES];
	struct package *package;

	asking.file = debugfile_is_key(code->key) ? debugfile_owner(code->key) : code->key;
	for (uint32_t i = 0; i < nr; i++)
		positions[i] = i;
	package = know_package(&asking);
	if (!ask_package(&asking, package, positions))
		return;
	if (!package || !package->number) {
		ask_units(&asking, NULL);
		return;
	}
	companion.number = package->number;
	companion.fd = debugfiles_open_place(splitnames->debugfiles, asking.file, &package->place);
	if (companion.fd >= 0)
		ask_units(&asking, &companion);
	closep(&companion.fd);
}
