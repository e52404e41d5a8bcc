/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The unwind tables of files: built when they are asked for, copied to where BPF reads them, counted
 * by their users, and thrown away when there are none for a while.
 *
 * A table belongs to a build-id: the same libc in ten containers is ten files and one table. A file
 * without a build-id has one of its own.
 */
#ifndef CPROF_FEED_TABLECACHE_H
#define CPROF_FEED_TABLECACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/session.h"
#include "object/object.h"
#include "unwind/unwindtable.h"
#include "base/workbudget.h"
#include "process/mapping.h"
#include "process/opener.h"

struct tablecache;

/* All borrowed. */
struct tablecache *tablecache_new(struct session *session, const struct files *files,
				  struct objects *objects, struct workbudget *budget);
void tablecache_free(struct tablecache *tables);

/* What is known of the code of a file. */
struct codefile {
	uint32_t file;		    /* index in files; FILE_NONE: the vdso */
	bool is_built;		    /* its table was asked for: the rest is valid */
	bool gap_by_fp;		    /* code without a rule keeps frame pointers by its ABI (Go) */
	const struct elf_file *elf; /* borrowed from its object, NULL if it is not one */
	uint32_t shared;	    /* private: which table, UINT32_MAX: none */
	uint32_t nr_users;	    /* private */
};

/* The number of a file, made at the first call. */
uint32_t tablecache_get(struct tablecache *tables, uint32_t file);
/* Borrowed until the next tablecache_get(). */
const struct codefile *tablecache_at(const struct tablecache *tables, uint32_t number);

/*
 * Makes its table, unless it is made, or there is no patience for it: then it is not built. Without room in the
 * kernel (said once) it has none there.
 */
void tablecache_build(struct tablecache *tables, uint32_t number);
/*
 * The same, ahead of need: the code may never be met. All of that together takes a second of a run, and
 * then a table more.
 */
void tablecache_build_ahead(struct tablecache *tables, uint32_t number);
/* Its rules; NULL: not built, or no unwind information. */
const struct unwind_table *tablecache_rules(const struct tablecache *tables, uint32_t number);
/* What BPF knows it by, TABLE_UNBUILT or TABLE_NO_CFI. */
uint32_t tablecache_id(const struct tablecache *tables, uint32_t number);

/*
 * Copies a table of no file to where BPF reads it: what it is known by, TABLE_NO_CFI without room (said
 * once). The caller takes it out again when no vma refers to it.
 */
uint32_t tablecache_insert(struct tablecache *tables, const struct unwind_table *table);
void tablecache_remove(struct tablecache *tables, uint32_t id);

/* A process's vmas refer to it from now on, or no more. A table that is used is never thrown away. */
void tablecache_use(struct tablecache *tables, uint32_t number);
void tablecache_drop(struct tablecache *tables, uint32_t number);

/* Was anything built since the last call? */
bool tablecache_poll(struct tablecache *tables);

#endif
