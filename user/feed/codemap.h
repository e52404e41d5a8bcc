/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The executable mappings of one process, each with the unwind table or rule for its code.
 *
 * A mapping of a file has the file's table (tablecache.h); code that a JVM compiled has tables of its own (jvm.h); other
 * code has none, and its frames are guessed by frame pointers.
 *
 * BPF sees the mappings as the process's vmas, which are written as a whole after a change:
 *
 *	codemap_changed(), codemap_exec(), codemap_look()	note a change
 *	codemap_sync()						writes the vmas if one was noted
 *
 * Tables that the vmas refer to are in use, and no table in use is freed.
 */
#ifndef CPROF_FEED_CODEMAP_H
#define CPROF_FEED_CODEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "feed/tablecache.h"
#include "collect/session.h"
#include "unwind/copywalk.h"
#include "process/task.h"
#include "unwind_abi.h"

struct codemap;

/* What the codemaps of all processes share; borrowed by each. */
struct codemap_rooms {
	struct session *session;
	struct tasks *tasks;
	struct files *files;
	struct parser *parser;
	struct tablecache *tablecache;
	uint32_t *unread_said; /* runtime_say_unread() */
};

/* Returns the map of process tgid, whose vmas are not written yet. rooms is borrowed. */
struct codemap *codemap_new(const struct codemap_rooms *rooms, uint32_t tgid);
/* The vmas that BPF has stay until the session is closed. NULL is fine. */
void codemap_free(struct codemap *code);

/* Eager: tables are built for every file that the process maps. Otherwise for those that a sample falls into. */
void codemap_set_eager(struct codemap *code, bool is_eager);

/* Notes that mappings may have changed. */
void codemap_changed(struct codemap *code);
/* The process runs a new image: forgets what was in its memory. */
void codemap_exec(struct codemap *code);
/* Reads the state of its JVM, if it has one and that is due. */
void codemap_look(struct codemap *code);
/* The process has ended: removes its vmas from BPF. The codemap can serve the next process of this tgid. */
void codemap_forget(struct codemap *code);

/*
 * Writes the process's vmas if something changed, or if has_news (tables were built) and some of its files had none.
 * -errno, not printed: no room for them, so BPF has no vmas of the process and copies its stacks to user space.
 */
int codemap_sync(struct codemap *code, bool has_news);

/*
 * The unwind rule for the code at ip in image (one of the process's) at time_ns, as bpf/tables.bpf.c finds it; builds
 * the table if there is none yet. *by_fp: code without a rule keeps rbp as a frame pointer by its ABI.
 */
enum code_known codemap_rule(struct codemap *code, struct image *image, uint64_t ip,
			     uint64_t time_ns, struct unwind_rule *rule, bool *by_fp);

/*
 * Reads len_bytes at addr of image's memory as it is now, into to. false: some of them cannot be read, or the process
 * does not run image any more.
 */
bool codemap_read(struct codemap *code, const struct image *image, uint64_t addr, void *to,
		  size_t len_bytes);

/*
 * Notes the names of JIT-compiled functions in a finished record's user stack. The process's memory has them only
 * while it runs that image, so this is done early.
 */
void codemap_name(struct codemap *code, const struct record *record);

#endif
