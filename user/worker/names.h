/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reply to a question about names (sandbox/message.h), put together from what the sources say.
 *
 * First come the lines, in any order, then the names, in the order of the question.
 */
#ifndef CPROF_WORKER_NAMES_H
#define CPROF_WORKER_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "object/sourceframe.h"
#include "worker/payload.h"

struct names;

/* Returns empty names for nr addresses, freed with names_free(). what is a set of message_names_what. */
struct names *names_new(uint32_t what, size_t nr);
void names_free(struct names *names);

/* Are lines asked for at all? */
bool names_wants_lines(const struct names *names);
/* Has the i-th address lines already? */
bool names_has_lines(const struct names *names, size_t i);
/* The frames of the i-th address; those that an earlier source gave are kept. A source_frames_fn; ctx is the names. */
void names_add_frames(void *ctx, size_t i, const struct source_frame *frames, size_t nr);

/* Are the names of frames from now on what a reader sees, not to be demangled? */
void names_take_plain(struct names *names, bool is_plain);

/* There was no time for the lines of all addresses. */
void names_cut(struct names *names);

/* What the sources of symbols say of an address: kind is an enum message_name_kind. */
struct names_symbol {
	uint32_t kind;
	uint64_t start;
	const char *raw;     /* NULL: none */
	const char *display; /* NULL: raw, demangled */
};
/*
 * Says the next address's symbol; the first one always has room. false: there is no room for more, and the reply ends
 * before it.
 */
bool names_add(struct names *names, const struct names_symbol *symbol);

/* So many addresses are in split units that are not there. */
void names_set_split(struct names *names, size_t nr);
/* Not all of the file's debug information could be read. */
void names_set_unread(struct names *names);
/* Appends the whole to an empty payload. Returns the number of addresses in it. */
uint32_t names_finish(const struct names *names, struct payload *payload);

#endif
