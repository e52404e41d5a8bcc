// SPDX-License-Identifier: BSD-2-Clause
/*
 * A question has its time (sandbox/peer.h), after which main ends the worker, and the file has no names at all. So DWARF
 * gets a part of that time, and a bound for all questions together; addresses that are left then have names
 * without lines.
 */
#include "worker/lines.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "object/golines.h"
#include "sandbox/message.h"

#define QUESTION_NS 1500000000ull
#define ALL_NS	    10000000000ull

/* What Go's table says nothing of, by position in the question. */
struct rest {
	struct names *names;
	uint64_t elf_addrs[MESSAGE_MAX_NAMES];
	size_t at[MESSAGE_MAX_NAMES], nr;
};

static void collect_rest(struct object *object, const uint64_t *elf_addrs, size_t nr,
			 struct rest *rest)
{
	const struct gopclntab *go = object_gopclntab(object);
	uint64_t start;

	for (size_t i = 0; i < nr; i++) {
		if (names_has_lines(rest->names, i) || gopclntab_find(go, elf_addrs[i], &start))
			continue;
		rest->at[rest->nr] = i;
		rest->elf_addrs[rest->nr++] = elf_addrs[i];
	}
}

static void add_of_rest(void *ctx, size_t i, const struct source_frame *frames, size_t nr)
{
	const struct rest *rest = ctx;

	names_add_frames(rest->names, rest->at[i], frames, nr);
}

void lines_forget(struct lines *lines)
{
	dwarf_source_free(lines->dwarf);
	lines->dwarf = NULL;
	lines->object = NULL;
}

/* NULL, which is remembered too: the object has none. */
static struct dwarf_source *dwarf_of(struct lines *lines, struct object *object)
{
	if (lines->object != object) {
		lines_forget(lines);
		lines->dwarf = dwarf_source_new(object_elf(object));
		lines->object = object;
	}
	return lines->dwarf;
}

static bool never_hurries(void)
{
	return false;
}

void lines_find(struct lines *lines, struct object *object, const uint64_t *elf_addrs, size_t nr,
		bool inlines, struct names *names)
{
	struct rest rest = {.names = names};
	struct workbudget budget = {0};
	struct dwarf_source *dwarf;
	uint64_t before_ns;

	golines_find(object_gopclntab(object), object_elf(object), elf_addrs, nr, names_add_frames,
		     names);
	collect_rest(object, elf_addrs, nr, &rest);
	if (!rest.nr || lines->used_ns > ALL_NS)
		return;
	before_ns = clock_thread_cpu_ns();
	dwarf = dwarf_of(lines, object);
	workbudget_limit(&budget, QUESTION_NS, never_hurries);
	if (dwarf)
		dwarf_source_frames(dwarf, rest.elf_addrs, rest.nr, inlines, &budget, add_of_rest,
				    &rest);
	lines->used_ns += clock_thread_cpu_ns() - before_ns;
}
