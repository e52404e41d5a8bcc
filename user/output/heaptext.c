// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two things make this more than printing. The addresses of a pprof file are often those in the
 * files, so that mappings overlap: then each mapping is moved to a range of its own and its
 * addresses with it, but for the kernel's, which is too large to move. And a reader takes 1 from
 * every address, so 1 is added to each.
 *
 * Negative values are looked for, and names are added up, before the first byte is written, so that nothing is left
 * half done.
 */
#include "output/heaptext.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "output/framelines.h"
#include "output/legacy.h"
#include "profile/algebra.h"
#include "profile/frames.h"

#define FIRST_BASE 0x10000000ull /* of a layout of our own */
#define PAGE_MASK  0xfffull
#define NAME_BYTES 4096
#define NR_COLUMNS 4

/* In the order of a line: objects and bytes in use, objects and bytes allocated. */
static const char *const columns[NR_COLUMNS] = {"inuse_objects", "inuse_space", "alloc_objects",
						"alloc_space"};

struct heaptext {
	const struct profile *profile;
	struct text_out out;
	int column_of[NR_COLUMNS]; /* position of the sample type; negative: there is none */
	uint32_t type;
	bool is_heap;
	uint64_t *shift; /* what is added to the addresses of mapping id - 1 */
};

static const char *string_of(const struct profile *profile, uint32_t id)
{
	return strtab_get(&profile->strings, id);
}

bool heaptext_is_heap(const struct profile *profile)
{
	for (int i = 0; i < NR_COLUMNS; i++)
		if (profile_find_type(profile, columns[i]) >= 0)
			return true;
	return false;
}

/* Layout ----------------------------------------------------------------------------------------- */

static int compare_starts(const void *a, const void *b, void *ctx)
{
	const struct profile *profile = ctx;
	uint64_t x = profile->mappings.at[*(const uint32_t *)a].start;
	uint64_t y = profile->mappings.at[*(const uint32_t *)b].start;

	return x < y ? -1 : x > y;
}

static bool overlap(const struct profile *profile)
{
	size_t nr = profile->mappings.nr;
	uint32_t *order scoped(freep) = xcalloc(nr, sizeof(*order));

	for (size_t i = 0; i < nr; i++)
		order[i] = i;
	qsort_r(order, nr, sizeof(*order), compare_starts, (void *)profile);
	for (size_t i = 1; i < nr; i++)
		if (profile->mappings.at[order[i]].start < profile->mappings.at[order[i - 1]].limit)
			return true;
	return false;
}

static void lay_out(struct heaptext *text)
{
	const struct profile *profile = text->profile;
	uint64_t base = FIRST_BASE;

	text->shift = xcalloc(profile->mappings.nr, sizeof(*text->shift));
	if (!overlap(profile))
		return;
	for (size_t i = 0; i < profile->mappings.nr; i++) {
		const struct profile_mapping *mapping = &profile->mappings.at[i];
		uint64_t size = mapping->limit - mapping->start;

		if (size > UINT64_MAX / 4) /* the kernel's: it stays where it is */
			continue;
		base += mapping->start & PAGE_MASK;
		text->shift[i] = base - mapping->start;
		base = ((base + size) | PAGE_MASK) + 1 + PAGE_MASK + 1;
	}
}

/* Lines ------------------------------------------------------------------------------------------ */

static int64_t value_of(const struct heaptext *text, const struct profile_sample *sample,
			int column)
{
	return text->column_of[column] < 0 ? 0 : sample->values[text->column_of[column]];
}

static int compare_values(int64_t a, int64_t b)
{
	return a > b ? -1 : a < b;
}

static void put_values(struct heaptext *text, const int64_t values[NR_COLUMNS])
{
	text_out_print(&text->out, "%" PRId64 ": %" PRId64 " [%" PRId64 ": %" PRId64 "] @",
		       values[0], values[1], values[2], values[3]);
}

static void put_head(struct heaptext *text)
{
	const struct profile *profile = text->profile;
	int64_t totals[NR_COLUMNS] = {0}, total = 0;
	char name[NAME_BYTES];

	vec_for_each(&profile->samples, sample) {
		for (int i = 0; i < NR_COLUMNS; i++)
			totals[i] = profile_sum(totals[i], value_of(text, sample, i));
		total = profile_sum(total, sample->values[text->type]);
	}
	if (text->is_heap) {
		text_out_print(&text->out, "heap profile: ");
		put_values(text, totals);
		text_out_print(&text->out, " heapprofile\n");
		return;
	}
	text_escape(string_of(profile, profile->types[text->type].type), name, sizeof(name));
	text_out_print(&text->out, "%s profile: total %" PRId64 "\n", name, total);
}

/* As a reader wants it; 0: it has none. */
static uint64_t address_of(const struct heaptext *text, uint32_t location)
{
	const struct profile_location *at = &text->profile->locations.at[location - 1];

	if (!at->address)
		return 0;
	return at->address + (at->mapping ? text->shift[at->mapping - 1] : 0) + 1;
}

static void put_line(struct heaptext *text, const struct profile_sample *sample)
{
	int64_t values[NR_COLUMNS];
	bool bare = !text->is_heap; /* readers of counts want an address, whatever it is */

	for (int i = 0; i < NR_COLUMNS; i++)
		values[i] = value_of(text, sample, i);
	if (text->is_heap)
		put_values(text, values);
	else
		text_out_print(&text->out, "%" PRId64 " @", sample->values[text->type]);
	for (uint32_t i = 0; i < sample->nr_locations; i++) {
		uint64_t address = address_of(text, sample->locations[i]);

		if (address)
			text_out_print(&text->out, " 0x%" PRIx64, address);
		bare &= !address;
	}
	text_out_print(&text->out, bare ? " 0x1\n" : "\n");
}

static void put_frames(struct heaptext *text, struct framelines *lines,
		       const struct profile_sample *sample)
{
	for (uint32_t i = 0; i < sample->nr_locations; i++) {
		uint64_t address = address_of(text, sample->locations[i]);

		framelines_put(lines, sample->locations[i], address ? address - 1 : 0, &text->out);
	}
}

static void put_maps(struct heaptext *text)
{
	const struct profile *profile = text->profile;
	char path[NAME_BYTES];

	text_out_print(&text->out,
		       text->is_heap ? "\nMAPPED_LIBRARIES:\n" : "\n--- Memory map: ---\n");
	for (size_t i = 0; i < profile->mappings.nr; i++) {
		const struct profile_mapping *mapping = &profile->mappings.at[i];

		text_out_print(&text->out,
			       "%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64 " 00:00 0 %s\n",
			       mapping->start + text->shift[i], mapping->limit + text->shift[i],
			       mapping->file_off,
			       text_escape(string_of(profile, mapping->path), path, sizeof(path)));
	}
}

static bool is_in_domain(const struct heaptext *text, bool *empty,
			 const struct profile_sample *sample)
{
	*empty = true;
	for (int i = 0; i < NR_COLUMNS; i++) {
		int64_t value = text->is_heap ? value_of(text, sample, i)
					      : sample->values[text->type];

		if (value < 0)
			return false;
		*empty &= !value;
	}
	return true;
}

/* Most bytes in use first, then most allocated, then as they are; of what is no heap, the value. */
static int compare_samples(const void *a, const void *b, void *ctx)
{
	static const int keys[] = {1, 3, 0, 2}; /* columns */
	const struct profile_sample *x = *(struct profile_sample *const *)a;
	const struct profile_sample *y = *(struct profile_sample *const *)b;
	const struct heaptext *text = ctx;
	int order = 0;

	if (!text->is_heap)
		order = compare_values(x->values[text->type], y->values[text->type]);
	for (int i = 0; text->is_heap && !order && i < NR_COLUMNS; i++)
		order = compare_values(value_of(text, x, keys[i]), value_of(text, y, keys[i]));
	return order ? order : x < y ? -1 : x > y;
}

/* For people the samples are sorted, as in output/text.h; for readers they stay in their order. */
static const struct profile_sample **samples_in_order(struct heaptext *text, bool sorted)
{
	const struct profile *profile = text->profile;
	size_t nr = profile->samples.nr;
	const struct profile_sample **order = xcalloc(nr, sizeof(*order));

	for (size_t i = 0; i < nr; i++)
		order[i] = &profile->samples.at[i];
	if (sorted && nr)
		qsort_r(order, nr, sizeof(*order), compare_samples, text);
	return order;
}

/* Whether the lines of all frames are more than should be written. */
static bool is_too_large(const struct heaptext *text, const struct framelines *lines)
{
	uint64_t sum = 0;
	bool empty;

	vec_for_each(&text->profile->samples, sample) {
		is_in_domain(text, &empty, sample);
		for (uint32_t i = 0; !empty && i < sample->nr_locations; i++)
			sum += framelines_bytes(lines, sample->locations[i]);
		if (sum > TEXT_OUT_MAX_BYTES)
			return true;
	}
	return false;
}

/* lines: NULL where there are to be no names. */
static void put_samples(struct heaptext *text, struct framelines *lines)
{
	size_t nr = text->profile->samples.nr;
	const struct profile_sample **order scoped(freep) = samples_in_order(text, lines);
	bool empty;

	lay_out(text);
	put_head(text);
	for (size_t i = 0; i < nr; i++) {
		is_in_domain(text, &empty, order[i]);
		if (empty)
			continue;
		put_line(text, order[i]);
		if (lines)
			put_frames(text, lines, order[i]);
	}
	if (!lines)
		put_maps(text);
	free(text->shift);
}

static int put_with_names(struct heaptext *text)
{
	struct framelines lines;
	struct frames frames;
	int err = 0;

	frames_make(text->profile, FRAME_BY_LINE, &frames);
	framelines_init(&lines, &frames);
	if (is_too_large(text, &lines))
		err = -E2BIG;
	else
		put_samples(text, &lines);
	framelines_release(&lines);
	frames_release(&frames);
	return err;
}

static int put_profile(struct heaptext *text, bool names)
{
	bool empty;

	vec_for_each(&text->profile->samples, sample)
		if (!is_in_domain(text, &empty, sample))
			return -EDOM;
	if (names)
		return put_with_names(text);
	put_samples(text, NULL);
	return 0;
}

int heaptext_encode(const struct profile *profile, uint32_t type, bool names, sink_fn sink,
		    void *ctx)
{
	struct heaptext text = {
		.profile = profile, .type = type, .is_heap = heaptext_is_heap(profile)};
	int err, written;

	for (int i = 0; i < NR_COLUMNS; i++)
		text.column_of[i] = profile_find_type(profile, columns[i]);
	text_out_open(&text.out, sink, ctx);
	err = put_profile(&text, names);
	written = text_out_close(&text.out);
	return err ? err : written;
}
