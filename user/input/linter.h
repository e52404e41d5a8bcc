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

#define MAX_KEYS 30 /* different string labels; Pyroscope's default limit */

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

/* In a heap profile: whose functions a location has, or'ed. */
enum {
	LEADS_ALLOCATOR = 1, /* the innermost one belongs to an allocator */
	HAS_OTHER = 2, /* one belongs to other code, and is no note such as [truncated: ...] */
};

struct linter {
	const uint8_t *bytes, *end;
	struct lint *lint;
	size_t nr[NR_TABLES];
	struct string *strings;
	struct idmap ids[NR_TABLES];   /* of mappings, locations, functions */
	vec_of(uint64_t) keys;	       /* of string labels: distinct positions */
	struct prune_rule *allocators; /* NULL: not a heap profile */
	uint8_t *function_owners;      /* by position, from 1 */
	uint8_t *location_owners;
	size_t item; /* of its table, from 0 */
	bool is_broken;
};

/* Notes that a rule is broken at a byte of the file, or not at one place (NULL). */
void linter_note(struct linter *linter, enum lint_rule_id rule, const uint8_t *at, const char *fmt,
		 ...) __attribute__((format(printf, 4, 5)));
/* Notes that the wire format is broken: the rest is not checked. */
void linter_broken(struct linter *linter, const uint8_t *at, const char *why);

/* wire_next() within a message, noting what is odd or broken. */
bool linter_next(struct linter *linter, struct wire *wire, struct wire_field *field);
/* Whether the field has this type; if not, the file is broken. */
bool linter_expect(struct linter *linter, const struct wire_field *field, enum wire_type type);
/* The numbers of a message by field number, 0 where there is none; nr is one more than the last. */
void linter_numbers(struct linter *linter, struct wire wire, uint64_t *numbers, size_t nr);
/* The string at a position; if there is none, notes that and returns an empty one. */
struct string linter_string(struct linter *linter, uint64_t position, const uint8_t *at,
			    const char *what);

/* Each checks one field of Profile; linter->item is its position among those of its kind. */
void lint_string(struct linter *linter, const struct wire_field *field);
void lint_type(struct linter *linter, const struct wire_field *field);
void lint_mapping(struct linter *linter, const struct wire_field *field);
void lint_function(struct linter *linter, const struct wire_field *field);
void lint_location(struct linter *linter, const struct wire_field *field);
void lint_sample(struct linter *linter, const struct wire_field *field);

#endif
