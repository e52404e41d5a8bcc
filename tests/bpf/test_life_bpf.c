/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What BPF keeps of the lives of blocks (bpf/life.bpf.c), held against a model that copies all counters whenever the total
 * has grown: random allocations and frees of several sizes, at rate 1, over several epochs.
 */
#include "scratch.bpf.h"
#include "life.bpf.h"
#include "sampling.bpf.h"
#include "shim/host.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "collect/sampling.h"

int on_sampled(struct pt_regs *ctx);
int on_sampled_free(struct pt_regs *ctx);

extern volatile u32 epoch, live_filter[ABI_LIVE_FILTER];

#define TOP	 0x7ff000000000ull
#define TEXT	 0x400000ull
#define NR_SIZES 5
#define NR_SLOTS 64

static u64 stack[512]; /* at TOP - 2048 */

static int set_up(void **state)
{
	struct abi_process process = {.nr_vmas = 1};
	u32 tgid = 1000;
	struct host_map *processes;
	struct abi_vma *vmas;

	(void)state;
	host_open();
	processes = host_map("processes");
	vmas = host_map_value("vmas");
	vmas[0] = (struct abi_vma){.limit = 1ull << 47, .table = ABI_TABLE_NO_CFI};
	host_map_update(&processes, &tgid, &process, BPF_ANY);
	host_map_widen("live", sizeof(struct abi_block));
	host_map_widen("counts_even", sizeof(struct abi_life_count));
	host_map_widen("counts_odd", sizeof(struct abi_life_count));
	host_add_range(TOP - 2048, stack, sizeof(stack));
	host_config()->rate_bytes = 1;
	host_config()->keeps_lives = true;
	memset((void *)live_filter, 0, ABI_LIVE_FILTER * sizeof(live_filter[0]));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	host_close();
	return 0;
}

static void allocate(u64 address, u64 size)
{
	struct pt_regs regs = {
		.di = address, .si = size, .cx = TEXT + 0x100, .sp = TOP - 8, .ip = TEXT, .cs = 3};

	stack[(2048 - 8) / 8] = TEXT + 0x77;
	host.now_ns++;
	on_sampled(&regs);
}

static void release(u64 address)
{
	struct pt_regs regs = {.di = address, .sp = TOP - 64, .ip = TEXT, .cs = 3};

	host.now_ns++;
	on_sampled_free(&regs);
}

/* What user space adds up of each id, as record/builder does. */
struct kept {
	u64 id, size, peak_ns;
	s64 live, peak_live;
};

static struct kept kept[NR_SIZES];
static u32 nr_kept;

static struct kept *kept_of(u64 id)
{
	for (u32 i = 0; i < nr_kept; i++)
		if (kept[i].id == id)
			return &kept[i];
	assert_true(nr_kept < NR_SIZES);
	kept[nr_kept].id = id;
	return &kept[nr_kept++];
}

static void read_sizes(void)
{
	const struct abi_record *record;
	u32 len;

	while ((record = host_ring_take(&len)))
		if (record->event == ABI_EVENT_RECORD)
			kept_of(record->id)->size = record->size_bytes;
}

/* Ends an epoch, as collect/drain.c does. */
static void drain(void)
{
	const char *name = epoch & 1 ? "counts_odd" : "counts_even";
	struct host_map *map = host_map(name);
	struct abi_life_count count;
	u64 id, *previous = NULL;

	read_sizes();
	while (!host_map_next_key(map, previous, &id)) {
		struct kept *entry = kept_of(id);

		previous = &id;
		assert_int_equal(host_map_read(map, &id, &count), 0);
		if (count.peak_ns > entry->peak_ns) {
			entry->peak_ns = count.peak_ns;
			entry->peak_live = entry->live + count.peak_live;
		}
		entry->live += count.count.nr_taken - count.count.nr_freed;
	}
	host_map_resize(name, host_map_nr(name) + 4096);
	epoch++;
}

static struct abi_peak peak_now(void)
{
	struct abi_image image = {.tgid = 1000, .exec_id = host.task.self_exec_id};
	struct abi_peak peak;

	assert_int_equal(host_map_read(host_map("peaks"), &image, &peak), 0);
	return peak;
}

static const u64 sizes[NR_SIZES] = {8, 100, 1000, 1024, 5000};

static void test_peak_is_exact(void **state)
{
	u32 slots[NR_SLOTS] = {0}, held[NR_SIZES] = {0}, at_peak[NR_SIZES] = {0};
	u64 total = 0, most = 0;

	(void)state;
	memset(kept, 0, sizeof(kept));
	nr_kept = 0;
	srand(7);
	for (u32 i = 0; i < 20000; i++) {
		u32 slot = rand() % NR_SLOTS;

		if (slots[slot]) {
			held[slots[slot] - 1]--;
			total -= sizes[slots[slot] - 1];
			slots[slot] = 0;
			release(0x10000 + slot * 0x1000);
		} else {
			slots[slot] = 1 + rand() % NR_SIZES;
			held[slots[slot] - 1]++;
			total += sizes[slots[slot] - 1];
			allocate(0x10000 + slot * 0x1000, sizes[slots[slot] - 1]);
			if (total > most) {
				most = total;
				memcpy(at_peak, held, sizeof(held));
			}
		}
		if (rand() % 300 == 0)
			drain();
	}
	drain();
	assert_int_equal(peak_now().most_bytes, most);
	assert_int_equal(peak_now().live_bytes, total);
	for (u32 i = 0; i < nr_kept; i++)
		for (u32 j = 0; j < NR_SIZES; j++)
			if (sizes[j] == kept[i].size)
				assert_int_equal(kept[i].peak_ns == peak_now().most_ns
							 ? kept[i].peak_live
							 : kept[i].live,
						 at_peak[j]);
	assert_int_equal(nr_kept, NR_SIZES);
}

/* A sampled block stands for size / p bytes, until it is freed. */
static void test_weights(void **state)
{
	static const u64 of[] = {1, 100, 4096, 1 << 20, 1ull << 33};
	struct abi_sampling_piece *pieces = host_map_value("sampling_tables");

	(void)state;
	host_config()->rate_bytes = 4096;
	sampling_fill(pieces, 4096);
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct abi_block block = {};
		double p = of[i] < 1 << 20 ? (double)(sampling_threshold(of[i]) >> 32) / 4294967296.
					   : 1;

		life_begin(&block, of[i]);
		assert_true(block.weight_bytes >= of[i]);
		assert_true((double)block.weight_bytes >= of[i] / p * 0.999 - 1 &&
			    (double)block.weight_bytes <= of[i] / p * 1.001 + 1);
	}
	host_config()->rate_bytes = 1ull << 40; /* so rarely that p rounds to 0 */
	sampling_fill(pieces, 1ull << 40);
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct abi_block block = {};

		life_begin(&block, of[i]);
		assert_true(block.weight_bytes > 1ull << 39);
	}
}

static void test_ages(void **state)
{
	static const u64 ages_ns[] = {1, 90000, 110000, 5000000, 2000000000, 100000000000};
	struct abi_life_count sum = {}, count;
	struct host_map *map = host_map("counts_even");
	u64 id, *previous = NULL;

	(void)state;
	epoch = 0;
	for (size_t i = 0; i < sizeof(ages_ns) / sizeof(ages_ns[0]); i++) {
		allocate(0x10000, 100);
		host.now_ns += ages_ns[i] - 1; /* release() adds one */
		release(0x10000);
	}
	while (!host_map_next_key(map, previous, &id)) {
		previous = &id;
		assert_int_equal(host_map_read(map, &id, &count), 0);
		for (u32 i = 0; i < ABI_NR_AGES; i++)
			sum.nr_by_age[i] += count.nr_by_age[i];
		if (count.oldest_freed_ns > sum.oldest_freed_ns)
			sum.oldest_freed_ns = count.oldest_freed_ns;
	}
	assert_int_equal(sum.nr_by_age[0], 2);
	assert_int_equal(sum.nr_by_age[1], 1);
	assert_int_equal(sum.nr_by_age[2], 1);
	assert_int_equal(sum.nr_by_age[5], 1);
	assert_int_equal(sum.nr_by_age[6], 1);
	assert_true(sum.oldest_freed_ns >= 100000000000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(peak_is_exact),
		TEST(weights),
		TEST(ages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
