/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks a pprof file for what go tool pprof, Parca, Pyroscope or speedscope would reject or drop. It
 * checks the bytes, since a profile in memory (profile/model.h) cannot represent broken data.
 *
 * The rules were derived by giving these programs files with one fault each (pprof of Go
 * 1.26, Parca and Pyroscope as of 2026, speedscope 1.25). NULL: it accepts such a file, and shows
 * all of it. There is no rule for what nearly every file breaks (speedscope shows no inlined functions,
 * Pyroscope no numeric labels), or for what depends on the time of upload.
 */
#ifndef CPROF_INPUT_LINT_H
#define CPROF_INPUT_LINT_H

#include <stddef.h>
#include <stdint.h>

#include "input/input.h"

/* id, name, then what go tool pprof, Parca, Pyroscope and speedscope do. */
#define LINT_RULES(X)                                                                             \
	X(EMPTY, "empty", "rejects it", "stores nothing", "stores nothing", "rejects it")         \
	X(GZIP, "gzip", "rejects it", "rejects it", "rejects it", NULL)                           \
	X(GZIP_TWICE, "gzip-twice", "rejects it", "rejects it", "rejects it", "rejects it")       \
	X(NOT_PPROF, "not-pprof", "rejects it, or reads it as an older format", "rejects it",     \
	  "rejects it", "rejects it, or reads it as another format")                              \
	X(WIRE, "wire", "rejects it", "rejects it", "rejects it", "rejects it")                   \
	X(GROUP, "group", "rejects it", NULL, NULL, NULL)                                         \
	X(FIELD_0, "field-0", NULL, "rejects it", "rejects it", NULL)                             \
	X(GLUED, "glued", "rejects it", NULL, NULL, NULL)                                         \
	X(NO_TYPES, "no-sample-types", "rejects it", "rejects it, or stores nothing",             \
	  "rejects it", "rejects it")                                                             \
	X(SAME_TYPES, "same-sample-types", "rejects it", "adds the two up", "adds the two up",    \
	  NULL)                                                                                   \
	X(TYPE_DASH, "type-name-dash", NULL, "rejects it", "rejects it", NULL)                    \
	X(TYPE_CHARACTER, "type-name", NULL, "rejects it", NULL, NULL)                            \
	X(NO_SAMPLES, "no-samples", NULL, "stores nothing", "stores nothing", "shows nothing")    \
	X(VALUE_COUNT, "value-count", "rejects it", "rejects it", "rejects it", "rejects it")     \
	X(FIRST_STRING, "first-string", "rejects it", "rejects it", "rejects it", NULL)           \
	X(STRING_INDEX, "string-index", "rejects it", "rejects it", "rejects it",                 \
	  "shows (unknown)")                                                                      \
	X(STRING_NEGATIVE, "string-index-negative", "rejects it", "crashes, for all users",       \
	  "rejects it, or reads the name as empty", NULL)                                         \
	X(UTF8, "utf-8", NULL, "fails all later queries of this type", "rejects it", NULL)        \
	X(LONG_NAME, "long-name", NULL, NULL, "keeps only the last 65,535 bytes", NULL)           \
	X(ID_ORDER, "id-order", NULL, "rejects it", NULL, NULL)                                   \
	X(MAPPING_0, "mapping-id-0", "rejects it", "rejects it", "drops the whole profile", NULL) \
	X(LOCATION_0, "location-id-0", "rejects it", "rejects it", "rejects it", NULL)            \
	X(FUNCTION_0, "function-id-0", "rejects it", "rejects it", "rejects it",                  \
	  "shows a wrong total")                                                                  \
	X(SAME_ID, "same-id", "rejects it", "rejects it", "loses samples", "shows wrong names")   \
	X(NO_MAPPING, "missing-mapping", NULL, "rejects it", "drops the whole profile", NULL)     \
	X(NO_FUNCTION, "missing-function", "rejects it", "rejects it", "drops the sample",        \
	  "drops the frame")                                                                      \
	X(NO_LOCATION, "missing-location", "rejects it", "rejects it", "drops the sample", NULL)  \
	X(NO_LINES, "unsymbolized", NULL, NULL, "shows no flame graph", "drops the frame")        \
	X(NO_ADDRESS, "no-address", NULL, NULL, "drops the sample", "drops the frame")            \
	X(NO_NAME, "no-name", NULL, NULL, NULL, "shows (unknown)")                                \
	X(EMPTY_STACK, "empty-stack", "counts it in the total only", "omits it from reports",     \
	  "drops the sample", "drops the sample")                                                 \
	X(ALLOCATOR, "allocator-leaf", "shows it unless drop_frames names it",                    \
	  "shows it instead of its caller", "shows it instead of its caller",                     \
	  "shows it instead of its caller")                                                       \
	X(DEEP, "deep-stack", NULL, NULL, "drops the leaves beyond 1,000 frames", NULL)           \
	X(NEGATIVE, "negative-value", NULL, NULL, "drops the sample: its totals are wrong",       \
	  "cannot open it")                                                                       \
	X(ZERO, "zero-sample", NULL, "drops the sample", "drops the sample", NULL)                \
	X(LABEL_KEY, "label-key", NULL, "rejects it", "ignores the label", NULL)                  \
	X(LABEL_EMPTY, "label-empty", "ignores the label", NULL, "ignores the label", NULL)       \
	X(LABEL_TWICE, "label-twice", NULL, NULL, "keeps the first value", NULL)                  \
	X(LABEL_LONG, "label-long", NULL, NULL, "rejects it", NULL)                               \
	X(LABELS, "labels", NULL, NULL, "rejects it", NULL)                                       \
	X(SAMPLES, "samples", NULL, NULL, "rejects it (more than 16,000 samples)", NULL)          \
	X(SIZE, "size", NULL, NULL, "rejects it (more than 4 MiB inflated)", NULL)                \
	X(PERIOD_TYPE, "period-type", NULL, "cannot list its types any more", NULL, NULL)         \
	X(PERIOD, "period", NULL, "shows 0 for samples/count", NULL, NULL)                        \
	X(TIME, "time", NULL, "stores it in the year 1970", NULL, NULL)

enum lint_rule_id {
#define X(id, ...) LINT_##id,
	LINT_RULES(X)
#undef X
	NR_LINT_RULES
};

#define NR_LINT_CONSUMERS 4
extern const char *const lint_consumers[NR_LINT_CONSUMERS];

struct lint_rule {
	const char *name;
	const char *does[NR_LINT_CONSUMERS]; /* by consumer; NULL: no problem */
};
extern const struct lint_rule lint_rules[NR_LINT_RULES];

/* How often a file breaks a rule, and where first. */
struct lint_finding {
	uint64_t nr;	 /* 0: never */
	uint64_t offset; /* in the inflated bytes; INPUT_NO_OFFSET: not at one place */
	char what
		[160]; /* "sample 3 refers to location 99, which does not exist"; escaped for terminals */
};

struct lint {
	struct lint_finding findings[NR_LINT_RULES];
};

/*
 * Checks the bytes of a file. -EFBIG: beyond a limit, *error says which, and *lint is untouched. A fault
 * that makes the rest unreadable is the last finding.
 */
int lint_bytes(const void *bytes, size_t len, const struct input_limits *limits, struct lint *lint,
	       struct input_error *error);

#endif
