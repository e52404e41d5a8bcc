// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads the samples of a pprof file, which are most of its bytes: the last walk, by two threads where
 * the file is large.
 */
#include "input/pprof_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>

#include "base/thread.h"

#define MANY_SAMPLES 50000 /* 10 ms; a thread takes 0.1 ms */

static int read_label(struct pprof_reader *reader, const struct wire_field *field)
{
	struct profile_label *label = reader->labels;
	uint64_t numbers[5] = {0};
	const uint8_t *at = field->tag;

	if (pprof_read_numbers(reader, field->body, numbers, 5) ||
	    pprof_to_string(reader, at, "a label's key", numbers[1], &label->key))
		return -EBADMSG;
	if (numbers[2]) { /* then the number does not count */
		if (pprof_to_string(reader, at, "a label's value", numbers[2], &label->str))
			return -EBADMSG;
	} else {
		if (pprof_to_string(reader, at, "a label's unit", numbers[4], &label->num_unit))
			return -EBADMSG;
		label->num = numbers[3];
	}
	/* One that says nothing is no label, for pprof neither. */
	if (label->str || label->num || label->num_unit)
		reader->labels++;
	return 0;
}

static int read_stack_ids(struct pprof_reader *reader, struct wire ids)
{
	uint32_t *to =
		reader->stack_ids; /* of its own: the compiler cannot know what it points to */
	uint64_t id;

	while (wire_varint(&ids, &id)) {
		*to = idmap_get(&reader->locations, id);
		if (!*to++)
			return pprof_broken_at(
				reader, ids.at,
				"it refers to location %" PRIu64 ", which does not exist", id);
	}
	reader->stack_ids = to;
	return ids.why ? pprof_broken_wire(reader, &ids) : 0;
}

/* Counts all of them, keeps those that there is a type for. */
static int read_values(struct pprof_reader *reader, struct wire values, size_t *nr)
{
	uint64_t value;

	while (wire_varint(&values, &value)) {
		if (*nr < reader->nr[KIND_TYPE])
			reader->values[*nr] = value;
		++*nr;
	}
	return values.why ? pprof_broken_wire(reader, &values) : 0;
}

static int read_sample(struct pprof_reader *reader, const struct wire_field *field)
{
	struct profile_sample *sample = &reader->profile->samples.at[reader->item];
	struct wire wire = field->body;
	struct wire_field inner;
	size_t nr_values = 0;

	*sample = (struct profile_sample){
		.locations = reader->stack_ids, .labels = reader->labels, .values = reader->values};
	while (wire_next(&wire, &inner)) {
		int err = 0;

		if (inner.number == 1)
			err = read_stack_ids(reader, inner.body);
		else if (inner.number == 2)
			err = read_values(reader, inner.body, &nr_values);
		else if (inner.number == 3)
			err = read_label(reader, &inner);
		if (err)
			return err;
	}
	if (nr_values != reader->nr[KIND_TYPE])
		return pprof_broken_at(
			reader, field->tag, "it has %zu values for %zu sample type%s", nr_values,
			reader->nr[KIND_TYPE], reader->nr[KIND_TYPE] == 1 ? "" : "s");
	reader->values += nr_values;
	sample->nr_locations = reader->stack_ids - sample->locations;
	sample->nr_labels = reader->labels - sample->labels;
	return 0;
}

struct half {
	struct pprof_reader reader;
	struct input_error error;
	int err;
};

static void *read_half(void *ctx)
{
	struct half *half = ctx;

	half->err = pprof_for_rest(&half->reader, KIND_SAMPLE, read_sample);
	return NULL;
}

/*
 * Many samples are read by two threads. The count has left a mark amidst them and the arrays are made,
 * so that each fills its own part of them and shares nothing else that is written.
 */
static int read_halves(struct pprof_reader *reader)
{
	struct half half = {.reader = *reader};
	pthread_t thread;
	int err;

	half.reader.error = &half.error;
	half.reader.stretch[KIND_SAMPLE].at = reader->half.at;
	half.reader.item = reader->half.item;
	half.reader.stack_ids += reader->half.nr_stack_ids;
	half.reader.labels += reader->half.nr_labels;
	half.reader.values += reader->half.item * reader->nr[KIND_TYPE];
	if (thread_start(&thread, read_half, &half))
		return pprof_for_rest(reader, KIND_SAMPLE, read_sample);
	reader->stretch[KIND_SAMPLE].end = reader->half.at;
	err = pprof_for_rest(reader, KIND_SAMPLE, read_sample);
	pthread_join(thread, NULL);
	if (err || !half.err) /* an error in the first half comes first */
		return err;
	*reader->error = half.error;
	return half.err;
}

int pprof_read_samples(struct pprof_reader *reader)
{
	reader->kind = KIND_SAMPLE;
	reader->item = 0;
	if (reader->nr[KIND_SAMPLE] < MANY_SAMPLES || !reader->half.at)
		return pprof_for_rest(reader, KIND_SAMPLE, read_sample);
	return read_halves(reader);
}
