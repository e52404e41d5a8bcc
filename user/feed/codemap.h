/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code of one process: by which table BPF unwinds each of its executable mappings, and by which rule
 * we do. A mapping of a file has the file's table (tablecache.h); what a JVM made has tables of its own
 * (jvm.h); other code has none, and its frames are guessed by their frame pointers.
 *
 * What BPF has are the process's vmas, written as a whole whenever something changed:
 *
 *	codemap_changed(), codemap_exec(), codemap_look()	notice that
 *	codemap_sync()						writes them, if it is so
 *
 * What its vmas refer to is in use, and no table in use is thrown away.
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
	struct tablecache *tablecache;
};

/* Of process tgid, not written yet. */
struct codemap *codemap_new(const struct codemap_rooms *rooms, uint32_t tgid);
/* What BPF has of it stays: it is freed with the session. NULL is fine. */
void codemap_free(struct codemap *code);

/* Are tables built for whatever it maps from now on, or only for what samples met? */
void codemap_set_eager(struct codemap *code, bool is_eager);

/* A mapping was made, or more may have changed. */
void codemap_changed(struct codemap *code);
/* What was in the process's memory is not there any more. */
void codemap_exec(struct codemap *code);
/* Looks at its JVM, if it has one and it is time to. */
void codemap_look(struct codemap *code);
/* The process has ended: BPF forgets it. The next one of that tgid may use the codemap again. */
void codemap_forget(struct codemap *code);

/*
 * Writes the process's vmas if something changed, or if has_news (tables were built) and some of its files
 * had none. -errno, not printed: no room for them, so BPF has none of it and sends its stacks.
 */
int codemap_sync(struct codemap *code, bool has_news);

/*
 * The rule for the code at ip in image, one of the process's, at time_ns, as bpf/tables.bpf.c finds it;
 * makes the table if there is none yet. *by_fp: where there is no rule, rbp is promised to be a frame
 * pointer.
 */
enum code_known codemap_rule(struct codemap *code, struct image *image, uint64_t ip,
			     uint64_t time_ns, struct unwind_rule *rule, bool *by_fp);

/*
 * The bytes at addr in image, as they are now. false: some of them cannot be read, or it runs no more.
 */
bool codemap_read(struct codemap *code, const struct image *image, uint64_t addr, void *to,
		  size_t len_bytes);

/*
 * Notes the names of the code in no file that the user stack of a whole record is in, as far as they can be
 * had: the process's memory has them as long as it runs that image.
 */
void codemap_name(struct codemap *code, const struct record *record);

#endif
