/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cache of the unwind tables of files: built on request, copied to where BPF reads them, counted by use, evicted.
 *
 * A table belongs to a build-id: the same libc in ten containers is ten files and one table. A file without a build-id
 * has a table of its own.
 */
#ifndef CPROF_FEED_TABLECACHE_H
#define CPROF_FEED_TABLECACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/session.h"
#include "unwind/unwindtable.h"
#include "base/workbudget.h"
#include "process/mapping.h"
#include "process/files.h"
#include "sandbox/parser.h"

struct tablecache;

/* All borrowed until tablecache_free(). Never NULL. */
struct tablecache *tablecache_new(struct session *session, struct files *files,
				  struct parser *parser, struct workbudget *budget);
/* NULL is fine. */
void tablecache_free(struct tablecache *tables);

/* What is known of the code of a file. */
struct codefile {
	uint32_t file;		      /* index in files; FILE_NONE: the vdso */
	bool is_built;		      /* it was read: the rest is valid */
	bool is_closed;		      /* it could not be opened: built again when it can */
	bool gap_by_fp;		      /* code without a rule keeps frame pointers by its ABI (Go) */
	const struct reply_file *elf; /* borrowed from the parser, NULL if it is not readable ELF */
	uint32_t shared;	      /* private: which table, UINT32_MAX: none */
	uint32_t nr_users;	      /* private */
};

/* The number of a file (FILE_NONE: the vdso) in this cache. Builds nothing. */
uint32_t tablecache_get(struct tablecache *tables, uint32_t file);
/* Borrowed until the next tablecache_get(). */
const struct codefile *tablecache_at(const struct tablecache *tables, uint32_t number);

/*
 * Builds the table of a file unless it is built. Does nothing when the time budget is used up. If the kernel side has no
 * room for the table (printed once), BPF does not have it.
 */
void tablecache_build(struct tablecache *tables, uint32_t number);
/*
 * The same, before any sample falls into the file. All such calls together may take a second of a run; the call that
 * exceeds it still finishes its table.
 */
void tablecache_build_ahead(struct tablecache *tables, uint32_t number);
/* Its rules, borrowed; NULL: not built, or the file has no unwind information. */
const struct unwind_table *tablecache_rules(const struct tablecache *tables, uint32_t number);
/* Its id for vmas (session_add_table()), TABLE_UNBUILT or TABLE_NO_CFI. */
uint32_t tablecache_id(const struct tablecache *tables, uint32_t number);

/*
 * Copies a table that belongs to no file to where BPF reads it. Returns its id, TABLE_NO_CFI if there is no room
 * (printed once). The caller removes it when no vma refers to it any more.
 */
uint32_t tablecache_insert(struct tablecache *tables, const struct unwind_table *table);
void tablecache_remove(struct tablecache *tables, uint32_t id);

/* Counts the processes whose vmas refer to a file's table. A table that is used is never evicted. */
void tablecache_use(struct tablecache *tables, uint32_t number);
void tablecache_drop(struct tablecache *tables, uint32_t number);

/*
 * May the parser be asked about something else for BPF's tables? If so the ring is emptied while it is waited for, as it
 * is while a table is built. false: the time budget is used up.
 */
bool tablecache_may_ask(struct tablecache *tables);

/* Whether anything was built since the last call. */
bool tablecache_poll(struct tablecache *tables);

#endif
