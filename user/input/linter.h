/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of linting one file, private to lint.c, which walks over the file, and lint_item.c, which
 * checks each message in it.
 */
#ifndef CPROF_INPUT_LINTER_H
#define CPROF_INPUT_LINTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "input/idmap.h"
#include "input/lint.h"
#include "input/wire.h"
#include "profile/prune.h"

#define MAX_KEYS 30 /* different labels with strings; Pyroscope's, as it comes */

/* Fields of Profile. */
enum {
	TYPE = 1,
	SAMPLE,
	MAPPING,
	LOCATION,
	FUNCTION,
	STRING,
	NR_TABLES
};

struct string {
	const char *at;
	size_t len;
};

/* Of a heap profile: whose a function is, and whose those of a location are; or'ed. */
enum {
	LEADS_ALLOCATOR = 1, /* the innermost one is an allocator's */
	HAS_OTHER = 2,	     /* one is somebody else's, and no word such as [truncated: ...] */
};

struct linter {
	const uint8_t *bytes, *end;
	struct lint *lint;
	size_t nr[NR_TABLES];
	struct string *strings;
	struct idmap ids[NR_TABLES];   /* of mappings, locations, functions */
	vec_of(uint64_t) keys;	       /* of labels with strings: different positions */
	struct prune_rule *allocators; /* NULL: no heap profile */
	uint8_t *function_owners;      /* by position, from 1 */
	uint8_t *location_owners;
	size_t item; /* of its table, from 0 */
	bool is_broken;
};

/* Breaks a rule at a byte of the file, or nowhere in particular (NULL). */
void linter_note(struct linter *linter, enum lint_rule_id rule, const uint8_t *at, const char *fmt,
		 ...) __attribute__((format(printf, 4, 5)));
/* The wire format itself is broken: nothing further is looked at. */
void linter_broken(struct linter *linter, const uint8_t *at, const char *why);

/* wire_next() of a message within, with what is odd or broken there noted. */
bool linter_next(struct linter *linter, struct wire *wire, struct wire_field *field);
/* Is the field of this type? If not, the file is broken. */
bool linter_expect(struct linter *linter, const struct wire_field *field, enum wire_type type);
/* The numbers of a message by field number, 0 where there is none; nr is one more than the last. */
void linter_numbers(struct linter *linter, struct wire wire, uint64_t *numbers, size_t nr);
/* A string by its position; an empty one where there is none, and that is noted. */
struct string linter_string(struct linter *linter, uint64_t position, const uint8_t *at,
			    const char *what);

/* One field of Profile each; linter->item says which of its kind. */
void lint_string(struct linter *linter, const struct wire_field *field);
void lint_type(struct linter *linter, const struct wire_field *field);
void lint_mapping(struct linter *linter, const struct wire_field *field);
void lint_function(struct linter *linter, const struct wire_field *field);
void lint_location(struct linter *linter, const struct wire_field *field);
void lint_sample(struct linter *linter, const struct wire_field *field);

#endif
