/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From an ip of a process image to a location of a profile: mapping, normalised address, function.
 *
 * Addresses are normalised to what the ELF file says, and the mapping is given as the file's own
 * segment, so that pprof's base comes out as 0 and one libc is one libc across all processes.
 * Every location has a mapping and a line. Code without a symbol is "libfoo.so.6+0x1234", where 0x1234 is
 * the address that its function begins at, so that a function is one row wherever it was sampled; its own
 * address where call frame information does not say (PLT stubs, hand-written code). If the function is the implementation
 * of an IFUNC (record/ifuncnames.h), its name is that of the IFUNC. Code in no mapping is
 * "[unknown]+0x1234" in a mapping "[unknown]". Addresses of locations are exact in any case. The function of a
 * name that was made up or inferred so, and that of a note, has an empty system_name: that of a symbol never is.
 *
 * Mappings without a file: "[vdso]" and other names of the kernel's; "//anon" (a JIT's code, as
 * runtime addresses, "[anon]+0x7f12..."); "[kernel.kallsyms]", modules included, the functions with
 * their plain names and no file; "[unknown]"; "[cprof]".
 *
 * Each distinct (object, address) is looked up once, each location of a profile made once.
 */
#ifndef CPROF_RECORD_SYMBOLIZE_H
#define CPROF_RECORD_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "object/kallsyms.h"
#include "process/files.h"
#include "process/task.h"
#include "record/framenames.h"
#include "symbolize/namecache.h"
#include "record/ifuncnames.h"
#include "record/kernelcode.h"
#include "profile/model.h"
#include "sandbox/parser.h"
#include "symbolize/codenames.h"

struct symbolizer;

/* The addresses of one profile that there was no time for, in files. */
struct symbolizer_left_out {
	uint64_t serial; /* the profile's */
	uint64_t nr, nr_all;
};

/* All borrowed. */
struct symbolizer *symbolizer_new(struct tasks *tasks, struct files *files, struct parser *parser);
void symbolizer_free(struct symbolizer *symbolizer);
/* Whether locations have source files and lines, and with these the functions that were inlined; both unless called. */
void symbolizer_ask_for(struct symbolizer *symbolizer, bool lines, bool inlines);
/* Once is_hurried() is true, code in files that has no name yet does not get one. */
void symbolizer_hurry_when(struct symbolizer *symbolizer, bool (*is_hurried)(void));
/* Names of the implementations of IFUNCs are taken from there; NULL: there are none. Borrowed. */
void symbolizer_use_ifuncs(struct symbolizer *symbolizer, const struct ifuncnames *ifuncnames);
/*
 * Names of kernel code are taken from what read() returns (borrowed), which is called once, at the first such code. NULL, or
 * not called: it is "[kernel]+0x...".
 */
void symbolizer_use_kallsyms(struct symbolizer *symbolizer,
			     const struct kallsyms *(*read)(void *ctx), void *ctx);
/* But for what came to the kernel or went during the run. NULL: nothing is known of such code. Borrowed. */
void symbolizer_use_kernelcode(struct symbolizer *symbolizer, struct kernelcode *kernelcode);
/* Names of code in files are looked for and kept there; NULL: nowhere. Borrowed. */
void symbolizer_use_cache(struct symbolizer *symbolizer, struct namecache *cache);
/* Debug files are looked for in these folders first. Before the first name is asked for. */
void symbolizer_look_in(struct symbolizer *symbolizer, struct debugfile_dirs dirs);
/*
 * From this moment of CLOCK_MONOTONIC on, too; 0: never. Set to a later one, what had no time is looked up for the next
 * profiles.
 */
void symbolizer_until(struct symbolizer *symbolizer, uint64_t until_ns);
/* The number of addresses that have no name for these reasons. */
size_t symbolizer_nr_unnamed(const struct symbolizer *symbolizer);
/*
 * The number of addresses that have no name because their file could not be opened; *file is one of these files, and
 * *why the reason in words (borrowed, untouched for 0).
 */
size_t symbolizer_nr_closed(const struct symbolizer *symbolizer, const char **file,
			    const char **why);

/* The same as codenames_say_missing(). */
char *symbolizer_say_missing(const struct symbolizer *symbolizer, enum codenames_missing what);

/*
 * Says that symbolize_user() will be called with these, for so many samples. The names of all such ips are looked up together, which is much
 * faster than one by one.
 */
void symbolize_expect(struct symbolizer *symbolizer, struct image *image, uint64_t ip,
		      uint64_t time_ns, bool is_caller, uint64_t weight);
/*
 * The location in profile of a user ip of image at time_ns; one with IP_GUESSED is named so.
 * is_caller: it is not the leaf's, so that it is named and written as ip_named() says.
 */
uint32_t symbolize_user(struct symbolizer *symbolizer, struct profile *profile, struct image *image,
			uint64_t ip, uint64_t time_ns, bool is_caller);
/*
 * What that location's function is called, in *name (borrowed until the next call), without anything being
 * added to a profile. The same number is the same name.
 */
uint32_t symbolize_user_name(struct symbolizer *symbolizer, struct image *image, uint64_t ip,
			     uint64_t time_ns, bool is_caller, const char **name);
uint32_t symbolize_kernel(struct symbolizer *symbolizer, struct profile *profile, uint64_t ip,
			  uint64_t time_ns, bool is_return_address);
/* Is there time to ask for names? (symbolizer_hurry_when(), symbolizer_until()) */
bool symbolize_has_time(const struct symbolizer *symbolizer);
/*
 * The location of a function that a runtime interprets: of its file and line, in the mapping "[python 3.11]" of its
 * runtime. Its address is made from these.
 */
uint32_t symbolize_frame(struct symbolizer *symbolizer, struct profile *profile,
			 const struct framename *frame);
/* Is the code at a user ip of image at time_ns a runtime's loop, which interprets functions? */
bool symbolize_is_loop(struct symbolizer *symbolizer, struct image *image, uint64_t ip,
		       uint64_t time_ns, bool is_caller);
/* The same for what such a loop calls to run the functions, and which stands for none of them. */
bool symbolize_is_inner(struct symbolizer *symbolizer, struct image *image, uint64_t ip,
			uint64_t time_ns, bool is_caller);
/* The runtime that the code at ip belongs to, an ABI_RUNTIME(); 0: none. */
uint32_t symbolize_runtime(struct symbolizer *symbolizer, struct image *image, uint64_t ip,
			   uint64_t time_ns, bool is_caller);
/*
 * A frame that is words, not code: "[truncated: ...]". In the mapping "[cprof]", its address made
 * from the text so that equal frames are one.
 */
uint32_t symbolize_note(struct symbolizer *symbolizer, struct profile *profile, const char *text);

/*
 * Makes the mapping of the file that image was started from (its first executable one) the first of
 * the profile, adding it if no sample fell into it.
 */
void symbolize_main_mapping(struct symbolizer *symbolizer, struct profile *profile,
			    struct image *image);
/*
 * Makes the kernel's mapping the first of the profile: where a run of all processes has no sample, it is the one code that
 * they all share.
 */
void symbolize_kernel_mapping(struct profile *profile);

/* Notes in the profile, as a comment, how many of its addresses there was no time for, if any. After the last location. */
void symbolize_note_left_out(const struct symbolizer *symbolizer, struct profile *profile);

/* Why the file of the mapping that ip is in is not open, in words (process/files.h); "" if it is or there is none. */
const char *symbolize_why_closed(struct symbolizer *symbolizer, struct image *image, uint64_t ip,
				 uint64_t time_ns);
/* "libfoo.so.6" of the mapping that ip is in, for a message; "[unknown]" if none. Borrowed. */
const char *symbolize_mapping_name(struct symbolizer *symbolizer, struct image *image, uint64_t ip,
				   uint64_t time_ns);

#endif
