/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code that one HotSpot JVM makes: read from the process, and unwound by tables like a file's.
 *
 * BPF knows nothing of it: a heap of the code cache is a vma with a table. Where that table does not
 * know the code BPF sends the stack along, and the unwinder finishes it with what a fresh look at the
 * VM says. A VM that does not say enough leaves its frames to guessing, and -v says what it lacks.
 */
#ifndef CPROF_FEED_JVM_H
#define CPROF_FEED_JVM_H

#include <stdbool.h>
#include <stdint.h>

#include "feed/tablecache.h"
#include "object/elf.h"
#include "process/jitsyms.h"
#include "stream.h"
#include "unwind_abi.h"

struct jvm;

/*
 * For process tgid, which maps libjvm.so with ip = elf_addr + bias; nothing of the process is read yet.
 * tables is borrowed, libjvm for the call.
 */
struct jvm *jvm_new(struct tablecache *tables, uint32_t tgid, const struct elf_file *libjvm,
		    uint64_t bias);
/* No vma refers to its tables any more. NULL is fine. */
void jvm_free(struct jvm *jvm);

/*
 * Looks at the VM, if it is time to or look_now says so, and copies what is new to where BPF reads it.
 * Returns whether the process's vmas are to be written again.
 */
bool jvm_sync(struct jvm *jvm, bool look_now);
/* The vmas that refer to the latest tables are written: those before them can go. */
void jvm_settle(struct jvm *jvm);

/*
 * Is ip of the code cache, as it was at time_ns? If so, *rule is UNWIND_UNKNOWN where nothing is known of
 * it. May look.
 */
bool jvm_find(struct jvm *jvm, uint64_t ip, uint64_t time_ns, struct unwind_rule *rule);

/* Puts the names of the code that ips are in, and that has none yet, into code, as of time_ns. */
void jvm_name(struct jvm *jvm, const uint64_t *ips, uint32_t nr, uint64_t time_ns,
	      struct jitsyms *code);

/*
 * What to tell BPF of the anonymous mapping that begins at start and ends before limit: *vma is its
 * first part, and *vma.limit where the next one begins.
 */
void jvm_describe(const struct jvm *jvm, uint64_t start, uint64_t limit, struct unwind_vma *vma);

#endif
