// SPDX-License-Identifier: BSD-2-Clause
/*
 * The entries themselves are walked, not the sorted table of .eh_frame_hdr, for the reasons in cfi.c, and
 * so that a function begins here where it does for the unwinder. The section is read through an elf_file
 * of this call's own, which gives its memory back.
 */
#include "object/functab.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "object/fdes.h"

struct function {
	uint64_t start, limit; /* elf_addr */
};

struct functab {
	vec_of(struct function) functions; /* ascending, without overlaps */
};

/* What the linker makes of its own accord, where there is any. */
struct stubs {
	struct elf_section sections[3];
	size_t nr;
};

struct making {
	struct functab *functab;
	struct stubs stubs;
};

static void find_stubs(struct stubs *stubs, const struct elf_file *file)
{
	static const char *const names[] = {".plt", ".plt.sec", ".plt.got"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (elf_file_section_named(file, names[i], &stubs->sections[stubs->nr]))
			stubs->nr++;
}

static bool is_stub(const struct stubs *stubs, uint64_t elf_addr)
{
	for (size_t i = 0; i < stubs->nr; i++)
		if (elf_addr >= stubs->sections[i].elf_addr &&
		    elf_addr - stubs->sections[i].elf_addr < stubs->sections[i].len_bytes)
			return true;
	return false;
}

static void add(void *ctx, uint32_t cie, const struct cfi_fde *fde)
{
	struct making *making = ctx;

	(void)cie;
	if (!is_stub(&making->stubs, fde->start))
		vec_push(&making->functab->functions, (struct function){fde->start, fde->limit});
}

struct functab *functab_new(const struct elf_file *file)
{
	struct functab *functab = xcalloc(1, sizeof(*functab));
	struct making making = {.functab = functab};
	struct fdes fdes scoped(fdes_release) = {0};
	struct fde_source source;
	struct elf_file *own;

	if (!file || !elf_file_is_linked(file) || elf_file_reopen(file, &own))
		return functab;
	find_stubs(&making.stubs, own);
	if (!fde_source_from_elf(own, &source) && source.section.len_bytes <= FUNCTAB_MAX_BYTES &&
	    !fdes_read(&source, &fdes))
		fdes_each(&fdes, add, &making);
	elf_file_close(own);
	vec_fit(&functab->functions);
	return functab;
}

void functab_free(struct functab *functab)
{
	if (!functab)
		return;
	vec_release(&functab->functions);
	free(functab);
}

size_t functab_nr(const struct functab *functab)
{
	return functab->functions.nr;
}

bool functab_find(const struct functab *functab, uint64_t elf_addr, uint64_t *start)
{
	size_t nr = vec_partition(&functab->functions, begun, begun->start <= elf_addr);

	if (!nr || elf_addr >= functab->functions.at[nr - 1].limit)
		return false;
	*start = functab->functions.at[nr - 1].start;
	return true;
}

uint64_t functab_limit(const struct functab *functab, uint64_t elf_addr, bool *covers)
{
	size_t nr = vec_partition(&functab->functions, begun, begun->start <= elf_addr);

	*covers = nr && elf_addr < functab->functions.at[nr - 1].limit;
	if (*covers)
		return functab->functions.at[nr - 1].limit;
	return nr < functab->functions.nr ? functab->functions.at[nr].start : UINT64_MAX;
}
