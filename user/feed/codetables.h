/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The unwind tables of files: built when they are asked for, copied to where BPF reads them, counted
 * by their users, and thrown away when there are none for a while.
 *
 * A table belongs to a build-id: the same libc in ten containers is ten files and one table. A file
 * without a build-id has one of its own.
 */
#ifndef CPROF_FEED_CODETABLES_H
#define CPROF_FEED_CODETABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/session.h"
#include "object/object.h"
#include "unwind/unwindtable.h"
#include "base/patience.h"
#include "process/mapping.h"
#include "process/opener.h"

struct codetables;

/* All borrowed. */
struct codetables *codetables_new(struct session *session, const struct files *files,
				  struct objects *objects, struct patience *patience);
void codetables_free(struct codetables *tables);

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
uint32_t codetables_of(struct codetables *tables, uint32_t file);
/* Borrowed until the next codetables_of(). */
const struct codefile *codetables_at(const struct codetables *tables, uint32_t number);

/*
 * Makes its table, unless it is made, or there is no patience for it: then it is not built. Without room in the
 * kernel (said once) it has none there.
 */
void codetables_build(struct codetables *tables, uint32_t number);
/*
 * The same, ahead of need: the code may never be met. All of that together takes a second of a run, and
 * then a table more.
 */
void codetables_build_ahead(struct codetables *tables, uint32_t number);
/* Its rules; NULL: not built, or no unwind information. */
const struct unwind_table *codetables_rules(const struct codetables *tables, uint32_t number);
/* What BPF knows it by, TABLE_UNBUILT or TABLE_NO_CFI. */
uint32_t codetables_id(const struct codetables *tables, uint32_t number);

/*
 * Copies a table of no file to where BPF reads it: what it is known by, TABLE_NO_CFI without room (said
 * once). The caller takes it out again when no vma refers to it.
 */
uint32_t codetables_put(struct codetables *tables, const struct unwind_table *table);
void codetables_take_out(struct codetables *tables, uint32_t id);

/* A process's vmas refer to it from now on, or no more. A table that is used is never thrown away. */
void codetables_use(struct codetables *tables, uint32_t number);
void codetables_drop(struct codetables *tables, uint32_t number);

/* Was anything built since the last call? */
bool codetables_take_news(struct codetables *tables);

#endif
