// SPDX-License-Identifier: BSD-2-Clause
/*
 * Functions are found by name in the object's own symbols, so an allocator is found wherever it is linked. An object
 * counts as an allocator only if it defines both malloc and free. Symbols of type IFUNC are left out: their value is
 * the address of a resolver.
 *
 * Each site then moves from the function's entry to where a probe costs least (probesite.h), and calls are followed
 * to see whether the function can reach another site. If not, it is a leaf, and BPF need not expect nested calls.
 */
#include "probes/allocator.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "object/gopclntab.h"
#include "probes/probesite.h"
#include "probes/usdt.h"

/*
 * malloc(3), posix_memalign(3), cfree(3); aliases come after the name that should be shown. An object
 * is an allocator if it has the first two.
 *
 * may_be_leaf: the functions that nearly all allocations are made by, so that it pays to know whether
 * they call others. The rest is taken to: glibc's realloc(NULL, n) and aligned_alloc() end in malloc.
 */
static const struct {
	const char *name;
	enum alloc_shape shape;
	bool may_be_leaf;
} functions[] = {
	{"malloc", SHAPE_MALLOC, true},
	{"free", SHAPE_FREE, false},
	{"calloc", SHAPE_CALLOC, true},
	{"realloc", SHAPE_REALLOC, false},
	{"reallocarray", SHAPE_REALLOCARRAY, false},
	{"posix_memalign", SHAPE_POSIX_MEMALIGN, false},
	{"aligned_alloc", SHAPE_MEMALIGN, false},
	{"memalign", SHAPE_MEMALIGN, false},
	{"valloc", SHAPE_MALLOC, false},
	{"pvalloc", SHAPE_MALLOC, false},
	{"cfree", SHAPE_FREE, false},
	/* C23 */
	{"free_sized", SHAPE_FREE, false},
	{"free_aligned_sized", SHAPE_FREE, false},
	/*
	 * C++, where an allocator brings its own: those of libstdc++ call malloc of another object. By
	 * the Itanium ABI: new and new[] of (size), with std::nothrow, with an alignment, with both.
	 */
	{"_Znwm", SHAPE_MALLOC, true},
	{"_Znam", SHAPE_MALLOC, true},
	{"_ZnwmRKSt9nothrow_t", SHAPE_MALLOC, false},
	{"_ZnamRKSt9nothrow_t", SHAPE_MALLOC, false},
	{"_ZnwmSt11align_val_t", SHAPE_MALLOC, false},
	{"_ZnamSt11align_val_t", SHAPE_MALLOC, false},
	{"_ZnwmSt11align_val_tRKSt9nothrow_t", SHAPE_MALLOC, false},
	{"_ZnamSt11align_val_tRKSt9nothrow_t", SHAPE_MALLOC, false},
	/* delete and delete[] of (pointer), with a size, and the same again. */
	{"_ZdlPv", SHAPE_FREE, false},
	{"_ZdaPv", SHAPE_FREE, false},
	{"_ZdlPvm", SHAPE_FREE, false},
	{"_ZdaPvm", SHAPE_FREE, false},
	{"_ZdlPvRKSt9nothrow_t", SHAPE_FREE, false},
	{"_ZdaPvRKSt9nothrow_t", SHAPE_FREE, false},
	{"_ZdlPvSt11align_val_t", SHAPE_FREE, false},
	{"_ZdaPvSt11align_val_t", SHAPE_FREE, false},
	{"_ZdlPvmSt11align_val_t", SHAPE_FREE, false},
	{"_ZdaPvmSt11align_val_t", SHAPE_FREE, false},
	{"_ZdlPvSt11align_val_tRKSt9nothrow_t", SHAPE_FREE, false},
	{"_ZdaPvSt11align_val_tRKSt9nothrow_t", SHAPE_FREE, false},
	/* jemalloc(3): flags come last */
	{"mallocx", SHAPE_MALLOC, false},
	{"rallocx", SHAPE_REALLOC, false},
	{"dallocx", SHAPE_FREE, false},
	{"sdallocx", SHAPE_FREE, false},
};

#define NR_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))
_Static_assert(NR_FUNCTIONS <= ALLOC_MAX_SITES, "more functions than sites");

/* The registers that hold the arguments of a shape that matter (see bpf/alloc.bpf.c). */
static const unsigned int keeps[] = {
	[SHAPE_MALLOC] = PROBESITE_STACK | PROBESITE_FIRST,
	[SHAPE_CALLOC] = PROBESITE_STACK | PROBESITE_FIRST | PROBESITE_SECOND,
	[SHAPE_REALLOC] = PROBESITE_STACK | PROBESITE_FIRST | PROBESITE_SECOND,
	[SHAPE_REALLOCARRAY] = PROBESITE_STACK | PROBESITE_FIRST | PROBESITE_SECOND |
			       PROBESITE_THIRD,
	[SHAPE_MEMALIGN] = PROBESITE_STACK | PROBESITE_SECOND,
	[SHAPE_POSIX_MEMALIGN] = PROBESITE_STACK | PROBESITE_FIRST | PROBESITE_THIRD,
	[SHAPE_FREE] = PROBESITE_FIRST | PROBESITE_FIRST_OR_0,
};

static bool is_known(const uint64_t *all, size_t nr, uint64_t one)
{
	for (size_t i = 0; i < nr; i++)
		if (all[i] == one)
			return true;
	return false;
}

/* An object in which calls are followed, and where its allocators are: a look-up is slow. */
struct search {
	const struct elf_file *elf;
	const struct symtab *symtab;
	int fd;
	uint64_t allocators[NR_FUNCTIONS];
	size_t nr_allocators;
	unsigned int depth, nr_followed; /* from one function on */
};

/* What a function calls is followed so far: to a wrapper's helper, not through all of a C library. */
#define MAX_DEPTH    2
#define MAX_FOLLOWED 64

/* The code of a function; false: there is none to be had, and *code is as it was. code->bytes is the caller's: free(). */
static bool read_code(const struct elf_file *elf, int fd, const struct symbol *symbol,
		      struct probesite_code *code)
{
	uint8_t *bytes;
	uint64_t file_off;

	if (!symbol->len_bytes || symbol->len_bytes > PROBESITE_MAX_BYTES ||
	    elf_file_offset(elf, symbol->elf_addr, &file_off))
		return false;
	bytes = xmalloc(symbol->len_bytes);
	if (pread(fd, bytes, symbol->len_bytes, file_off) != (ssize_t)symbol->len_bytes) {
		free(bytes);
		return false;
	}
	*code = (struct probesite_code){bytes, symbol->len_bytes, symbol->elf_addr,
					elf_file_arch(elf)};
	return true;
}

/*
 * Is a stub's name that of a function that allocates? It leads to another object, which may well be
 * probed: under that name, or as an alias of it (__libc_malloc).
 */
static bool sounds_like_allocator(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && !strcmp(name + len - 4, "@plt") &&
	       (strstr(name, "alloc") || strstr(name, "memalign") || !strncmp(name, "_Znw", 4) ||
		!strncmp(name, "_Zna", 4));
}

/* Is elf_addr one of the functions, a stub that leads to one, or does it call one? */
static bool is_allocator(void *ctx, uint64_t elf_addr)
{
	struct search *search = ctx;
	struct symbol symbol;
	struct probesite_code code;
	bool calls;

	if (is_known(search->allocators, search->nr_allocators, elf_addr))
		return true;
	if (!symtab_find(search->symtab, elf_addr, &symbol))
		return false;
	if (sounds_like_allocator(symbol.name))
		return true;
	if (search->depth == MAX_DEPTH || search->nr_followed == MAX_FOLLOWED ||
	    symbol.elf_addr != elf_addr || !read_code(search->elf, search->fd, &symbol, &code))
		return false;
	search->depth++;
	search->nr_followed++;
	calls = probesite_calls(&code, false, is_allocator, search);
	search->depth--;
	free((void *)code.bytes);
	return calls;
}

/* Moves a site from its function's entry to where a probe is cheaper; returns how far, or PROBESITE_NONE. */
static size_t refine(struct search *search, const struct symbol *symbol, bool may_be_leaf,
		     struct alloc_site *site)
{
	struct probesite_code code = {.elf_addr = symbol->elf_addr,
				      .arch = elf_file_arch(search->elf)};
	size_t offset;

	if (!read_code(search->elf, search->fd, symbol, &code))
		return probesite_choose(&code, keeps[site->shape]);
	offset = probesite_choose(&code, keeps[site->shape]);
	site->file_off += offset == PROBESITE_NONE ? 0 : offset;
	search->depth = search->nr_followed = 0;
	site->is_leaf = may_be_leaf && !probesite_calls(&code, true, is_allocator, search);
	free((void *)code.bytes);
	return offset;
}

/* Finds the functions that an object defines. false: it does not define both malloc and free. */
static bool find_functions(struct search *search, struct symbol symbols[NR_FUNCTIONS])
{
	uint64_t file_off;
	bool is_ifunc;

	for (size_t i = 0; i < NR_FUNCTIONS; i++) {
		if (!symtab_lookup(search->symtab, functions[i].name, &symbols[i], &is_ifunc) ||
		    is_ifunc || elf_file_offset(search->elf, symbols[i].elf_addr, &file_off)) {
			if (i < 2)
				return false;
			symbols[i] = (struct symbol){0};
			continue;
		}
		if (functions[i].shape != SHAPE_FREE)
			search->allocators[search->nr_allocators++] = symbols[i].elf_addr;
	}
	return true;
}

static bool is_nameless(struct object *object)
{
	const struct elf_file *elf = object_elf(object);
	struct elf_section section;

	return elf_file_is_linked(elf) && !elf_file_section_named(elf, ".interp", &section) &&
	       !symtab_nr(object_symtab(object));
}

void allocator_find(struct object *object, int fd, struct allocator *allocator)
{
	struct search search = {.elf = object_elf(object), .fd = fd};
	struct symbol symbols[NR_FUNCTIONS];
	uint64_t entries[NR_FUNCTIONS];
	size_t nr = 0;

	*allocator = (struct allocator){0};
	if (!search.elf || !elf_file_arch(search.elf))
		return;
	allocator->is_go = gopclntab_is_there(search.elf);
	allocator->is_nameless = is_nameless(object);
	if (usdt_find(search.elf, allocator))
		return;
	search.symtab = object_symtab(object);
	if (!find_functions(&search, symbols))
		return;
	for (size_t i = 0; i < NR_FUNCTIONS; i++) {
		struct alloc_site site = {.shape = functions[i].shape};
		size_t offset;

		if (!symbols[i].name ||
		    elf_file_offset(search.elf, symbols[i].elf_addr, &site.file_off) ||
		    is_known(entries, nr, site.file_off))
			continue;
		entries[nr] = site.file_off;
		offset = refine(&search, &symbols[i], functions[i].may_be_leaf, &site);
		if (offset == PROBESITE_NONE && i < 2)
			return; /* without malloc or free the rest would tell lies */
		if (offset == PROBESITE_NONE)
			continue;
		allocator->names[nr] = functions[i].name;
		allocator->offsets[nr] = offset;
		allocator->sites[nr++] = site;
	}
	allocator->nr = nr;
}
