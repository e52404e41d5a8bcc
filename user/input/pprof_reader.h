/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of reading one pprof file, and what its walks share: pprof_count.c, pprof_sample.c and
 * pprof.c. Private to them. The head of pprof.c explains the steps.
 */
#ifndef CPROF_INPUT_PPROF_READER_H
#define CPROF_INPUT_PPROF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input/idmap.h"
#include "input/reader.h"
#include "input/wire.h"

/* Fields of Profile that are messages or strings; the rest are numbers. */
enum pprof_kind {
	KIND_TYPE = 1,
	KIND_SAMPLE = 2,
	KIND_MAPPING = 3,
	KIND_LOCATION = 4,
	KIND_FUNCTION = 5,
	KIND_STRING = 6,
	KIND_SCALAR = 7, /* and all others */
	NR_KINDS
};

/* The numbers of Profile, by field number. */
enum {
	DROP_FRAMES = 7,
	KEEP_FRAMES = 8,
	TIME_NANOS = 9,
	DURATION_NANOS = 10,
	PERIOD_TYPE = 11,
	PERIOD = 12,
	COMMENT = 13,
	DEFAULT_TYPE = 14,
	DOC_URL = 15,
	NR_PROFILE_FIELDS
};

/* A sample, and how many array entries the samples before it use. */
struct pprof_mark {
	const uint8_t *at;
	size_t item, nr_stack_ids, nr_labels;
};

struct pprof_reader {
	const struct source *source;
	struct profile *profile;
	struct input_error *error;

	/* results of the counting pass: */
	size_t nr[NR_KINDS];
	struct wire stretch[NR_KINDS]; /* of the file; at NULL: there is none of the kind */
	size_t nr_stack_ids, nr_labels, nr_lines;
	struct pprof_mark half; /* the first sample in the second half of the file; at NULL: none */
	bool has_time;

	/* What is being read, for messages. */
	enum pprof_kind kind;
	size_t item; /* from 0 */

	uint32_t *strings; /* by position in the file: ids in the profile's table */
	struct idmap mappings, functions, locations;
	struct wire_field scalars[NR_PROFILE_FIELDS]; /* by number; tag NULL: not there */
	/* The unused rest of each block of the arena. */
	struct profile_line *lines;
	struct profile_label *labels;
	uint32_t *stack_ids;
	int64_t *values;
};

/* What messages call an item of a kind. */
extern const char *const pprof_kind_names[NR_KINDS];

/* The position of at in the file. */
uint64_t pprof_offset_of(const struct pprof_reader *reader, const uint8_t *at);
/* -EBADMSG, with *error filled for the byte at at and the item that is being read. */
int pprof_broken_at(const struct pprof_reader *reader, const uint8_t *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int pprof_broken_wire(const struct pprof_reader *reader, const struct wire *wire);

/* 0, or -EBADMSG: the field has another type. A repeated number may be packed. */
int pprof_expect_type(const struct pprof_reader *reader, const struct wire_field *field,
		      enum wire_type type);
int pprof_expect_numbers(const struct pprof_reader *reader, const struct wire_field *field);

/*
 * Counts all items, and finds the stretch of each kind. Afterwards the bytes are known to be whole fields
 * at the top level, in samples and in locations; mappings, functions, lines and labels are not yet checked.
 */
int pprof_count_all(struct pprof_reader *reader);
/* -EFBIG: beyond the limits; -EBADMSG: a required part is missing. */
int pprof_check_size(const struct pprof_reader *reader);

/* Reads the numbers of a message, by field number from 1 to nr - 1; missing ones are left as they are. */
int pprof_read_numbers(const struct pprof_reader *reader, struct wire wire, uint64_t *numbers,
		       size_t nr);
/* The profile's id of a string, by its position in the file; what: "its name", for the message. */
int pprof_to_string(const struct pprof_reader *reader, const uint8_t *at, const char *what,
		    uint64_t position, uint32_t *id);

typedef int (*pprof_field_fn)(struct pprof_reader *reader, const struct wire_field *field);

/* Calls fn for every field of a kind, in the order of the file; reader->item counts on. */
int pprof_for_rest(struct pprof_reader *reader, enum pprof_kind kind, pprof_field_fn fn);

/* Makes profile->samples and their arrays. Everything that they refer to must have been read. */
int pprof_read_samples(struct pprof_reader *reader);

#endif
