// SPDX-License-Identifier: BSD-2-Clause
/*
 * dlsym(RTLD_NEXT), once for each name, when the library is initialized, or before that, at the first call: the loader itself
 * allocates before main. Not later, because dlsym() waits for the loader's lock: a constructor of a library that is being
 * loaded may wait for a thread whose first call this is. Where there is no such name dlsym() makes a message, which is taken
 * out of dlerror() before the program can find it there.
 *
 * C++'s operators are looked up in the same way, together with where they lead. A program that has no C++ library may load a file
 * later that has operators of its own, or a C++ library that no other file sees. It must not find those here instead: they are
 * withdrawn. Where a constructor loads such a file earlier, they lead to the allocator.
 *
 * Older C libraries allocate within dlsym(). Such a call gets nothing, which they are prepared for; the flag is the
 * thread's own, because others may find the same at the same time.
 */
#include "inside/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "inside/nested.h"
#include "inside/sampler.h"
#include "inside/slots.h"

/* volatile: dlsym() is declared not to come back here, but it does, where it frees an older message. */
static __thread volatile bool is_searching __attribute__((tls_model("initial-exec")));

/* Sets *next to what name leads to. false: this is a call from within the search, or there is nothing. */
static bool find(void *next, const char *name)
{
	void *found;

	if (is_searching)
		return false;
	is_searching = true;
	found = dlsym(RTLD_NEXT, name);
	is_searching = false;
	if (!found)
		return false;
	__atomic_store_n((void **)next, found, __ATOMIC_RELEASE);
	return true;
}

/*
 * Another thread may have stored in next what it is, and then redirected the slot that led here (redirect.c): what is loaded after the
 * fence is as new as the slot. An instruction on arm64, none on x86-64.
 */
static bool is_known(void *const *next, const void *first)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(next, __ATOMIC_RELAXED) != first;
}

/* Does next_NAME lead to the allocator? It led to first_NAME. */
#define KNOWS(name) \
	(is_known((void *const *)&next_##name, (void *)first_##name) || find(&next_##name, #name))

static void *no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

static void *first_malloc(size_t size)
{
	return KNOWS(malloc) ? next_malloc(size) : no_memory();
}

static void *first_calloc(size_t nr, size_t size)
{
	return KNOWS(calloc) ? next_calloc(nr, size) : no_memory();
}

static void *first_realloc(void *old, size_t size)
{
	return KNOWS(realloc) ? next_realloc(old, size) : no_memory();
}

static void first_free(void *block)
{
	if (KNOWS(free))
		next_free(block);
}

static int first_posix_memalign(void **block, size_t alignment, size_t size)
{
	return KNOWS(posix_memalign) ? next_posix_memalign(block, alignment, size) : ENOMEM;
}

static void *first_aligned_alloc(size_t alignment, size_t size)
{
	return KNOWS(aligned_alloc) ? next_aligned_alloc(alignment, size) : no_memory();
}

static void *first_memalign(size_t alignment, size_t size)
{
	return KNOWS(memalign) ? next_memalign(alignment, size) : no_memory();
}

static void *first_valloc(size_t size)
{
	return KNOWS(valloc) ? next_valloc(size) : no_memory();
}

static void *first_pvalloc(size_t size)
{
	return KNOWS(pvalloc) ? next_pvalloc(size) : no_memory();
}

void *(*next_malloc)(size_t) = first_malloc;
void *(*next_calloc)(size_t, size_t) = first_calloc;
void *(*next_realloc)(void *, size_t) = first_realloc;
void (*next_free)(void *) = first_free;
int (*next_posix_memalign)(void **, size_t, size_t) = first_posix_memalign;
void *(*next_aligned_alloc)(size_t, size_t) = first_aligned_alloc;
void *(*next_memalign)(size_t, size_t) = first_memalign;
void *(*next_valloc)(size_t) = first_valloc;
void *(*next_pvalloc)(size_t) = first_pvalloc;

/* C++ where no C++ library is in sight ------------------------------------------------------------ */

/* What the program's own C++ library does where there is no memory: it calls a handler, or throws. */
static void *real_new(const char *name, size_t size, uintptr_t alignment)
{
	static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1", "libc++.so.1"};
	void *(*next)(size_t, uintptr_t) = NULL;

	for (size_t i = 0; !next && i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);

		if (library)
			*(void **)&next = dlsym(library, name);
	}
	if (!next)
		abort();
	return next(size, alignment);
}

static void *nothrow_new(size_t size, uintptr_t second, uintptr_t third)
{
	(void)second;
	(void)third;
	return next_malloc(size ? size : 1);
}

static void *plain_new(size_t size, uintptr_t second, uintptr_t third)
{
	void *block = nothrow_new(size, second, third);

	return block ? block : real_new("_Znwm", size, 0);
}

static void *nothrow_aligned_new(size_t size, uintptr_t alignment, uintptr_t third)
{
	void *block;

	(void)third;
	if (alignment < sizeof(void *))
		alignment = sizeof(void *);
	return next_posix_memalign(&block, alignment, size ? size : 1) ? NULL : block;
}

static void *aligned_new(size_t size, uintptr_t alignment, uintptr_t third)
{
	void *block = nothrow_aligned_new(size, alignment, third);

	return block ? block : real_new("_ZnwmSt11align_val_t", size, alignment);
}

static void *plain_delete(size_t block, uintptr_t second, uintptr_t third)
{
	(void)second;
	(void)third;
	next_free((void *)block);
	return NULL;
}

static void *instead_of(const char *name)
{
	bool throws = !strstr(name, "nothrow_t");

	if (name[2] == 'd')
		return plain_delete;
	if (strstr(name, "align_val_t"))
		return throws ? aligned_new : nothrow_aligned_new;
	return throws ? plain_new : nothrow_new;
}

static bool is_same_file(const void *one, const void *other)
{
	Dl_info of_one, of_other;

	return one && other && dladdr(one, &of_one) && dladdr(other, &of_other) &&
	       of_one.dli_fbase == of_other.dli_fbase;
}

/* next NULL: there is none. */
static void lead(struct operator* operator, void * next)
{
	void *allocate = NULL;
	bool is_own = true;

	if (next) {
		find(&allocate, "malloc");
		is_own = is_same_file(next, allocate);
	} else {
		next = instead_of(operator->name);
	}
	__atomic_store_n((void **)&operator->next, next, __ATOMIC_RELEASE);
	__atomic_store_n(&operator->enter, is_own ? operator->counted : next, __ATOMIC_RELEASE);
}

/*
 * entries.S loads enter, which leads to what loads next: so next is stored first, and on arm64 enter is loaded by an
 * instruction that acquires.
 */
void next_operator(struct operator* operator)
{
	void *next = NULL;

	find(&next, operator->name);
	lead(operator, next);
}

void operator_lead_to(struct operator* operator, void * next)
{
	__atomic_store_n((void **)&operator->next, next, __ATOMIC_RELEASE);
	__atomic_store_n(&operator->enter, operator->counted, __ATOMIC_RELEASE);
}

/* Files that are loaded later find what they would find without this library: their own, or those of a C++ library. */
static void withdraw_operators(const struct mapped_file *own)
{
	for (struct operator* each = __start_heap_operators; each < __stop_heap_operators; each++)
		mapped_file_withdraw(own, each->name);
}

/* A C++ library has all of them, but for the newest; where there is none each would make a message. */
static void find_operators(void)
{
	void *plain = NULL;
	bool has_library = find(&plain, "_Znwm");
	struct mapped_file own;

	if (!has_library && mapped_file_read_own(&own))
		withdraw_operators(&own);
	for (struct operator* each = __start_heap_operators; each < __stop_heap_operators; each++)
		if (each->name[0] != '_')
			continue; /* jemalloc's: nobody calls it here */
		else if (has_library)
			next_operator(each);
		else
			lead(each, NULL);
	dlerror();
}

/* What dlsym() allocates for its messages meanwhile is not the program's, and not sampled. */
static void __attribute__((constructor)) find_all(void)
{
	uint64_t left[HEAP_RATES];

	memcpy(left, heap_left, sizeof(left));
	memset(heap_left, 0xff, sizeof(heap_left));
	find(&next_malloc, "malloc");
	find(&next_calloc, "calloc");
	find(&next_realloc, "realloc");
	find(&next_free, "free");
	find(&next_posix_memalign, "posix_memalign");
	find(&next_aligned_alloc, "aligned_alloc");
	find(&next_memalign, "memalign");
	find(&next_valloc, "valloc");
	find(&next_pvalloc, "pvalloc");
	nested_hold();
	find_operators();
	memcpy(heap_left, left, sizeof(left));
}
