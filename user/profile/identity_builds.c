// SPDX-License-Identifier: BSD-2-Clause
/* A build is a file and a build-id, as one string; of each, one byte says which sides have it. */
#include "profile/identity_builds.h"

#include "base/alloc.h"
#include "profile/identity.h"

void identity_builds_add(struct identity_builds *builds, const struct profile *profile,
			 bool is_head)
{
	vec_for_each(&profile->mappings, mapping) {
		const char *id = strtab_get(&profile->strings, mapping->build_id);
		char *file scoped(freep) = NULL, *key scoped(freep) = NULL;
		uint32_t build;

		if (!*id)
			continue;
		file = identity_file_of_path(strtab_get(&profile->strings, mapping->path));
		key = xasprintf("%s %s", file, id);
		build = strtab_intern(&builds->builds, key);
		while (builds->sides.nr <= build) {
			vec_push(&builds->sides, 0);
			vec_push(&builds->file_of, strtab_intern(&builds->files, file));
		}
		builds->sides.at[build] |= is_head ? 2 : 1;
	}
}

bool *identity_builds_changed(const struct identity_builds *builds)
{
	size_t nr = strtab_nr(&builds->files) + 1;
	bool *changed = xcalloc(nr, sizeof(*changed));
	unsigned char *only scoped(freep) = xcalloc(nr, sizeof(*only));

	for (size_t i = 1; i < builds->sides.nr; i++)
		if (builds->sides.at[i] != 3)
			only[builds->file_of.at[i]] |= builds->sides.at[i];
	for (size_t i = 0; i < nr; i++)
		changed[i] = only[i] == 3;
	return changed;
}

void identity_builds_release(struct identity_builds *builds)
{
	strtab_release(&builds->files);
	strtab_release(&builds->builds);
	vec_release(&builds->sides);
	vec_release(&builds->file_of);
}
