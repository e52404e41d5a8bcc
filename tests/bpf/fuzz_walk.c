/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BPF unwinder over tables, registers and a stack that are all the fuzzer's: whatever the words
 * say, nothing outside the maps is touched (ASan, UBSan, and the pages around the maps), the walk ends,
 * and it says why. What it loops over in the kernel is bounded by the verifier; here by the time.
 *
 * The input is a struct scene, zeros where it is short, then words for the beginning of both slabs.
 */
#include "shim/host.h"

#include <stdlib.h>
#include <string.h>

#include "record.bpf.h"
#include "registers.bpf.h"
#include "unwind.bpf.h"

#define STACK	  0x7ffc00000000ull
#define NR_VMAS	  4
#define NR_TABLES 4
#define NR_SLABS  2

struct scene {
	struct pt_regs regs;
	struct abi_process process;
	struct abi_vma vmas[NR_VMAS];
	struct abi_table tables[NR_TABLES];
	u64 stack[512];
};

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t len_bytes);

static u32 *slabs[NR_SLABS];

static void add_slab(u32 i)
{
	int fd = host_map_new(BPF_MAP_TYPE_ARRAY, "slab", 4, ABI_SLAB_WORDS * 4, 1);
	struct host_map *map = host_map_by_fd(fd), *all = host_map("slabs");
	u32 zero = 0;

	slabs[i] = host_map_lookup(&map, &zero);
	host_map_update(&all, &i, &fd, BPF_ANY);
}

static void check(_Bool holds)
{
	if (!holds)
		abort();
}

static void check_walk(const struct scratch *scratch)
{
	u32 len;

	check(scratch->walk.nr >= 1 && scratch->walk.nr <= ABI_MAX_USER_FRAMES);
	check(scratch->walk.end < ABI_NR_STACK_ENDS);
	check(scratch->record.nr_user == scratch->walk.nr);
	while (host_ring_take(&len))
		check(len <= sizeof(struct abi_stack));
}

static void walk(const struct scene *scene)
{
	struct scratch *scratch = scratch_at(ABI_SLOT_TICK);
	struct pt_regs regs = scene->regs;

	regs.cs = 0x33;
	scratch->walk.end = ~0u;
	scratch->record.nr_kernel = 0;
	scratch->record.tgid = 1000;
	check(registers_begin_walk(&regs, scratch));
	unwind_user(ABI_SLOT_TICK);
	record_close(ABI_SLOT_TICK, 0);
	check(record_store(scratch, NULL));
	check_walk(scratch);
}

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t len_bytes)
{
	static struct scene scene;
	struct host_map *processes;
	u64 words_bytes;
	u32 tgid = 1000;

	if (!slabs[0]) {
		host_open();
		for (u32 i = 0; i < NR_SLABS; i++)
			add_slab(i);
		host_add_range(STACK, scene.stack, sizeof(scene.stack));
	}
	memset(&scene, 0, sizeof(scene));
	memcpy(&scene, bytes, len_bytes < sizeof(scene) ? len_bytes : sizeof(scene));
	words_bytes = len_bytes < sizeof(scene) ? 0 : len_bytes - sizeof(scene);
	if (words_bytes > ABI_SLAB_WORDS * 4)
		return 0;
	memcpy(host_map_value("vmas"), scene.vmas, sizeof(scene.vmas));
	memcpy(host_map_value("tables"), scene.tables, sizeof(scene.tables));
	for (u32 i = 0; i < NR_SLABS; i++)
		memcpy(slabs[i], bytes + len_bytes - words_bytes, words_bytes);
	processes = host_map("processes");
	host_map_update(&processes, &tgid, &scene.process, BPF_ANY);
	walk(&scene);
	for (u32 i = 0; i < NR_SLABS; i++)
		memset(slabs[i], 0, words_bytes);
	host_map_resize("counts_even", 16);
	return 0;
}
