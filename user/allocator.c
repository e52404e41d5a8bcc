// SPDX-License-Identifier: BSD-2-Clause
#include "allocator.h"

#include <string.h>

/* malloc(3), posix_memalign(3), cfree(3); aliases come after the name that should be shown. */
static const struct {
	const char *name;
	enum session_shape shape;
} functions[] = {
	{"malloc", SHAPE_MALLOC},
	{"free", SHAPE_FREE},
	{"calloc", SHAPE_CALLOC},
	{"realloc", SHAPE_REALLOC},
	{"reallocarray", SHAPE_REALLOCARRAY},
	{"posix_memalign", SHAPE_POSIX_MEMALIGN},
	{"aligned_alloc", SHAPE_MEMALIGN},
	{"memalign", SHAPE_MEMALIGN},
	{"valloc", SHAPE_MALLOC},
	{"pvalloc", SHAPE_MALLOC},
	{"cfree", SHAPE_FREE},
};

#define NR_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))
_Static_assert(NR_FUNCTIONS <= ALLOCATOR_MAX_SITES, "more functions than sites");

static bool is_known(const struct allocator_site *sites, size_t nr, uint64_t file_off)
{
	for (size_t i = 0; i < nr; i++)
		if (sites[i].file_off == file_off)
			return true;
	return false;
}

size_t allocator_sites(struct object *object, struct allocator_site *sites)
{
	const struct elf_file *elf = object_elf(object);
	size_t nr = 0;

	for (size_t i = 0; elf && i < NR_FUNCTIONS; i++) {
		struct symbol symbol;
		bool is_ifunc = false;
		uint64_t file_off;

		if (!symtab_lookup(object_symtab(object), functions[i].name, &symbol, &is_ifunc) ||
		    is_ifunc || elf_file_offset(elf, symbol.elf_addr, &file_off)) {
			if (i < 2)
				return 0; /* no malloc or no free */
			continue;
		}
		if (!is_known(sites, nr, file_off))
			sites[nr++] = (struct allocator_site){functions[i].name, functions[i].shape,
							      file_off};
	}
	return nr;
}
