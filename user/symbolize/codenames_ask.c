// SPDX-License-Identifier: BSD-2-Clause
/*
 * Asks the parser for the names of code in files, in batches.
 *
 * What is expected is kept in one list, sorted when it is asked for (symbolize/worklist.h), and cut into requests. A file's
 * descriptor is asked for once for all of its addresses, since it may have to be opened again. Its debug file is
 * opened for each list with an address that needs it.
 */
#include "symbolize/codenames_state.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/vec.h"
#include "process/mapping.h"

/* Time and files --------------------------------------------------------------------------------- */

/* About a file as such little is asked, and a mapping without it can never be named: that may take longer. */
static bool is_hurried(void *ctx)
{
	const struct codenames *names = ctx;

	return names->is_hurried && names->is_hurried();
}

static bool has_no_time(void *ctx)
{
	const struct codenames *names = ctx;

	return is_hurried(ctx) || (names->until_ns && clock_monotonic_ns() >= names->until_ns);
}

/* A worker stops by itself when time is up, and what it has found by then is worth waiting for. */
#define GRACE_NS 250000000ull

static bool is_past_waiting(void *ctx)
{
	const struct codenames *names = ctx;

	return is_hurried(ctx) ||
	       (names->until_ns && clock_monotonic_ns() >= names->until_ns + GRACE_NS);
}

static uint64_t left_ns(const struct codenames *names)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!names->until_ns)
		return 0;
	return now_ns < names->until_ns ? names->until_ns - now_ns : 1;
}

/* What is asked for at the moment. */
static uint32_t asked_for(const struct codenames *names)
{
	return names->is_naming ? 0 : names->what;
}

bool codenames_has_time(const struct codenames *names)
{
	return !has_no_time((void *)names);
}

static int fd_of(struct codenames *names, uint32_t file)
{
	_Static_assert(FILE_NONE == PARSER_VDSO, "what is in no file is the vdso");
	return file == PARSER_VDSO ? -1 : names->files.fd(names->files.ctx, file);
}

const struct reply_file *codenames_file(struct codenames *names, uint32_t file)
{
	if (parser_knows(names->parser, file))
		return parser_file(names->parser, file, -1);
	parser_while_waiting(names->parser, (struct peer_idle){is_hurried, names});
	return parser_file(names->parser, file, fd_of(names, file));
}

enum codename_state codenames_why_no_file(struct codenames *names, uint32_t file)
{
	if (fd_of(names, file) < 0)
		return CODENAME_CLOSED;
	return !parser_knows(names->parser, file) && is_hurried(names) ? CODENAME_NO_TIME
								       : CODENAME_NONE;
}

/* Asking ----------------------------------------------------------------------------------------- */

static enum codename_state why(int err)
{
	switch (err) {
	case -EBADF:
		return CODENAME_CLOSED;
	case -EINTR:
		return CODENAME_NO_TIME;
	default:
		return CODENAME_LEFT_OUT;
	}
}

/* The answer that it had already, without lines, which stays. NULL: none. */
static struct codename *find_named(const struct codenames *names, const struct work *work)
{
	uint32_t at = codenames_position(names, work->file, work->elf_addr);

	return at != HASH_NONE && names->known.at[at].is_bare ? &names->known.at[at] : NULL;
}

static void learn_nothing(struct codenames *names, const struct work *expected, size_t nr, int err)
{
	for (size_t i = 0; i < nr; i++) {
		struct codename *named = find_named(names, &expected[i]);

		if (named)
			named->is_bare = err == -EINTR;
		else
			codenames_put(names, &(struct codename){.file = expected[i].file,
								.elf_addr = expected[i].elf_addr,
								.state = why(err)});
	}
}

/* fd: of the file with this key, or -1. What is in split units is still missing. */
static int ask(struct codenames *names, uint32_t key, int fd, const uint64_t *elf_addrs, size_t nr,
	       struct parser_named *named)
{
	struct parser_code code = {
		.key = key, .fd = fd, .what = asked_for(names), .left_ns = left_ns(names)};

	if (has_no_time(names))
		return -EINTR;
	if (code.what & MESSAGE_NAMES_LINES && parser_knows(names->parser, key))
		code.companion = altfiles_find(names->altfiles, key);
	return parser_names(names->parser, &code, elf_addrs, nr, named);
}

/* Addresses of a file, some of which are in split units. */
struct in_splits {
	struct codenames *names;
	uint32_t file;
	const uint64_t *elf_addrs;
};

static void learn_of_split(void *ctx, size_t i, const struct reply_name *reply)
{
	struct in_splits *in = ctx;
	uint32_t at = codenames_position(in->names, in->file, in->elf_addrs[i]);

	if (at != HASH_NONE)
		codenames_learn_more(in->names, &in->names->known.at[at], reply);
}

/* Marks an address of a file with split units. Which addresses are in them is not known, so no name is cached. */
static void note_split(struct codenames *names, uint32_t file, uint64_t elf_addr)
{
	uint32_t at = codenames_position(names, file, elf_addr);

	if (at == HASH_NONE)
		return;
	names->known.at[at].is_split = true;
	names->known.at[at].is_cut |= has_no_time(names);
}

/* All of the addresses are known by now. */
static void ask_splits(struct codenames *names, uint32_t key, int fd, const uint64_t *elf_addrs,
		       size_t nr)
{
	const struct parser_code code = {
		.key = key, .fd = fd, .what = names->what, .left_ns = left_ns(names)};
	struct in_splits in = {names, debugfile_is_key(key) ? debugfile_owner(key) : key,
			       elf_addrs};

	for (size_t i = 0; i < nr; i++)
		note_split(names, in.file, elf_addrs[i]);
	if (!has_no_time(names))
		splitnames_ask(names->splitnames, &code, elf_addrs, nr, learn_of_split, &in);
}

static void note_unread(struct codenames *names, uint32_t key, const struct parser_named *named)
{
	if (!named->names->is_unread)
		return;
	vec_for_each(&names->unread, noted)
		if (*noted == key)
			return;
	vec_push(&names->unread, key);
}

/* Asks for up to MESSAGE_MAX_NAMES addresses of one file. Returns how many have their answer. */
static size_t ask_some(struct codenames *names, const struct work *expected, size_t nr, int fd)
{
	uint64_t elf_addrs[MESSAGE_MAX_NAMES] = {0};
	struct parser_named named = {0};
	int err;

	nr = nr < MESSAGE_MAX_NAMES ? nr : MESSAGE_MAX_NAMES;
	for (size_t i = 0; i < nr; i++)
		elf_addrs[i] = expected[i].elf_addr;
	err = ask(names, expected->file, fd, elf_addrs, nr, &named);
	if (err) {
		learn_nothing(names, expected, nr, err);
		return nr;
	}
	for (size_t i = 0; i < named.nr; i++)
		codenames_learn(names, expected[i].file, expected[i].elf_addr, &named.names[i]);
	note_unread(names, expected->file, &named);
	free(named.names);
	if (named.nr_split)
		ask_splits(names, expected->file, fd, elf_addrs, named.nr);
	return named.nr;
}

/* Debug files ------------------------------------------------------------------------------------ */

/* What the file itself does not name or has no lines for, by position in known. */
struct nameless {
	uint32_t at[MESSAGE_MAX_NAMES];
	size_t nr;
};

static bool needs_debug_file(const struct codenames *names, const struct codename *name)
{
	return name->state <= CODENAME_START ||
	       (name->state == CODENAME_SYMBOL && asked_for(names) & MESSAGE_NAMES_LINES &&
		!name->nr_frames);
}

static void collect_nameless(struct codenames *names, const struct work *expected, size_t nr,
			     struct nameless *nameless)
{
	nameless->nr = 0;
	for (size_t i = 0; i < nr && nameless->nr < MESSAGE_MAX_NAMES; i++) {
		uint32_t at = codenames_position(names, expected[i].file, expected[i].elf_addr);

		if (at != HASH_NONE && needs_debug_file(names, &names->known.at[at]))
			nameless->at[nameless->nr++] = at;
	}
}

/* fd: of the debug file. Returns how many were asked for, 0 if there are no more answers. */
static size_t ask_debug_file(struct codenames *names, uint32_t key, int fd,
			     const struct nameless *nameless, size_t from)
{
	struct parser_named named = {0};
	uint64_t elf_addrs[MESSAGE_MAX_NAMES];

	for (size_t i = from; i < nameless->nr; i++)
		elf_addrs[i - from] = names->known.at[nameless->at[i]].elf_addr;
	if (ask(names, key, fd, elf_addrs, nameless->nr - from, &named))
		return 0;
	for (size_t i = 0; i < named.nr; i++)
		codenames_learn_more(names, &names->known.at[nameless->at[from + i]],
				     &named.names[i]);
	note_unread(names, key, &named);
	free(named.names);
	if (named.nr_split)
		ask_splits(names, key, fd, elf_addrs, named.nr);
	return named.nr;
}

/* What downloads take is bounded by itself, and not of the time for names. */
static int open_debug_file(struct codenames *names, uint32_t file, uint32_t *key)
{
	uint64_t before_ns = debugfiles_waited_ns(names->debugfiles);
	int fd = debugfiles_open(names->debugfiles, file, key);

	codenames_wait(names, debugfiles_waited_ns(names->debugfiles) - before_ns);
	return fd;
}

/* The expected ones are of one file, and have had their answer from it. */
static void name_by_debug_file(struct codenames *names, const struct work *expected, size_t nr)
{
	struct nameless nameless;
	uint32_t key = 0;
	int fd = -1;

	for (size_t at = 0; at < nr; at += MESSAGE_MAX_NAMES) {
		size_t left = nr - at, asked, from = 0;

		collect_nameless(names, &expected[at],
				 left < MESSAGE_MAX_NAMES ? left : MESSAGE_MAX_NAMES, &nameless);
		if (!nameless.nr)
			continue;
		if (fd < 0)
			fd = open_debug_file(names, expected->file, &key);
		if (fd < 0)
			return;
		do {
			asked = ask_debug_file(names, key, fd, &nameless, from);
			from += asked;
		} while (asked && from < nameless.nr);
		for (size_t i = from; i < nameless.nr; i++)
			names->known.at[nameless.at[i]].is_cut = true;
	}
	closep(&fd);
}

/* All files -------------------------------------------------------------------------------------- */

/* What there was no time for before is asked for when there is. */
bool codenames_is_known(const struct codenames *names, uint32_t file, uint64_t elf_addr)
{
	uint32_t i = codenames_position(names, file, elf_addr);

	return i != HASH_NONE &&
	       ((names->known.at[i].state != CODENAME_NO_TIME && !names->known.at[i].is_bare) ||
		!codenames_has_time(names));
}

/* In the order of asking, without doubles and what is known. */
static void tidy(struct codenames *names)
{
	struct work *all = names->expected.at;
	size_t nr = 0;

	for (size_t i = 0; i < names->expected.nr; i++)
		if (!codenames_is_known(names, all[i].file, all[i].elf_addr))
			all[nr++] = all[i];
	names->expected.nr = worklist_order(all, nr);
}

/* How many at the front are of one file and one tier. */
static size_t nr_together(const struct work *works, size_t nr)
{
	size_t i = 1;

	while (i < nr && works[i].file == works->file && works[i].tier == works->tier)
		i++;
	return i;
}

/* nr addresses of one file. */
static void ask_file(struct codenames *names, const struct work *works, size_t nr)
{
	int fd = fd_of(names, works->file);

	for (size_t at = 0; at < nr;)
		at += ask_some(names, &works[at], nr - at, fd);
	name_by_debug_file(names, works, nr);
}

/* Those that are not known, in a block that the caller owns; *nr: their number. */
static struct work *unknown_of(const struct codenames *names, const struct work *works, size_t *nr)
{
	struct work *unknown = xcalloc(*nr, sizeof(*unknown));
	size_t nr_unknown = 0;

	for (size_t i = 0; i < *nr; i++)
		if (!codenames_is_known(names, works[i].file, works[i].elf_addr))
			unknown[nr_unknown++] = works[i];
	*nr = nr_unknown;
	return unknown;
}

/* nr addresses of one file: what the cache knows, and the names of the others, without lines. */
static void find_names(struct codenames *names, const struct work *works, size_t nr)
{
	struct work *unknown scoped(freep) = NULL;
	char key[NAMEFILE_KEY_BYTES];

	if (codenames_cache_key(names, works->file, key))
		codenames_cache_read(names, key, works, nr);
	unknown = unknown_of(names, works, &nr);
	names->is_naming = true;
	if (nr)
		ask_file(names, unknown, nr);
	names->is_naming = false;
}

/* All that is wanted of nr addresses of one file, of which the cache may know some. */
static void find_all(struct codenames *names, const struct work *works, size_t nr, bool reads_cache)
{
	struct work *unknown scoped(freep) = NULL;
	char key[NAMEFILE_KEY_BYTES];
	bool is_kept = codenames_cache_key(names, works->file, key);

	if (is_kept && reads_cache)
		codenames_cache_read(names, key, works, nr);
	unknown = unknown_of(names, works, &nr);
	if (!nr)
		return;
	ask_file(names, unknown, nr);
	if (is_kept)
		codenames_cache_write(names, key, unknown, nr);
}

/*
 * Lines take much longer than names. Where time is limited all names come first, so that what is lost when it is up are lines.
 */
void codenames_ask_all(struct codenames *names)
{
	bool is_in_two = names->until_ns && names->what & MESSAGE_NAMES_LINES;
	const struct work *all;
	size_t nr;

	tidy(names);
	parser_while_waiting(names->parser, (struct peer_idle){is_past_waiting, names});
	all = names->expected.at;
	for (size_t i = 0; is_in_two && i < names->expected.nr; i += nr) {
		nr = nr_together(&all[i], names->expected.nr - i);
		find_names(names, &all[i], nr);
	}
	for (size_t i = 0; i < names->expected.nr; i += nr) {
		nr = nr_together(&all[i], names->expected.nr - i);
		find_all(names, &all[i], nr, !is_in_two);
	}
	parser_while_waiting(names->parser, (struct peer_idle){NULL, NULL});
	names->expected.nr = 0;
}
