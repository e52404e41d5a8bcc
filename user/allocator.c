// SPDX-License-Identifier: BSD-2-Clause
#include "allocator.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "object/probesite.h"

/*
 * malloc(3), posix_memalign(3), cfree(3); aliases come after the name that should be shown. An object
 * is an allocator if it has the first two.
 *
 * may_be_leaf: the functions that nearly all allocations are made by, so that it pays to know whether
 * they call others. The rest is taken to: glibc's realloc(NULL, n) and aligned_alloc() end in malloc.
 */
static const struct {
	const char *name;
	enum session_shape shape;
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
_Static_assert(NR_FUNCTIONS <= SESSION_MAX_SITES, "more functions than sites");

/* The registers that hold the arguments of a shape that matter (see bpf/alloc.bpf.c). */
static const unsigned int keeps[] = {
	[SHAPE_MALLOC] = PROBESITE_STACK | PROBESITE_DI,
	[SHAPE_CALLOC] = PROBESITE_STACK | PROBESITE_DI | PROBESITE_SI,
	[SHAPE_REALLOC] = PROBESITE_STACK | PROBESITE_DI | PROBESITE_SI,
	[SHAPE_REALLOCARRAY] = PROBESITE_STACK | PROBESITE_DI | PROBESITE_SI | PROBESITE_DX,
	[SHAPE_MEMALIGN] = PROBESITE_STACK | PROBESITE_SI,
	[SHAPE_POSIX_MEMALIGN] = PROBESITE_STACK | PROBESITE_DI | PROBESITE_DX,
	[SHAPE_FREE] = PROBESITE_DI | PROBESITE_DI_OR_0,
};

static bool is_known(const uint64_t *entries, size_t nr, uint64_t file_off)
{
	for (size_t i = 0; i < nr; i++)
		if (entries[i] == file_off)
			return true;
	return false;
}

/* Is elf_addr one of the functions, or a stub that leads to one? */
static bool is_allocator(void *ctx, uint64_t elf_addr)
{
	const struct symtab *symtab = ctx;
	struct symbol symbol, function;
	bool is_ifunc;

	for (size_t i = 0; i < NR_FUNCTIONS; i++) {
		if (symtab_lookup(symtab, functions[i].name, &function, &is_ifunc) &&
		    function.elf_addr == elf_addr)
			return true;
	}
	if (!symtab_find(symtab, elf_addr, &symbol))
		return false;
	for (size_t i = 0; i < NR_FUNCTIONS; i++) {
		size_t len = strlen(functions[i].name);

		if (!strncmp(symbol.name, functions[i].name, len) &&
		    !strcmp(symbol.name + len, "@plt"))
			return true;
	}
	return false;
}

/* Moves a site from its function's entry to where a probe is cheaper; returns how far. */
static uint32_t refine(const struct symtab *symtab, int fd, const struct symbol *symbol,
		       bool may_be_leaf, struct session_site *site)
{
	uint8_t *bytes scoped(freep) = NULL;
	struct probesite_code code = {.len_bytes = symbol->len_bytes, .elf_addr = symbol->elf_addr};
	uint32_t offset;

	if (!code.len_bytes || code.len_bytes > PROBESITE_MAX_BYTES)
		return 0;
	bytes = xmalloc(code.len_bytes);
	if (pread(fd, bytes, code.len_bytes, site->file_off) != (ssize_t)code.len_bytes)
		return 0;
	code.bytes = bytes;
	offset = probesite_choose(&code, keeps[site->shape]);
	site->file_off += offset;
	site->is_leaf = may_be_leaf && !probesite_calls(&code, is_allocator, (void *)symtab);
	return offset;
}

void allocator_find(struct object *object, int fd, struct allocator *allocator)
{
	const struct elf_file *elf = object_elf(object);
	const struct symtab *symtab = elf ? object_symtab(object) : NULL;
	uint64_t entries[SESSION_MAX_SITES];
	size_t nr = 0;

	allocator->nr = 0;
	for (size_t i = 0; elf && i < NR_FUNCTIONS; i++) {
		struct session_site site = {.shape = functions[i].shape};
		struct symbol symbol;
		bool is_ifunc = false;

		if (!symtab_lookup(symtab, functions[i].name, &symbol, &is_ifunc) || is_ifunc ||
		    elf_file_offset(elf, symbol.elf_addr, &site.file_off)) {
			if (i < 2)
				return; /* no malloc or no free */
			continue;
		}
		if (is_known(entries, nr, site.file_off))
			continue;
		entries[nr] = site.file_off;
		allocator->names[nr] = functions[i].name;
		allocator->offsets[nr] =
			refine(symtab, fd, &symbol, functions[i].may_be_leaf, &site);
		allocator->sites[nr++] = site;
	}
	allocator->nr = nr;
}

void allocator_drop_frees(struct allocator *allocator)
{
	size_t kept = 0;

	for (size_t i = 0; i < allocator->nr; i++) {
		if (allocator->sites[i].shape == SHAPE_FREE)
			continue;
		allocator->sites[kept] = allocator->sites[i];
		allocator->names[kept] = allocator->names[i];
		allocator->offsets[kept++] = allocator->offsets[i];
	}
	allocator->nr = kept;
}
