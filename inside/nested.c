// SPDX-License-Identifier: BSD-2-Clause
/*
 * A function that calls others by name is led to one here, which makes its thread's distance endless while it runs. So only the
 * program's own call counts, whichever way the allocator takes. The fast path of entries.S stays as it is, and other allocators
 * pay nothing.
 *
 * Which functions do so is tried: a call within another makes less of the distance that is left.
 *
 * Rejected: to tell such a call by its return address. musl's strdup() calls malloc from the same file as its calloc, and a
 * call at a function's end is a jump.
 */
#include "inside/nested.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "inside/next.h"
#include "inside/sampler.h"

#define SMALL_BYTES 24
#define LARGE_BYTES 100000 /* a small block is moved to become one */
#define ALIGNMENT   64

struct left {
	uint64_t of_rate[HEAP_RATES];
};

/*
 * Other threads may come here by what nested_hold() has just stored: what it stored before it (real_calloc ...) is loaded after
 * the fence. An instruction on arm64, none on x86-64.
 */
static struct left hold_back(void)
{
	struct left left;

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	memcpy(&left, heap_left, sizeof(left));
	memset(heap_left, 0xff, sizeof(left));
	return left;
}

static void let_go(const struct left *left)
{
	memcpy(heap_left, left, sizeof(*left));
}

static void *(*real_calloc)(size_t nr, size_t size);
static void *(*real_realloc)(void *old, size_t size);
static int (*real_posix_memalign)(void **block, size_t alignment, size_t size);
static void *(*real_aligned_alloc)(size_t alignment, size_t size);
static void *(*real_memalign)(size_t alignment, size_t size);
static void *(*real_valloc)(size_t size);
static void *(*real_pvalloc)(size_t size);

static void *held_calloc(size_t nr, size_t size)
{
	struct left left = hold_back();
	void *block = real_calloc(nr, size);

	let_go(&left);
	return block;
}

static void *held_realloc(void *old, size_t size)
{
	struct left left = hold_back();
	void *block = real_realloc(old, size);

	let_go(&left);
	return block;
}

static int held_posix_memalign(void **block, size_t alignment, size_t size)
{
	struct left left = hold_back();
	int err = real_posix_memalign(block, alignment, size);

	let_go(&left);
	return err;
}

static void *held_aligned_alloc(size_t alignment, size_t size)
{
	struct left left = hold_back();
	void *block = real_aligned_alloc(alignment, size);

	let_go(&left);
	return block;
}

static void *held_memalign(size_t alignment, size_t size)
{
	struct left left = hold_back();
	void *block = real_memalign(alignment, size);

	let_go(&left);
	return block;
}

static void *held_valloc(size_t size)
{
	struct left left = hold_back();
	void *block = real_valloc(size);

	let_go(&left);
	return block;
}

static void *held_pvalloc(size_t size)
{
	struct left left = hold_back();
	void *block = real_pvalloc(size);

	let_go(&left);
	return block;
}

static void *try_calloc(void)
{
	return next_calloc(1, SMALL_BYTES);
}

static void *try_realloc(void)
{
	void *small = next_realloc(NULL, SMALL_BYTES);
	void *large = small ? next_realloc(small, LARGE_BYTES) : NULL;

	return large ? large : small;
}

static void *try_posix_memalign(void)
{
	void *block;

	return next_posix_memalign(&block, ALIGNMENT, SMALL_BYTES) ? NULL : block;
}

static void *try_aligned_alloc(void)
{
	return next_aligned_alloc(ALIGNMENT, ALIGNMENT);
}

static void *try_memalign(void)
{
	return next_memalign(ALIGNMENT, SMALL_BYTES);
}

static void *try_valloc(void)
{
	return next_valloc(SMALL_BYTES);
}

static void *try_pvalloc(void)
{
	return next_pvalloc(SMALL_BYTES);
}

static const struct function {
	void *(*try)(void); /* a block, or NULL */
	void **next, **real;
	void *held;
} functions[] = {
	{try_calloc, (void **)&next_calloc, (void **)&real_calloc, held_calloc},
	{try_realloc, (void **)&next_realloc, (void **)&real_realloc, held_realloc},
	{try_posix_memalign, (void **)&next_posix_memalign, (void **)&real_posix_memalign,
	 held_posix_memalign},
	{try_aligned_alloc, (void **)&next_aligned_alloc, (void **)&real_aligned_alloc,
	 held_aligned_alloc},
	{try_memalign, (void **)&next_memalign, (void **)&real_memalign, held_memalign},
	{try_valloc, (void **)&next_valloc, (void **)&real_valloc, held_valloc},
	{try_pvalloc, (void **)&next_pvalloc, (void **)&real_pvalloc, held_pvalloc},
};

/* Does a call of it come here once more? One that gives no block is none of the allocator's. */
static bool calls_others(const struct function *function)
{
	const struct left left = hold_back();
	bool is_less = false;
	void *block = function->try();

	for (int i = 0; i < HEAP_RATES; i++)
		is_less |= heap_left[i] != UINT64_MAX;
	let_go(&left);
	next_free(block);
	return block && is_less;
}

/* None of its functions calls another by name. */
static bool is_glibc(const void *function)
{
	const void *of_glibc = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
	Dl_info one, other;

	return of_glibc && dladdr(of_glibc, &one) && dladdr(function, &other) &&
	       one.dli_fbase == other.dli_fbase;
}

void nested_hold(void)
{
	int err = errno;

	heap_counts = 1;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		const struct function *function = &functions[i];

		if (is_glibc(*function->next) || *function->next == function->held ||
		    !calls_others(function))
			continue;
		__atomic_store_n(function->real, *function->next, __ATOMIC_RELEASE);
		__atomic_store_n(function->next, function->held, __ATOMIC_RELEASE);
	}
	heap_counts = 0;
	errno = err;
}
