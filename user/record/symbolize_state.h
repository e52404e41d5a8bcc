/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a symbolizer, private to symbolize.c, which makes locations, symbolize_place.c, which finds where an ip
 * is, and symbolize_name.c, which finds the names of what is there.
 */
#ifndef CPROF_RECORD_SYMBOLIZE_STATE_H
#define CPROF_RECORD_SYMBOLIZE_STATE_H

#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "symbolize/codenames.h"
#include "record/jitsymnames.h"
#include "record/symbolize.h"

/* The space that a position is in, if it is not a file (whose space is its index). */
#define SPACE_VDSO (FILE_NONE - 1) /* bytes from the start of the vdso */
#define SPACE_KERNEL \
	(FILE_NONE - 2) /* ip; in base the strtab id of an announced name, or KERNEL_NO_NAME */
#define SPACE_UNKNOWN (FILE_NONE - 3) /* ip */
#define SPACE_ANON    (FILE_NONE - 4) /* ip, in a mapping of its own */
#define SPACE_NOTE    (FILE_NONE - 5) /* hash of the words, in base their strtab id */
#define SPACE_JIT     (FILE_NONE - 6) /* ip, of JIT code; in base its chain */
#define SPACE_FRAME \
	(FILE_NONE - 7) /* a framename's function and line; in base its runtime and start line */
#define SPACE_METHOD (FILE_NONE - 8) /* 0; in base the chain of a method that is interpreted */

#define KERNEL_NO_NAME UINT32_MAX /* what is there now came later */
#define IS_FILE(space) ((space) < SPACE_METHOD)

/* A code position that means the same in every profile of the run. */
struct code_address {
	uint32_t space;
	uint64_t position, base;
	/* base of a file: 0, or the strtab id of the IFUNC whose implementation the process has there. */
	/* for SPACE_ANON and SPACE_JIT, the mapping: where one process has "//anon", another may have
	 * "[heap]", or a mapping of another length. */
	uint64_t map_start, map_limit;
	uint32_t map_name; /* of tasks_names() */
	bool guessed;	   /* reached by a frame pointer that is not promised: its name is marked */
};

/* What is known about a place: its names, which stay, and its location in one profile. */
struct finding {
	struct code_address address;
	uint64_t elf_addr;
	uint32_t raw, display;	    /* strtab ids; raw 0: it has no symbol, display is made up */
	uint32_t frames, nr_frames; /* codenames_frames(); nr_frames 0: no line is known */
	uint64_t serial;	    /* of the profile that location is an id of */
	uint32_t location;
	bool is_untried;  /* there was no time to look it up */
	bool is_left_out; /* or not for all of it */
};

/* The functions that JIT code was compiled from (symbolize_jit.c). */
struct jitsym_chain {
	uint32_t raw;		    /* strtab id of the outermost one's name */
	uint32_t frames, nr_frames; /* as in a finding */
};

struct symbolizer {
	struct tasks *tasks;
	struct files *files;
	struct codenames *names;
	struct jitsymnames *jitsyms;
	const struct kallsyms *(*read_kallsyms)(
		void *ctx); /* NULL: it was called, or there is none */
	void *kallsyms_ctx;
	const struct kallsyms *kallsyms;     /* NULL: not read, or in vain */
	struct kernelcode *kernelcode;	     /* NULL: none */
	const struct ifuncnames *ifuncnames; /* NULL: none */
	size_t nr_unnamed, nr_closed;
	struct symbolizer_left_out left_out;
	uint32_t closed_file; /* one of these */
	vec_of(struct finding) findings;
	struct hash index;
	struct strtab strings;
	vec_of(struct jitsym_chain) chains; /* number n is at n - 1 */
	struct hash chain_index;
};

/* Finds the position of an ip. *map: the mapping that contains it; NULL: none. is_expected: it will be asked for again, with others. */
struct code_address symbolize_place(struct symbolizer *symbolizer, struct image *image, uint64_t ip,
				    uint64_t time_ns, bool is_caller, bool is_expected,
				    const struct mapping **map);
/*
 * What is at an address, looked up when it is first asked for. map: the mapping that it is in; NULL for the spaces that
 * have none. Borrowed until the next call.
 */
struct finding *symbolize_find(struct symbolizer *symbolizer, const struct code_address *address,
			       const struct mapping *map);
/* The number of the chain of functions that a piece of JIT code was compiled from, from 1 on. */
uint32_t symbolize_jitsym(struct symbolizer *symbolizer, const struct jitsyms *code,
			  struct jitsym *piece);
/* What image had at time_ns in place of a user ip with IP_METHOD. */
struct code_address symbolize_method(struct symbolizer *symbolizer, struct image *image,
				     uint64_t word, uint64_t time_ns);
/* Names a finding of SPACE_JIT or SPACE_METHOD. */
void symbolize_name_jit(struct symbolizer *symbolizer, struct finding *finding);
/* The address that stands for a function and line in place of code's: the same for all processes, below 4 GiB. */
uint64_t symbolize_frame_addr(const char *name, const char *file, uint32_t line);
/* The position of the words of a note. */
struct code_address symbolize_note_address(struct symbolizer *symbolizer, const char *text);
/* Was it looked up before? */
bool symbolize_is_found(const struct symbolizer *symbolizer, const struct code_address *address);
/* The address of a file offset. False: it is in no segment, or the file is not ELF, or not open. */
bool symbolize_address_in_file(struct symbolizer *symbolizer, uint32_t file, uint64_t file_off,
			       uint64_t *elf_addr);
/*
 * The strtab id of the IFUNC whose implementation image has at a file offset of file, where no symbol names it; 0: none, or
 * it is not known.
 */
uint32_t symbolize_ifunc(struct symbolizer *symbolizer, const struct image *image, uint32_t file,
			 uint64_t file_off);
/* "[anon]" for a mapping that has no name at all, else what the kernel calls it: "[vsyscall]". Borrowed. */
const char *symbolize_pseudo_name(struct symbolizer *symbolizer, const struct mapping *map);

#endif
