// SPDX-License-Identifier: BSD-2-Clause
/*
 * dlsym(RTLD_NEXT), once for each name, and only for names that the program calls: where there is none dlsym() makes a
 * message, which the program would find in its dlerror(). The usual four are looked up together, when the library is
 * initialized or before that, at the first call: the loader itself allocates before main.
 *
 * C++'s operators are looked up at their first call, too (entries.S), together with where they lead.
 *
 * Older C libraries allocate within dlsym(). Such a call gets nothing, which they are prepared for; the flag is the
 * thread's own, because others may find the same at the same time.
 */
#include "inside/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>

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

static void *no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

static void *first_malloc(size_t size)
{
	return find(&next_malloc, "malloc") ? next_malloc(size) : no_memory();
}

static void *first_calloc(size_t nr, size_t size)
{
	return find(&next_calloc, "calloc") ? next_calloc(nr, size) : no_memory();
}

static void *first_realloc(void *old, size_t size)
{
	return find(&next_realloc, "realloc") ? next_realloc(old, size) : no_memory();
}

static void first_free(void *block)
{
	if (find(&next_free, "free"))
		next_free(block);
}

static int first_posix_memalign(void **block, size_t alignment, size_t size)
{
	return find(&next_posix_memalign, "posix_memalign")
		       ? next_posix_memalign(block, alignment, size)
		       : ENOMEM;
}

static void *first_aligned_alloc(size_t alignment, size_t size)
{
	return find(&next_aligned_alloc, "aligned_alloc") ? next_aligned_alloc(alignment, size)
							  : no_memory();
}

static void *first_memalign(size_t alignment, size_t size)
{
	return find(&next_memalign, "memalign") ? next_memalign(alignment, size) : no_memory();
}

static void *first_valloc(size_t size)
{
	return find(&next_valloc, "valloc") ? next_valloc(size) : no_memory();
}

static void *first_pvalloc(size_t size)
{
	return find(&next_pvalloc, "pvalloc") ? next_pvalloc(size) : no_memory();
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

/* A C++ program has a library with these operators; where there is none nobody can call them. */
static void *no_operator(size_t size, uintptr_t second, uintptr_t third)
{
	(void)size;
	(void)second;
	(void)third;
	__builtin_trap();
}

static bool is_same_file(const void *one, const void *other)
{
	Dl_info of_one, of_other;

	return one && other && dladdr(one, &of_one) && dladdr(other, &of_other) &&
	       of_one.dli_fbase == of_other.dli_fbase;
}

void next_operator(struct operator* operator)
{
	void *next = NULL, *allocate = NULL;
	bool is_own;

	find(&next, operator->name);
	find(&allocate, "malloc");
	is_own = is_same_file(next, allocate);
	if (!next)
		next = no_operator;
	__atomic_store_n((void **)&operator->next, next, __ATOMIC_RELEASE);
	__atomic_store_n(&operator->enter, is_own ? operator->counted : next, __ATOMIC_RELEASE);
}

static void __attribute__((constructor)) find_usual(void)
{
	find(&next_malloc, "malloc");
	find(&next_calloc, "calloc");
	find(&next_realloc, "realloc");
	find(&next_free, "free");
}
