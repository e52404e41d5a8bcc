/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names of code in files, asked of the parser in batches.
 *
 * A question costs a round trip to another process, which is as much as a hundred look-ups. So callers say first which
 * addresses they will ask for (codenames_expect()), and the first question is for all of these.
 *
 * What the file itself does not name, or has no lines for, is asked of its debug file (symbolize/debugfile.h): its
 * addresses are the same. What either has in an alternate file or in split units is read there.
 */
#ifndef CPROF_SYMBOLIZE_CODENAMES_H
#define CPROF_SYMBOLIZE_CODENAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "symbolize/debugfile.h"
#include "symbolize/namecache.h"
#include "sandbox/parser.h"
#include "symbolize/codefiles.h"

enum codename_state {
	CODENAME_NONE, /* nothing is known about the address */
	CODENAME_START,
	CODENAME_SYMBOL,
	CODENAME_CLOSED,   /* the file could not be opened */
	CODENAME_NO_TIME,  /* it was not asked for: is_hurried(), or time was up */
	CODENAME_LEFT_OUT, /* the parser has no answer for this file */
};

struct codenames;

/* All but the struct codefiles are borrowed; names are interned in strings. */
struct codenames *codenames_new(const struct codefiles *files, struct parser *parser,
				struct strtab *strings);
void codenames_free(struct codenames *names); /* NULL is fine */
/* What is asked of files besides names from now on: a set of message_names_what; all of it unless called. */
void codenames_ask_for(struct codenames *names, uint32_t what);
bool codenames_asks_for(const struct codenames *names, enum message_names_what what);
/* Once is_hurried() is true, no more are asked for. */
void codenames_hurry_when(struct codenames *names, bool (*is_hurried)(void));

/*
 * The same from this moment of CLOCK_MONOTONIC on; 0: never. The heaviest addresses are asked for first. What was left out is
 * asked for again when there is time.
 */
void codenames_until(struct codenames *names, uint64_t until_ns);

/* That moment comes so much later: something else took this time, which is bounded by itself. */
void codenames_wait(struct codenames *names, uint64_t waited_ns);

/* What is found is looked for and kept there (symbolize/namecache.h); NULL: nowhere. Borrowed. */
void codenames_use_cache(struct codenames *names, struct namecache *cache);

/* Are more asked for? */
bool codenames_has_time(const struct codenames *names);

/* Debug files are looked for in these folders first. Before the first question. */
void codenames_look_in(struct codenames *names, struct debugfile_dirs dirs);

/* A sentence about nr of nr_all addresses that were not asked for, owned by the caller: a profile and messages have it. */
char *codenames_say_left_out(uint64_t nr, uint64_t nr_all);
/* Why lines or inlined functions may be missing. */
enum codenames_missing {
	CODENAMES_NO_ALTFILE, /* a file that debug information refers to was not found: symbolize/altfile.h */
	CODENAMES_NO_SPLITS, /* symbolize/splitnames.h */
	CODENAMES_UNREAD, /* not all debug information of a file could be read; said when it is read, not of what is cached */
	NR_CODENAMES_MISSING
};
/* A sentence about these, owned by the caller; NULL: there are none. */
char *codenames_say_missing(const struct codenames *names, enum codenames_missing what);

/* About a file (PARSER_VDSO: the vdso). NULL: it is not open or not readable ELF. Borrowed from the parser. */
const struct reply_file *codenames_file(struct codenames *names, uint32_t file);

/* Why codenames_file() is NULL: CODENAME_CLOSED, CODENAME_NO_TIME, or CODENAME_NONE where it is not ELF or left out. */
enum codename_state codenames_why_no_file(struct codenames *names, uint32_t file);

/* The name of elf_addr in file will be asked for; weight: of the samples that have it. */
void codenames_expect(struct codenames *names, uint32_t file, uint64_t elf_addr, uint64_t weight);

struct codename {
	uint32_t file;
	enum codename_state state;
	uint64_t elf_addr;
	uint64_t start;	       /* CODENAME_START: where the function begins */
	uint32_t raw, display; /* CODENAME_SYMBOL: ids in strings */
	uint32_t frames;       /* codenames_frames() of these */
	uint32_t nr_frames;    /* 0: no line is known */
	bool is_split;	       /* it may depend on files of split units */
	bool is_cut; /* there was no time for all sources: it may have a better name, lines, or more inlined functions */
	bool is_bare; /* lines were not asked for yet */
};

/* A function that an address is in: it was inlined, or it is the outermost one, whose name is the codename's. */
struct codename_frame {
	uint32_t raw, display,
		file;		   /* ids in strings; of the outermost one raw and display are 0 */
	uint32_t line, start_line; /* 0: unknown */
};

/* What is known of elf_addr in file. */
struct codename codenames_find(struct codenames *names, uint32_t file, uint64_t elf_addr);
/* The frames of a codename that has some, the innermost first. Borrowed until the next codenames_find(). */
const struct codename_frame *codenames_frames(const struct codenames *names, uint32_t frames);
/* Keeps a frame of what is in no file, for codenames_frames() of the number that is returned. */
uint32_t codenames_add_frame(struct codenames *names, const struct codename_frame *frame);

#endif
