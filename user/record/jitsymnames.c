// SPDX-License-Identifier: BSD-2-Clause
/*
 * What was at an ip is asked for backwards: first what is there now, then what was there before that came, until all times that are
 * wanted are known. So there are as many questions about an ip as pieces of code that were there; how far back it is
 * known is kept for each file, and the first question is asked again when the file has grown.
 *
 * The times of a perf map are lengths of the file (runtime/jitsymquery.h), which process/jitsymfiles.h has for each time.
 */
#include "record/jitsymnames.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/vec.h"
#include "process/jitsymfiles.h"
#include "sandbox/jitsymparser.h"

#define MOST_PIECES \
	16 /* that were at an ip one after the other; what was there before them is not asked for */

#define NO_PIECE UINT64_MAX

/* What is known of an ip by one file, in the file's times. */
struct history {
	uint64_t file_bytes; /* the length that the file had; 0: it was not asked */
	uint64_t newest;     /* since when the last piece is there; NO_PIECE: there was none */
	uint64_t from;	     /* from then on all pieces are known */
};

struct place {
	const struct image *image;
	uint64_t ip;
	uint64_t wanted_ns; /* while it is expected: from when on */
	bool is_expected;
	struct history by[NR_JITSYMFILES];
};

struct jitsymnames {
	struct parser *parser;
	bool (*is_hurried)(void); /* NULL: there is time */
	vec_of(struct place) places;
	struct hash index;	   /* of places */
	vec_of(uint32_t) expected; /* places */
};

/* A question about a place. */
struct asked {
	uint32_t place;
	struct message_moment moment;
};

/* The questions to one file. */
struct batch {
	struct image *image;
	enum jitsymfile which;
	uint64_t file_bytes;
	struct asked asked[MESSAGE_MAX_MOMENTS];
	size_t nr;
};

struct jitsymnames *jitsymnames_new(struct parser *parser)
{
	struct jitsymnames *names = xcalloc(1, sizeof(*names));

	names->parser = parser;
	return names;
}

void jitsymnames_free(struct jitsymnames *names)
{
	if (!names)
		return;
	vec_release(&names->places);
	vec_release(&names->expected);
	hash_release(&names->index);
	free(names);
}

void jitsymnames_hurry_when(struct jitsymnames *names, bool (*is_hurried)(void))
{
	names->is_hurried = is_hurried;
}

/* Places ----------------------------------------------------------------------------------------- */

static bool same_place(const void *ctx, uint32_t value, const void *key)
{
	const struct place *a = &((const struct jitsymnames *)ctx)->places.at[value], *b = key;

	return a->image == b->image && a->ip == b->ip;
}

static uint32_t place_of(struct jitsymnames *names, const struct image *image, uint64_t ip)
{
	const struct place place = {.image = image, .ip = ip};
	uint64_t code = hash_combine(hash_combine(0, (uint64_t)(uintptr_t)image), ip);
	uint32_t i = hash_find(&names->index, code, same_place, names, &place);

	if (i != HASH_NONE)
		return i;
	hash_insert(&names->index, code, names->places.nr);
	vec_push(&names->places, place);
	return names->places.nr - 1;
}

static uint64_t bytes_now(const struct jitsymfiles *files, enum jitsymfile which)
{
	return files->marks.at[files->marks.nr - 1].bytes[which];
}

/* Is there something to ask a file about the place as of time_ns? *file_time: about which time of the file. */
static bool is_unknown(const struct place *place, enum jitsymfile which, uint64_t time_ns,
		       uint64_t *file_time)
{
	const struct jitsymfiles *files = place->image->jitsym_files;
	const struct history *history = &place->by[which];
	bool is_map = which == JITSYMFILE_PERF_MAP;
	uint64_t wanted;

	if (files->fds[which] < 0)
		return false;
	if (history->file_bytes != bytes_now(files, which)) {
		*file_time = is_map ? bytes_now(files, which) : UINT64_MAX;
		return true;
	}
	wanted = is_map ? jitsymfiles_at(files, time_ns)->bytes[which] : time_ns;
	if (history->from <= wanted)
		return false;
	*file_time = is_map ? jitsymfiles_before(files, which, history->from) : history->from - 1;
	return *file_time > 0;
}

void jitsymnames_expect(struct jitsymnames *names, const struct image *image, uint64_t ip,
			uint64_t time_ns)
{
	uint32_t i = place_of(names, image, ip);
	struct place *place = &names->places.at[i];
	bool is_new = false;
	uint64_t file_time;

	for (int which = 0; which < NR_JITSYMFILES; which++)
		is_new |= is_unknown(place, (enum jitsymfile)which, time_ns, &file_time);
	if (!is_new)
		return;
	if (!place->is_expected)
		vec_push(&names->expected, i);
	if (!place->is_expected || time_ns < place->wanted_ns)
		place->wanted_ns = time_ns;
	place->is_expected = true;
}

/* Answers ---------------------------------------------------------------------------------------- */

static void add_piece(struct batch *batch, const struct reply_jitsym *piece)
{
	const struct jitframe frame = {
		.name = piece->name, .file = piece->file, .line = piece->line};
	uint64_t since_ns = piece->since_ns;

	if (batch->which == JITSYMFILE_PERF_MAP)
		since_ns = jitsymfiles_since(batch->image->jitsym_files, batch->which, since_ns);
	jitsyms_add(&batch->image->jitsyms, piece->start, piece->limit, since_ns, &frame);
}

/* piece NULL: there is no answer. Returns whether the piece is news. */
static bool take_answer(struct history *history, uint64_t file_bytes, uint64_t file_time,
			const struct reply_jitsym *piece)
{
	bool is_first = !history->file_bytes, is_last = history->file_bytes != file_bytes;

	history->file_bytes = file_bytes;
	if (!piece && is_last)
		history->newest = NO_PIECE;
	if (!piece ||
	    piece->since_ns > file_time) { /* it came later, so nothing was there before */
		history->from = 0;
		return piece && is_last;
	}
	if (is_last && !is_first && piece->since_ns == history->newest)
		return false;
	if (is_last)
		history->newest = piece->since_ns;
	history->from = piece->since_ns;
	return true;
}

static int by_ip(const void *a, const void *b)
{
	const struct asked *left = a, *right = b;

	return (left->moment.ip > right->moment.ip) - (left->moment.ip < right->moment.ip);
}

static bool same_piece(const struct reply_jitsym *a, const struct reply_jitsym *b)
{
	return a->start == b->start && a->limit == b->limit && a->since_ns == b->since_ns;
}

/* Answers come in the order of the ips; those that have none are left out. */
static void take_answers(struct jitsymnames *names, struct batch *batch,
			 const struct reply_jitsym *found, size_t nr)
{
	const struct reply_jitsym *added = NULL;
	size_t next = 0;

	for (size_t i = 0; i < batch->nr; i++) {
		const struct asked *asked = &batch->asked[i];
		struct history *history = &names->places.at[asked->place].by[batch->which];
		const struct reply_jitsym *piece = NULL;

		if (next < nr &&
		    asked->moment.ip - found[next].start < found[next].limit - found[next].start)
			piece = &found[next++];
		if (!take_answer(history, batch->file_bytes, asked->moment.time_ns, piece) ||
		    (added && same_piece(added, piece)))
			continue;
		add_piece(batch, piece);
		added = piece;
	}
}

static void ask_batch(struct jitsymnames *names, struct batch *batch)
{
	enum message_kind kind = batch->which == JITSYMFILE_JITDUMP ? MESSAGE_JITDUMP
								    : MESSAGE_PERF_MAP;
	struct message_moment moments[MESSAGE_MAX_MOMENTS];
	struct reply_jitsym *found scoped(freep) = NULL;
	size_t nr_found = 0;

	qsort(batch->asked, batch->nr, sizeof(*batch->asked), by_ip);
	for (size_t i = 0; i < batch->nr; i++)
		moments[i] = batch->asked[i].moment;
	if ((names->is_hurried && names->is_hurried()) ||
	    parser_jitsyms(names->parser, kind, batch->image->process->tgid,
			   batch->image->jitsym_files->fds[batch->which], moments, batch->nr,
			   &found, &nr_found))
		nr_found = 0;
	take_answers(names, batch, found, nr_found);
	batch->nr = 0;
}

/* Asks a file about all that is expected of an image and still unknown. Whether there was any. */
static bool ask_file(struct jitsymnames *names, struct image *image, enum jitsymfile which,
		     const uint32_t *places, size_t nr)
{
	struct batch batch = {.image = image,
			      .which = which,
			      .file_bytes = bytes_now(image->jitsym_files, which)};
	bool has_asked = false;
	uint64_t file_time;

	for (size_t i = 0; i < nr; i++) {
		const struct place *place = &names->places.at[places[i]];

		if (!is_unknown(place, which, place->wanted_ns, &file_time))
			continue;
		batch.asked[batch.nr++] = (struct asked){places[i], {place->ip, file_time}};
		has_asked = true;
		if (batch.nr == MESSAGE_MAX_MOMENTS)
			ask_batch(names, &batch);
	}
	if (batch.nr)
		ask_batch(names, &batch);
	return has_asked;
}

static void ask_all(struct jitsymnames *names, struct image *image, enum jitsymfile which,
		    const uint32_t *places, size_t nr)
{
	for (int i = 0; i < MOST_PIECES; i++)
		if (!ask_file(names, image, which, places, nr))
			return;
	for (size_t i = 0; i < nr; i++)
		names->places.at[places[i]].by[which].from = 0;
}

void jitsymnames_ask(struct jitsymnames *names, struct image *image, uint64_t ip, uint64_t time_ns)
{
	struct {
		vec_of(uint32_t) all;
	} places = {0};
	size_t nr_left = 0;

	jitsymnames_expect(names, image, ip, time_ns);
	for (size_t i = 0; i < names->expected.nr; i++) {
		uint32_t place = names->expected.at[i];

		if (names->places.at[place].image != image) {
			names->expected.at[nr_left++] = place;
			continue;
		}
		names->places.at[place].is_expected = false;
		vec_push(&places.all, place);
	}
	names->expected.nr = nr_left;
	for (int which = 0; places.all.nr && which < NR_JITSYMFILES; which++)
		ask_all(names, image, (enum jitsymfile)which, places.all.at, places.all.nr);
	vec_release(&places.all);
}
