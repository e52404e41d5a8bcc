/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Perf maps: text files with a line for each function that a process compiled,
 *
 *	7f3a5c0a1000 1f0 LazyCompile:*fibonacci /srv/app.js:12
 *
 * start and size in hexadecimal, then the name. A later line takes the place of earlier ones where they overlap: the memory
 * was used again. When that was is not said, but the file grows: what it had at a time says what was known then. Lines that say
 * something else are skipped, as is a last one that is not finished.
 */
#ifndef CPROF_RUNTIME_PERFMAP_H
#define CPROF_RUNTIME_PERFMAP_H

#include "runtime/jitsymquery.h"

#define PERFMAP_MAX_BYTES (256ull << 20) /* what comes after is not read */

/*
 * Answers nr queries, sorted by ip: by the last line about it of the first time_ns bytes, else by the first after these. An answer's
 * since_ns is where its line ends, from the start of the file.
 */
void perfmap_find(const struct jitsym_source *source, struct jitsym_query *queries, size_t nr);

#endif
