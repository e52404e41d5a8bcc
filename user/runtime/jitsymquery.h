/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of JIT code, from the files that a process writes about it: which function had an ip at a time.
 *
 * Two formats: perf maps (runtime/perfmap.h) and jitdump (runtime/jitdump.h). Files may be large and hold what a process
 * likes, so they are read in one pass that keeps nothing but the answers.
 */
#ifndef CPROF_RUNTIME_JITSYMQUERY_H
#define CPROF_RUNTIME_JITSYMQUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JITSYM_NAME_BYTES 512 /* with the NUL; longer names are cut */

/*
 * Times are CLOCK_MONOTONIC. A perf map has none: there a time is how many bytes the file had then, and code is there since the
 * file had its line.
 */
struct jitsym_query {
	uint64_t ip, time_ns;
	/* The answer: the code has been at [start, limit) since since_ns (0: it is not said). */
	uint64_t start, limit, since_ns;
	char name[JITSYM_NAME_BYTES]; /* "": no answer */
	/* The line of the code at [start, limit), which is a part of the function's then. line 0: not known, and file is "". */
	uint32_t line;
	char file[JITSYM_NAME_BYTES];
};

/* The source of the bytes: read() returns up to len_bytes at off, 0 at the end or on failure. */
struct jitsym_source {
	size_t (*read)(void *ctx, uint64_t off, void *to, size_t len_bytes);
	void *ctx;
};

/* The first of nr queries, sorted by ip, whose ip is not below start. */
size_t jitsymquery_first(const struct jitsym_query *queries, size_t nr, uint64_t start);

/*
 * Does code that is there since since_ns say more about a query than the answer that it may have? The last that came before its time
 * does, else the first that came later; of equal ones the one that is met later.
 */
bool jitsymquery_is_better(const struct jitsym_query *query, bool has_answer, uint64_t since_ns);

#endif
