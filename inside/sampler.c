// SPDX-License-Identifier: BSD-2-Clause
/*
 * An allocation of s bytes is sampled with probability 1 - e^(-s/rate), as the probes of bpf/sampling.bpf.c do it:
 * there by a coin for each call, here by a distance to the next sample that is drawn from the exponential distribution,
 * which has no memory. So both have the same law, and the same weights.
 *
 * While an allocator is called for a sample its thread's distance is endless: what it allocates itself by the same
 * names, and what a signal handler allocates meanwhile, is not sampled.
 *
 * A sampled block is noted (blocks.h) before its probe fires, and its address is not known to anybody else until then.
 * It is taken out before it is freed, and so before its address can be used again.
 *
 * A thread's first call finds a distance of 0 and draws one. Where nobody listens the semaphore is 0, and distances are
 * drawn for nothing: one call in some thousands takes this path, and ends up at the allocator.
 */
#include "inside/sampler.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "inside/blocks.h"
#include "inside/chance.h"
#include "inside/next.h"

#define RATE_VARIABLE "CPROF_HEAP_RATE="
#define RATE_DEFAULT  (512 * 1024)
#define ENDLESS	      UINT64_MAX

__thread uint64_t heap_left;
static __thread struct chance chance __attribute__((tls_model("initial-exec")));
static uint64_t rate_bytes; /* 0: not read yet. Every thread reads the same. */

static uint64_t parse_rate(const char *text)
{
	uint64_t rate = 0;

	for (; *text >= '0' && *text <= '9' && rate < 1ull << 48; text++)
		rate = rate * 10 + (*text - '0');
	return rate ? rate : 1;
}

/* getenv() may not be called before the C library is ready, and neither may this: then there is no environment. */
static bool read_rate(void)
{
	uint64_t rate = RATE_DEFAULT;

	if (!environ)
		return false;
	for (char **variable = environ; *variable; variable++) {
		size_t i = 0;

		while (RATE_VARIABLE[i] && (*variable)[i] == RATE_VARIABLE[i])
			i++;
		if (!RATE_VARIABLE[i])
			rate = parse_rate(*variable + i);
	}
	__atomic_store_n(&rate_bytes, rate, __ATOMIC_RELAXED);
	return true;
}

void sample_at(uint64_t rate)
{
	__atomic_store_n(&rate_bytes, rate, __ATOMIC_RELAXED);
}

static bool is_new_thread(void)
{
	return !chance_is_seeded(&chance);
}

/* At the first call of a thread: sets its first distance. Is the sample that is size bytes away reached? */
static bool reaches_first(uint64_t size)
{
	uint64_t distance;

	chance_seed(&chance);
	distance = chance_distance(&chance, rate_bytes);
	heap_left = distance - size;
	return size >= distance;
}

/* Is this allocation sampled? If so, what is left is endless until finish(). */
static bool begin(uint64_t size)
{
	if (!rate_bytes && !read_rate()) {
		heap_left = 0;
		return false;
	}
	if (is_new_thread() && !reaches_first(size))
		return false;
	if (!size || !heap_alloc_semaphore) {
		heap_left = chance_distance(&chance, rate_bytes);
		return false;
	}
	heap_left = ENDLESS;
	return true;
}

/* What a call that gave block says to entries.S. */
static uint64_t finish(const void *block, uint64_t size, bool is_sampled)
{
	if (!is_sampled)
		return 0;
	heap_left = chance_distance(&chance, rate_bytes);
	return block && blocks_add(block) ? chance_weight(size, rate_bytes) : 0;
}

static struct outcome outcome_of(void *block, uint64_t size, bool is_sampled)
{
	return (struct outcome){(uintptr_t)block, finish(block, size, is_sampled)};
}

struct outcome sample_malloc(size_t size)
{
	bool is_sampled = begin(size);

	return outcome_of(next_malloc(size), size, is_sampled);
}

struct outcome sample_valloc(size_t size)
{
	bool is_sampled = begin(size);

	return outcome_of(next_valloc(size), size, is_sampled);
}

struct outcome sample_pvalloc(size_t size)
{
	bool is_sampled = begin(size);

	return outcome_of(next_pvalloc(size), size, is_sampled);
}

struct outcome sample_aligned_alloc(size_t alignment, size_t size)
{
	bool is_sampled = begin(size);

	return outcome_of(next_aligned_alloc(alignment, size), size, is_sampled);
}

struct outcome sample_memalign(size_t alignment, size_t size)
{
	bool is_sampled = begin(size);

	return outcome_of(next_memalign(alignment, size), size, is_sampled);
}

struct outcome sample_calloc(size_t nr, size_t size)
{
	bool is_sampled = begin(nr * size);

	return outcome_of(next_calloc(nr, size), nr * size, is_sampled);
}

struct outcome sample_posix_memalign(void **block, size_t alignment, size_t size)
{
	bool is_sampled = begin(size);
	int err = next_posix_memalign(block, alignment, size);

	return (struct outcome){err, finish(err ? NULL : *block, size, is_sampled)};
}

/* As COUNT in entries.S: is the sample reached? A signal handler may count in between; that is lost, not wrong. */
static bool count(uint64_t size)
{
	uint64_t left = heap_left;

	heap_left = left - size;
	return left <= size;
}

struct outcome sample_realloc(void *old, size_t size, uint64_t is_counted)
{
	bool is_reached = is_counted || count(size);
	bool is_sampled = is_reached && begin(size);
	bool is_known = old && blocks_take(old);
	void *block;

	if (is_known)
		heap_free(old, true);
	block = next_realloc(old, size);
	if (is_known)
		heap_moved(block || !size); /* realloc(old, 0) frees it and returns NULL */
	if (is_known && !block && size)
		blocks_add(old);
	return outcome_of(block, size, is_sampled);
}

/* What it allocates itself it does not do by name, or it would count twice: so nothing is held back while it runs. */
struct outcome sample_new(const struct operator* operator, size_t size, uintptr_t second,
			  uintptr_t third)
{
	bool is_sampled = begin(size);

	if (is_sampled)
		heap_left = chance_distance(&chance, rate_bytes);
	return outcome_of(operator->next(size, second, third), size, is_sampled);
}

void sample_free(void *block)
{
	if (blocks_take(block))
		heap_free(block, false);
}

void *sample_overflow(void)
{
	errno = ENOMEM;
	return NULL;
}
