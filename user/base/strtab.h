/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interned strings: each distinct string is stored once and known by a small id.
 *
 * Id 0 is "". Strings do not move until strtab_release(). A zeroed struct strtab is empty (and knows "").
 */
#ifndef CPROF_BASE_STRTAB_H
#define CPROF_BASE_STRTAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/vec.h"

struct strtab {
	vec_of(const char *) strings; /* NUL-terminated; at[0] is "" once anything is interned */
	struct arena arena;
	struct hash index;
};

/* The id of s; equal strings have equal ids. s is copied. */
uint32_t strtab_intern(struct strtab *strtab, const char *s);
/* The same for len_bytes bytes that need no NUL; a NUL inside ends the string. */
uint32_t strtab_intern_len(struct strtab *strtab, const char *s, size_t len_bytes);
/* The string of an id this table gave out, borrowed until strtab_release(). */
const char *strtab_get(const struct strtab *strtab, uint32_t id);
/* The number of ids, "" included: ids are 0 to strtab_nr() - 1. */
size_t strtab_nr(const struct strtab *strtab);
void strtab_release(struct strtab *strtab);

#endif
