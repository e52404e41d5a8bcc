/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of the names of code, private to codenames.c, which has them, codenames_ask.c, which asks for them,
 * codenames_known.c, which learns the answers, and codenames_cache.c, which keeps them on disk.
 */
#ifndef CPROF_SYMBOLIZE_CODENAMES_STATE_H
#define CPROF_SYMBOLIZE_CODENAMES_STATE_H

#include "base/hash.h"
#include "base/vec.h"
#include "symbolize/altfile.h"
#include "symbolize/codenames.h"
#include "symbolize/debugfile.h"
#include "symbolize/splitnames.h"
#include "symbolize/worklist.h"

struct codenames {
	struct codefiles files;
	struct parser *parser;
	struct strtab *strings;
	bool (*is_hurried)(void); /* NULL: there is time */
	uint64_t until_ns;	  /* of CLOCK_MONOTONIC; 0: no limit */
	vec_of(struct work) expected;
	uint32_t what;	/* is asked for: a set of message_names_what */
	bool is_naming; /* names are asked for, and lines afterwards */
	vec_of(struct codename) known;
	vec_of(struct codename_frame) frames; /* of known */
	struct hash index;		      /* of known */
	struct debugfiles *debugfiles;
	struct altfiles *altfiles;
	struct splitnames *splitnames;
	struct namecache *cache; /* NULL: there is none */
	bool is_fetching;	 /* debug files may be downloaded: then the cache is not used */
	vec_of(uint32_t) unread; /* keys of files whose debug information could not all be read */
};

/* Asks for what is expected, which is nothing afterwards. */
void codenames_ask_all(struct codenames *names);
/* Is there an answer, which may be that there was no time, while there is none? */
bool codenames_is_known(const struct codenames *names, uint32_t file, uint64_t elf_addr);
/* The position in known; HASH_NONE: nothing is known of it. */
uint32_t codenames_position(const struct codenames *names, uint32_t file, uint64_t elf_addr);
/* Learns what a reply says of an address, in place of what was known. */
void codenames_learn(struct codenames *names, uint32_t file, uint64_t elf_addr,
		     const struct reply_name *reply);

/* Adds to what a reply said of an address what another one says. */
void codenames_learn_more(struct codenames *names, struct codename *name,
			  const struct reply_name *reply);
/* Puts an answer in the place of what was known of its address. */
void codenames_put(struct codenames *names, const struct codename *name);

/* The key of a file in the cache, as its debug files are now. false: what is found for it is not kept. */
bool codenames_cache_key(struct codenames *names, uint32_t file, char key[NAMEFILE_KEY_BYTES]);
/* Learns what the cache has of nr addresses of a file, which are sorted. */
void codenames_cache_read(struct codenames *names, const char *key, const struct work *works,
			  size_t nr);
/* Adds to the cache what is known of nr addresses of a file, if it is all that there is to know. */
void codenames_cache_write(const struct codenames *names, const char *key, const struct work *works,
			   size_t nr);

#endif
