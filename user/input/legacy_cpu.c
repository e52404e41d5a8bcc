// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads the binary CPU profile of gperftools' libprofiler (CPUPROFILE). It is a sequence of words, of 4
 * or 8 bytes, in the byte order of the machine that wrote it:
 *
 *	header	0, 3, 0, period in us, 0
 *	record	count, n, address 1 (leaf), ... address n		any number of times
 *	trailer	0, 1, 0
 *	text	/proc/self/maps, as it was
 *
 * The third word of the header is 1 for a Java program: its words are places (legacy_locations.c). A file may
 * end without a trailer behind a record, but not within one.
 *
 * Nothing says how wide the words are: it is the width, of four ways, that makes the first five a
 * header. A leaf is exact, the others are return addresses.
 *
 * Handlers left a frame of their own between leaf and caller. pprof strips what is second in all
 * stacks but one in 32, twice; so do we, with stacks that are not all the same: from a file of one
 * stack pprof takes two frames that were the program's own.
 */
#include "input/legacy.h"

#include <errno.h>
#include <string.h>

#define HEADER_WORDS	5
#define PERIOD_WORD	3
#define JAVA_WORD	2
#define SIMILAR_STACKS	32 /* so many may have one among them that differs */
#define STRIPPED_FRAMES 2

struct words {
	const uint8_t *at;
	size_t nr_left; /* words */
	unsigned int word_bytes;
	bool big_endian;
};

static uint64_t word_at(const struct words *words, size_t i)
{
	const uint8_t *at = words->at + i * words->word_bytes;
	uint64_t value = 0;

	for (unsigned int byte = 0; byte < words->word_bytes; byte++)
		value = value << 8 | at[words->big_endian ? byte : words->word_bytes - 1 - byte];
	return value;
}

static void skip(struct words *words, size_t nr)
{
	words->at += nr * words->word_bytes;
	words->nr_left -= nr;
}

/* The words after the header, if it is one. */
static bool find_words(const struct source *source, struct words *words, uint64_t header[])
{
	static const struct words ways[] = {{.word_bytes = 4},
					    {.word_bytes = 4, .big_endian = true},
					    {.word_bytes = 8},
					    {.word_bytes = 8, .big_endian = true}};

	for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
		*words = ways[way];
		words->at = source->bytes;
		words->nr_left = source->len / words->word_bytes;
		if (words->nr_left < HEADER_WORDS)
			continue;
		for (size_t i = 0; i < HEADER_WORDS; i++)
			header[i] = word_at(words, i);
		if (header[0] || header[1] != 3 || header[2] > 1 || !header[3] || header[4])
			continue;
		skip(words, HEADER_WORDS);
		return true;
	}
	return false;
}

bool legacy_cpu_detect(const struct source *source)
{
	struct words words;
	uint64_t header[HEADER_WORDS];

	return find_words(source, &words, header);
}

/* The records up to the trailer, or to the end of the file. */
static int read_records(const struct source *source, struct words *words, bool is_java,
			struct legacy *legacy)
{
	int64_t period_ns = legacy->addresses.profile->period;
	const uint8_t *end = source->bytes + source->len;
	int err = 0;

	while (!err && words->at < end) {
		uint64_t offset = words->at - source->bytes, count, nr;
		int64_t values[2];

		if (words->nr_left < 2)
			return input_fail(legacy->error, -EBADMSG, offset,
					  "truncated: the last %td bytes are not a whole record",
					  end - words->at);
		count = word_at(words, 0);
		nr = word_at(words, 1);
		skip(words, 2);
		if (nr > words->nr_left)
			return input_fail(
				legacy->error, -EBADMSG, offset,
				"truncated: a stack has %lu addresses, but only %zu words are left",
				nr, words->nr_left);
		if (!count && nr == 1 && !word_at(words, 0)) {
			skip(words, 1);
			break;
		}
		legacy->stack.nr = 0;
		for (size_t i = 0; i < nr; i++)
			vec_push(&legacy->stack, word_at(words, i) - (i && !is_java));
		skip(words, nr);
		values[0] = count;
		if (count > INT64_MAX || __builtin_mul_overflow(values[0], period_ns, &values[1]))
			return input_fail(legacy->error, -EBADMSG, offset,
					  "invalid sample count %lu", count);
		err = legacy_add(legacy, values, 0);
	}
	return err;
}

static bool are_all_alike(const struct addresses *addresses)
{
	const struct address_stack *first = addresses->stacks.at;

	vec_for_each(&addresses->stacks, stack)
		if (stack->nr != first->nr ||
		    memcmp(addresses->all.at + stack->first, addresses->all.at + first->first,
			   stack->nr * sizeof(*addresses->all.at)))
			return false;
	return true;
}

/*
 * The address that is second in most stacks, by the vote of Boyer and Moore: whatever stands in more
 * than half of them survives. *nr is in how many it is.
 */
static uint64_t most_common_second(const struct addresses *addresses, size_t *nr)
{
	uint64_t candidate = 0;
	size_t votes = 0;

	vec_for_each(&addresses->stacks, stack) {
		uint64_t second = stack->nr > 1 ? addresses->all.at[stack->first + 1] : 0;

		if (stack->nr < 2)
			continue;
		if (!votes)
			candidate = second;
		votes += second == candidate ? 1 : -1;
	}
	*nr = 0;
	vec_for_each(&addresses->stacks, stack)
		*nr += stack->nr > 1 && addresses->all.at[stack->first + 1] == candidate;
	return candidate;
}

static void strip_handler_frames(struct addresses *addresses)
{
	size_t margin = addresses->stacks.nr / SIMILAR_STACKS, nr;

	for (int i = 0; i < STRIPPED_FRAMES && !are_all_alike(addresses); i++) {
		uint64_t second = most_common_second(addresses, &nr);

		if (!nr || nr < addresses->stacks.nr - margin)
			return;
		vec_for_each(&addresses->stacks, stack) {
			uint64_t *at = addresses->all.at + stack->first;

			if (stack->nr < 2 || at[1] != second)
				continue;
			memmove(at + 1, at + 2, (stack->nr - 2) * sizeof(*at));
			stack->nr--;
		}
	}
}

int legacy_cpu_read(const struct source *source, struct profile *profile, struct input_error *error)
{
	struct legacy legacy scoped(legacy_release) = legacy_begin(source, profile, error);
	uint64_t header[HEADER_WORDS] = {0};
	struct words words;
	int err;

	legacy.names = false; /* it has no lines */
	if (!find_words(source, &words, header))
		return input_fail(error, -EBADMSG, 0, "the header is not that of a CPU profile");
	if (header[PERIOD_WORD] > INT64_MAX / 1000)
		return input_fail(error, -EBADMSG, 3 * words.word_bytes,
				  "invalid period of %lu microseconds", header[PERIOD_WORD]);
	profile_add_type(profile, "samples", "count");
	profile_add_type(profile, "cpu", "nanoseconds");
	profile_set_period(profile, "cpu", "nanoseconds", header[PERIOD_WORD] * 1000);
	err = read_records(source, &words, header[JAVA_WORD], &legacy);
	if (err)
		return err;
	legacy.lines.at = (const char *)words.at; /* behind the words is text */
	if (header[JAVA_WORD])
		return legacy_java_locations(&legacy, LEGACY_CPU);
	strip_handler_frames(&legacy.addresses);
	err = legacy_finish(&legacy, LEGACY_CPU);
	if (!err)
		legacy_drop_double_leaf(profile);
	return err;
}
