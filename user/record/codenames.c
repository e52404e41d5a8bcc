// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is expected is kept in one list, sorted by file and address when it is asked for, and cut into requests. A file's
 * descriptor is asked for once for all of its addresses, since it may have to be opened again. Its debug file is
 * opened for each list with an address that needs it.
 */
#include "record/codenames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/vec.h"
#include "process/mapping.h"
#include "record/debugfile.h"

struct expected {
	uint32_t file;
	uint64_t elf_addr;
};

struct codenames {
	struct files *files;
	struct parser *parser;
	struct strtab *strings;
	bool (*is_hurried)(void); /* NULL: there is time */
	vec_of(struct expected) expected;
	uint32_t what; /* is asked for: a set of message_names_what */
	vec_of(struct codename) known;
	vec_of(struct codename_frame) frames; /* of known */
	struct hash index;		      /* of known */
	struct debugfiles *debugfiles;
};

struct codenames *codenames_new(struct files *files, struct parser *parser, struct strtab *strings)
{
	struct codenames *names = xcalloc(1, sizeof(*names));

	names->files = files;
	names->parser = parser;
	names->strings = strings;
	names->debugfiles = debugfiles_new(files, parser);
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
	hash_release(&names->index);
	debugfiles_free(names->debugfiles);
	free(names);
}

void codenames_ask_for(struct codenames *names, uint32_t what)
{
	names->what = what;
}

void codenames_hurry_when(struct codenames *names, bool (*is_hurried)(void))
{
	names->is_hurried = is_hurried;
}

void codenames_look_in(struct codenames *names, struct debugfile_dirs dirs)
{
	debugfiles_look_in(names->debugfiles, dirs);
}

static bool has_no_time(void *ctx)
{
	const struct codenames *names = ctx;

	return names->is_hurried && names->is_hurried();
}

static int fd_of(struct codenames *names, uint32_t file)
{
	_Static_assert(FILE_NONE == PARSER_VDSO, "what is in no file is the vdso");
	return file == PARSER_VDSO ? -1 : files_fd(names->files, file);
}

const struct reply_file *codenames_file(struct codenames *names, uint32_t file)
{
	if (parser_knows(names->parser, file))
		return parser_file(names->parser, file, -1);
	parser_while_waiting(names->parser, (struct peer_idle){has_no_time, names});
	return parser_file(names->parser, file, fd_of(names, file));
}

enum codename_state codenames_why_no_file(struct codenames *names, uint32_t file)
{
	if (fd_of(names, file) < 0)
		return CODENAME_CLOSED;
	return !parser_knows(names->parser, file) && has_no_time(names) ? CODENAME_NO_TIME
									: CODENAME_NONE;
}

/* Asking ----------------------------------------------------------------------------------------- */

static bool same_address(const void *ctx, uint32_t value, const void *key)
{
	const struct codename *a = &((const struct codenames *)ctx)->known.at[value], *b = key;

	return a->file == b->file && a->elf_addr == b->elf_addr;
}

static uint64_t code_of(uint32_t file, uint64_t elf_addr)
{
	return hash_combine(hash_combine(0, file), elf_addr);
}

static void learn(struct codenames *names, const struct codename *name)
{
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

static void learn_reply(struct codenames *names, const struct expected *expected,
			const struct reply_name *reply)
{
	struct codename name = {
		.file = expected->file, .elf_addr = expected->elf_addr, .start = reply->start};

	if (reply->kind == MESSAGE_NAME_START)
		name.state = CODENAME_START;
	if (reply->kind == MESSAGE_NAME_SYMBOL)
		set_symbol(names, &name, reply);
	set_frames(names, &name, reply);
	learn(names, &name);
}

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

static void learn_nothing(struct codenames *names, const struct expected *expected, size_t nr,
			  int err)
{
	for (size_t i = 0; i < nr; i++)
		learn(names, &(struct codename){.file = expected[i].file,
						.elf_addr = expected[i].elf_addr,
						.state = why(err)});
}

/* Asks for up to MESSAGE_MAX_NAMES addresses of one file. Returns how many have their answer. */
static size_t ask_some(struct codenames *names, const struct expected *expected, size_t nr, int fd)
{
	struct reply_name *replies scoped(freep) = NULL;
	uint64_t elf_addrs[MESSAGE_MAX_NAMES];
	int err = has_no_time(names) ? -EINTR : 0;
	size_t nr_named;

	nr = nr < MESSAGE_MAX_NAMES ? nr : MESSAGE_MAX_NAMES;
	for (size_t i = 0; i < nr; i++)
		elf_addrs[i] = expected[i].elf_addr;
	if (!err)
		err = parser_names(names->parser, expected->file, fd, names->what, elf_addrs, nr,
				   &replies, &nr_named);
	if (err) {
		learn_nothing(names, expected, nr, err);
		return nr;
	}
	for (size_t i = 0; i < nr_named; i++)
		learn_reply(names, &expected[i], &replies[i]);
	return nr_named;
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
	       (name->state == CODENAME_SYMBOL && names->what & MESSAGE_NAMES_LINES &&
		!name->nr_frames);
}

static void collect_nameless(struct codenames *names, const struct expected *expected, size_t nr,
			     struct nameless *nameless)
{
	nameless->nr = 0;
	for (size_t i = 0; i < nr && nameless->nr < MESSAGE_MAX_NAMES; i++) {
		const struct codename key = {.file = expected[i].file,
					     .elf_addr = expected[i].elf_addr};
		uint32_t at = hash_find(&names->index, code_of(key.file, key.elf_addr),
					same_address, names, &key);

		if (at != HASH_NONE && needs_debug_file(names, &names->known.at[at]))
			nameless->at[nameless->nr++] = at;
	}
}

static void learn_more(struct codenames *names, struct codename *name,
		       const struct reply_name *reply)
{
	if (reply->kind == MESSAGE_NAME_SYMBOL && name->state != CODENAME_SYMBOL)
		set_symbol(names, name, reply);
	if (reply->nr_frames)
		set_frames(names, name, reply);
}

/* fd: of the debug file. Returns how many were asked for, 0 if there are no more answers. */
static size_t ask_debug_file(struct codenames *names, uint32_t key, int fd,
			     const struct nameless *nameless, size_t from)
{
	struct reply_name *replies scoped(freep) = NULL;
	uint64_t elf_addrs[MESSAGE_MAX_NAMES];
	size_t nr_named;

	for (size_t i = from; i < nameless->nr; i++)
		elf_addrs[i - from] = names->known.at[nameless->at[i]].elf_addr;
	if (has_no_time(names) || parser_names(names->parser, key, fd, names->what, elf_addrs,
					       nameless->nr - from, &replies, &nr_named))
		return 0;
	for (size_t i = 0; i < nr_named; i++)
		learn_more(names, &names->known.at[nameless->at[from + i]], &replies[i]);
	return nr_named;
}

/* The expected ones are of one file, and have had their answer from it. */
static void name_by_debug_file(struct codenames *names, const struct expected *expected, size_t nr)
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
			fd = debugfiles_open(names->debugfiles, expected->file, &key);
		if (fd < 0)
			return;
		do {
			asked = ask_debug_file(names, key, fd, &nameless, from);
			from += asked;
		} while (asked && from < nameless.nr);
	}
	closep(&fd);
}

/* All files -------------------------------------------------------------------------------------- */

static int compare_expected(const void *a, const void *b)
{
	const struct expected *left = a, *right = b;

	if (left->file != right->file)
		return left->file < right->file ? -1 : 1;
	return (left->elf_addr > right->elf_addr) - (left->elf_addr < right->elf_addr);
}

/* Sorted, without doubles and what is known. */
static void tidy(struct codenames *names)
{
	struct expected *all = names->expected.at;
	size_t nr = 0;

	qsort(all, names->expected.nr, sizeof(*all), compare_expected);
	for (size_t i = 0; i < names->expected.nr; i++) {
		const struct codename key = {.file = all[i].file, .elf_addr = all[i].elf_addr};

		if (nr && !compare_expected(&all[nr - 1], &all[i]))
			continue;
		if (hash_find(&names->index, code_of(key.file, key.elf_addr), same_address, names,
			      &key) == HASH_NONE)
			all[nr++] = all[i];
	}
	names->expected.nr = nr;
}

static void ask_all(struct codenames *names)
{
	const struct expected *all;
	size_t limit;

	tidy(names);
	parser_while_waiting(names->parser, (struct peer_idle){has_no_time, names});
	all = names->expected.at;
	for (size_t i = 0; i < names->expected.nr; i = limit) {
		int fd = fd_of(names, all[i].file);

		for (limit = i; limit < names->expected.nr && all[limit].file == all[i].file;)
			limit++;
		for (size_t at = i; at < limit;)
			at += ask_some(names, &all[at], limit - at, fd);
		name_by_debug_file(names, &all[i], limit - i);
	}
	names->expected.nr = 0;
}

void codenames_expect(struct codenames *names, uint32_t file, uint64_t elf_addr)
{
	vec_push(&names->expected, (struct expected){file, elf_addr});
}

struct codename codenames_find(struct codenames *names, uint32_t file, uint64_t elf_addr)
{
	const struct codename key = {.file = file, .elf_addr = elf_addr};
	uint64_t code = code_of(file, elf_addr);
	uint32_t i = hash_find(&names->index, code, same_address, names, &key);

	if (i == HASH_NONE) {
		codenames_expect(names, file, elf_addr);
		ask_all(names);
		i = hash_find(&names->index, code, same_address, names, &key);
	}
	return names->known.at[i];
}

const struct codename_frame *codenames_frames(const struct codenames *names, uint32_t frames)
{
	return &names->frames.at[frames];
}
