// SPDX-License-Identifier: BSD-2-Clause
/*
 * Heap profiles as text: what gperftools (HEAPPROFILE), tcmalloc's /heapz and /growthz, Go with
 * debug=1, cprof with --format legacy, and jemalloc (prof.dump) write.
 *
 *	heap profile: 3: 3072 [4: 4096] @ heap/1048576
 *	3: 3072 [4: 4096] @ 0x7f3a5c0a1234 0x55d0c0de1234
 *
 * In use: objects: bytes [allocated: objects: bytes] @ return addresses, leaf first. What stands after
 * the last @ of the head says how the values were sampled:
 *
 *	heap/N		each byte with probability 2/N: rate N/2, values are to be scaled
 *	heap_v2/R	the same with rate R (heapz_v2 too)
 *	heapprofile	everything was counted; nothing to scale
 *	growth, fragmentation	likewise
 *
 * A line's values are scaled by its average size: 1/(1 - e^(-size/R)), and cut to whole numbers, as
 * pprof does. Values that were allocated are left out where they are those in use in the head.
 *
 * jemalloc parts stack and values, and has lines for each thread besides that of all ("t*"):
 *
 *	heap_v2/524288
 *	  t*: 28106: 56637512 [0: 0]
 *	@ 0x7f3a5c0a1234 0x55d0c0de1234
 *	  t*: 13: 6688 [0: 0]
 */
#include "input/legacy.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum {
	INUSE_OBJECTS,
	INUSE_BYTES,
	ALLOC_OBJECTS,
	ALLOC_BYTES,
	NR_COUNTS
};

struct heap {
	struct legacy legacy;
	int64_t rate; /* 1 or less: values stay as they are */
	bool has_alloc;
	int64_t counts[NR_COUNTS];
};

/* "3: 3072 [4: 4096]"; only the first pair may be negative (growth). */
static bool take_counts(struct text *line, int64_t counts[NR_COUNTS])
{
	struct text rest = *line;
	static const char after[] = "::";

	for (int i = 0; i < NR_COUNTS; i++) {
		text_skip_spaces(&rest);
		if (!text_take_int(&rest, &counts[i]) || (i >= ALLOC_OBJECTS && counts[i] < 0))
			return false;
		text_skip_spaces(&rest);
		if (i % 2 == 0 && !text_take(&rest, after[i / 2]))
			return false;
		if (i == INUSE_BYTES && !text_take(&rest, '['))
			return false;
	}
	if (!text_take(&rest, ']'))
		return false;
	*line = rest;
	return true;
}

/* What stands after '@' in the head: the kind of profile. */
static bool take_kind(struct heap *heap, struct text kind)
{
	static const struct {
		const char *name;
		int64_t divisor; /* of the number behind it; 0: there is none to read */
	} kinds[] = {{"heapprofile", 0},    {"heapz_v2", 1},	 {"heap_v2", 1},
		     {"heap", 2},	    {"growthz", 0},	 {"growth", 0},
		     {"fragmentationz", 0}, {"fragmentation", 0}};
	int64_t number = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct text rest = kind;

		if (!text_take_word(&rest, kinds[i].name))
			continue;
		if (!text_is_blank(rest) && *rest.at != '/' && *rest.at != ' ')
			continue;
		if (text_take(&rest, '/') && !text_is_blank(rest) &&
		    (!text_take_int(&rest, &number) || number < 0))
			return false;
		heap->rate = kinds[i].divisor ? number / kinds[i].divisor : 1;
		return true;
	}
	return false;
}

static bool read_head(struct heap *heap, struct text line)
{
	if (!text_take_word(&line, "heap profile:") || !take_counts(&line, heap->counts))
		return false;
	text_skip_spaces(&line);
	if (!text_take(&line, '@'))
		return false;
	text_skip_spaces(&line);
	if (text_starts(line, "heap"))
		heap->has_alloc = (heap->counts[ALLOC_OBJECTS] &&
				   heap->counts[ALLOC_OBJECTS] != heap->counts[INUSE_OBJECTS]) ||
				  (heap->counts[ALLOC_BYTES] &&
				   heap->counts[ALLOC_BYTES] != heap->counts[INUSE_BYTES]);
	return take_kind(heap, line);
}

static bool is_jemalloc(struct text line)
{
	return text_starts(line, "heap_v2/");
}

bool legacy_heap_detect(const struct source *source)
{
	struct text line = input_first_line(source);

	return text_starts(line, "heap profile:") || is_jemalloc(line);
}

static int64_t to_int(double value)
{
	return value >= 0x1p63 ? INT64_MAX : value <= -0x1p63 ? INT64_MIN : (int64_t)value;
}

/* values[0], values[1]: objects and bytes that were sampled, to what they stand for. */
static void scale_pair(int64_t rate, int64_t values[2])
{
	double factor;

	if (rate <= 1)
		return;
	if (!values[0] || !values[1]) {
		values[0] = values[1] = 0;
		return;
	}
	factor = 1 / (1 - exp(-((double)values[1] / values[0]) / rate));
	values[0] = to_int(values[0] * factor);
	values[1] = to_int(values[1] * factor);
}

/* Adds the stack with heap->counts. */
static int add(struct heap *heap)
{
	const int64_t *counts = heap->counts;
	int64_t values[NR_COUNTS], block_bytes = 0, *value = values;

	for (int first = heap->has_alloc ? ALLOC_OBJECTS : INUSE_OBJECTS; first >= INUSE_OBJECTS;
	     first -= 2) {
		if (!counts[first] && counts[first + 1])
			return input_fail_line(heap->legacy.error, -EBADMSG, heap->legacy.lines.nr,
					       "%ld bytes in 0 objects", counts[first + 1]);
		if (counts[first] == -1) /* what INT64_MIN cannot be divided by */
			block_bytes = -(uint64_t)counts[first + 1];
		else if (counts[first])
			block_bytes = counts[first + 1] / counts[first];
		memcpy(value, counts + first, 2 * sizeof(*value));
		scale_pair(heap->rate, value);
		value += 2;
	}
	return legacy_add(&heap->legacy, values, block_bytes);
}

static int bad_line(struct heap *heap)
{
	return input_fail_text(heap->legacy.error, &heap->legacy.lines,
			       "no line of a heap profile");
}

static int take_stack(struct heap *heap, struct text text)
{
	heap->legacy.stack.nr = 0;
	return legacy_take_stack(&heap->legacy, text, 0);
}

/* A line "counts @ stack". */
static int read_line(struct heap *heap, struct text line)
{
	int err;

	text_skip_spaces(&line);
	if (!take_counts(&line, heap->counts))
		return bad_line(heap);
	text_skip_spaces(&line);
	if (!text_take(&line, '@'))
		return bad_line(heap);
	err = take_stack(heap, line);
	return err ? err : add(heap);
}

/* jemalloc's: "@ stack", then "t*: counts" and such of each thread. */
static int read_jemalloc_line(struct heap *heap, struct text line)
{
	text_skip_spaces(&line);
	if (text_take(&line, '@'))
		return take_stack(heap, line);
	if (!text_take(&line, 't'))
		return bad_line(heap);
	if (!text_take(&line, '*') || !heap->legacy.stack.nr)
		return 0; /* of one thread, or of all stacks together */
	if (!text_take(&line, ':') || !take_counts(&line, heap->counts))
		return bad_line(heap);
	return add(heap);
}

static void set_types(struct heap *heap, struct profile *profile)
{
	const char *prefix[] = {"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"};

	for (int i = 0; heap->has_alloc && i < NR_COUNTS; i++)
		profile_add_type(profile, prefix[i], i % 2 ? "bytes" : "count");
	if (!heap->has_alloc) {
		profile_add_type(profile, "objects", "count");
		profile_add_type(profile, "space", "bytes");
	}
	profile_set_period(profile, "space", "bytes", heap->rate);
}

static int read_lines(struct heap *heap, bool jemalloc)
{
	struct text line;
	int err = 0;

	while (!err && lines_next_said(&heap->legacy.lines, &line)) {
		if (addresses_is_map_head(line))
			return 0;
		err = jemalloc ? read_jemalloc_line(heap, line) : read_line(heap, line);
	}
	return err;
}

/* Does jemalloc count what was allocated (prof_accum)? Its second line says it, of all stacks. */
static bool jemalloc_has_alloc(struct lines lines, int64_t counts[NR_COUNTS])
{
	struct text line;

	if (!lines_next(&lines, &line))
		return false;
	text_skip_spaces(&line);
	return text_take_word(&line, "t*:") && take_counts(&line, counts) && counts[ALLOC_OBJECTS];
}

static void heap_release(struct heap *heap)
{
	legacy_release(&heap->legacy);
}

int legacy_heap_read(const struct source *source, struct profile *profile,
		     struct input_error *error)
{
	struct heap heap scoped(heap_release) = {.legacy = legacy_begin(source, profile, error)};
	struct lines *lines = &heap.legacy.lines;
	struct text head;
	bool jemalloc;
	int err;

	lines_next_said(lines, &head);
	jemalloc = is_jemalloc(head);
	if (jemalloc ? !take_kind(&heap, head) : !read_head(&heap, head))
		return input_fail_line(error, -EBADMSG, lines->nr,
				       "a heap profile of a kind that is not known");
	if (jemalloc)
		heap.has_alloc = jemalloc_has_alloc(*lines, heap.counts);
	set_types(&heap, profile);
	err = read_lines(&heap, jemalloc);
	return err ? err : legacy_finish(&heap.legacy, LEGACY_HEAP);
}
