/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Jitdump: perf's binary format for JIT symbols (Linux: tools/perf/Documentation/jitdump-specification.txt). V8,
 * Wasmtime, LuaJIT and others write it.
 *
 *	header	"JiTD", version, size of the header, machine, pid, time, flags
 *	record	kind, size, time; DEBUG_INFO: the lines of the code of the next LOAD; LOAD: where code is, its number, its
 *		name; MOVE: where it went; CLOSE: the end
 *
 * Times are CLOCK_MONOTONIC unless a flag says that they are a CPU's; then the order of the records counts.
 */
#ifndef CPROF_RUNTIME_JITDUMP_H
#define CPROF_RUNTIME_JITDUMP_H

#include "runtime/jitsymquery.h"

#define JITDUMP_MAX_BYTES \
	(4ull << 30) /* what comes after is not read; nor, most of what comes before */
#define JITDUMP_MAX_RECORDS (4u << 20)
#define JITDUMP_MAX_LINES_BYTES \
	(1u << 20) /* of the lines of one function; one with more has none */

/*
 * Answers nr queries, sorted by ip: the code that was there last before its time, else the first that came there later.
 * -EBADMSG: not a jitdump, or one of another version or byte order.
 */
int jitdump_find(const struct jitsym_source *source, struct jitsym_query *queries, size_t nr);

#endif
