// SPDX-License-Identifier: BSD-2-Clause
/*
 * A moment that has been asked for is in a set, with the length that the files had then: they have nothing new to say before
 * they grow. Both files are asked for each moment, the jitdump last: it says when code was there.
 */
#include "record/jitsymnames.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/vec.h"
#include "process/jitsymfiles.h"
#include "sandbox/jitsymparser.h"

struct expected {
	const struct image *image;
	struct message_moment moment;
	uint64_t file_bytes;
};

struct jitsymnames {
	struct parser *parser;
	bool (*is_hurried)(void); /* NULL: there is time */
	vec_of(struct expected) expected;
	vec_of(struct expected) asked;
	struct hash index; /* of asked */
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
	vec_release(&names->expected);
	vec_release(&names->asked);
	hash_release(&names->index);
	free(names);
}

void jitsymnames_hurry_when(struct jitsymnames *names, bool (*is_hurried)(void))
{
	names->is_hurried = is_hurried;
}

void jitsymnames_expect(struct jitsymnames *names, const struct image *image, uint64_t ip,
			uint64_t time_ns)
{
	vec_push(&names->expected, (struct expected){image, {ip, time_ns}, 0});
}

static bool same_moment(const void *ctx, uint32_t value, const void *key)
{
	const struct expected *a = &((const struct jitsymnames *)ctx)->asked.at[value], *b = key;

	return a->image == b->image && a->moment.ip == b->moment.ip &&
	       a->moment.time_ns == b->moment.time_ns && a->file_bytes == b->file_bytes;
}

/* Notes that it is asked for. false: it was before. */
static bool is_first(struct jitsymnames *names, const struct expected *moment)
{
	uint64_t code =
		hash_combine(hash_combine((uint64_t)(uintptr_t)moment->image, moment->moment.ip),
			     moment->moment.time_ns + moment->file_bytes);

	if (hash_find(&names->index, code, same_moment, names, moment) != HASH_NONE)
		return false;
	hash_insert(&names->index, code, names->asked.nr);
	vec_push(&names->asked, *moment);
	return true;
}

static void ask_file(struct jitsymnames *names, struct image *image, enum jitsymfile which,
		     const struct message_moment *moments, size_t nr)
{
	enum message_kind kind = which == JITSYMFILE_JITDUMP ? MESSAGE_JITDUMP : MESSAGE_PERF_MAP;
	struct reply_jitsym *found scoped(freep) = NULL;
	size_t nr_found = 0;

	if (image->jitsym_files->fds[which] < 0 || (names->is_hurried && names->is_hurried()) ||
	    parser_jitsyms(names->parser, kind, image->process->tgid,
			   image->jitsym_files->fds[which], moments, nr, &found, &nr_found))
		return;
	for (size_t i = 0; i < nr_found; i++)
		jitsyms_add(&image->jitsyms, found[i].start, found[i].limit, found[i].since_ns,
			    found[i].name);
}

static void ask_some(struct jitsymnames *names, struct image *image,
		     const struct message_moment *moments, size_t nr)
{
	for (int which = 0; which < NR_JITSYMFILES; which++)
		ask_file(names, image, (enum jitsymfile)which, moments, nr);
}

void jitsymnames_ask(struct jitsymnames *names, struct image *image, uint64_t ip, uint64_t time_ns)
{
	struct message_moment moments[MESSAGE_MAX_MOMENTS];
	uint64_t file_bytes = jitsymfiles_bytes(image->jitsym_files);
	size_t nr = 0, nr_left = 0;

	jitsymnames_expect(names, image, ip, time_ns);
	for (size_t i = 0; i < names->expected.nr; i++) {
		struct expected moment = names->expected.at[i];

		if (moment.image != image) {
			names->expected.at[nr_left++] = moment;
			continue;
		}
		moment.file_bytes = file_bytes;
		if (!is_first(names, &moment))
			continue;
		moments[nr++] = moment.moment;
		if (nr == MESSAGE_MAX_MOMENTS) {
			ask_some(names, image, moments, nr);
			nr = 0;
		}
	}
	names->expected.nr = nr_left;
	if (nr)
		ask_some(names, image, moments, nr);
}
