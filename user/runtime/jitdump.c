// SPDX-License-Identifier: BSD-2-Clause
/*
 * A MOVE names code by its number, and the LOAD with the name came long before. So the first pass notes for each query where
 * its code came from: the LOAD's own record, or a number, whose LOAD a second pass finds.
 */
#include "runtime/jitdump.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"

#define MAGIC	       0x4a695444u /* "JiTD" */
#define VERSION	       1u
#define ARCH_TIMESTAMP 1u /* in the flags */

enum record_kind {
	RECORD_LOAD,
	RECORD_MOVE,
	RECORD_DEBUG_INFO,
	RECORD_CLOSE,
};

struct header {
	uint32_t magic, version, total_bytes, machine, pad, pid;
	uint64_t time_ns, flags;
};

struct record {
	uint32_t kind, total_bytes;
	uint64_t time_ns;
};

struct load {
	uint32_t pid, tid;
	uint64_t vma, start, len_bytes, number; /* then the name and the code */
};

struct move {
	uint32_t pid, tid;
	uint64_t vma, old_start, start, len_bytes, number;
};

_Static_assert(sizeof(struct header) == 40 && sizeof(struct record) == 16 &&
		       sizeof(struct load) == 40 && sizeof(struct move) == 48,
	       "as the file has them");

/* What is known of a query's code besides the answer. */
struct origin {
	uint64_t number;
	bool is_moved; /* its name is that of the LOAD with this number */
};

struct reading {
	const struct jitsym_source *source;
	struct jitsym_query *queries;
	struct origin *origins;
	size_t nr;
	uint64_t off; /* of the record */
	bool has_times;
	bool is_second; /* the second pass: only names of what moved */
};

static bool read_all(const struct reading *reading, uint64_t off, void *to, size_t len_bytes)
{
	return reading->source->read(reading->source->ctx, off, to, len_bytes) == len_bytes;
}

static bool read_header(struct reading *reading, uint64_t *first)
{
	struct header header;

	if (!read_all(reading, 0, &header, sizeof(header)) || header.magic != MAGIC ||
	    header.version != VERSION || header.total_bytes < sizeof(header))
		return false;
	reading->has_times = !(header.flags & ARCH_TIMESTAMP);
	*first = header.total_bytes;
	return true;
}

/* The name of the LOAD that is being read, cut. */
static void read_name(const struct reading *reading, const struct record *record,
		      char name[JITSYM_NAME_BYTES])
{
	size_t head = sizeof(*record) + sizeof(struct load);
	size_t len = record->total_bytes - head;

	memset(name, 0, JITSYM_NAME_BYTES);
	if (len > JITSYM_NAME_BYTES - 1)
		len = JITSYM_NAME_BYTES - 1;
	reading->source->read(reading->source->ctx, reading->off + head, name, len);
}

/* Code at [start, start + len_bytes). moved: NULL: record is the LOAD that has its name. */
static void place(struct reading *reading, const struct record *record, uint64_t start,
		  uint64_t len_bytes, const struct move *moved)
{
	uint64_t since_ns = reading->has_times ? record->time_ns : 0, limit;
	size_t i = jitsymquery_first(reading->queries, reading->nr, start);

	if (!len_bytes || __builtin_add_overflow(start, len_bytes, &limit))
		return;
	for (; i < reading->nr && reading->queries[i].ip < limit; i++) {
		struct jitsym_query *query = &reading->queries[i];
		struct origin *origin = &reading->origins[i];

		if (!jitsymquery_is_better(query, *query->name || origin->is_moved, since_ns))
			continue;
		query->start = start;
		query->limit = limit;
		query->since_ns = since_ns;
		*origin = (struct origin){moved ? moved->number : 0, moved};
		*query->name = '\0';
		if (!moved)
			read_name(reading, record, query->name);
	}
}

/* The names of what moved. */
static void name_moved(struct reading *reading, const struct record *record, uint64_t number)
{
	for (size_t i = 0; i < reading->nr; i++)
		if (reading->origins[i].is_moved && reading->origins[i].number == number)
			read_name(reading, record, reading->queries[i].name);
}

static void read_record(struct reading *reading, const struct record *record)
{
	size_t body = record->total_bytes - sizeof(*record);
	struct load load;
	struct move move;

	if (record->kind == RECORD_LOAD && body > sizeof(load) &&
	    read_all(reading, reading->off + sizeof(*record), &load, sizeof(load))) {
		if (reading->is_second)
			name_moved(reading, record, load.number);
		else
			place(reading, record, load.start, load.len_bytes, NULL);
	}
	if (record->kind == RECORD_MOVE && !reading->is_second && body >= sizeof(move) &&
	    read_all(reading, reading->off + sizeof(*record), &move, sizeof(move)))
		place(reading, record, move.start, move.len_bytes, &move);
}

static void read_records(struct reading *reading, uint64_t first)
{
	struct record record;

	reading->off = first;
	for (uint32_t nr = 0; nr < JITDUMP_MAX_RECORDS && reading->off < JITDUMP_MAX_BYTES; nr++) {
		if (!read_all(reading, reading->off, &record, sizeof(record)) ||
		    record.total_bytes < sizeof(record) || record.kind == RECORD_CLOSE)
			return;
		read_record(reading, &record);
		reading->off += record.total_bytes;
	}
}

static bool has_moved(const struct reading *reading)
{
	for (size_t i = 0; i < reading->nr; i++)
		if (reading->origins[i].is_moved)
			return true;
	return false;
}

int jitdump_find(const struct jitsym_source *source, struct jitsym_query *queries, size_t nr)
{
	struct origin *origins scoped(freep) = xcalloc(nr, sizeof(*origins));
	struct reading reading = {
		.source = source, .queries = queries, .origins = origins, .nr = nr};
	uint64_t first;

	if (!read_header(&reading, &first))
		return -EBADMSG;
	read_records(&reading, first);
	if (has_moved(&reading)) {
		reading.is_second = true;
		read_records(&reading, first);
	}
	return 0;
}
