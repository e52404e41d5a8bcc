// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two passes, since the name that both sides get depends on both. The first gives each function a
 * key, which is the name it is compared under (profile/identity.h), and notes how either side
 * spells it; code without names gets the key of its whole file where the builds of this file
 * differ. The second gives every function the spelling that was chosen for its key. Files go the
 * same way, by the paths of their mappings; only the base's are changed.
 */
#include "profile/unify.h"

#include <stdlib.h>
#include <string.h>

#include "profile/identity_builds.h"

/* What a thing, function or file, is called on either side. */
struct alias {
	const char *names[2]; /* base's, head's: the first seen; NULL: not there */
	bool is_several[2];   /* and there are others */
};

struct aliases {
	struct strtab keys; /* what it is compared under */
	vec_of(struct alias) at;
};

static void aliases_release(struct aliases *aliases)
{
	strtab_release(&aliases->keys);
	vec_release(&aliases->at);
}

static uint32_t alias_add(struct aliases *aliases, const char *key, bool is_head, const char *name)
{
	uint32_t id = strtab_intern(&aliases->keys, key);
	struct alias *alias;

	while (aliases->at.nr <= id)
		vec_push(&aliases->at, (struct alias){.names = {NULL}});
	alias = &aliases->at.at[id];
	if (!alias->names[is_head])
		alias->names[is_head] = name;
	else if (strcmp(alias->names[is_head], name))
		alias->is_several[is_head] = true;
	return id;
}

/* What both sides call it from now on. */
static const char *alias_name(const struct aliases *aliases, uint32_t id)
{
	const struct alias *alias = &aliases->at.at[id];
	const char *key = strtab_get(&aliases->keys, id);

	if (alias->is_several[0] || alias->is_several[1] || *key == '[')
		return key;
	return alias->names[1] ? alias->names[1] : alias->names[0];
}

/* Functions --------------------------------------------------------------------------------------- */

struct unifying {
	const struct identity *identity;
	struct identity_builds builds;
	bool *changed; /* by file of builds */
	size_t nr_files;
	struct aliases functions, files;
};

static const char *name_of(const struct profile *profile, const struct profile_function *function)
{
	return strtab_get(&profile->strings,
			  function->name ? function->name : function->system_name);
}

static char *key_of(struct unifying *unifying, const char *name)
{
	char *file scoped(freep) = identity_file(name);
	uint32_t id = file ? strtab_intern(&unifying->builds.files, file) : 0;

	if (id && id < unifying->nr_files && unifying->changed[id])
		name = file;
	return identity_name(unifying->identity, name);
}

/* The alias of each function; the caller frees them. */
static uint32_t *add_functions(struct unifying *unifying, const struct profile *profile,
			       bool is_head)
{
	uint32_t *ids = xcalloc(profile->functions.nr + 1, sizeof(*ids)), *id = ids;

	vec_for_each(&profile->functions, function) {
		const char *name = name_of(profile, function);
		char *key scoped(freep) = key_of(unifying, name);

		*id++ = alias_add(&unifying->functions, key, is_head, name);
	}
	return ids;
}

static void name_functions(const struct unifying *unifying, struct profile *profile,
			   const uint32_t *ids)
{
	for (size_t i = 0; i < profile->functions.nr; i++) {
		struct profile_function *function = &profile->functions.at[i];
		const char *name = alias_name(&unifying->functions, ids[i]);

		if (strcmp(name, name_of(profile, function)))
			function->name = profile_string(profile, name);
	}
}

/* Files ------------------------------------------------------------------------------------------- */

static const char *path_of(const struct profile *profile, const struct profile_mapping *mapping)
{
	return strtab_get(&profile->strings, mapping->path);
}

static void add_files(struct unifying *unifying, const struct profile *profile, bool is_head)
{
	vec_for_each(&profile->mappings, mapping) {
		const char *path = path_of(profile, mapping);
		char *key scoped(freep) = identity_file_of_path(path);

		alias_add(&unifying->files, key, is_head, path);
	}
}

static void name_files(struct unifying *unifying, struct profile *base)
{
	vec_for_each(&base->mappings, mapping) {
		const char *path = path_of(base, mapping);
		char *key scoped(freep) = identity_file_of_path(path);
		uint32_t id = alias_add(&unifying->files, key, false, path);
		const struct alias *alias = &unifying->files.at.at[id];

		if (alias->names[1] && !alias->is_several[0] && !alias->is_several[1])
			mapping->path = profile_string(base, alias->names[1]);
	}
}

void profile_unify(struct profile *base, struct profile *head, const struct identity *identity)
{
	struct unifying unifying = {.identity = identity};
	uint32_t *of_base scoped(freep) = NULL, *of_head scoped(freep) = NULL;

	identity_builds_add(&unifying.builds, base, false);
	identity_builds_add(&unifying.builds, head, true);
	unifying.changed = identity_builds_changed(&unifying.builds);
	unifying.nr_files = strtab_nr(&unifying.builds.files);
	of_base = add_functions(&unifying, base, false);
	of_head = add_functions(&unifying, head, true);
	name_functions(&unifying, base, of_base);
	name_functions(&unifying, head, of_head);
	add_files(&unifying, base, false);
	add_files(&unifying, head, true);
	name_files(&unifying, base);
	aliases_release(&unifying.functions);
	aliases_release(&unifying.files);
	identity_builds_release(&unifying.builds);
	free(unifying.changed);
}
