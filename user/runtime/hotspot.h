/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind tables and names for the code that a running HotSpot JVM has generated.
 *
 * They are made from the VM's own structures (runtime/vmstructs.h) and the bytes of the code
 * (unwind/stackflow.h), in the form that tables of files have.
 *
 * The code cache consists of a few heaps, each a range of addresses whose code changes all the time. hotspot_look()
 * notes the code that exists, and analyzes some of the new code; a request for a rule analyzes the code at that
 * address. The rule of unknown code is UNWIND_UNKNOWN.
 *
 * The target's memory is read while it runs and is not trusted: impossible data is ignored.
 */
#ifndef CPROF_RUNTIME_HOTSPOT_H
#define CPROF_RUNTIME_HOTSPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/vmstructs.h"
#include "unwind/tablepack.h"

#define HOTSPOT_MAX_HEAPS 8

struct hotspot;

/* A part of the code cache. */
struct hotspot_heap {
	uint64_t start, limit;	    /* ips that the table describes; multiples of the page size */
	uint64_t reserved;	    /* how far it may grow */
	struct unwind_table *table; /* its elf_addrs are ips; NULL: none */
	uint32_t generation;	    /* changes with each new table; 0: there is none yet */
};

struct hotspot_stats {
	size_t nr_blobs;
	size_t nr_analyzed;  /* so far, repetitions included */
	size_t code_bytes;   /* of all blobs */
	size_t memory_bytes; /* of this process, for what is known of them */
};

/*
 * memory is borrowed. -EAGAIN: the VM has not initialized it yet; -ENOENT or -EBADMSG: this VM is not supported, and
 * *missing (may be NULL) names what it lacks.
 */
int hotspot_open(const struct target_memory *memory, struct hotspot **vm, const char **missing);
void hotspot_free(struct hotspot *vm); /* NULL is fine */

/*
 * Reads the code cache, and analyzes at most max_bytes of new code. -EAGAIN: it does not exist yet, or a part could
 * not be read and is unchanged.
 */
int hotspot_look(struct hotspot *vm, size_t max_bytes);
/* Did a heap change since its table was made? */
bool hotspot_is_changed(const struct hotspot *vm);
/* Makes new tables for the heaps that changed. Returns whether there were any. */
bool hotspot_pack(struct hotspot *vm);

/* The heaps, ascending, without overlaps. */
size_t hotspot_nr_heaps(const struct hotspot *vm);
const struct hotspot_heap *hotspot_heap(const struct hotspot *vm, size_t i);

/*
 * Whether ip is in the code cache; sets *rule to its rule, UNWIND_UNKNOWN if it is not known. May read the
 * target's memory.
 */
bool hotspot_find(struct hotspot *vm, uint64_t ip, struct unwind_rule *rule);

struct blob_row {
	uint32_t offset; /* from its code's start */
	struct unwind_rule rule;
};

/* A piece of code and its rules. */
struct hotspot_code {
	uint64_t start, limit; /* ips */
	const struct blob_row
		*rows; /* borrowed until the next hotspot_look(); ascending, the first at 0 */
	size_t nr_rows;
};

/* The code at ip, with what hotspot_find() knows of it. false: it is not known. May read the target's memory. */
bool hotspot_code(struct hotspot *vm, uint64_t ip, struct hotspot_code *code);

/* A function that code was compiled from. */
struct hotspot_frame {
	const char *
		name; /* "java.lang.String.hashCode", or the VM's name for its own code ("vtable stub") */
	const char *file;	   /* "java/lang/String.java"; "": not known */
	uint32_t line, start_line; /* 0: not known */
};

#define HOTSPOT_MAX_FRAMES 64

/* A piece of code that was compiled from the same functions throughout. */
struct hotspot_piece {
	uint64_t start, limit; /* ips */
	size_t nr;	       /* at least 1 */
	/* Innermost first; the last one is what was compiled. Texts are borrowed until the next hotspot_take_piece(). */
	struct hotspot_frame frames[HOTSPOT_MAX_FRAMES];
};

/*
 * Where the VM counts. As long as as many classes were unloaded, what an address of a Method means is the same. (Some VMs
 * do not count them: there it is their collections in both.)
 */
struct jvm_counters hotspot_counters(const struct hotspot *vm);

/* When a sample was taken. */
struct hotspot_tick {
	uint64_t time_ns;	       /* CLOCK_MONOTONIC */
	uint64_t unloads, collections; /* what was counted: UNWIND_UNLOADS(); 0: not known */
};

/*
 * What the code at ip was made of at the tick. For a return address ip is the address, less one. Each piece is returned once.
 * false: what was returned last holds. Reads the target's memory.
 *
 * ip may also be what stands for a frame that is interpreted (UNWIND_METHOD_MARK), a piece of its own. A piece of one ip is
 * returned again when the answer for it changes: HOTSPOT_GONE is the name where nobody can know any more.
 */
bool hotspot_take_piece(struct hotspot *vm, uint64_t ip, const struct hotspot_tick *tick,
			struct hotspot_piece *piece);
/* Methods are read anew by what follows. */
void hotspot_forget_methods(struct hotspot *vm);

/* Sets *stats to the counts so far. */
void hotspot_stats(const struct hotspot *vm, struct hotspot_stats *stats);

#endif
