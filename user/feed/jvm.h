/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code that one HotSpot JVM compiles: read from its memory, and unwound by tables as a file's code is.
 *
 * A JVM chooses what is in its memory, so the worker reads it (sandbox/jvmparser.h). One that stalls or kills workers, or
 * whose memory cannot be read, is left out.
 *
 * BPF knows nothing of JVMs: each heap of the code cache is a vma with a table. Where that table does not know the code,
 * BPF copies the stack, and user space finishes the walk after reading the VM again. If the VM does not export enough,
 * its frames are guessed by frame pointers, and -v says what is missing.
 */
#ifndef CPROF_FEED_JVM_H
#define CPROF_FEED_JVM_H

#include <stdbool.h>
#include <stdint.h>

#include "feed/tablecache.h"
#include "process/jitsyms.h"
#include "stream.h"
#include "unwind_abi.h"

struct jvm;

/*
 * For process tgid, which maps libjvm.so (the index of the file) with ip = elf_addr + bias. Reads nothing of the process
 * yet. rooms is borrowed until jvm_free().
 */
struct codemap_rooms;
struct jvm *jvm_new(const struct codemap_rooms *rooms, uint32_t tgid, uint32_t libjvm,
		    uint64_t bias);
/* Removes its tables, which no vma may refer to any more. NULL is fine. */
void jvm_free(struct jvm *jvm);

/*
 * Reads the VM's state if that is due or look_now is set, and copies new tables to where BPF reads them. Returns
 * whether the process's vmas have to be written again.
 */
bool jvm_sync(struct jvm *jvm, bool look_now);
/* The counters of the JVM, for session_set_vmas(). */
struct jvm_counters jvm_counters(const struct jvm *jvm);
/* Called when vmas that refer to the latest tables are written: frees the earlier ones. */
void jvm_settle(struct jvm *jvm);

/*
 * Sets *rule to the unwind rule of the code that was at ip at time_ns; leaves it as it is if that is not known. May read
 * the VM's state.
 */
void jvm_find(struct jvm *jvm, uint64_t ip, uint64_t time_ns, struct unwind_rule *rule);

/*
 * Reads the VM's state early at a later jvm_sync() if a record's finished stack breaks off in compiled code: other code may be
 * there than at the last look.
 */
void jvm_check(struct jvm *jvm, const struct record *record);

/*
 * Adds to code the functions at the ips of a record's stack that it does not have yet, as of then.
 */
void jvm_name(struct jvm *jvm, const struct record *record, struct jitsyms *code);

/*
 * The first vma to write for the anonymous mapping [start, limit), in *vma: a heap of the code cache has its table,
 * the rest none. vma->limit is where the next vma begins.
 */
void jvm_describe(const struct jvm *jvm, uint64_t start, uint64_t limit, struct unwind_vma *vma);

#endif
