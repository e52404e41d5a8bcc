/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The FDEs of an ELF file, by ascending address and without overlaps: the ranges of code that its call frame
 * information describes. unwind/cfa.h interprets their instructions.
 *
 * Where FDEs overlap, an address belongs to the one that starts last before it, as a binary search over
 * starts (which is what .eh_frame_hdr and libgcc do) would find; of FDEs with equal starts the first is used.
 *
 * Time is linear in the section's length, but for sorting; memory is 16 bytes per FDE and about 100 per CIE
 * from fdes_read() to fdes_release().
 */
#ifndef CPROF_OBJECT_FDES_H
#define CPROF_OBJECT_FDES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "object/cfi.h"
#include "object/elf.h"

/* What to read. FDEs outside [code_start, code_limit) are skipped (0, UINT64_MAX: none are). */
struct fde_source {
	struct cfi_section section;
	uint64_t code_start, code_limit;
};

/*
 * Finds the section to read in an ELF file: .eh_frame by its name, else by PT_GNU_EH_FRAME, else
 * .debug_frame (uncompressed). source borrows from file. -ENOENT: it has none, or no executable segment.
 */
int fde_source_from_elf(const struct elf_file *file, struct fde_source *source);

struct fde_cie {
	struct cfi_cie cie;
	bool damaged;
};

struct fde_place {
	uint64_t start;
	uint32_t off; /* of its entry in the section */
	uint32_t cie; /* position in cies */
};

/* Zero it before fdes_read(). Borrows the section of its source. */
struct fdes {
	struct fde_source source;
	vec_of(struct fde_cie) cies;   /* by offset */
	vec_of(struct fde_place) list; /* by start, duplicates included */
	size_t nr_skipped; /* FDEs: of length 0, outside the code asked for, or duplicates */
	size_t nr_damaged; /* FDEs that could not be read */
	bool truncated;	   /* the chain of lengths leads out of the section: its rest is unread */
};

/* Reads and sorts the FDEs of source. -EFBIG: a section of 4 GB or more. Release whatever the result. */
int fdes_read(const struct fde_source *source, struct fdes *fdes);
void fdes_release(struct fdes *fdes);

/* Calls take for each FDE in use, ascending. cie: position in fdes->cies; fde: borrowed for the call. */
typedef void (*fde_fn)(void *ctx, uint32_t cie, const struct cfi_fde *fde);
void fdes_each(struct fdes *fdes, fde_fn take, void *ctx);

#endif
