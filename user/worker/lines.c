// SPDX-License-Identifier: BSD-2-Clause
/*
 * A question has its time (sandbox/peer.h), after which main ends the worker, and the file has no names at all. So DWARF
 * gets a part of that time, and a bound for all questions together; addresses that are left then have names
 * without lines.
 */
#include "worker/lines.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "object/altlink.h"
#include "object/golines.h"
#include "sandbox/message.h"

#define QUESTION_NS 1500000000ull
#define LIMITED_NS  3500000000ull /* the same, where main has a limit for all questions */
#define ALL_NS	    10000000000ull

/* The addresses that Go's table does not have, by position in the question. */
struct unresolved {
	struct names *names;
	uint64_t elf_addrs[MESSAGE_MAX_NAMES];
	size_t at[MESSAGE_MAX_NAMES], nr;
};

static void collect_unresolved(struct object *object, const uint64_t *elf_addrs, size_t nr,
			       struct unresolved *unresolved)
{
	const struct gopclntab *go = object_gopclntab(object);
	uint64_t start;

	for (size_t i = 0; i < nr; i++) {
		if (names_has_lines(unresolved->names, i) ||
		    gopclntab_find(go, elf_addrs[i], &start))
			continue;
		unresolved->at[unresolved->nr] = i;
		unresolved->elf_addrs[unresolved->nr++] = elf_addrs[i];
	}
}

static void add_unresolved(void *ctx, size_t i, const struct source_frame *frames, size_t nr)
{
	const struct unresolved *unresolved = ctx;

	names_add_frames(unresolved->names, unresolved->at[i], frames, nr);
}

static void forget(struct lines_source *source)
{
	dwarf_source_free(source->dwarf);
	*source = (struct lines_source){NULL};
}

void lines_forget(struct lines *lines)
{
	for (size_t i = 0; i < LINES_MAX_SOURCES; i++)
		forget(&lines->sources[i]);
}

static void drop_companion(struct lines *lines)
{
	elf_file_close(lines->companion_elf);
	lines->companion_elf = NULL;
	if (lines->companion)
		closep(&lines->companion_fd);
	lines->companion = 0;
}

void lines_release(struct lines *lines)
{
	drop_companion(lines);
}

int lines_keep_companion(struct lines *lines, const struct message_companion *about, int *fd)
{
	struct elf_file *elf;
	int err;

	if (*fd < 0)
		return -EBADF;
	if (!about->kind || about->kind > MESSAGE_COMPANION_SPLIT || !about->number)
		return -EINVAL;
	err = elf_file_open(*fd, &elf);
	if (err)
		return err;
	if (about->kind == MESSAGE_COMPANION_ALT && !altlink_is(elf, about->id)) {
		elf_file_close(elf);
		return -ESTALE;
	}
	drop_companion(lines);
	lines->companion = about->number;
	lines->companion_kind = about->kind;
	lines->companion_elf = elf;
	lines->companion_fd = *fd;
	*fd = -1;
	return 0;
}

int lines_use_companion(struct lines *lines, uint64_t number)
{
	if (number && number != lines->companion)
		return -ENOKEY;
	lines->wanted = number;
	return 0;
}

/* The source of the object, else one that is free, else the one that was not used for the longest time. */
static struct lines_source *place_for(struct lines *lines, const struct object *object)
{
	struct lines_source *oldest = lines->sources;

	for (size_t i = 0; i < LINES_MAX_SOURCES; i++) {
		if (lines->sources[i].object == object)
			return &lines->sources[i];
		if (lines->sources[i].last_use < oldest->last_use)
			oldest = &lines->sources[i];
	}
	return oldest;
}

/* The oldest ones go until the rest is small enough; not that of the object. */
static void make_room(struct lines *lines, const struct lines_source *except)
{
	for (;;) {
		struct lines_source *oldest = NULL;
		uint64_t memory_bytes = 0, view_bytes = 0;

		for (size_t i = 0; i < LINES_MAX_SOURCES; i++) {
			struct lines_source *source = &lines->sources[i];

			if (!source->dwarf)
				continue;
			memory_bytes += dwarf_source_memory(source->dwarf);
			view_bytes += dwarf_source_views(source->dwarf);
			if (source != except && (!oldest || source->last_use < oldest->last_use))
				oldest = source;
		}
		if ((memory_bytes <= LINES_MAX_BYTES && view_bytes <= LINES_MAX_VIEW_BYTES) ||
		    !oldest)
			return;
		forget(oldest);
	}
}

static void use_companion(const struct lines *lines, struct lines_source *source,
			  struct workbudget *budget)
{
	source->companion = lines->wanted;
	if (lines->companion_kind == MESSAGE_COMPANION_SPLIT)
		dwarf_source_set_split(source->dwarf, lines->companion_elf, budget);
	else
		dwarf_source_set_alt(source->dwarf, lines->companion_elf, budget);
	if (workbudget_is_over(budget))
		source->companion = 0; /* there may have been no time to read it */
}

/*
 * NULL, which is remembered too: the object has none. Split units come and go; with another alternate file all begins anew,
 * since names were read in that.
 */
static struct dwarf_source *dwarf_of(struct lines *lines, struct object *object,
				     struct workbudget *budget)
{
	struct lines_source *source = place_for(lines, object);
	bool is_split = lines->companion_kind == MESSAGE_COMPANION_SPLIT;
	bool has_changed = lines->wanted && source->companion != lines->wanted;

	if (source->object != object || (has_changed && !is_split)) {
		forget(source);
		source->dwarf = dwarf_source_new(object_elf(object), budget);
		if (!source->dwarf && workbudget_is_over(budget))
			return NULL; /* it may have some */
		source->object = object;
		has_changed = lines->wanted;
	}
	source->last_use = ++lines->nr_uses;
	if (source->dwarf && has_changed)
		use_companion(lines, source, budget);
	make_room(lines, source);
	return source->dwarf;
}

static bool never_hurries(void)
{
	return false;
}

void lines_limit(struct lines *lines, uint64_t left_ns)
{
	lines->left_ns = left_ns;
}

/* false: there is no time left. */
static bool begin_question(const struct lines *lines, struct workbudget *budget)
{
	if (!lines->left_ns && lines->used_ns > ALL_NS)
		return false;
	workbudget_limit(budget, lines->left_ns ? LIMITED_NS : QUESTION_NS, never_hurries);
	if (lines->left_ns)
		workbudget_end_at(budget, clock_monotonic_ns() + lines->left_ns);
	return true;
}

void lines_find(struct lines *lines, struct object *object, const uint64_t *elf_addrs, size_t nr,
		bool inlines, struct names *names)
{
	struct unresolved unresolved = {.names = names};
	struct workbudget budget = {0};
	struct dwarf_source *dwarf;
	uint64_t before_ns;

	names_take_plain(names, true); /* Go's names are not mangled */
	golines_find(object_gopclntab(object), object_elf(object), elf_addrs, nr, names_add_frames,
		     names);
	names_take_plain(names, false);
	collect_unresolved(object, elf_addrs, nr, &unresolved);
	if (!unresolved.nr)
		return;
	if (!begin_question(lines, &budget)) {
		names_cut(names);
		return;
	}
	before_ns = clock_thread_cpu_ns();
	dwarf = dwarf_of(lines, object, &budget);
	if (dwarf) {
		dwarf_source_frames(dwarf, unresolved.elf_addrs, unresolved.nr, inlines, &budget,
				    add_unresolved, &unresolved);
		names_set_split(names, dwarf_source_nr_split(dwarf));
	}
	if (workbudget_is_over(&budget))
		names_cut(names);
	else if (dwarf ? dwarf_source_has_unread(dwarf) : dwarf_is_there(object_elf(object)))
		names_set_unread(names);
	lines->used_ns += clock_thread_cpu_ns() - before_ns;
}

void lines_splits(struct lines *lines, struct object *object, const uint64_t *elf_addrs, size_t nr,
		  dwarf_split_fn fn, void *ctx)
{
	uint64_t before_ns = clock_thread_cpu_ns();
	struct workbudget budget = {0};
	struct dwarf_source *dwarf;

	if (!begin_question(lines, &budget))
		return;
	dwarf = dwarf_of(lines, object, &budget);
	if (dwarf)
		dwarf_source_splits(dwarf, elf_addrs, nr, &budget, fn, ctx);
	lines->used_ns += clock_thread_cpu_ns() - before_ns;
}
