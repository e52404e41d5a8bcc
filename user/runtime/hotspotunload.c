// SPDX-License-Identifier: BSD-2-Clause
/*
 * The count is java.cls.unloadedClasses, one of the VM's performance counters. They are in a piece of memory that jstat(1) reads,
 * too, in a format that has not changed since Java 5:
 *
 *	prologue	0 magic	   24 where the first entry is	28 how many there are
 *	entry		0 its size 4 where its name is		16 where its value is, from its own start
 *
 * A VM without them (-XX:-UsePerfData) counts its garbage collections. Most unload classes in collections that count; G1
 * also at the end of a cycle that does not, so that there a wrong name is possible, and rare.
 *
 * Classes of the VM's three loaders stay as long as it does, unless they are hidden ones, which go with their object and have loader
 * data of their own. New ones are put before the others in the list of all, so those of the three are among its last, and that of
 * the boot loader is the last one. An object's class is in its header, as 32 bits where pointers to classes are compressed. Where it is elsewhere (compact headers,
 * pointers with colours), the names of the loaders' classes are not met, and nothing is taken to stay.
 *
 * Rejected: to compare all that a method refers to with what it was. Classes that are made again and again have the same size and
 * come to lie at the same places.
 */
#include "runtime/hotspotunload.h"

#include <string.h>

#include "unwind_abi.h"

#define PERF_MAGIC     0xc0c0feca /* ca fe c0 c0 */
#define MAX_COUNTERS   4096
#define MAX_PERF_BYTES (1u << 20)
#define MAX_LOADERS    65536
#define OLDEST	       1024 /* of them that may be the VM's own */
#define LOADER_BYTES   64   /* of the name of one's class */

struct perf_prologue {
	uint32_t magic;
	uint8_t byte_order, major, minor, is_accessible;
	uint32_t used_bytes, overflow;
	uint64_t changed;
	uint32_t first_at, nr;
};

struct perf_entry {
	uint32_t len_bytes, name_at, nr_elements;
	uint8_t type, flags, unit, variability;
	uint32_t value_at;
};

static uint64_t find_counter(const struct target_memory *memory, uint64_t perf)
{
	static const char wanted[] = "java.cls.unloadedClasses";
	struct perf_prologue prologue;
	struct perf_entry entry;
	uint64_t at;

	if (!perf || !memory_read(memory, perf, &prologue, sizeof(prologue)) ||
	    prologue.magic != PERF_MAGIC)
		return 0;
	at = prologue.first_at;
	for (uint32_t i = 0; i < prologue.nr && i < MAX_COUNTERS && at < MAX_PERF_BYTES; i++) {
		char name[sizeof(wanted)];

		if (!memory_read(memory, perf + at, &entry, sizeof(entry)) || !entry.len_bytes)
			return 0;
		if (memory_read(memory, perf + at + entry.name_at, name, sizeof(name)) &&
		    !memcmp(name, wanted, sizeof(wanted)))
			return perf + at + entry.value_at;
		at += entry.len_bytes;
	}
	return 0;
}

struct jvm_counters unloads_find(const struct vmstructs *vm, const struct target_memory *memory)
{
	struct jvm_counters counters = {0};
	uint64_t perf = 0, heap;

	if (vm->fields[VM_COLLECTIONS].known && vm_load(vm, memory, VM_HEAP, 0, &heap) && heap)
		counters.collections_at = heap + vm->fields[VM_COLLECTIONS].at;
	vm_load(vm, memory, VM_PERF_MEMORY, 0, &perf);
	counters.unloads_at = perf ? find_counter(memory, perf) : counters.collections_at;
	return counters;
}

uint64_t unloads_read(const struct target_memory *memory, uint64_t at)
{
	uint32_t nr;

	return at && memory_read(memory, at, &nr, sizeof(nr)) ? UNWIND_UNLOADS(nr) : 0;
}

/* Hidden classes have loader data of their own, under the name of their loader. */
static bool is_hidden(const struct vmstructs *vm, const struct target_memory *memory, uint64_t data)
{
	uint64_t hidden;

	if (!vm_load(vm, memory, VM_LOADER_HIDDEN, data, &hidden) &&
	    !vm_load(vm, memory, VM_LOADER_UNSAFE, data, &hidden) &&
	    !vm_load(vm, memory, VM_LOADER_ANONYMOUS, data, &hidden))
		return true;
	return hidden;
}

/* The class of an object, where pointers to classes are compressed. */
static bool class_of(const struct vmstructs *vm, const struct target_memory *memory,
		     uint64_t object, uint64_t *klass)
{
	uint64_t base, shift;
	uint32_t narrow;

	if (!vm->fields[VM_OBJECT_KLASS].known ||
	    (!vm_load(vm, memory, VM_KLASS_BASE, 0, &base) &&
	     !vm_load(vm, memory, VM_OLD_KLASS_BASE, 0, &base) &&
	     !vm_load(vm, memory, VM_OLDEST_KLASS_BASE, 0, &base)) ||
	    (!vm_load(vm, memory, VM_KLASS_SHIFT, 0, &shift) &&
	     !vm_load(vm, memory, VM_OLD_KLASS_SHIFT, 0, &shift) &&
	     !vm_load(vm, memory, VM_OLDEST_KLASS_SHIFT, 0, &shift)) ||
	    shift > 32 ||
	    !memory_read(memory, object + vm->fields[VM_OBJECT_KLASS].at, &narrow, sizeof(narrow)))
		return false;
	*klass = base + ((uint64_t)narrow << shift);
	return true;
}

static bool is_name(const struct vmstructs *vm, const struct target_memory *memory, uint64_t klass,
		    const char *wanted)
{
	uint64_t symbol, length;
	char name[LOADER_BYTES];

	return vm->fields[VM_SYMBOL_BODY].known &&
	       vm_load(vm, memory, VM_KLASS_NAME, klass, &symbol) &&
	       vm_load(vm, memory, VM_SYMBOL_LENGTH, symbol, &length) && length == strlen(wanted) &&
	       length <= sizeof(name) &&
	       memory_read(memory, symbol + vm->fields[VM_SYMBOL_BODY].at, name, length) &&
	       !memcmp(name, wanted, length);
}

/* Does this loader data belong to one of the VM's own loaders? */
static bool is_own(const struct vmstructs *vm, const struct target_memory *memory, uint64_t data,
		   bool is_last)
{
	static const char *const loaders[] = {
		"jdk/internal/loader/ClassLoaders$AppClassLoader",
		"jdk/internal/loader/ClassLoaders$PlatformClassLoader",
		"sun/misc/Launcher$AppClassLoader", "sun/misc/Launcher$ExtClassLoader"};
	uint64_t handle, object, of_loader;

	if (is_hidden(vm, memory, data) || !vm_load(vm, memory, VM_LOADER_OBJECT, data, &handle))
		return false;
	if (!handle)
		return is_last; /* the boot loader */
	if (!memory_read(memory, handle, &object, sizeof(object)))
		return false;
	for (size_t i = 0; i < sizeof(loaders) / sizeof(loaders[0]); i++)
		/* Java 8 has the object itself in place of a handle. */
		if ((class_of(vm, memory, object, &of_loader) &&
		     is_name(vm, memory, of_loader, loaders[i])) ||
		    (class_of(vm, memory, handle, &of_loader) &&
		     is_name(vm, memory, of_loader, loaders[i])))
			return true;
	return false;
}

/* The last loaders of the list. */
struct oldest {
	uint64_t data[OLDEST]; /* number n of the list at n % OLDEST */
	size_t nr;	       /* in the list */
	bool is_whole;
};

/* A read for each. */
static void find_oldest(const struct vmstructs *vm, const struct target_memory *memory,
			struct oldest *oldest)
{
	uint64_t data;

	oldest->nr = 0;
	oldest->is_whole = false;
	if (!vm_load(vm, memory, VM_LOADERS, 0, &data))
		return;
	for (; data && oldest->nr < MAX_LOADERS; oldest->nr++) {
		oldest->data[oldest->nr % OLDEST] = data;
		if (!vm_load(vm, memory, VM_LOADER_NEXT, data, &data))
			return;
	}
	oldest->is_whole = !data;
}

void unloads_find_own(const struct vmstructs *vm, const struct target_memory *memory,
		      struct own_loaders *own)
{
	struct oldest oldest;
	size_t nr;

	find_oldest(vm, memory, &oldest);
	own->nr = 0;
	for (nr = oldest.nr; nr && oldest.nr - nr < OLDEST && own->nr < MAX_OWN_LOADERS; nr--) {
		uint64_t data = oldest.data[(nr - 1) % OLDEST];

		if (is_own(vm, memory, data, oldest.is_whole && nr == oldest.nr))
			own->data[own->nr++] = data;
	}
}

bool unloads_never(const struct vmstructs *vm, const struct target_memory *memory,
		   const struct own_loaders *own, uint64_t klass)
{
	uint64_t data;

	if (!vm_load(vm, memory, VM_KLASS_LOADER, klass, &data))
		return false;
	for (size_t i = 0; i < own->nr; i++)
		if (own->data[i] == data)
			return true;
	return false;
}
