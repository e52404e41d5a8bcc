/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaches heap probes to every allocator that targets map, now or later.
 *
 * Probes are attached once for each process and file. With -a, or if children are followed, they are attached once for
 * each file and work in every process: a probe for one process does not work in its child, and attaching one when the
 * child is announced would miss its first allocations. BPF then ignores processes that are no targets, but these pay for
 * the trap too.
 *
 * Where processes sample by themselves (heap/served.h), the library that they do it with is probed in every process, and
 * what is left is probed in the processes that need it alone.
 *
 * prober_on_map() only notes files, which costs little. prober_work() examines them, the most used ones first, until its
 * budget is over; what is left is examined at later calls. A file that cannot be probed costs what is allocated in it,
 * and never the run: prober_unprobed() says what is missing.
 */
#ifndef CPROF_HEAP_PROBER_H
#define CPROF_HEAP_PROBER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "base/workbudget.h"
#include "collect/session.h"
#include "heap/candidates.h"
#include "heap/managed.h"
#include "heap/served.h"
#include "process/files.h"
#include "process/task.h"
#include "sandbox/parser.h"

struct prober {
	struct session *session;
	struct files *files;
	struct parser *parser;
	const char *proc_root;
	struct workbudget *budget; /* of prober_work() */
	bool all;
	bool follow_forks; /* children of targets are targets */
	bool allocs_only;  /* frees are not probed */
	vec_of(uint32_t)
		targets; /* with their descendants: their mappings are probed; unused with all */
	struct hash targets_index; /* by tgid: a fork server has many children */
	bool is_inside;		/* targets sample by themselves where they can; with follow_forks */
	struct served served;	/* with is_inside or is_injected */
	bool is_injected;	/* the target is given the library later: nothing else is probed */
	uint32_t nr_allocators; /* with is_injected: files that it maps which are one */
	struct candidates candidates;
	struct {
		bool is_any;
		uint32_t candidate; /* its position */
		struct reply_sites allocator;
	} held; /* private: the file whose probes the kernel has not placed yet */
	uint32_t last_tgid, last_uid; /* private: whose user was asked for last */
	uint32_t nr_sites;	      /* functions probed so far */
	const struct managed
		*managed;  /* a target's runtime that allocates by itself; NULL: none met */
	bool has_nameless; /* a target is a static program whose symbols were stripped */
};

/*
 * Sets how many files may be probed, after all and follow_forks are set: half of them for one user where probes work in
 * every process; where they are for one process each, all of them in each.
 */
void prober_limit(struct prober *prober, uint32_t nr_files);
/* Adds a target; called before prober_on_map() for its mappings. */
void prober_add_target(struct prober *prober, uint32_t tgid);
/* Notes map's file if process is a target. Of type tasks_on_map_fn: ctx is the prober. */
void prober_on_map(void *ctx, const struct process *process, const struct mapping *map);
/* Only whether process is a target that has a heap of its own (heap/managed.h); also when nothing is probed any more. */
void prober_recognize(struct prober *prober, const struct process *process,
		      const struct mapping *map);
/* The same as prober_on_map() for the file at path, which the target tgid will map when it runs. */
void prober_expect(struct prober *prober, uint32_t tgid, const char *path);
/* The file at path, which tgid will map, and its *bytes. FILE_NONE: it cannot be looked at. */
uint32_t prober_file(struct prober *prober, uint32_t tgid, const char *path, size_t *bytes);
/* With is_inside or is_injected: the path of the library, before anything else is noted. -errno: it cannot be read. */
int prober_serve(struct prober *prober, const char *path);
/* Examines and probes what was noted, until prober->budget is over. */
void prober_work(struct prober *prober);
/* Is there more to examine? */
bool prober_has_work(const struct prober *prober);
/* What is not probed, for a message; see unprobed_words(). Returns out. */
char *prober_unprobed(const struct prober *prober, char *out, size_t out_bytes);
void prober_release(struct prober *prober);

#endif
