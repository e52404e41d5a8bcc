/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of writing one document for profiler.firefox.com, private to gecko.c and gecko_tables.c. */
#ifndef CPROF_OUTPUT_GECKO_STATE_H
#define CPROF_OUTPUT_GECKO_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/stacktree.h"

enum gecko_category { /* rows of meta.categories */
	CATEGORY_OTHER,
	CATEGORY_USER,
	CATEGORY_KERNEL
};

/* A pid and a tid; 0 where samples have no such label. */
struct gecko_thread {
	int64_t pid, tid;
	const char *process_name, *thread_name; /* borrowed from the profile */
	size_t first, nr;			/* in gecko.order */
};

struct gecko {
	struct json json;
	const struct profile *profile;
	uint32_t type;
	struct frames frames;	      /* by line: rows of frameTable */
	struct frames funcs;	      /* by function and file: rows of funcTable */
	uint32_t *func_of;	      /* by frame */
	struct stacktree tree;	      /* rows of stackTable: node - 1, since the root is none */
	struct strtab strings, libs;  /* libs: paths of mappings; id - 1 is the row */
	vec_of(uint32_t) lib_mapping; /* position of a lib's first mapping */
	vec_of(struct gecko_thread) threads;
	uint32_t *order; /* positions of the samples with a value, grouped by thread */
};

/* A column. A table of the format is an object: "length", and an array for each column. */
struct gecko_column {
	const char *name;
	void (*put_cell)(struct gecko *gecko, size_t row); /* NULL: for tables without rows */
};
/* Writes the key, and a table of nr rows with these columns, ended by one without a name. */
void gecko_put_table(struct gecko *gecko, const char *key, size_t nr,
		     const struct gecko_column *columns);
/* Writes the key, and an empty array. */
void gecko_put_empty(struct gecko *gecko, const char *key);
const char *gecko_lib_path(const struct gecko *gecko, size_t row);
/* Writes the key "shared" and all its tables. */
void gecko_put_shared(struct gecko *gecko);

#endif
