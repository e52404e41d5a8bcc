// SPDX-License-Identifier: BSD-2-Clause
/*
 * Tables that no process refers to are kept for the next that will: a compiler under make comes and
 * goes ten times a second, and its table takes longer to build than all its samples to take. So much
 * is kept (each table is here and in the slabs), the longest unused goes first.
 */
#include "feed/tablecache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/vec.h"

#define UNUSED_MAX_BYTES (8u << 20)
#define UNUSED_MAX_NR	 1024

#define MOST_AHEAD_NS NSEC_PER_SEC

#define NO_TABLE UINT32_MAX

struct shared_table {
	char *build_id;		    /* owned; "": of one file only */
	struct unwind_table *table; /* NULL: this entry is free */
	uint32_t id;		    /* BPF's name for it, or TABLE_NO_CFI */
	uint32_t nr_users;	    /* files in use */
	uint64_t unused_since;	    /* a turn; 0: in use */
};

struct tablecache {
	struct session *session;
	struct files *files;
	struct parser *parser;
	struct workbudget *budget;
	vec_of(struct codefile) codefiles;
	struct hash index; /* of codefiles, by file */
	vec_of(struct shared_table) shared;
	size_t unused_bytes, nr_unused;
	uint64_t turn;	   /* counts what became unused */
	uint64_t ahead_ns; /* spent on tables that nobody had asked for yet */
	bool has_news;
	bool was_full; /* and said so */
};

struct tablecache *tablecache_new(struct session *session, struct files *files,
				  struct parser *parser, struct workbudget *budget)
{
	struct tablecache *tables = xcalloc(1, sizeof(*tables));

	tables->session = session;
	tables->files = files;
	tables->parser = parser;
	tables->budget = budget;
	return tables;
}

void tablecache_free(struct tablecache *tables)
{
	if (!tables)
		return;
	vec_for_each(&tables->shared, shared) {
		unwind_table_free(shared->table);
		free(shared->build_id);
	}
	vec_release(&tables->shared);
	vec_release(&tables->codefiles);
	hash_release(&tables->index);
	free(tables);
}

static bool same_file(const void *ctx, uint32_t value, const void *key)
{
	const struct tablecache *tables = ctx;

	return tables->codefiles.at[value].file == *(const uint32_t *)key;
}

uint32_t tablecache_get(struct tablecache *tables, uint32_t file)
{
	uint64_t code = hash_u64(file);
	uint32_t number = hash_find(&tables->index, code, same_file, tables, &file);

	if (number == HASH_NONE) {
		number = tables->codefiles.nr;
		vec_push(&tables->codefiles, (struct codefile){.file = file, .shared = NO_TABLE});
		hash_insert(&tables->index, code, number);
	}
	return number;
}

const struct codefile *tablecache_at(const struct tablecache *tables, uint32_t number)
{
	return &tables->codefiles.at[number];
}

/* Tables ----------------------------------------------------------------------------------------- */

/*
 * A compiler's table takes a third of a second. In that time each of its samples comes with a copy of
 * its stack, so the ring is emptied while the parser works on it.
 */
static bool keep_up(void *ctx)
{
	struct tablecache *tables = ctx;

	session_absorb(tables->session);
	workbudget_is_over(tables->budget); /* it notices when the time is up */
	return false;
}

bool tablecache_may_ask(struct tablecache *tables)
{
	if (workbudget_is_over(tables->budget))
		return false;
	parser_while_waiting(tables->parser, (struct peer_idle){keep_up, tables});
	return true;
}

static int fd_of(const struct tablecache *tables, uint32_t file)
{
	return file == FILE_NONE ? -1 : files_fd(tables->files, file);
}

uint32_t tablecache_insert(struct tablecache *tables, const struct unwind_table *table)
{
	struct table_image image = unwind_table_image(table);
	uint32_t id;
	int err = session_add_table(tables->session, &image, &id);

	if (!err)
		return id;
	if (!tables->was_full)
		warn("cannot store more unwind tables (%s): some stacks will be truncated",
		     strerror(-err));
	tables->was_full = true;
	return TABLE_NO_CFI;
}

void tablecache_remove(struct tablecache *tables, uint32_t id)
{
	if (id != TABLE_NO_CFI)
		session_remove_table(tables->session, id);
}

static void take_back(struct tablecache *tables, struct shared_table *shared)
{
	if (!shared->unused_since)
		return;
	shared->unused_since = 0;
	tables->unused_bytes -= unwind_table_bytes(shared->table);
	tables->nr_unused--;
}

/* Throws a table away; the files that had it are as if it had never been built. */
static void discard(struct tablecache *tables, uint32_t i)
{
	struct shared_table *shared = &tables->shared.at[i];

	take_back(tables, shared);
	tablecache_remove(tables, shared->id);
	unwind_table_free(shared->table);
	free(shared->build_id);
	*shared = (struct shared_table){0};
	vec_for_each(&tables->codefiles, codefile)
		if (codefile->shared == i) {
			codefile->shared = NO_TABLE;
			codefile->is_built = false;
		}
}

static void discard_oldest(struct tablecache *tables)
{
	uint32_t oldest = NO_TABLE;

	for (uint32_t i = 0; i < tables->shared.nr; i++)
		if (tables->shared.at[i].unused_since &&
		    (oldest == NO_TABLE ||
		     tables->shared.at[i].unused_since < tables->shared.at[oldest].unused_since))
			oldest = i;
	if (oldest != NO_TABLE)
		discard(tables, oldest);
}

/* Nobody refers to the table: keeps it, at the cost of others if there are too many, not of itself. */
static void set_aside(struct tablecache *tables, struct shared_table *shared)
{
	if (shared->unused_since)
		return;
	shared->unused_since = ++tables->turn;
	tables->unused_bytes += unwind_table_bytes(shared->table);
	tables->nr_unused++;
	while (tables->nr_unused > 1 &&
	       (tables->nr_unused > UNUSED_MAX_NR || tables->unused_bytes > UNUSED_MAX_BYTES))
		discard_oldest(tables);
}

/* The table of this build-id, NO_TABLE if there is none yet. */
static uint32_t find_shared(const struct tablecache *tables, const char *build_id)
{
	for (uint32_t i = 0; *build_id && i < tables->shared.nr; i++)
		if (tables->shared.at[i].table && !strcmp(tables->shared.at[i].build_id, build_id))
			return i;
	return NO_TABLE;
}

static uint32_t free_entry(struct tablecache *tables)
{
	for (uint32_t i = 0; i < tables->shared.nr; i++)
		if (!tables->shared.at[i].table)
			return i;
	vec_push(&tables->shared, (struct shared_table){0});
	return tables->shared.nr - 1;
}

/* The number of a new table for file, NO_TABLE if it has no unwind information. */
static uint32_t add_shared(struct tablecache *tables, uint32_t file, const char *build_id)
{
	struct unwind_table *table;
	struct shared_table *shared;
	uint32_t i;

	if (parser_table(tables->parser, file, fd_of(tables, file), &table))
		return NO_TABLE;
	i = free_entry(tables);
	shared = &tables->shared.at[i];
	*shared = (struct shared_table){.build_id = xstrdup(build_id), .table = table};
	shared->id = tablecache_insert(tables, table);
	return i;
}

/* Files ------------------------------------------------------------------------------------------ */

static bool is_to_build(const struct tablecache *tables, const struct codefile *codefile)
{
	return !codefile->is_built ||
	       (codefile->is_closed && files_fd(tables->files, codefile->file) >= 0);
}

void tablecache_build(struct tablecache *tables, uint32_t number)
{
	struct codefile *codefile = &tables->codefiles.at[number];
	uint64_t started_ns = clock_monotonic_ns();
	struct shared_table *shared;
	int fd;

	_Static_assert(FILE_NONE == PARSER_VDSO, "what is in no file is the vdso");
	if (!is_to_build(tables, codefile) || !tablecache_may_ask(tables))
		return;
	fd = fd_of(tables, codefile->file);
	codefile->is_built = true;
	codefile->elf = parser_file(tables->parser, codefile->file, fd);
	codefile->is_closed = fd < 0 && codefile->file != FILE_NONE;
	if (!codefile->elf)
		return;
	codefile->gap_by_fp = codefile->elf->is_go;
	tables->has_news = true;
	codefile->shared = find_shared(tables, codefile->elf->build_id);
	if (codefile->shared == NO_TABLE && !codefile->is_closed)
		codefile->shared = add_shared(tables, codefile->file, codefile->elf->build_id);
	if (codefile->shared == NO_TABLE)
		return;
	codefile->is_closed = false; /* another file had the same table */
	shared = &tables->shared.at[codefile->shared];
	if (codefile->nr_users && !shared->nr_users++)
		take_back(tables, shared);
	else if (!shared->nr_users)
		set_aside(tables, shared);
	detail("unwind table of %s: %zu bytes for %zu functions in %.1f ms",
	       codefile->file == FILE_NONE ? "[vdso]" : files_path(tables->files, codefile->file),
	       unwind_table_bytes(shared->table), shared->table->stats.nr_fdes,
	       (clock_monotonic_ns() - started_ns) / 1e6);
}

void tablecache_build_ahead(struct tablecache *tables, uint32_t number)
{
	uint64_t began_ns = clock_monotonic_ns();

	if (!is_to_build(tables, &tables->codefiles.at[number]) || tables->budget->only_needed ||
	    tables->ahead_ns >= MOST_AHEAD_NS)
		return;
	tablecache_build(tables, number);
	tables->ahead_ns += clock_monotonic_ns() - began_ns;
}

const struct unwind_table *tablecache_rules(const struct tablecache *tables, uint32_t number)
{
	uint32_t i = tables->codefiles.at[number].shared;

	return i == NO_TABLE ? NULL : tables->shared.at[i].table;
}

uint32_t tablecache_id(const struct tablecache *tables, uint32_t number)
{
	const struct codefile *codefile = &tables->codefiles.at[number];

	if (!codefile->is_built)
		return TABLE_UNBUILT;
	return codefile->shared == NO_TABLE ? TABLE_NO_CFI : tables->shared.at[codefile->shared].id;
}

void tablecache_use(struct tablecache *tables, uint32_t number)
{
	struct codefile *codefile = &tables->codefiles.at[number];
	struct shared_table *shared;

	if (codefile->nr_users++ || codefile->shared == NO_TABLE)
		return;
	shared = &tables->shared.at[codefile->shared];
	shared->nr_users++;
	take_back(tables, shared);
}

void tablecache_drop(struct tablecache *tables, uint32_t number)
{
	struct codefile *codefile = &tables->codefiles.at[number];
	struct shared_table *shared;

	if (--codefile->nr_users || codefile->shared == NO_TABLE)
		return;
	shared = &tables->shared.at[codefile->shared];
	if (!--shared->nr_users)
		set_aside(tables, shared);
}

bool tablecache_poll(struct tablecache *tables)
{
	bool has_news = tables->has_news;

	tables->has_news = false;
	return has_news;
}
