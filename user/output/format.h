/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of the output formats. A format is chosen by the suffix of a file's name ("p.folded"), or by its
 * own name ("folded"). doc/architecture.md says how to add one.
 */
#ifndef CPROF_OUTPUT_FORMAT_H
#define CPROF_OUTPUT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/textout.h"
#include "profile/model.h"

#define FORMAT_MAX_SUFFIXES 4

/*
 * The names and the main suffixes of all formats, as `--help` of record, heap and convert shows them. A new
 * row of the table needs its word in both; tests/unit/test_format.c compares them with the table.
 */
#define FORMAT_NAMES_HELP                                           \
	"proto (default), proto-plain, legacy (gperftools' text), " \
	"text (human-readable), folded, speedscope, gecko, html, svg, afdo"
#define FORMAT_SUFFIXES_HELP \
	".pb.gz .pb .heap .txt .folded .speedscope.json .gecko.json .html .svg .afdo.txt"

struct output_format {
	const char *name;
	const char *suffixes
		[FORMAT_MAX_SUFFIXES]; /* the first is used for the file names that cprof chooses */
	/*
	 * type: position of the sample type that is written, or shown first. -EDOM: the format
	 * cannot express this profile, and `refusal` says why; -E2BIG: its stacks are too
	 * many or too long; in both cases nothing is written. -errno of the sink.
	 */
	int (*encode)(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx);
	const char *refusal; /* NULL: it never refuses */
	/*
	 * It has addresses of one address space, so that a file must not hold several processes. It
	 * uses profile->records, if there are any.
	 */
	bool one_process;
	bool counts;   /* its readers interpret values as counts: samples/count is preferred */
	bool is_pprof; /* `go tool pprof` and cprof read it without loss */
};

/*
 * The format of the longest suffix of path ("x.speedscope.json"), and the suffix ("" if there is none; may be
 * NULL). Static; NULL: no format has such a suffix.
 */
const struct output_format *format_of_path(const char *path, const char **suffix);
/*
 * Whether the path bears the suffix of a format that cprof does not write (".csv"), so that its author would hardly expect
 * pprof in it.
 */
bool format_is_foreign(const char *path);
/* The format of this name. Static; NULL: there is none. */
const struct output_format *format_by_name(const char *name);
/*
 * The sample type to write if the user did not choose one: the profile's own (profile_main_type()), or
 * samples/count, if the profile has it and the format is one of counts.
 */
uint32_t format_main_type(const struct output_format *format, const struct profile *profile);
/* The i-th; NULL after the last. The first is the default, pprof. */
const struct output_format *format_at(unsigned int i);
/* "proto, legacy, ...", for messages. Returns out. */
char *format_names(char *out, size_t out_bytes);
/* "proto legacy ...", the choices of an option. Static. */
const char *format_words(void);

#endif
