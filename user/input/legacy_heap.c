// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads heap profiles as text, which gperftools (HEAPPROFILE), tcmalloc's /heapz and /growthz, Go with
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
 *	growth, fragmentation	the same
 *
 * A line's values are scaled by its average size: 1/(1 - e^(-size/R)), and cut to whole numbers, as
 * pprof does; objects of 0 bytes in a profile that was sampled are none, whatever the rate. Values that
 * were allocated are left out where they are those in use in the head. What stands before a head or
 * before a line's counts is skipped, as are letters behind the stack.
 *
 * jemalloc parts stack and values, and has lines for each thread besides that of all ("t*"):
 *
 *	heap_v2/524288
 *	  t*: 28106: 56637512 [0: 0]
 *	@ 0x7f3a5c0a1234 0x55d0c0de1234
 *	  t*: 13: 6688 [0: 0]
 */
#include "input/legacy.h"

#include <ctype.h>
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
	int64_t rate;	 /* 1 or less: values stay as they are */
	bool is_sampled; /* its values are scaled: what is 0 of a pair makes both 0 */
	bool has_alloc;
	struct text counts[NR_COUNTS]; /* digits, perhaps behind a sign */
};

static bool take_count(struct text *line, bool may_be_negative, struct text *count)
{
	struct text rest = *line, digits;
	const char *begin = rest.at;

	if (may_be_negative)
		text_take(&rest, '-');
	if (!text_take_digits(&rest, &digits))
		return false;
	*line = rest;
	*count = (struct text){begin, rest.at - begin};
	return true;
}

/* "3: 3072 [4: 4096]"; only the first pair may be negative (growth). */
static bool take_counts(struct text *line, struct text counts[NR_COUNTS])
{
	struct text rest = *line;
	static const char after[] = ":[:]";

	for (int i = 0; i < NR_COUNTS; i++) {
		if (!take_count(&rest, i < ALLOC_OBJECTS, &counts[i]))
			return false;
		if (i % 2)
			text_skip(&rest, ' ');
		if (!text_take(&rest, after[i]))
			return false;
		if (i + 1 < NR_COUNTS)
			text_skip(&rest, ' ');
	}
	*line = rest;
	return true;
}

/* What stands after '@' in the head: the kind of profile, and how it was sampled. */
static bool take_kind(struct heap *heap, struct text kind)
{
	static const struct {
		const char *name;
		int64_t divisor; /* of the number behind it; 0: not sampled */
	} kinds[] = {{"heapprofile", 0}, {"heapz_v2", 1}, {"heap_v2", 1}, {"heap", 2}};
	struct text word = kind, number;
	int64_t rate = 0;

	while (kind.len && (islower((unsigned char)*kind.at) || isdigit((unsigned char)*kind.at) ||
			    *kind.at == '_'))
		kind.at++, kind.len--;
	word.len = kind.at - word.at;
	text_take(&kind, '/');
	if (text_take_digits(&kind, &number) && !text_take_int(&number, &rate))
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!text_equals(word, kinds[i].name))
			continue;
		heap->is_sampled = kinds[i].divisor;
		heap->rate = heap->is_sampled ? rate / kinds[i].divisor : 1;
		return true;
	}
	return false;
}

/* One of a pair of the head that tells of allocations: not 0, and not what is in use. */
static bool is_other(struct text alloc, struct text inuse)
{
	return !text_equals(alloc, "0") &&
	       (alloc.len != inuse.len || memcmp(alloc.at, inuse.at, alloc.len));
}

static bool read_head_at(struct heap *heap, struct text line)
{
	struct text exact;

	if (!text_take_word(&line, "heap profile:"))
		return false;
	text_skip(&line, ' ');
	if (!take_counts(&line, heap->counts) || *heap->counts[INUSE_OBJECTS].at == '-' ||
	    *heap->counts[INUSE_BYTES].at == '-')
		return false;
	exact = line;
	if (text_take_word(&exact, " @ ") &&
	    (text_starts(exact, "growth") || text_starts(exact, "fragmentation"))) {
		heap->rate = 1;
		return true;
	}
	text_skip(&line, ' ');
	if (!text_take(&line, '@'))
		return false;
	text_skip(&line, ' ');
	heap->has_alloc = is_other(heap->counts[ALLOC_OBJECTS], heap->counts[INUSE_OBJECTS]) ||
			  is_other(heap->counts[ALLOC_BYTES], heap->counts[INUSE_BYTES]);
	return take_kind(heap, line);
}

/* The head may stand behind something else in its line. */
static bool read_head(struct heap *heap, struct text line)
{
	const char *head;

	while ((head = text_find(line, "heap profile:"))) {
		line = (struct text){head, line.at + line.len - head};
		if (read_head_at(heap, line))
			return true;
		line.at++, line.len--;
	}
	return false;
}

static bool is_jemalloc(struct text line)
{
	return text_starts(line, "heap_v2/");
}

/* The first line, even a comment, if it contains a head; else the first that is neither empty nor a comment. */
static struct text next_head(struct lines *lines)
{
	struct text line = {"", 0};

	if (lines_next(lines, &line) && text_is_comment(line) && !text_find(line, "heap profile:"))
		lines_next_said(lines, &line);
	return line;
}

bool legacy_heap_detect(const struct source *source)
{
	struct lines lines = input_lines(source);
	struct text line = next_head(&lines);
	struct heap heap = {0};

	return text_starts(line, "heap profile:") || is_jemalloc(line) || read_head(&heap, line);
}

static int64_t to_int(double value)
{
	return value >= 0x1p63 ? INT64_MAX : value <= -0x1p63 ? INT64_MIN : (int64_t)value;
}

/* values[0], values[1]: objects and bytes that were sampled, to what they stand for. */
static void scale_pair(const struct heap *heap, int64_t values[2])
{
	double factor;

	if (heap->is_sampled && (!values[0] || !values[1]))
		values[0] = values[1] = 0;
	if (!heap->is_sampled || !values[0] || heap->rate <= 1)
		return;
	factor = 1 / (1 - exp(-((double)values[1] / values[0]) / heap->rate));
	values[0] = to_int(values[0] * factor);
	values[1] = to_int(values[1] * factor);
}

static int bad_line(struct heap *heap)
{
	return input_fail_text(heap->legacy.error, &heap->legacy.lines,
			       "not a line of a heap profile");
}

/* Adds the stack with heap->counts. */
static int add(struct heap *heap)
{
	int64_t values[NR_COUNTS], block_bytes = 0, *value = values;

	for (int first = heap->has_alloc ? ALLOC_OBJECTS : INUSE_OBJECTS; first >= INUSE_OBJECTS;
	     first -= 2) {
		struct text objects = heap->counts[first], bytes = heap->counts[first + 1];

		if (!text_take_int(&objects, &value[0]) || !text_take_int(&bytes, &value[1]))
			return bad_line(heap);
		if (!value[0] && value[1])
			return input_fail_line(heap->legacy.error, -EBADMSG, heap->legacy.lines.nr,
					       "%ld bytes, but 0 objects", value[1]);
		if (value[0] == -1) /* what INT64_MIN cannot be divided by */
			block_bytes = -(uint64_t)value[1];
		else if (value[0])
			block_bytes = value[1] / value[0];
		scale_pair(heap, value);
		value += 2;
	}
	return legacy_add(&heap->legacy, values, block_bytes);
}

static int take_stack(struct heap *heap, struct text text)
{
	heap->legacy.stack.nr = 0;
	return legacy_take_stack(&heap->legacy, text, 0);
}

/* A line "counts @ stack"; what stands before the counts is skipped. */
static int read_line(struct heap *heap, struct text line)
{
	for (size_t i = 0; i < line.len; i++) {
		struct text rest = {line.at + i, line.len - i};
		int err;

		if (!isdigit((unsigned char)*rest.at) && *rest.at != '-')
			continue;
		if (i && isdigit((unsigned char)rest.at[-1]))
			continue; /* in a number that was tried */
		if (!take_counts(&rest, heap->counts) || !text_take_word(&rest, " @"))
			continue;
		err = take_stack(heap, legacy_stack_part(rest));
		return err ? err : add(heap);
	}
	return bad_line(heap);
}

/* ": 3: 3072 [0: 0]" */
static bool take_jemalloc_counts(struct text line, struct text counts[NR_COUNTS])
{
	if (!text_take(&line, ':'))
		return false;
	text_skip(&line, ' ');
	return take_counts(&line, counts);
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
	if (!take_jemalloc_counts(line, heap->counts))
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
static bool jemalloc_has_alloc(struct lines lines)
{
	struct text line, counts[NR_COUNTS];

	if (!lines_next(&lines, &line))
		return false;
	text_skip_spaces(&line);
	return text_take_word(&line, "t*") && take_jemalloc_counts(line, counts) &&
	       !text_equals(counts[ALLOC_OBJECTS], "0");
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

	head = next_head(lines);
	jemalloc = is_jemalloc(head);
	if (jemalloc ? !take_kind(&heap, head) : !read_head(&heap, head))
		return input_fail_line(error, -EBADMSG, lines->nr, "unknown kind of heap profile");
	if (jemalloc)
		heap.has_alloc = jemalloc_has_alloc(*lines);
	set_types(&heap, profile);
	err = read_lines(&heap, jemalloc);
	return err ? err : legacy_finish(&heap.legacy, LEGACY_HEAP);
}
