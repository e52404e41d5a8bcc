// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the library that targets load is made of: distances between samples and what samples stand for, held against
 * libm, also where the rate changes; the set of sampled blocks, alone and with threads; and the notes that tell of its probes, which readelf(1) knows
 * as well; and that it redirects slots for one at a time.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inside/blocks.h"
#include "inside/chance.h"
#include "inside/redirect.h"
#include "inside/sampler.h"
#include "object/elf.h"
#include "probes/usdt.h"

static void test_weights(void **state)
{
	(void)state;
	for (uint64_t rate = 2; rate < 1ull << 40; rate = rate * 3 + 1)
		for (uint64_t size = 1; size < 1ull << 44; size = size * 2 + 1) {
			double exact = size / -expm1(-(double)size / rate);

			assert_true(fabs(chance_weight(size, rate) - exact) <=
				    0.51 + exact * 1e-11);
		}
	assert_int_equal(chance_weight(1000, 1), 1000);
	assert_int_equal(chance_weight(0, 1), 1);
}

/* How often a distance is at most s must be 1 - e^(-s/rate), to five standard deviations. */
static void test_distances(void **state)
{
	enum {
		NR = 200000
	};
	const uint64_t rate = 1000, sizes[] = {1, 2, 10, 100, 693, 1000, 3000, 8000};
	const size_t nr_sizes = sizeof(sizes) / sizeof(sizes[0]);
	uint64_t nr_within[sizeof(sizes) / sizeof(sizes[0])] = {0};
	struct chance chance = {0};

	(void)state;
	assert_false(chance_is_seeded(&chance));
	chance_seed(&chance);
	assert_true(chance_is_seeded(&chance));
	for (int i = 0; i < NR; i++) {
		uint64_t distance = chance_distance(&chance, rate);

		assert_true(distance >= 1);
		for (size_t j = 0; j < nr_sizes; j++)
			nr_within[j] += distance <= sizes[j];
	}
	for (size_t j = 0; j < nr_sizes; j++) {
		double p = -expm1(-(double)sizes[j] / rate);

		assert_true(fabs(nr_within[j] - NR * p) < 5 * sqrt(NR * p * (1 - p)) + 1);
	}
	assert_int_equal(chance_distance(&chance, 1), 0);
	assert_int_equal(chance_distance(&chance, 0), 0);
}

/* Threads that end leave their memory to others, which draw other numbers. */
static void test_next_threads(void **state)
{
	struct chance chance = {0};
	uint64_t distance;

	(void)state;
	chance_seed(&chance);
	distance = chance_distance(&chance, 1ull << 48);
	chance = (struct chance){0};
	chance_seed(&chance);
	assert_true(chance_distance(&chance, 1ull << 48) != distance);
}

/* Distances of the first source that a forked child finds, as it finds it. */
static void draw_in_child(struct chance chance, uint64_t drawn[4])
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (!chance_is_seeded(&chance))
			chance_seed(&chance);
		for (int i = 0; i < 4; i++)
			drawn[i] = chance_distance(&chance, 1ull << 48);
		_exit(write(ends[1], drawn, 4 * sizeof(*drawn)) < 0);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], drawn, 4 * sizeof(*drawn)), 4 * sizeof(*drawn));
	close(ends[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* qemu-user neither clears pages in a forked child nor says what a thread waits for. */
static void need_kernel(void)
{
	if (!getenv("EMULATOR"))
		return;
	print_message("SKIP: an emulator, no kernel\n");
	skip();
}

/* Children have their parent's source, and draw other numbers than it and than each other. The parent's stays what it is. */
static void test_forked_children(void **state)
{
	struct chance chance = {0};
	uint64_t drawn[3][4];

	(void)state;
	need_kernel();
	chance_seed(&chance);
	draw_in_child(chance, drawn[0]);
	draw_in_child(chance, drawn[1]);
	assert_true(chance_is_seeded(&chance));
	for (int i = 0; i < 4; i++)
		drawn[2][i] = chance_distance(&chance, 1ull << 48);
	for (int i = 0; i < 4; i++) {
		assert_true(drawn[0][i] != drawn[1][i]);
		assert_true(drawn[0][i] != drawn[2][i]);
		assert_true(drawn[1][i] != drawn[2][i]);
	}
}

/* What surrounds the sampler in the library. */
static char one_block[16];
volatile uint16_t heap_alloc_semaphore = 1;
void *(*next_calloc)(size_t nr, size_t size);
void *(*next_realloc)(void *old, size_t size);
int (*next_posix_memalign)(void **at, size_t alignment, size_t size);
void *(*next_aligned_alloc)(size_t alignment, size_t size);
void *(*next_memalign)(size_t alignment, size_t size);
void *(*next_valloc)(size_t size);
void *(*next_pvalloc)(size_t size);

static void *give(size_t size)
{
	(void)size;
	return one_block;
}

void *(*next_malloc)(size_t size) = give;

void heap_free(const void *freed, uint64_t will_tell)
{
	(void)freed;
	(void)will_tell;
}

void heap_moved(uint64_t has_moved)
{
	(void)has_moved;
}

/* As malloc() of entries.S. Was the block sampled? Its weight is judged, too. */
static bool is_sampled(uint64_t size, uint64_t rate)
{
	uint64_t *left = &heap_left[heap_rates.at / sizeof(*left)];
	bool is_reached = *left <= size;
	uint64_t weight;

	*left -= size;
	weight = is_reached ? sample_malloc(size).weight : 0;
	assert_true(!weight || weight == chance_weight(size, rate));
	sample_free(one_block);
	return weight;
}

/*
 * Whatever the rate was before, and in whatever order they come: a block of s bytes is sampled with probability
 * 1 - e^(-s/rate) from the first one on, to five standard deviations.
 */
static void test_rates(void **state)
{
	enum {
		NR = 20000,
		NR_RATES = 3 * HEAP_RATES
	};
	uint64_t nr_sampled[NR_RATES] = {0};

	(void)state;
	for (int i = 0; i < NR; i++)
		for (int j = 0; j < NR_RATES; j++) {
			uint64_t rate = 1000ull << (j * 5 % NR_RATES);

			sample_at(rate);
			nr_sampled[j] += is_sampled(rate, rate);
			is_sampled(1, rate);
			sample_at(rate);
		}
	for (int j = 0; j < NR_RATES; j++) {
		double p = -expm1(-1);

		assert_true(fabs(nr_sampled[j] - NR * p) < 5 * sqrt(NR * p * (1 - p)) + 1);
	}
	sample_at(1);
	for (int i = 0; i < 100; i++)
		assert_true(is_sampled(1, 1));
}

/* Nobody listened when the thread drew its distance, at a rate that hardly ever samples. */
static void test_rate_after_idleness(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		sample_at(1ull << 40);
		heap_alloc_semaphore = 0;
		assert_false(is_sampled(1, 1ull << 40));
		heap_alloc_semaphore = 1;
		sample_at(1);
		assert_true(is_sampled(1, 1));
	}
}

/* Where nobody listens any more calls seldom come to the sampler, at any rate; who listens next has each block, at rate 1. */
static void test_idleness(void **state)
{
	(void)state;
	for (int i = 0; i < 3 * HEAP_RATES; i++) {
		heap_alloc_semaphore = 1;
		sample_at(1);
		for (int j = 0; j < 10; j++)
			assert_true(is_sampled(1, 1));
		sample_at(1); /* a look for more files changes nothing */
		assert_true(is_sampled(1, 1));
		heap_alloc_semaphore = 0;
		assert_false(is_sampled(1, 1));
		assert_true(heap_left[heap_rates.at / sizeof(*heap_left)] > 100000);
	}
	heap_alloc_semaphore = 1;
}

static const void *block(uint64_t address)
{
	return (const void *)address;
}

static uint32_t nr_in_filter(void)
{
	uint32_t nr = 0;

	for (int i = 0; i < HEAP_FILTER_PLACES; i++)
		nr += heap_filter[i];
	return nr;
}

static void test_blocks(void **state)
{
	(void)state;
	assert_false(blocks_take(block(0)));
	assert_false(blocks_take(block(0x1000)));
	assert_true(blocks_add(block(0x1000)));
	assert_true(blocks_add(block(0x1000)));
	assert_true(blocks_add(block(0x1010)));
	assert_int_equal(nr_in_filter(), 2);
	assert_false(blocks_take(block(0x1020)));
	assert_true(blocks_take(block(0x1000)));
	assert_false(blocks_take(block(0x1000)));
	assert_true(blocks_take(block(0x1010)));
	assert_int_equal(nr_in_filter(), 0);
}

/* More than the first tables hold: each is found, once. */
static void test_many_blocks(void **state)
{
	enum {
		NR = 300000
	};

	(void)state;
	for (uint64_t i = 1; i <= NR; i++)
		assert_true(blocks_add(block(i * 48)));
	for (uint64_t i = 1; i <= NR; i++)
		assert_false(blocks_take(block(i * 48 + 16)));
	for (uint64_t i = NR; i; i--)
		assert_true(blocks_take(block(i * 48)));
	for (uint64_t i = 1; i <= NR; i++)
		assert_false(blocks_take(block(i * 48)));
}

/* Places that held more than they can count stay: a filter may say too often that a block could be there. */
static void test_full_place_stays(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 256; i++)
		assert_true(blocks_add(block(0x5000000000 + i * 16)));
	for (uint64_t i = 0; i < 256; i++)
		assert_true(blocks_take(block(0x5000000000 + i * 16)));
	assert_int_equal(heap_filter[0], UINT8_MAX);
	assert_true(blocks_add(block(0x5000000000)));
	assert_true(blocks_take(block(0x5000000000)));
}

#define NR_THREADS 8

/* Each has blocks of its own, in pages that all of them share. */
static void *add_and_take(void *argument)
{
	uint64_t first = (uintptr_t)argument, nr_wrong = 0;

	for (int turn = 0; turn < 20; turn++) {
		for (uint64_t i = 0; i < 2000; i++)
			nr_wrong += !blocks_add(block((first + i * NR_THREADS) * 16));
		for (uint64_t i = 0; i < 2000; i++)
			nr_wrong += !blocks_take(block((first + i * NR_THREADS) * 16));
	}
	return (void *)(uintptr_t)nr_wrong;
}

static void test_threads(void **state)
{
	pthread_t threads[NR_THREADS];
	void *nr_wrong;

	(void)state;
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, add_and_take, (void *)(i + 65536)), 0);
	for (int i = 0; i < NR_THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &nr_wrong), 0);
		assert_null(nr_wrong);
	}
}

/* The library's own notes, as readelf reads them. All is where it is in the file: text and data are moved differently. */
static void test_notes(void **state)
{
	int fd = open(LIBRARY, O_RDONLY | O_CLOEXEC);
	struct allocator allocator = {0};
	struct elf_file *elf;
	unsigned long at, semaphore;
	uint64_t elf_addr;
	FILE *in;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(fd, &elf), 0);
	assert_true(usdt_find(elf, &allocator));
	assert_int_equal(allocator.nr, 3);
	in = popen("readelf -nW " LIBRARY " | sed -n 's/.*Location: \\(0x[0-9a-f]*\\),.*Semaphore: "
		   "\\(0x[0-9a-f]*\\).*/\\1 \\2/p'",
		   "r");
	assert_non_null(in);
	for (size_t i = 0; i < allocator.nr; i++) {
		assert_int_equal(fscanf(in, "%lx %lx", &at, &semaphore), 2);
		assert_int_equal(allocator.sites[i].shape, SHAPE_SAMPLED + i);
		assert_int_equal(elf_file_addr(elf, allocator.sites[i].file_off, &elf_addr), 0);
		assert_int_equal(elf_addr, at);
		assert_int_equal(elf_file_addr(elf, allocator.sites[i].semaphore_off, &elf_addr),
				 0);
		assert_int_equal(elf_addr, semaphore);
	}
	pclose(in);
	elf_file_close(elf);
	close(fd);
}

typedef int64_t redirect_fn(uint64_t rate_bytes, volatile struct redirect_result *result);

struct redirection {
	redirect_fn *redirect;
	pthread_t thread;
	volatile pid_t tid;
	int64_t nr_slots, nr_beside;
};

static void *redirect_slots(void *argument)
{
	struct redirection *redirection = argument;
	volatile struct redirect_result result;

	redirection->tid = gettid();
	redirection->nr_slots = redirection->redirect(4096, &result);
	return NULL;
}

/* Waits until a thread waits for a lock. */
static void await_lock(volatile pid_t *tid)
{
	char path[64];
	int call = -1;

	while (call != SYS_futex) {
		FILE *in;

		snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", *tid);
		in = *tid ? fopen(path, "re") : NULL;
		if (!in || fscanf(in, "%d", &call) != 1)
			call = -1;
		if (in)
			fclose(in);
		usleep(1000);
	}
}

/* Within the loader's lock: the thread's call begins, and waits for it; another one is made meanwhile. */
static int call_beside(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	struct redirection *redirection = argument;
	volatile struct redirect_result result;

	(void)info;
	(void)bytes;
	assert_int_equal(pthread_create(&redirection->thread, NULL, redirect_slots, redirection),
			 0);
	await_lock(&redirection->tid);
	redirection->nr_beside = redirection->redirect(0, &result);
	assert_true(result.nr == redirection->nr_beside);
	return 1;
}

/* One that has not returned yet is not disturbed by another one, which may come from any thread. */
static void test_one_call_at_a_time(void **state)
{
	struct redirection redirection = {0};
	void *library = dlopen(LIBRARY, RTLD_NOW);
	struct link_map *map;
	volatile struct redirect_result result;

	(void)state;
	need_kernel();
	assert_non_null(library);
	assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
	redirection.redirect =
		(redirect_fn *)(map->l_addr + ((const ElfW(Ehdr) *)map->l_addr)->e_entry);
	dl_iterate_phdr(call_beside, &redirection);
	assert_int_equal(redirection.nr_beside, -3); /* REDIRECT_BUSY */
	assert_int_equal(pthread_join(redirection.thread, NULL), 0);
	assert_true(redirection.nr_slots > 0);
	assert_int_equal(redirection.redirect(0, &result), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_distances),
		cmocka_unit_test(test_next_threads),
		cmocka_unit_test(test_forked_children),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_rate_after_idleness),
		cmocka_unit_test(test_idleness),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_many_blocks),
		cmocka_unit_test(test_full_place_stays),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_one_call_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
