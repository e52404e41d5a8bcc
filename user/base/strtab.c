// SPDX-License-Identifier: BSD-2-Clause
/*
 * The bytes are in an arena, the pointers in an array by id, and a hash index finds the id of a string. The
 * codes are keyed with the secret of the process, because the strings come from files that others own.
 */
#include "base/strtab.h"

#include <stdbool.h>
#include <string.h>

struct slice {
	const char *s;
	size_t len;
};

static bool same_string(const void *ctx, uint32_t value, const void *key)
{
	const struct strtab *strtab = ctx;
	const struct slice *slice = key;
	const char *s = strtab->strings.at[value];

	return !strncmp(s, slice->s, slice->len) && !s[slice->len];
}

uint32_t strtab_intern_len(struct strtab *strtab, const char *s, size_t len_bytes)
{
	struct slice key = {s, strnlen(s, len_bytes)};
	uint64_t code;
	uint32_t id;

	if (!strtab->strings.nr)
		vec_push(&strtab->strings, "");
	if (!key.len)
		return 0;
	code = hash_bytes(key.s, key.len, hash_key());
	id = hash_find(&strtab->index, code, same_string, strtab, &key);
	if (id != HASH_NONE)
		return id;
	id = strtab->strings.nr;
	vec_push(&strtab->strings, arena_strndup(&strtab->arena, key.s, key.len));
	hash_insert(&strtab->index, code, id);
	return id;
}

uint32_t strtab_intern(struct strtab *strtab, const char *s)
{
	return strtab_intern_len(strtab, s, strlen(s));
}

const char *strtab_get(const struct strtab *strtab, uint32_t id)
{
	return id ? strtab->strings.at[id] : "";
}

size_t strtab_nr(const struct strtab *strtab)
{
	return strtab->strings.nr ? strtab->strings.nr : 1;
}

void strtab_release(struct strtab *strtab)
{
	vec_release(&strtab->strings);
	arena_release(&strtab->arena);
	hash_release(&strtab->index);
}
