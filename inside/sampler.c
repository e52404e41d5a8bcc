// SPDX-License-Identifier: BSD-2-Clause
/*
 * An allocation of s bytes is sampled with probability 1 - e^(-s/rate), as the probes of bpf/sampling.bpf.c do it:
 * there by a probability for each call, here by a distance to the next sample that is drawn from the exponential distribution,
 * which has no memory. So both have the same law, and the same weights.
 *
 * While an allocator is called for a sample its thread's distance is endless: what it allocates itself by the same
 * names, and what a signal handler allocates meanwhile, is not sampled.
 *
 * A sampled block is noted (blocks.h) before its probe fires, and its address is not known to anybody else until then.
 * It is taken out before it is freed, and so before its address can be used again.
 *
 * A thread's first call finds a distance of 0 and draws one. Where nobody listens the semaphore is 0, and entries.S counts nothing:
 * so a process costs the same at any rate once its profile has ended.
 *
 * Each rate has a distance of its own, because nobody can change those of other threads: what is left of one that was
 * drawn for a higher rate would keep a thread without samples. What is left at the same rate is as good as a new one. Of
 * HEAP_RATES rates an older one gives way to a new one. A thread forgets its other distances whenever it draws one, so
 * that only a thread that did not allocate while the last HEAP_RATES - 1 rates were in use meets one of an older rate.
 * Rejected: a number of the run that every call compares.
 *
 * Both cprof and its injector can be killed, and calls go on coming here, with nobody to listen. Then distances are long ones, which the
 * next cprof does not take for its own: it uses the same rate at another place.
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

#define NOT_SAMPLED (-1)

/* A thread's distance where nobody listens, if samples would be nearer to one another: so that calls cost nearly nothing. */
#define IDLE_BYTES (1ull << 20)

__thread uint64_t heap_left[HEAP_RATES];
volatile struct heap_rates heap_rates;
static __thread struct chance chance __attribute__((tls_model("initial-exec")));
static bool is_injected;	  /* who listens next says so (sample_at()) */
static bool was_idle[HEAP_RATES]; /* nobody listened while this rate was in use */

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
	__atomic_store_n(&heap_rates.bytes[0], rate, __ATOMIC_RELAXED);
	return true;
}

static int rate_in_use(void)
{
	return heap_rates.at / sizeof(heap_left[0]);
}

void sample_at(uint64_t rate)
{
	int at = 0;

	__atomic_store_n(&is_injected, true, __ATOMIC_RELAXED);
	while (at < HEAP_RATES &&
	       (heap_rates.bytes[at] != rate || __atomic_load_n(&was_idle[at], __ATOMIC_ACQUIRE)))
		at++;
	if (at == HEAP_RATES) {
		at = (rate_in_use() + 1) % HEAP_RATES;
		__atomic_store_n(&heap_rates.bytes[at], rate, __ATOMIC_RELEASE);
		__atomic_store_n(&was_idle[at], false, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&heap_rates.at, at * sizeof(heap_left[0]), __ATOMIC_RELEASE);
}

/* Sets the distance of one rate, and forgets the others. */
static void set_left(int at, uint64_t distance)
{
	for (int i = 0; i < HEAP_RATES; i++)
		heap_left[i] = i == at ? distance : 0;
}

static uint64_t draw(int at)
{
	if (!chance_is_seeded(&chance))
		chance_seed(&chance);
	return chance_distance(&chance, heap_rates.bytes[at]);
}

/* At a thread's first call at a rate: sets its first distance. Is the sample that is size bytes away reached? */
static bool reaches_first(int at, uint64_t size)
{
	uint64_t distance = draw(at);

	set_left(at, distance - size);
	return size >= distance;
}

/* One where nobody listens. A library that was preloaded is not told when somebody begins to: it keeps to its rate. */
static uint64_t idle_distance(int at)
{
	if (!is_injected || heap_rates.bytes[at] >= IDLE_BYTES)
		return draw(at);
	if (!__atomic_load_n(&was_idle[at], __ATOMIC_RELAXED))
		__atomic_store_n(&was_idle[at], true, __ATOMIC_RELEASE);
	return IDLE_BYTES;
}

/* Is this allocation sampled, and at which rate? If so, what is left is endless until finish(). Else NOT_SAMPLED. */
static int begin(uint64_t size)
{
	int at;

	/* A slot may have led here that was redirected just now: after the rate was set (redirect.c). */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	at = rate_in_use();
	if (!heap_rates.bytes[at] && !read_rate()) {
		heap_left[at] = 0;
		return NOT_SAMPLED;
	}
	if (!(heap_left[at] + size) && !reaches_first(at, size))
		return NOT_SAMPLED;
	if (!size || !heap_alloc_semaphore) {
		set_left(at, heap_alloc_semaphore ? draw(at) : idle_distance(at));
		return NOT_SAMPLED;
	}
	set_left(at, ENDLESS);
	return at;
}

/* What a call that gave block says to entries.S. at: of begin(). */
static uint64_t finish(const void *block, uint64_t size, int at)
{
	if (at == NOT_SAMPLED)
		return 0;
	set_left(at, draw(at));
	return block && blocks_add(block) ? chance_weight(size, heap_rates.bytes[at]) : 0;
}

static struct outcome outcome_of(void *block, uint64_t size, int at)
{
	return (struct outcome){(uintptr_t)block, finish(block, size, at)};
}

struct outcome sample_malloc(size_t size)
{
	int at = begin(size);

	return outcome_of(next_malloc(size), size, at);
}

struct outcome sample_valloc(size_t size)
{
	int at = begin(size);

	return outcome_of(next_valloc(size), size, at);
}

struct outcome sample_pvalloc(size_t size)
{
	int at = begin(size);

	return outcome_of(next_pvalloc(size), size, at);
}

struct outcome sample_aligned_alloc(size_t alignment, size_t size)
{
	int at = begin(size);

	return outcome_of(next_aligned_alloc(alignment, size), size, at);
}

struct outcome sample_memalign(size_t alignment, size_t size)
{
	int at = begin(size);

	return outcome_of(next_memalign(alignment, size), size, at);
}

struct outcome sample_calloc(size_t nr, size_t size)
{
	int at = begin(nr * size);

	return outcome_of(next_calloc(nr, size), nr * size, at);
}

struct outcome sample_posix_memalign(void **block, size_t alignment, size_t size)
{
	int at = begin(size);
	int err = next_posix_memalign(block, alignment, size);

	return (struct outcome){err, finish(err ? NULL : *block, size, at)};
}

/* The same as COUNT in entries.S: is the sample reached? A signal handler may count in between; that is lost, not wrong. */
static bool count(uint64_t size)
{
	int at = rate_in_use();
	uint64_t left = heap_left[at];

	heap_left[at] = left - size;
	return left <= size;
}

/* rallocx NULL: by realloc. */
static struct outcome reallocate(const struct operator* rallocx, void *old, size_t size,
				 uintptr_t flags, uint64_t is_counted)
{
	bool is_reached = is_counted || count(size);
	int at = is_reached ? begin(size) : NOT_SAMPLED;
	bool is_known = old && blocks_take(old);
	void *block;

	if (is_known)
		heap_free(old, true);
	block = rallocx ? rallocx->next((uintptr_t)old, size, flags) : next_realloc(old, size);
	if (is_known)
		heap_moved(block || !size); /* realloc(old, 0) frees it and returns NULL */
	if (is_known && !block && size)
		blocks_add(old);
	return outcome_of(block, size, at);
}

struct outcome sample_realloc(void *old, size_t size, uint64_t is_counted)
{
	return reallocate(NULL, old, size, 0, is_counted);
}

struct outcome sample_rallocx(const struct operator* rallocx, void *old, size_t size,
			      uintptr_t flags, uint64_t is_counted)
{
	return reallocate(rallocx, old, size, flags, is_counted);
}

/* What it allocates itself it does not do by name, or it would count twice: so nothing is held back while it runs. */
struct outcome sample_new(const struct operator* operator, size_t size, uintptr_t second,
			  uintptr_t third)
{
	int at = begin(size);

	if (at != NOT_SAMPLED)
		set_left(at, draw(at));
	return outcome_of(operator->next(size, second, third), size, at);
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
