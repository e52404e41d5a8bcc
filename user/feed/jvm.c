// SPDX-License-Identifier: BSD-2-Clause
/*
 * When to look. A look costs a millisecond or so for each ten thousand pieces of code, and more for
 * what is new. Its occasions are
 *
 *	a sample in code that is not known, taken after the last look	(compiled since)
 *	a second without a look						(freed, and used again)
 *
 * and between two there is a rest of several times what the last one took. A sample that was taken
 * before the last look and is in no code by it was in code that is gone: looking again does not help.
 * Code that lies idle is analyzed by and by, at looks of the second kind; what samples are in, at once.
 */
#include "feed/jvm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "feed/codemap.h"
#include "runtime/hotspot.h"
#include "process/remote.h"

#define REST_TIMES	 4 /* between looks for samples: at most a fifth of the time goes to them */
#define PACK_REST_TIMES	 20  /* between tables for BPF */
#define IDLE_REST_TIMES	 100 /* between others: a hundredth */
#define IDLE_INTERVAL_NS NSEC_PER_SEC
#define LOOK_BYTES	 (1u << 20) /* of code that is analyzed when it is time to look: 20 ms */

/* What a heap's table is in the kernel. */
struct placed_heap {
	uint64_t start, limit, reserved;
	uint32_t generation;
	uint32_t table; /* TABLE_NO_CFI: no room for it */
};

struct variable {
	char *name; /* owned */
	uint64_t ip;
};

struct jvm {
	struct tablecache *tables;
	uint32_t tgid;
	struct target_memory memory;
	vec_of(struct variable) variables; /* of libjvm, as far as they were asked for */
	struct hotspot *vm;		   /* NULL: not opened yet */
	bool is_hopeless;		   /* nor will it be */
	vec_of(struct placed_heap) heaps;
	vec_of(uint32_t) retired; /* tables that vmas may still refer to */
	uint64_t looked_ns;	  /* when the last look began that saw all */
	uint64_t rested_ns;	  /* when the next one may, for a sample */
	uint64_t repack_ns;	  /* when tables may be made again */
	uint64_t due_ns;	  /* when it may for no reason */
};

/* Memory ----------------------------------------------------------------------------------------- */

static void read_memory(void *ctx, struct memory_piece *pieces, size_t nr)
{
	const struct jvm *jvm = ctx;

	remote_read(jvm->tgid, pieces, nr);
}

static uint64_t find_variable(void *ctx, const char *name)
{
	const struct jvm *jvm = ctx;

	vec_for_each(&jvm->variables, variable)
		if (!strcmp(variable->name, name))
			return variable->ip;
	return 0;
}

/* libjvm's file is at hand now; its memory is read later. */
static void note_variables(struct jvm *jvm, const struct codemap_rooms *rooms, uint32_t libjvm,
			   uint64_t bias)
{
	uint64_t elf_addrs[MESSAGE_MAX_VARIABLES];

	if (parser_variables(rooms->parser, libjvm, files_fd(rooms->files, libjvm), vm_variables,
			     vm_nr_variables, elf_addrs))
		return;
	for (size_t i = 0; i < vm_nr_variables; i++)
		if (elf_addrs[i])
			vec_push(&jvm->variables,
				 (struct variable){xstrdup(vm_variables[i]), elf_addrs[i] + bias});
}

struct jvm *jvm_new(const struct codemap_rooms *rooms, uint32_t tgid, uint32_t libjvm,
		    uint64_t bias)
{
	struct jvm *jvm = xcalloc(1, sizeof(*jvm));

	jvm->tables = rooms->tablecache;
	jvm->tgid = tgid;
	jvm->memory = (struct target_memory){read_memory, find_variable, jvm};
	note_variables(jvm, rooms, libjvm, bias);
	return jvm;
}

static void retire(struct jvm *jvm, uint32_t table)
{
	if (table != TABLE_NO_CFI)
		vec_push(&jvm->retired, table);
}

void jvm_settle(struct jvm *jvm)
{
	vec_for_each(&jvm->retired, table)
		tablecache_remove(jvm->tables, *table);
	jvm->retired.nr = 0;
}

void jvm_free(struct jvm *jvm)
{
	if (!jvm)
		return;
	vec_for_each(&jvm->heaps, heap)
		retire(jvm, heap->table);
	jvm_settle(jvm);
	vec_for_each(&jvm->variables, variable)
		free(variable->name);
	vec_release(&jvm->variables);
	vec_release(&jvm->heaps);
	vec_release(&jvm->retired);
	hotspot_free(jvm->vm);
	free(jvm);
}

/* Looking ---------------------------------------------------------------------------------------- */

static bool is_open(struct jvm *jvm)
{
	const char *missing = "";
	int err;

	if (jvm->vm || jvm->is_hopeless)
		return jvm->vm;
	err = hotspot_open(&jvm->memory, &jvm->vm, &missing);
	if (!err || err == -EAGAIN)
		return !err;
	jvm->is_hopeless = true;
	detail("JVM %u: its compiled code is unwound by frame pointers, since %s is missing",
	       jvm->tgid, missing);
	return false;
}

/* A heap that has another table than the kernel. */
static void place(struct jvm *jvm, size_t i, const struct hotspot_heap *heap)
{
	struct placed_heap *placed;

	if (i == jvm->heaps.nr)
		vec_push(&jvm->heaps, (struct placed_heap){.table = TABLE_NO_CFI});
	placed = &jvm->heaps.at[i];
	retire(jvm, placed->table);
	*placed = (struct placed_heap){
		.start = heap->start,
		.limit = heap->limit,
		.reserved = heap->reserved,
		.generation = heap->generation,
		.table = heap->table ? tablecache_insert(jvm->tables, heap->table) : TABLE_NO_CFI,
	};
}

static bool place_heaps(struct jvm *jvm)
{
	bool has_news = false;

	for (size_t i = 0; i < hotspot_nr_heaps(jvm->vm); i++) {
		const struct hotspot_heap *heap = hotspot_heap(jvm->vm, i);

		if (i < jvm->heaps.nr && jvm->heaps.at[i].generation == heap->generation)
			continue;
		place(jvm, i, heap);
		has_news = true;
	}
	return has_news;
}

static void look(struct jvm *jvm, size_t max_bytes)
{
	uint64_t took_ns = clock_thread_cpu_ns(), began_ns = clock_monotonic_ns(), now_ns;
	bool was_open = jvm->vm;
	struct hotspot_stats stats;

	if (is_open(jvm) && !hotspot_look(jvm->vm, max_bytes))
		jvm->looked_ns = began_ns;
	took_ns = clock_thread_cpu_ns() - took_ns;
	now_ns = clock_monotonic_ns();
	if (!max_bytes)
		jvm->rested_ns = now_ns + REST_TIMES * took_ns;
	jvm->due_ns = now_ns + IDLE_REST_TIMES * took_ns + IDLE_INTERVAL_NS;
	if (was_open || !jvm->vm)
		return;
	hotspot_stats(jvm->vm, &stats);
	detail("JVM %u: %zu code blobs, %zu KB; %zu of them analyzed in %.1f ms", jvm->tgid,
	       stats.nr_blobs, stats.code_bytes / 1024, stats.nr_analyzed, took_ns / 1e6);
}

/* A heap's table is made anew for whatever is new in it, and a heap may be large: so not too often. */
static bool pack(struct jvm *jvm)
{
	uint64_t took_ns = clock_thread_cpu_ns();
	bool has_news;

	if (!jvm->vm || clock_monotonic_ns() < jvm->repack_ns || !hotspot_pack(jvm->vm))
		return false;
	has_news = place_heaps(jvm);
	took_ns = clock_thread_cpu_ns() - took_ns;
	jvm->repack_ns = clock_monotonic_ns() + PACK_REST_TIMES * took_ns;
	return has_news;
}

bool jvm_sync(struct jvm *jvm, bool look_now)
{
	bool was_hopeless = jvm->is_hopeless;

	if (!was_hopeless && (look_now || clock_monotonic_ns() >= jvm->due_ns))
		look(jvm, LOOK_BYTES);
	return pack(jvm) || was_hopeless != jvm->is_hopeless;
}

static bool find_now(const struct jvm *jvm, uint64_t ip, struct unwind_rule *rule)
{
	return jvm->vm && hotspot_find(jvm->vm, ip, rule);
}

bool jvm_find(struct jvm *jvm, uint64_t ip, uint64_t time_ns, struct unwind_rule *rule)
{
	bool is_found = find_now(jvm, ip, rule);

	if (is_found && rule->kind != UNWIND_UNKNOWN)
		return true;
	if (jvm->is_hopeless || time_ns <= jvm->looked_ns || clock_monotonic_ns() < jvm->rested_ns)
		return is_found;
	look(jvm, 0);
	return find_now(jvm, ip, rule);
}

void jvm_name(struct jvm *jvm, const uint64_t *ips, uint32_t nr, uint64_t time_ns,
	      struct jitsyms *code)
{
	struct hotspot_name name;

	for (uint32_t i = 0; jvm->vm && i < nr; i++)
		if (hotspot_take_name(jvm->vm, ips[i] & ~IP_GUESSED, &name))
			jitsyms_add(code, name.start, name.limit, time_ns, name.text);
}

/* Vmas ------------------------------------------------------------------------------------------- */

/* The part of [start, limit) that begins at start and lies within or without [from, to). */
static bool is_within(uint64_t start, uint64_t from, uint64_t to, uint64_t *limit)
{
	if (start >= from && start < to) {
		if (to < *limit)
			*limit = to;
		return true;
	}
	if (start < from && from < *limit)
		*limit = from;
	return false;
}

void jvm_describe(const struct jvm *jvm, uint64_t start, uint64_t limit, struct unwind_vma *vma)
{
	bool is_waited_for = !jvm->heaps.nr && !jvm->is_hopeless;

	*vma = (struct unwind_vma){.start = start,
				   .limit = limit,
				   .table = is_waited_for ? TABLE_UNBUILT : TABLE_NO_CFI};
	vec_for_each(&jvm->heaps, heap) {
		if (is_within(start, heap->start, heap->limit, &vma->limit))
			vma->table = heap->table;
		else if (is_within(start, heap->limit, heap->reserved, &vma->limit))
			vma->table = TABLE_UNBUILT;
	}
}
