// SPDX-License-Identifier: BSD-2-Clause
/*
 * Texts are interned, and each is in the reply once, from the first address on that needs it: a file's name stands for
 * hundreds of lines, and a function's for many addresses. Demangling is done once for each.
 *
 * A reply has a bound, so what an address adds is counted before it is added. Frames are given by the sources before it
 * is known how many addresses fit; where those are too much to keep, the reply ends before.
 */
#include "worker/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "object/demangle.h"
#include "sandbox/message.h"

/* The limit on what the sources give for one question. */
#define KEPT_BYTES (8u * MESSAGE_NAMES_BYTES)

_Static_assert(SOURCE_MAX_FRAMES == MESSAGE_MAX_FRAMES, "each chain of frames fits");

/* A text: its number in the reply, and that of its demangled form. 0: none yet. */
struct text {
	uint32_t number, display;
};

struct chain {
	uint32_t first, nr; /* in kept */
};

struct names {
	uint32_t what;
	bool is_cut, is_unread, is_plain;
	size_t nr, nr_added;
	struct chain *chains;		   /* of each address */
	vec_of(struct message_frame) kept; /* their texts are ids in strings */
	size_t kept_bytes, limit; /* addresses from limit on may lack frames that were not kept */
	struct strtab strings;
	vec_of(struct text) texts; /* by id */
	/* The reply. */
	vec_of(struct message_name) heads;
	vec_of(struct message_frame) frames;
	vec_of(uint32_t) ids; /* of its texts, by number - 1 */
	size_t len_bytes;
	uint32_t nr_split;
};

struct names *names_new(uint32_t what, size_t nr)
{
	struct names *names = xcalloc(1, sizeof(*names));

	names->what = what;
	names->nr = names->limit = nr;
	names->chains = xcalloc(nr, sizeof(*names->chains));
	names->len_bytes = sizeof(struct message_names);
	return names;
}

void names_free(struct names *names)
{
	free(names->chains);
	vec_release(&names->kept);
	strtab_release(&names->strings);
	vec_release(&names->texts);
	vec_release(&names->heads);
	vec_release(&names->frames);
	vec_release(&names->ids);
	free(names);
}

void names_set_split(struct names *names, size_t nr)
{
	names->nr_split = (uint32_t)nr;
}

void names_set_unread(struct names *names)
{
	names->is_unread = true;
}

bool names_wants_lines(const struct names *names)
{
	return names->what & MESSAGE_NAMES_LINES;
}

bool names_has_lines(const struct names *names, size_t i)
{
	return names->chains[i].nr;
}

void names_take_plain(struct names *names, bool is_plain)
{
	names->is_plain = is_plain;
}

void names_cut(struct names *names)
{
	names->is_cut = true;
}

/* Frames ------------------------------------------------------------------------------------------ */

static uint32_t intern(struct names *names, const char *text)
{
	size_t len = text ? strnlen(text, MESSAGE_NAME_MAX_BYTES) : 0;
	size_t nr_before = strtab_nr(&names->strings);
	uint32_t id = strtab_intern_len(&names->strings, len ? text : "", len);

	if (strtab_nr(&names->strings) > nr_before)
		names->kept_bytes += len;
	while (names->texts.nr <= id)
		vec_push(&names->texts, (struct text){0});
	return id;
}

static uint32_t intern_name(struct names *names, const char *name)
{
	uint32_t id = intern(names, name);

	if (names->is_plain)
		names->texts.at[id].display = id;
	return id;
}

/* All but the outermost frame have a name. */
static bool are_named(const struct source_frame *frames, size_t nr)
{
	for (size_t k = 0; k + 1 < nr; k++)
		if (!frames[k].name || !*frames[k].name)
			return false;
	return true;
}

void names_add_frames(void *ctx, size_t i, const struct source_frame *frames, size_t nr)
{
	struct names *names = ctx;

	if (!nr || nr > SOURCE_MAX_FRAMES || i >= names->nr || names->chains[i].nr ||
	    !are_named(frames, nr))
		return;
	if (!(names->what & MESSAGE_NAMES_INLINED)) {
		frames += nr - 1;
		nr = 1;
	}
	if (names->kept_bytes > KEPT_BYTES) {
		names->limit = i < names->limit ? i : names->limit;
		return;
	}
	names->chains[i] = (struct chain){names->kept.nr, nr};
	for (size_t k = 0; k < nr; k++)
		vec_push(&names->kept,
			 (struct message_frame){.raw = intern_name(names, frames[k].name),
						.file = intern(names, frames[k].file),
						.line = frames[k].line,
						.start_line = frames[k].start_line});
	names->kept_bytes += nr * sizeof(struct message_frame);
}

/* Addresses --------------------------------------------------------------------------------------- */

/* The demangled form of a text; 0: it is the same. */
static uint32_t display_of(struct names *names, uint32_t raw, const char *given)
{
	const char *text = strtab_get(&names->strings, raw);
	char *demangled scoped(freep) = NULL;

	if (names->texts.at[raw].display)
		return names->texts.at[raw].display == raw ? 0 : names->texts.at[raw].display;
	if (!given)
		given = demangled = demangle(text);
	names->texts.at[raw].display = raw;
	if (given && *given && strcmp(given, text) != 0) {
		uint32_t display = intern(names, given); /* which may move texts */

		names->texts.at[raw].display = display;
		return display;
	}
	return 0;
}

/* The number of a text in the reply, where it gets room if it has none. */
static uint32_t number_of(struct names *names, uint32_t id)
{
	if (id && !names->texts.at[id].number) {
		names->len_bytes += sizeof(uint32_t) + strlen(strtab_get(&names->strings, id));
		vec_push(&names->ids, id);
		names->texts.at[id].number = names->ids.nr;
	}
	return id ? names->texts.at[id].number : 0;
}

/* The outermost frame's name is that of the address: the symbol's, else its own. */
static void add_chain(struct names *names, const struct chain *chain, struct message_name *head)
{
	for (uint32_t k = 0; k < chain->nr; k++) {
		struct message_frame frame = names->kept.at[chain->first + k];
		bool is_outermost = k + 1 == chain->nr;
		uint32_t raw = frame.raw, display = raw ? display_of(names, raw, NULL) : 0;

		frame.raw = frame.display = 0;
		frame.file = number_of(names, frame.file);
		if (!is_outermost) {
			frame.raw = number_of(names, raw);
			frame.display = number_of(names, display);
		} else if (head->kind != MESSAGE_NAME_SYMBOL && raw) {
			*head = (struct message_name){.kind = MESSAGE_NAME_SYMBOL,
						      .raw = number_of(names, raw),
						      .display = number_of(names, display)};
		}
		vec_push(&names->frames, frame);
	}
	head->nr_frames = chain->nr;
	names->len_bytes += chain->nr * sizeof(struct message_frame);
}

/* The size of the reply at some point, to remove later what does not fit. */
struct mark {
	size_t nr_frames, nr_ids, len_bytes;
};

static void take_back(struct names *names, const struct mark *mark)
{
	for (size_t i = mark->nr_ids; i < names->ids.nr; i++)
		names->texts.at[names->ids.at[i]].number = 0;
	names->ids.nr = mark->nr_ids;
	names->frames.nr = mark->nr_frames;
	names->len_bytes = mark->len_bytes;
}

static void add_symbol(struct names *names, const struct names_symbol *symbol,
		       struct message_name *head)
{
	uint32_t raw, display;

	*head = (struct message_name){.kind = symbol->kind, .start = symbol->start};
	names->len_bytes += sizeof(*head);
	if (symbol->kind != MESSAGE_NAME_SYMBOL)
		return;
	raw = intern(names, symbol->raw);
	display = display_of(names, raw, symbol->display);
	head->raw = number_of(names, raw);
	head->display = number_of(names, display);
}

bool names_add(struct names *names, const struct names_symbol *symbol)
{
	size_t i = names->nr_added;
	struct mark mark = {names->frames.nr, names->ids.nr, names->len_bytes};
	struct message_name head;

	if (i >= names->nr || (i && i >= names->limit))
		return false;
	add_symbol(names, symbol, &head);
	add_chain(names, &names->chains[i], &head);
	if (names->len_bytes > MESSAGE_NAMES_BYTES) {
		take_back(names, &mark);
		if (i)
			return false;
		add_symbol(names, symbol, &head);
	}
	vec_push(&names->heads, head);
	names->nr_added++;
	return true;
}

/* The reply --------------------------------------------------------------------------------------- */

uint32_t names_finish(const struct names *names, struct payload *payload)
{
	struct message_names about = {.nr_frames = names->frames.nr,
				      .nr_texts = names->ids.nr,
				      .nr_split = names->nr_split,
				      .flags = (names->is_cut ? MESSAGE_NAMES_CUT : 0) |
					       (names->is_unread ? MESSAGE_NAMES_UNREAD : 0)};

	payload_append(payload, &about, sizeof(about));
	payload_append(payload, names->heads.at, names->heads.nr * sizeof(*names->heads.at));
	payload_append(payload, names->frames.at, names->frames.nr * sizeof(*names->frames.at));
	for (size_t i = 0; i < names->ids.nr; i++) {
		uint32_t len = strlen(strtab_get(&names->strings, names->ids.at[i]));

		payload_append(payload, &len, sizeof(len));
	}
	for (size_t i = 0; i < names->ids.nr; i++) {
		const char *text = strtab_get(&names->strings, names->ids.at[i]);

		payload_append(payload, text, strlen(text));
	}
	return names->nr_added;
}
