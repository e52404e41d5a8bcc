/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The heap's bookkeeping, from the probes' programs to the counters, without a kernel: what counts
 * as one call, what becomes of a block, every way to lose a sample, and the identities of cprof_abi.h
 * after a hundred thousand random operations of threads that take turns.
 *
 * Rate 1 (every call is sampled) where a test needs to know what happens, so that counts are exact.
 */
#include "scratch.bpf.h"
#include "shim/host.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "collect/sampling.h"
#include "base/clock.h"
#include "collect/purge.h"
#include "collect/tally.h"

int enter_malloc(struct pt_regs *ctx);
int enter_calloc(struct pt_regs *ctx);
int enter_realloc(struct pt_regs *ctx);
int enter_reallocarray(struct pt_regs *ctx);
int enter_memalign(struct pt_regs *ctx);
int enter_posix_memalign(struct pt_regs *ctx);
int enter_free(struct pt_regs *ctx);
int leave_call(struct pt_regs *ctx);
int on_sampled(struct pt_regs *ctx);
int on_sampled_free(struct pt_regs *ctx);
int on_moved(struct pt_regs *ctx);
int bpf_end_on_exit(struct task_struct *task);
int bpf_end_on_exec(struct task_struct *task, int old_tid);
int bpf_on_exec(struct task_struct *task);
int bpf_on_exit(struct task_struct *task);

extern volatile u32 epoch, stopped, nr_ended, live_filter[ABI_LIVE_FILTER], helpers[2][2];

static struct purge purge; /* user space's part of it */

typedef int (*program_fn)(struct pt_regs *);

static const struct {
	program_fn enter, leave;
} programs[] = {
	[ABI_ALLOCATOR_MALLOC] = {enter_malloc, leave_call},
	[ABI_ALLOCATOR_CALLOC] = {enter_calloc, leave_call},
	[ABI_ALLOCATOR_REALLOC] = {enter_realloc, leave_call},
	[ABI_ALLOCATOR_REALLOCARRAY] = {enter_reallocarray, leave_call},
	[ABI_ALLOCATOR_MEMALIGN] = {enter_memalign, leave_call},
	[ABI_ALLOCATOR_POSIX_MEMALIGN] = {enter_posix_memalign, leave_call},
	[ABI_ALLOCATOR_FREE] = {enter_free, NULL},
};

#define TOP	 0x7ff000000000ull /* sp of a caller of the allocator */
#define TEXT	 0x400000ull
#define CALLER	 (TEXT + 0x77)
#define FUNCTION 0x10000 /* bytes between the functions' addresses */

static u64 stack[512]; /* at TOP - 2048 */

static u64 *stack_word(u64 address)
{
	return &stack[(address - (TOP - 2048)) / 8];
}

/* All code is without CFI: stacks end after the caller, and equal ones have equal ids. */
static void know_process(u32 tgid)
{
	struct abi_process process = {.nr_vmas = 1};
	struct abi_vma *vmas = host_map_value("vmas");
	struct host_map *processes = host_map("processes");

	vmas[0] = (struct abi_vma){.limit = 1ull << 47, .table = ABI_TABLE_NO_CFI};
	host_map_update(&processes, &tgid, &process, BPF_ANY);
}

static int set_up(void **state)
{
	(void)state;
	host_open();
	host_map_resize("live", 4096);
	host_add_range(TOP - 2048, stack, sizeof(stack));
	know_process(1000);
	know_process(1001);
	host_config()->rate_bytes = 1;
	nr_ended = 0;
	memset((void *)live_filter, 0, ABI_LIVE_FILTER * sizeof(live_filter[0]));
	purge_open(&purge, &(struct purge_maps){
				   .live_fds = {host_map_fd("live"), host_map_fd("live_more")},
				   .holders_fd = host_map_fd("holders"),
				   .peaks_fd = host_map_fd("peaks"),
				   .block_bytes = sizeof(struct abi_block),
				   .filter = live_filter,
				   .nr_ended = &nr_ended,
			   });
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	purge_release(&purge);
	host_close();
	return 0;
}

/* A function's first instruction: its arguments, and sp on the return address. */
static void enter(enum abi_allocator allocator, u64 sp, u64 di, u64 si, u64 dx)
{
	struct pt_regs regs = {.di = di, .si = si, .dx = dx, .sp = sp, .cs = 3};

	regs.ip = TEXT + (allocator + 1) * FUNCTION;
	programs[allocator].enter(&regs);
}

/* Its return: the return address is popped, and ip is it. */
static void leave(enum abi_allocator allocator, u64 sp, u64 ax)
{
	struct pt_regs regs = {.ax = ax, .ip = CALLER, .sp = sp + 8, .cs = 3};

	programs[allocator].leave(&regs);
}

static void allocate(enum abi_allocator allocator, u64 di, u64 si, u64 dx, u64 result)
{
	enter(allocator, TOP - 8, di, si, dx);
	leave(allocator, TOP - 8, result);
}

static void take_malloc(u64 size, u64 result)
{
	allocate(ABI_ALLOCATOR_MALLOC, size, 0, 0, result);
}

static void take_free(u64 address)
{
	enter(ABI_ALLOCATOR_FREE, TOP - 8, address, 0, 0);
}

/* Of a process that samples by itself: at the entry, with the return address on top of the stack. */
static void sample(u64 address, u64 size)
{
	struct pt_regs regs = {.di = address,
			       .si = size,
			       .cx = TEXT + FUNCTION,
			       .sp = TOP - 8,
			       .ip = TEXT,
			       .cs = 3};

	*stack_word(TOP - 8) = CALLER;
	on_sampled(&regs);
}

static void sample_free(u64 address, bool moves)
{
	struct pt_regs regs = {.di = address, .si = moves, .sp = TOP - 64, .ip = TEXT, .cs = 3};

	on_sampled_free(&regs);
}

static void moved(bool has_moved)
{
	struct pt_regs regs = {.di = has_moved, .sp = TOP - 64, .ip = TEXT, .cs = 3};

	on_moved(&regs);
}

static u64 stat(u32 i)
{
	const struct abi_stats *stats = host_map_value("stats");

	return stats->n[i];
}

#define STAT(name) stat(ABI_STAT_##name)
#define LOST(name) stat(ABI_LOST_##name)

static u64 sum_of_filter(void)
{
	u64 sum = 0;

	for (u32 i = 0; i < ABI_LIVE_FILTER; i++)
		sum += live_filter[i];
	return sum;
}

/* A resized map is another one. */
static void tell_purge(void)
{
	purge.maps.live_fds[0] = host_map_fd("live");
	purge.maps.live_fds[1] = host_map_fd("live_more");
}

/* The identities of cprof_abi.h, as cprof itself reads the maps. */
static void check_identities(void)
{
	struct tally tally = {0};

	assert_int_equal(tally_read(host_map_fd("stats"), host_map_fd("inflight"), &tally), 0);
	tell_purge();
	assert_int_equal(sum_of_filter(), purge_count_live(&purge));
	tally.nr_live += purge_count_live(&purge);
	tally.nr_left += purge.nr_left;
	tally.nr_purged += purge.nr_purged;
	assert_int_equal(tally.nr_calls, tally.nr_nested + tally.nr_unsampled + tally.nr_sampled);
	assert_int_equal(tally.nr_sampled, tally.nr_failed + tally.nr_cut_off + tally.nr_stored +
						   tally.nr_lost + tally.nr_under_way);
	assert_int_equal(tally.nr_stored, tally.nr_freed + tally.nr_frees_lost + tally.nr_purged +
						  tally.nr_left + tally.nr_live);
}

/* What the counts maps hold together. */
static struct abi_count total_counts(void)
{
	static const char *const names[] = {"counts_even", "counts_odd"};
	struct abi_count total = {0}, count;

	for (size_t i = 0; i < 2; i++) {
		struct host_map *map = host_map(names[i]);
		u64 id, *previous = NULL;

		while (!host_map_next_key(map, previous, &id)) {
			assert_int_equal(host_map_read(map, &id, &count), 0);
			total.nr_taken += count.nr_taken;
			total.nr_freed += count.nr_freed;
			previous = &id;
		}
	}
	return total;
}

static bool is_live(u32 tgid, u64 address)
{
	struct abi_block_key key = {.address = address,
				    .image = {.tgid = tgid, .exec_id = host.task.self_exec_id}};
	struct host_map *live = host_map("live");

	return host_map_lookup(&live, &key) != NULL;
}

/* One call ---------------------------------------------------------------------------------------- */

static void test_malloc_and_free(void **state)
{
	const struct abi_record *record;
	u32 len;

	(void)state;
	take_malloc(100, 0x1000);
	take_malloc(100, 0x2000);
	assert_int_equal(STAT(CALLS), 2);
	assert_int_equal(STAT(STORED), 2);
	assert_int_equal(host_map_nr("live"), 2);
	assert_int_equal(host_map_nr("counts_even"), 1); /* the same stack and size */
	record = host_ring_take(&len);
	assert_non_null(record);
	assert_int_equal(record->event, ABI_EVENT_RECORD);
	assert_int_equal(record->size_bytes, 100);
	assert_int_equal(record->nr_user, 2);
	assert_int_equal(record->ips[0], TEXT + FUNCTION);
	assert_int_equal(record->ips[1], CALLER);
	assert_int_equal(record->user_end, ABI_END_NO_ROOT);
	assert_string_equal(record->comm, "process");
	assert_null(host_ring_take(&len));
	take_free(0x1000);
	take_free(0x1000); /* twice: the second is not ours any more */
	take_free(0);	   /* took a trap, as the others */
	take_free(0x5000);
	assert_int_equal(STAT(FREES), 4);
	assert_int_equal(STAT(FREED), 1);
	assert_int_equal(total_counts().nr_taken, 2);
	assert_int_equal(total_counts().nr_freed, 1);
	check_identities();
}

/* glibc: realloc(NULL, n) jumps to malloc: the same sp, and both return probes fire at one return. */
static void test_tail_jump_counts_once(void **state)
{
	(void)state;
	enter(ABI_ALLOCATOR_REALLOC, TOP - 8, 0, 64, 0);
	enter(ABI_ALLOCATOR_MALLOC, TOP - 8, 64, 0, 0);
	/* Both return to realloc's caller, with the same result: the first of them settles it. */
	leave(ABI_ALLOCATOR_MALLOC, TOP - 8, 0x1000);
	leave(ABI_ALLOCATOR_REALLOC, TOP - 8, 0x1000);
	assert_int_equal(STAT(CALLS), 2);
	assert_int_equal(STAT(NESTED), 1);
	assert_int_equal(STAT(STORED), 1);
	assert_int_equal(host_map_nr("inflight"), 0);
	check_identities();
}

static void test_nested_calls_count_once(void **state)
{
	(void)state;
	/* reallocarray calls realloc, which calls malloc and frees the old block. */
	take_malloc(10, 0x1000);
	enter(ABI_ALLOCATOR_REALLOCARRAY, TOP - 8, 0x1000, 4, 16);
	enter(ABI_ALLOCATOR_REALLOC, TOP - 40, 0x1000, 64, 0);
	enter(ABI_ALLOCATOR_MALLOC, TOP - 100 * 8, 64, 0, 0);
	leave(ABI_ALLOCATOR_MALLOC, TOP - 100 * 8, 0x2000);
	enter(ABI_ALLOCATOR_FREE, TOP - 100 * 8, 0x1000, 0, 0);
	leave(ABI_ALLOCATOR_REALLOC, TOP - 40, 0x2000);
	assert_int_equal(STAT(STORED), 1);
	leave(ABI_ALLOCATOR_REALLOCARRAY, TOP - 8, 0x2000);
	assert_int_equal(STAT(NESTED), 2);
	assert_int_equal(STAT(STORED), 2);
	assert_int_equal(STAT(FREED), 1);
	assert_true(is_live(1000, 0x2000));
	assert_false(is_live(1000, 0x1000));
	check_identities();
}

static void test_posix_memalign(void **state)
{
	u64 result_at = TOP - 1024;

	(void)state;
	*stack_word(result_at) = 0x3000;
	enter(ABI_ALLOCATOR_POSIX_MEMALIGN, TOP - 8, result_at, 64, 300);
	enter(ABI_ALLOCATOR_MALLOC, TOP - 80, 500, 0, 0);
	leave(ABI_ALLOCATOR_MALLOC, TOP - 80, 0x3000);
	leave(ABI_ALLOCATOR_POSIX_MEMALIGN, TOP - 8, 0);
	assert_true(is_live(1000, 0x3000));
	/* Fails: the pointer is whatever was there. */
	allocate(ABI_ALLOCATOR_POSIX_MEMALIGN, result_at, 64, 500, 12);
	assert_int_equal(STAT(FAILED), 1);
	/* Only the lower half of rax is the int that says so. */
	*stack_word(result_at) = 0x4000;
	allocate(ABI_ALLOCATOR_POSIX_MEMALIGN, result_at, 64, 500, 0xffffffff00000000ull);
	assert_true(is_live(1000, 0x4000));
	/* The place of the result cannot be read. */
	allocate(ABI_ALLOCATOR_POSIX_MEMALIGN, 0x10, 64, 500, 0);
	assert_int_equal(STAT(FAILED), 2);
	assert_int_equal(STAT(STORED), 2);
	check_identities();
}

static void test_calloc_overflow_fails(void **state)
{
	(void)state;
	allocate(ABI_ALLOCATOR_CALLOC, 1ull << 40, 1ull << 40, 0, 0);
	assert_int_equal(STAT(FAILED), 1);
	allocate(ABI_ALLOCATOR_CALLOC, 3, 7, 0, 0x1000);
	allocate(ABI_ALLOCATOR_CALLOC, 0, 7, 0, 0x2000);
	allocate(ABI_ALLOCATOR_CALLOC, 7, 0, 0, 0x3000);
	assert_int_equal(STAT(STORED), 3);
	check_identities();
}

/* realloc ----------------------------------------------------------------------------------------- */

static void test_realloc_replaces(void **state)
{
	(void)state;
	take_malloc(10, 0x1000);
	allocate(ABI_ALLOCATOR_REALLOC, 0x1000, 20, 0, 0x1000); /* in place */
	assert_int_equal(STAT(FREED), 1);
	assert_true(is_live(1000, 0x1000));
	allocate(ABI_ALLOCATOR_REALLOC, 0x1000, 30, 0, 0x2000);
	assert_int_equal(STAT(FREED), 2);
	assert_false(is_live(1000, 0x1000));
	assert_true(is_live(1000, 0x2000));
	check_identities();
}

static void test_failed_realloc_restores(void **state)
{
	(void)state;
	take_malloc(10, 0x1000);
	enter(ABI_ALLOCATOR_REALLOC, TOP - 8, 0x1000, 1ull << 60, 0);
	assert_false(is_live(1000, 0x1000)); /* nobody can free it in between and be counted */
	check_identities();
	leave(ABI_ALLOCATOR_REALLOC, TOP - 8, 0);
	assert_true(is_live(1000, 0x1000));
	assert_int_equal(STAT(FAILED), 1);
	allocate(ABI_ALLOCATOR_REALLOCARRAY, 0x1000, 1ull << 40, 1ull << 40, 0);
	assert_true(is_live(1000, 0x1000));
	assert_int_equal(STAT(FREED), 0);
	take_free(0x1000);
	assert_int_equal(STAT(FREED), 1);
	check_identities();
}

static void test_realloc_to_nothing_frees(void **state)
{
	(void)state;
	take_malloc(10, 0x1000);
	allocate(ABI_ALLOCATOR_REALLOC, 0x1000, 0, 0, 0);
	assert_int_equal(STAT(FREED), 1);
	assert_int_equal(STAT(FAILED), 1);
	assert_int_equal(host_map_nr("live"), 0);
	check_identities();
}

/* Ends ------------------------------------------------------------------------------------------- */

/* The thread left the call without returning (a longjmp out of a signal handler, say). */
static void test_missed_return(void **state)
{
	(void)state;
	take_malloc(10, 0x1000);
	enter(ABI_ALLOCATOR_REALLOC, TOP - 80, 0x1000, 20, 0);
	take_malloc(30, 0x3000); /* shallower */
	assert_int_equal(LOST(RETURN_MISSED), 1);
	assert_int_equal(STAT(FREED), 1); /* the old block: most calls succeed */
	assert_true(is_live(1000, 0x3000));
	leave(ABI_ALLOCATOR_REALLOC, TOP - 80, 0x2000); /* too late */
	assert_int_equal(STAT(STORED), 2);
	check_identities();
}

/* The same call of the same function again: it cannot be inside itself. */
static void test_missed_return_at_the_same_depth(void **state)
{
	(void)state;
	enter(ABI_ALLOCATOR_MALLOC, TOP - 8, 10, 0, 0);
	take_malloc(10, 0x1000);
	assert_int_equal(LOST(RETURN_MISSED), 1);
	assert_true(is_live(1000, 0x1000));
	check_identities();
}

/* A return at another depth is that of a call that was not noted. */
static void test_return_of_another_call(void **state)
{
	(void)state;
	enter(ABI_ALLOCATOR_MALLOC, TOP - 80, 10, 0, 0);
	leave(ABI_ALLOCATOR_MALLOC, TOP - 8, 0x1000);
	leave(ABI_ALLOCATOR_MALLOC, TOP - 88, 0x2000);
	assert_int_equal(STAT(STORED), 0);
	host_set_current(1000, 1001);
	leave(ABI_ALLOCATOR_MALLOC, TOP - 80, 0x4000);
	assert_int_equal(STAT(STORED), 0);
	host_set_current(1000, 1000);
	leave(ABI_ALLOCATOR_MALLOC, TOP - 80, 0x5000);
	assert_true(is_live(1000, 0x5000));
	check_identities();
}

static void exec(void)
{
	host.task.self_exec_id++;
	bpf_end_on_exec(&host.task, host.task.pid);
	if (host_config()->no_kernel_reads)
		bpf_on_exec(&host.task); /* in this order: collect/session.c */
}

static void end_thread(u32 nr_threads_left)
{
	host.signal.live.counter = nr_threads_left;
	bpf_end_on_exit(&host.task);
	if (host_config()->no_kernel_reads)
		bpf_on_exit(&host.task);
	host.signal.live.counter = 1;
}

/* What stays in the maps: blocks, and images that are remembered to have blocks. */
static void check_kept(u32 nr_blocks, u32 nr_images)
{
	assert_int_equal(purge_sweep(&purge, NULL, true), 0);
	assert_int_equal(host_map_nr("live") + host_map_nr("live_more"), nr_blocks);
	assert_int_equal(host_map_nr("holders"), nr_images);
	check_identities();
}

static void test_exec_purges(void **state)
{
	(void)state;
	take_malloc(10, 0x1000);
	take_malloc(10, 0x2000);
	take_malloc(10, 0x3000);
	exec();
	take_malloc(10, 0x1000);			  /* the new image got that address too */
	take_free(0x2000);				  /* and another, that was not sampled */
	allocate(ABI_ALLOCATOR_REALLOC, 0x3000, 9, 0, 0); /* restores nothing */
	assert_int_equal(STAT(FREED), 0);
	assert_int_equal(host_map_nr("live"), 4);
	check_kept(1, 1);
	assert_int_equal(purge.nr_purged, 3);
	assert_int_equal(purge.nr_left, 0);
}

/* lockdown=confidentiality before Linux 5.11: images are told apart without the task. */
static void test_locked_down_exec_purges(void **state)
{
	host_config()->no_kernel_reads = 1;
	test_exec_purges(state);
	end_thread(0);
	check_kept(0, 0);
	assert_int_equal(purge.nr_left, 1);
	assert_int_equal(host_map_nr("seen_processes"), 0);
}

/* What a process leaves is out of the map, but in the accounts; others' blocks stay. */
static void test_exit_purges(void **state)
{
	(void)state;
	take_malloc(10, 0x1000);
	take_malloc(10, 0x2000);
	take_free(0x1000);
	host_set_current(1001, 1001);
	take_malloc(10, 0x2000);
	host_set_current(1000, 1005);
	end_thread(1); /* not the last one */
	check_kept(2, 2);
	host_set_current(1000, 1000);
	end_thread(0);
	end_thread(0);
	check_kept(1, 1);
	assert_int_equal(purge.nr_left, 1);
	assert_int_equal(purge.nr_purged, 0);
	/* The tgid is used again before anybody has looked: late is better than wrong. */
	take_malloc(10, 0x5000);
	end_thread(0);
	take_malloc(10, 0x6000);
	check_kept(3, 2);
	end_thread(0);
	check_kept(1, 1);
	assert_int_equal(purge.nr_left, 3);
	/* Nothing is sampled after the end, and nothing swept that the accounts hold as alive. */
	stopped = 1;
	host_set_current(1001, 1001);
	end_thread(0);
	check_kept(1, 1);
}

static void test_many_blocks_are_purged(void **state)
{
	uint64_t began_ns = clock_monotonic_ns();

	(void)state;
	host_map_resize("live", 20000);
	tell_purge();
	for (u32 i = 1; i <= 20000; i++) {
		host_set_current(1000 + i % 2, 1000 + i % 2);
		take_malloc(10, 16ull * i);
	}
	end_thread(0);
	check_kept(10000, 1);
	assert_int_equal(purge.nr_left, 10000);
	/* Not again and again, unless it is urgent. The pause itself is over at once on a busy machine. */
	assert_true(purge.next_ns > began_ns);
	purge.next_ns = UINT64_MAX;
	host_set_current(1001, 1001);
	end_thread(0);
	assert_int_equal(purge_sweep(&purge, NULL, false), 0);
	assert_int_equal(host_map_nr("live"), 10000);
	check_kept(0, 0);
}

/* No room to remember who has blocks: they stay where they are. */
static void test_holders_full(void **state)
{
	(void)state;
	host_map_resize("holders", 1);
	purge.maps.holders_fd = host_map_fd("holders");
	take_malloc(10, 0x1000);
	host_set_current(1001, 1001);
	take_malloc(10, 0x1000);
	assert_int_equal(STAT(STORED), 2);
	end_thread(0);
	check_kept(2, 1);
}

static void test_threads_die_in_a_call(void **state)
{
	(void)state;
	take_malloc(10, 0x1000);
	host_set_current(1000, 1001);
	enter(ABI_ALLOCATOR_REALLOC, TOP - 8, 0x1000, 20, 0);
	end_thread(1);
	assert_int_equal(STAT(CUT_OFF), 1);
	assert_int_equal(STAT(LEFT), 1);
	host_set_current(1000, 1000);
	take_malloc(10, 0x2000);
	enter(ABI_ALLOCATOR_REALLOC, TOP - 8, 0x2000, 20, 0);
	exec(); /* out of a signal handler */
	assert_int_equal(STAT(CUT_OFF), 2);
	assert_int_equal(STAT(PURGED), 1);
	assert_int_equal(host_map_nr("inflight"), 0);
	check_kept(0, 0);
	take_malloc(10, 0x3000);
	assert_int_equal(LOST(RETURN_MISSED), 0);
	check_kept(1, 1);
}

/* A child has copies of its parent's blocks: it may free them, and they are the parent's. */
static void test_fork(void **state)
{
	(void)state;
	take_malloc(10, 0x1000);
	take_malloc(10, 0x2000);
	host_set_current(1001, 1001);
	take_free(0x1000);
	allocate(ABI_ALLOCATOR_REALLOC, 0x2000, 50, 0, 0x3000);
	assert_int_equal(STAT(FREED), 0);
	host_set_current(1000, 1000);
	take_free(0x1000);
	assert_int_equal(STAT(FREED), 1);
	assert_true(is_live(1000, 0x2000));
	assert_true(is_live(1001, 0x3000));
	check_kept(2, 2);
}

static void test_free_unseen_by_probes(void **state)
{
	(void)state;
	take_malloc(10, 0x1000);
	take_malloc(20, 0x1000);
	assert_int_equal(STAT(FREED), 1);
	assert_int_equal(host_map_nr("live"), 1);
	check_identities();
}

static void test_processes_are_apart(void **state)
{
	(void)state;
	take_malloc(10, 0x1000);
	host_set_current(1001, 1001);
	take_free(0x1000);
	assert_int_equal(STAT(FREED), 0);
	take_malloc(10, 0x1000);
	assert_int_equal(host_map_nr("live"), 2);
	assert_int_equal(host_map_nr("counts_even"), 2);
	check_identities();
}

static void test_others_are_left_alone(void **state)
{
	u8 when = ABI_TARGET_AFTER_EXEC;
	u32 tgid = 1001;
	struct host_map *targets = host_map("targets");

	(void)state;
	host_config()->all = 0;
	host_map_update(&targets, &tgid, &when, BPF_ANY);
	take_malloc(10, 0x1000);
	assert_int_equal(STAT(CALLS), 0);
	host_set_current(1001, 1002);
	take_malloc(10, 0x1000);
	assert_int_equal(STAT(CALLS), 0);
	when = ABI_TARGET_NOW;
	host_map_update(&targets, &tgid, &when, BPF_ANY);
	take_malloc(10, 0x1000);
	assert_int_equal(STAT(CALLS), 1);
	host_config()->all = 1;
	host_config()->self_tgid = 1001;
	take_free(0x1000);
	assert_int_equal(STAT(FREES), 0);
	stopped = 1;
	host_config()->self_tgid = 0;
	host_config()->helper_tgids[0] = 1001;
	take_free(0x1000);
	assert_int_equal(STAT(FREES), 0);
	host_config()->helper_tgids[0] = 1000;
	for (int i = 0; i < 2; i++) { /* a child of either, as on_fork() notes it */
		host_config()->helper_tgids[1] = i ? 1002 : 0;
		helpers[i][1] = 1001;
		take_free(0x1000);
		assert_int_equal(STAT(FREES), 0);
		helpers[i][1] = 0;
	}
	host_config()->helper_tgids[0] = host_config()->helper_tgids[1] = 0;
	take_malloc(10, 0x2000);
	take_free(0x1000);
	assert_int_equal(STAT(CALLS), 1);
	assert_int_equal(STAT(FREES), 0);
	check_identities();
}

/* Stopped in the middle of calls: what they hold is accounted for. */
static void test_stop_in_mid_call(void **state)
{
	(void)state;
	take_malloc(10, 0x1000);
	enter(ABI_ALLOCATOR_REALLOC, TOP - 8, 0x1000, 20, 0);
	stopped = 1;
	leave(ABI_ALLOCATOR_REALLOC, TOP - 8, 0x2000);
	assert_int_equal(host_map_nr("inflight"), 1);
	check_identities();
}

/* Losses ----------------------------------------------------------------------------------------- */

static void test_lost_inflight_full(void **state)
{
	(void)state;
	take_malloc(10, 0x1000);
	host_map_resize("inflight", 0);
	take_malloc(10, 0x2000);
	allocate(ABI_ALLOCATOR_REALLOC, 0x1000, 20, 0, 0x3000);
	assert_int_equal(LOST(INFLIGHT_FULL), 2);
	assert_int_equal(STAT(FREED), 1);
	check_identities();
}

static void test_lost_live_full(void **state)
{
	(void)state;
	host_map_resize("live", 1);
	take_malloc(10, 0x1000);
	take_malloc(10, 0x2000);
	assert_int_equal(LOST(LIVE_FULL), 1);
	check_identities();
	/* A block that a failed realloc cannot put back, since another took its place. */
	enter(ABI_ALLOCATOR_REALLOC, TOP - 8, 0x1000, 1ull << 60, 0);
	host_set_current(1000, 1001);
	take_malloc(10, 0x3000);
	host_set_current(1000, 1000);
	leave(ABI_ALLOCATOR_REALLOC, TOP - 8, 0);
	assert_int_equal(STAT(FREES_LOST), 1);
	assert_true(is_live(1000, 0x3000));
	check_identities();
}

static void test_live_grows(void **state)
{
	(void)state;
	host_config()->live_grows = true;
	host_map_resize("live", 2);
	host_map_resize("live_more", 3);
	for (u64 i = 1; i <= 6; i++)
		take_malloc(10, i * 0x1000);
	assert_int_equal(LOST(LIVE_FULL), 1);
	assert_int_equal(host_map_nr("live"), 2);
	assert_int_equal(host_map_nr("live_more"), 3);
	check_identities();
	for (u64 i = 1; i <= 6; i++)
		take_free(i * 0x1000);
	assert_int_equal(STAT(FREED), 5);
	assert_int_equal(sum_of_filter(), 0);
	check_identities();
	for (u64 i = 1; i <= 4; i++)
		take_malloc(10, i * 0x1000);
	exec();
	take_malloc(10, 0x5000);
	check_kept(1, 1);
	assert_int_equal(purge.nr_purged, 4);
}

static void test_only_target(void **state)
{
	(void)state;
	host_config()->all = false;
	host_config()->only_tgid = 1001;
	take_malloc(10, 0x1000);
	host_set_current(1001, 1001);
	take_malloc(10, 0x1000);
	take_free(0x1000);
	assert_int_equal(STAT(CALLS), 1);
	assert_int_equal(STAT(FREES), 1);
}

static void test_lost_counts_full(void **state)
{
	(void)state;
	host_map_resize("counts_even", 1);
	take_malloc(10, 0x1000);
	take_malloc(20, 0x2000);
	take_malloc(10, 0x3000); /* this one is counted already */
	assert_int_equal(LOST(COUNTS_FULL), 1);
	assert_int_equal(STAT(STORED), 2);
	assert_false(is_live(1000, 0x2000));
	epoch++;
	host_map_resize("counts_odd", 0);
	take_free(0x1000);
	assert_int_equal(STAT(FREES_LOST), 1);
	check_identities();
}

static void test_lost_events_full(void **state)
{
	(void)state;
	host_map_resize("events", 128); /* one record of two frames */
	take_malloc(10, 0x1000);
	take_malloc(20, 0x2000);
	take_malloc(10, 0x3000);
	assert_int_equal(LOST(EVENTS_FULL), 1);
	assert_int_equal(STAT(STORED), 2);
	assert_int_equal(host_map_nr("counts_even"), 1);
	check_identities();
}

/* Somebody on this CPU is in the slot, or leaves it. */
static void occupy(u32 slot, int change)
{
	u64 *users = &scratch_at(slot)->nr_users;

	*users += change;
}

static void test_lost_slot_taken(void **state)
{
	(void)state;
	for (u32 slot = ABI_SLOT_UPROBE; slot < ABI_NR_SLOTS; slot++)
		occupy(slot, 1);
	take_malloc(10, 0x1000);
	assert_int_equal(LOST(SLOT_TAKEN), 1);
	/* The first one ends before the others: its slot, and no other, can be had. */
	occupy(ABI_SLOT_UPROBE, -1);
	take_malloc(10, 0x2000);
	assert_int_equal(STAT(STORED), 1);
	for (u32 slot = ABI_SLOT_UPROBE; slot < ABI_NR_SLOTS; slot++)
		assert_int_equal(scratch_at(slot)->nr_users, slot != ABI_SLOT_UPROBE);
	for (u32 slot = ABI_SLOT_UPROBE + 1; slot < ABI_NR_SLOTS; slot++)
		occupy(slot, -1);
	host_config()->nr_uprobe_slots = 0;
	take_malloc(10, 0x3000);
	assert_int_equal(LOST(SLOT_TAKEN), 2);
	check_identities();
}

static void test_epochs(void **state)
{
	u32 len, nr = 0;

	(void)state;
	take_malloc(10, 0x1000);
	epoch++;
	take_malloc(10, 0x2000);
	take_free(0x1000);
	epoch++;
	take_free(0x2000);
	while (host_ring_take(&len))
		nr++;
	assert_int_equal(nr, 2); /* described once an epoch */
	assert_int_equal(total_counts().nr_taken, 2);
	assert_int_equal(total_counts().nr_freed, 2);
	assert_int_equal(host_map_nr("counts_even"), 1);
	assert_int_equal(host_map_nr("counts_odd"), 1);
	check_identities();
}

/* A hundred thousand operations ------------------------------------------------------------------- */

#define NR_THREADS  8
#define NR_BLOCKS   256
#define MAX_NESTING 3

struct call {
	enum abi_allocator allocator;
	u64 sp, result_at;
};

struct thread {
	u32 tgid, tid;
	struct call calls[MAX_NESTING];
	u32 nr_calls;
};

static u32 below(u32 limit)
{
	return rand() % limit;
}

static u64 some_block(void)
{
	return below(8) ? 0x10000 + 16ull * below(NR_BLOCKS) : 0;
}

/* Enters any function; inside another, at or below its sp; sometimes as if that had never returned. */
static void begin_call(struct thread *thread)
{
	enum abi_allocator allocator = below(ABI_ALLOCATOR_FREE);
	u64 sp = TOP - 8 - 8 * below(4), size = 1ull << below(24);
	struct call *outer = thread->nr_calls ? &thread->calls[thread->nr_calls - 1] : NULL;

	if (outer && below(10))
		sp = outer->sp - 8 * below(8);
	else
		thread->nr_calls = 0;
	switch (allocator) {
	case ABI_ALLOCATOR_MALLOC:
		enter(allocator, sp, size, 0, 0);
		break;
	case ABI_ALLOCATOR_CALLOC:
		enter(allocator, sp, below(20), size, 0);
		break;
	case ABI_ALLOCATOR_POSIX_MEMALIGN:
		enter(allocator, sp, TOP - 1024, 64, size);
		break;
	case ABI_ALLOCATOR_MEMALIGN:
		enter(allocator, sp, 64, size, 0);
		break;
	case ABI_ALLOCATOR_REALLOC:
		enter(allocator, sp, some_block(), below(5) ? size : 0, 0);
		break;
	default:
		enter(allocator, sp, some_block(), size, below(3));
	}
	thread->calls[thread->nr_calls++] = (struct call){.allocator = allocator, .sp = sp};
}

static void end_call(struct thread *thread)
{
	const struct call *call = &thread->calls[--thread->nr_calls];
	u64 result = some_block();

	if (!below(50))
		return; /* its return is not seen */
	if (call->allocator == ABI_ALLOCATOR_POSIX_MEMALIGN) {
		*stack_word(TOP - 1024) = result;
		result = below(8) ? 0 : 12;
	}
	leave(call->allocator, call->sp, result);
}

/* As user space does: the other map from now on, and the old one emptied. */
static void flip_epoch(void)
{
	host_map_resize(epoch++ & 1 ? "counts_odd" : "counts_even", 300);
}

static void run_one(struct thread *threads)
{
	static u32 exec_ids[2];
	struct thread *thread = &threads[below(NR_THREADS)];
	u32 len;

	host_set_current(thread->tgid, thread->tid);
	host.task.self_exec_id = exec_ids[thread->tgid - 1000];
	if (!below(3000))
		exec();
	exec_ids[thread->tgid - 1000] = host.task.self_exec_id;
	if (!below(3000))
		end_thread(below(2));
	if (!below(3000))
		purge_sweep(&purge, NULL, below(2));
	if (!below(4000))
		flip_epoch();
	if (!below(3000))
		while (host_ring_take(&len))
			;
	if (!below(4))
		take_free(some_block());
	else if (thread->nr_calls && (thread->nr_calls == MAX_NESTING || below(2)))
		end_call(thread);
	else
		begin_call(thread);
}

static void run_many(u64 rate_bytes, bool grows)
{
	struct thread threads[NR_THREADS] = {0};

	srand(7);
	host_map_resize("live", 100);
	host_map_resize("live_more", 40);
	host_config()->live_grows = grows;
	tell_purge();
	host_map_resize("inflight", 7);
	host_map_resize("counts_even", 300);
	host_map_resize("counts_odd", 300);
	host_map_resize("events", 16384);
	host_config()->rate_bytes = rate_bytes;
	if (rate_bytes > 1)
		sampling_fill(host_map_value("sampling_tables"), rate_bytes);
	for (u32 i = 0; i < NR_THREADS; i++)
		threads[i] = (struct thread){.tgid = 1000 + i % 2, .tid = 1000 + i};
	for (u32 i = 0; i < 100000; i++) {
		run_one(threads);
		if (i % 100 == 0)
			check_identities();
	}
	check_identities();
}

static void test_many_operations(void **state)
{
	static const u64 rates[] = {1, 2000, 524288, 1};

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		tear_down(state);
		set_up(state);
		run_many(rates[i], i > 0);
		print_message("rate %llu: calls %llu nested %llu sampled %llu stored %llu failed "
			      "%llu freed %llu purged %llu lost: counts %llu events %llu inflight "
			      "%llu live %llu returns %llu\n",
			      rates[i], STAT(CALLS), STAT(NESTED), STAT(SAMPLED), STAT(STORED),
			      STAT(FAILED), STAT(FREED), STAT(PURGED) + purge.nr_purged,
			      LOST(COUNTS_FULL), LOST(EVENTS_FULL), LOST(INFLIGHT_FULL),
			      LOST(LIVE_FULL), LOST(RETURN_MISSED));
		for (u32 loss = ABI_STAT_FIRST_LOSS; loss < ABI_NR_STATS; loss++)
			if (rates[i] == 1 && loss != ABI_LOST_SLOT_TAKEN)
				assert_true(stat(loss) > 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

/* A block is the same sample whether a probe drew it or its process; a realloc that fails gives it back. */
static void test_sampled_inside(void **state)
{
	(void)state;
	take_malloc(100, 0x1000);
	sample(0x2000, 100);
	assert_int_equal(STAT(STORED), 2);
	assert_int_equal(STAT(SAMPLED), 2);
	assert_int_equal(sum_of_filter(), 2);
	sample_free(0x2000, true);
	assert_int_equal(sum_of_filter(), 1);
	moved(false);
	assert_int_equal(sum_of_filter(), 2);
	assert_int_equal(STAT(FREED), 0);
	sample_free(0x2000, true);
	moved(true);
	assert_int_equal(STAT(FREED), 1);
	sample(0x3000, 50);
	sample_free(0x3000, false);
	sample_free(0x3000, false); /* who freed it is forgotten */
	moved(true);
	assert_int_equal(STAT(FREED), 2);
	assert_int_equal(sum_of_filter(), 1);
	check_identities();
}

/* What an allocator that is probed calls is its own affair. */
static void test_sampled_inside_a_probed_call(void **state)
{
	(void)state;
	enter(ABI_ALLOCATOR_REALLOC, TOP - 4, 0, 200, 0);
	sample(0x2000, 200);
	assert_int_equal(STAT(NESTED), 1);
	assert_int_equal(STAT(STORED), 0);
	leave(ABI_ALLOCATOR_REALLOC, TOP - 4, 0x2000);
	assert_int_equal(STAT(STORED), 1);
	check_identities();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(malloc_and_free),
		TEST(tail_jump_counts_once),
		TEST(nested_calls_count_once),
		TEST(posix_memalign),
		TEST(calloc_overflow_fails),
		TEST(realloc_replaces),
		TEST(failed_realloc_restores),
		TEST(realloc_to_nothing_frees),
		TEST(missed_return),
		TEST(missed_return_at_the_same_depth),
		TEST(return_of_another_call),
		TEST(exec_purges),
		TEST(locked_down_exec_purges),
		TEST(exit_purges),
		TEST(many_blocks_are_purged),
		TEST(holders_full),
		TEST(threads_die_in_a_call),
		TEST(fork),
		TEST(free_unseen_by_probes),
		TEST(processes_are_apart),
		TEST(others_are_left_alone),
		TEST(stop_in_mid_call),
		TEST(lost_inflight_full),
		TEST(lost_live_full),
		TEST(live_grows),
		TEST(only_target),
		TEST(lost_counts_full),
		TEST(lost_events_full),
		TEST(lost_slot_taken),
		TEST(epochs),
		TEST(sampled_inside),
		TEST(sampled_inside_a_probed_call),
		TEST(many_operations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
