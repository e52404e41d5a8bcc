// SPDX-License-Identifier: BSD-2-Clause
/*
 * Lines are looked at last, when it is known which code answers a query: there may be more of them than of anything else.
 *
 * A MOVE names code by its number, and the LOAD with the name came long before. So the first pass notes for each query where
 * its code came from: the LOAD's own record, or a number, whose LOAD a second pass finds. Code that moved has no lines.
 */
#include "runtime/jitdump.h"

#include <errno.h>
#include <stdlib.h>
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

struct debug_info {
	uint64_t start, nr; /* then nr lines */
};

struct debug_line {
	uint64_t start;
	int32_t line, discriminator; /* then the file's name; "\xff": that of the line before */
};

/*
 * V8 adds the size of the ELF header that perf puts before code to the addresses of lines, and can be told by what it writes
 * where the header of the file has padding (src/diagnostics/perf-jit.cc).
 */
#define V8_PADDING    0xdeadbeefu
#define V8_LINES_SKIP 0x40u

_Static_assert(sizeof(struct debug_info) == 16 && sizeof(struct debug_line) == 16 &&
		       sizeof(struct header) == 40 && sizeof(struct record) == 16 &&
		       sizeof(struct load) == 40 && sizeof(struct move) == 48,
	       "as the file has them");

/* What is known of a query's code besides the answer. */
struct origin {
	uint64_t number;
	bool is_moved;	    /* its name is that of the LOAD with this number */
	uint64_t lines_off; /* of the record with its lines; 0: there is none */
};

struct reading {
	const struct jitsym_source *source;
	struct jitsym_query *queries;
	struct origin *origins;
	size_t nr;
	uint64_t off; /* of the record */
	uint64_t lines_off,
		lines_start; /* of the DEBUG_INFO before it, and the code that it is about; 0: none */
	uint32_t lines_skip;
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
	reading->lines_skip = header.pad == V8_PADDING ? V8_LINES_SKIP : 0;
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
		*origin = (struct origin){.number = moved ? moved->number : 0, .is_moved = moved};
		if (!moved && reading->lines_start == start)
			origin->lines_off = reading->lines_off;
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
	struct debug_info lines;
	struct load load;
	struct move move;

	if (record->kind == RECORD_DEBUG_INFO && body >= sizeof(lines) &&
	    read_all(reading, reading->off + sizeof(*record), &lines, sizeof(lines))) {
		reading->lines_off = reading->off;
		reading->lines_start = lines.start;
		return;
	}
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
	if (record->kind == RECORD_LOAD || record->kind == RECORD_MOVE)
		reading->lines_off = reading->lines_start = 0;
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

/* The lines of one function, as the file has them. */
struct lines {
	uint64_t off; /* of their record; 0: none was read */
	uint64_t nr;
	size_t len_bytes;
	char *bytes;
};

static void read_lines(const struct reading *reading, struct lines *lines, uint64_t off)
{
	struct debug_info info;
	struct record record;
	size_t len;

	if (lines->off == off)
		return;
	lines->off = off;
	lines->len_bytes = 0;
	if (!read_all(reading, off, &record, sizeof(record)) ||
	    !read_all(reading, off + sizeof(record), &info, sizeof(info)))
		return;
	len = record.total_bytes - sizeof(record) - sizeof(info);
	if (len > JITDUMP_MAX_LINES_BYTES)
		len = JITDUMP_MAX_LINES_BYTES;
	if (!lines->bytes)
		lines->bytes = xmalloc(JITDUMP_MAX_LINES_BYTES);
	lines->nr = info.nr;
	lines->len_bytes = reading->source->read(
		reading->source->ctx, off + sizeof(record) + sizeof(info), lines->bytes, len);
}

/* Takes a line for the query if it is the last before its ip; else it may end that one. */
static void take_line(struct jitsym_query *query, const struct debug_line *line, uint64_t start,
		      const char *file)
{
	size_t len = strlen(file);

	if (start > query->ip) {
		if (start < query->limit)
			query->limit = start;
		return;
	}
	if (start < query->start)
		return;
	if (len > JITSYM_NAME_BYTES - 1)
		len = JITSYM_NAME_BYTES - 1;
	query->start = start;
	query->line = line->line > 0 && len ? (uint32_t)line->line : 0;
	memset(query->file, 0, sizeof(query->file));
	if (query->line)
		memcpy(query->file, file, len);
}

/* The next line, with its file. false: there is none that is whole. */
static bool next_line(const char **at, const char *end, struct debug_line *line, const char **file)
{
	const char *name = *at + sizeof(*line), *name_end;

	if ((size_t)(end - *at) <= sizeof(*line))
		return false;
	name_end = memchr(name, '\0', (size_t)(end - name));
	if (!name_end)
		return false;
	memcpy(line, *at, sizeof(*line));
	if (strcmp(name, "\xff") != 0)
		*file = name;
	*at = name_end + 1;
	return true;
}

/*
 * Are all lines there, and nothing else, and all of them in the query's code? V8 up to 11.3 at least writes what happens to be
 * in its memory for the name of the file, so its first file must be the one that the function's name has.
 */
static bool are_whole(const struct reading *reading, const struct lines *lines,
		      const struct jitsym_query *query)
{
	const char *at = lines->bytes, *end = at + lines->len_bytes, *file = "";
	struct debug_line line;
	uint64_t nr = 0;

	while (next_line(&at, end, &line, &file)) {
		uint64_t start = line.start - reading->lines_skip;

		if (start < query->start || start > query->limit ||
		    (!nr && reading->lines_skip && !strstr(query->name, file)))
			return false;
		nr++;
	}
	return nr == lines->nr && end - at < 8; /* padding */
}

/* Addresses need not be in order. */
static void find_line(const struct reading *reading, const struct lines *lines,
		      struct jitsym_query *query)
{
	const char *at = lines->bytes, *end = at + lines->len_bytes, *file = "";
	struct debug_line line;

	if (!are_whole(reading, lines, query))
		return;
	while (next_line(&at, end, &line, &file))
		take_line(query, &line, line.start - reading->lines_skip, file);
}

static void find_lines(const struct reading *reading)
{
	struct lines lines = {0};

	for (size_t i = 0; i < reading->nr; i++) {
		if (!*reading->queries[i].name || !reading->origins[i].lines_off)
			continue;
		read_lines(reading, &lines, reading->origins[i].lines_off);
		if (lines.len_bytes)
			find_line(reading, &lines, &reading->queries[i]);
	}
	free(lines.bytes);
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
	find_lines(&reading);
	return 0;
}
