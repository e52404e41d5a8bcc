// SPDX-License-Identifier: BSD-2-Clause
/*
 * The set is a row of tables, each four times as large as the one before. An address has one bucket in each of them, a
 * cache line of eight slots, and is in the first slot that was free: so it is entered and taken out by a single
 * compare-and-swap, and never moves. A table is made when all of an address's buckets are full; the first is there from
 * the start, and is enough for 8,000 samples. Rejected: open addressing across buckets, where a look-up must know which
 * slots were once used, and a table that grows, which needs a lock or a grace period.
 *
 * A filter without the set cannot be lowered: who frees a block that is not in it, but shares its place, would take
 * somebody else's count away, and the next sampled block there would be missed.
 */
#include "inside/blocks.h"

#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "inside/systemcall.h"

#define BUCKET_SLOTS  8
#define FIRST_BITS    10 /* of the number of buckets */
#define GROWTH_BITS   2
#define NR_TABLES     8 /* 179 million slots in all */
#define PAGE_BITS     12
#define FILTER_STICKS UINT8_MAX

struct bucket {
	_Alignas(64) uintptr_t slots[BUCKET_SLOTS];
};

uint8_t heap_filter[HEAP_FILTER_PLACES];
static struct bucket first_table[1 << FIRST_BITS];
static struct bucket *tables[NR_TABLES] = {first_table};

static int bits_of(int table)
{
	return FIRST_BITS + GROWTH_BITS * table;
}

static struct bucket *bucket_of(struct bucket *buckets, int table, uintptr_t block)
{
	return &buckets[(block >> 4) * 0x9e3779b97f4a7c15ull >> (64 - bits_of(table))];
}

static bool swap(uintptr_t *slot, uintptr_t from, uintptr_t to)
{
	return __atomic_load_n(slot, __ATOMIC_RELAXED) == from &&
	       __atomic_compare_exchange_n(slot, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* Changes one slot of block's bucket in table. false: none of them is `from`. */
static bool change(int table, uintptr_t block, uintptr_t from, uintptr_t to)
{
	struct bucket *buckets = __atomic_load_n(&tables[table], __ATOMIC_ACQUIRE);
	struct bucket *bucket;

	if (!buckets)
		return false;
	bucket = bucket_of(buckets, table, block);
	for (int i = 0; i < BUCKET_SLOTS; i++)
		if (swap(&bucket->slots[i], from, to))
			return true;
	return false;
}

/* Makes a table that there is not yet. false: no memory. */
static bool make_table(int table)
{
	size_t len_bytes = sizeof(struct bucket) << bits_of(table);
	struct bucket *nothing = NULL;
	long at;

	if (__atomic_load_n(&tables[table], __ATOMIC_ACQUIRE))
		return true;
	at = system_call(SYS_mmap, 0, (long)len_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (at < 0 && at > -4096)
		return false;
	if (!__atomic_compare_exchange_n(&tables[table], &nothing, (struct bucket *)at, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		system_call(SYS_munmap, at, (long)len_bytes, 0, 0,
			    0); /* somebody else was faster */
	return true;
}

static uint8_t *place_of(uintptr_t block)
{
	return &heap_filter[block >> PAGE_BITS & (HEAP_FILTER_PLACES - 1)];
}

static void add_to_place(uintptr_t block, int change_by)
{
	uint8_t *place = place_of(block), nr = __atomic_load_n(place, __ATOMIC_RELAXED);

	while (nr != FILTER_STICKS &&
	       !__atomic_compare_exchange_n(place, &nr, nr + change_by, true, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED))
		;
}

bool blocks_add(const void *block)
{
	uintptr_t address = (uintptr_t)block;

	for (int i = 0; i < NR_TABLES; i++)
		if (change(i, address, address, address))
			return true; /* freed where nobody saw it, or returned once more */
	add_to_place(address, 1);
	for (int i = 0; i < NR_TABLES; i++)
		if (change(i, address, 0, address) ||
		    (make_table(i) && change(i, address, 0, address)))
			return true;
	add_to_place(address, -1);
	return false;
}

bool blocks_take(const void *block)
{
	uintptr_t address = (uintptr_t)block;

	if (!address || !__atomic_load_n(place_of(address), __ATOMIC_ACQUIRE))
		return false;
	for (int i = 0; i < NR_TABLES; i++)
		if (change(i, address, address, 0)) {
			add_to_place(address, -1);
			return true;
		}
	return false;
}
