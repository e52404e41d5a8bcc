// SPDX-License-Identifier: BSD-2-Clause
/*
 * A package belongs to a program by its name alone, PROGRAM.dwp; a .dwo file by the path that the compiler was given. So both
 * are looked for where the file says, which is below the root of its process, and in the folders of debug files in two
 * ways: the same path below the folder, or the mere name.
 */
#include "symbolize/splitfile.h"

#include <string.h>

#include "base/text.h"

#define WAYS_IN_FOLDER 2

static bool set(struct debugfile_place *place, const char *folder, const char *rest,
		const char *suffix)
{
	size_t len;

	*place->path = '\0';
	if (!debugfile_append_path(place->path, sizeof(place->path), folder) ||
	    !debugfile_append_path(place->path, sizeof(place->path), rest)) {
		*place->path = '\0';
		return false;
	}
	len = strlen(place->path);
	if (!len || len + strlen(suffix) >= sizeof(place->path))
		*place->path = '\0';
	else
		strcpy(place->path + len, suffix);
	return *place->path;
}

/* The i-th place in the folders of debug files, of what has this path. false: there are no more. */
static bool in_folders(const struct debugfiles *debugfiles, const char *path, const char *suffix,
		       size_t i, struct debugfile_place *place)
{
	const char *folder = debugfiles_folder(debugfiles, i / WAYS_IN_FOLDER);

	if (!folder)
		return false;
	place->is_of_process = false;
	set(place, folder, i % WAYS_IN_FOLDER ? text_base_name(path) : path, suffix);
	return true;
}

bool splitfile_package(const struct debugfiles *debugfiles, uint32_t key, size_t i,
		       struct debugfile_place *place)
{
	struct debugfile_place owner;
	uint32_t file = debugfile_is_key(key) ? debugfile_owner(key) : key;

	*place->path = '\0';
	if (!debugfiles_place(debugfiles, i ? file : key, &owner))
		return !i;
	if (i)
		return in_folders(debugfiles, owner.path, ".dwp", i - 1, place);
	place->is_of_process = owner.is_of_process;
	set(place, "", owner.path, ".dwp");
	return true;
}

bool splitfile_dwo(const struct debugfiles *debugfiles, uint32_t file, const char *dir,
		   const char *name, size_t i, struct debugfile_place *place)
{
	struct debugfile_place noted = {.is_of_process = true}, owner;
	char *slash;

	*place->path = '\0';
	if (!*name || !set(&noted, *name == '/' ? "" : dir, name, ""))
		return false;
	if (i > 1)
		return in_folders(debugfiles, noted.path, "", i - 2, place);
	*place = noted;
	if (!i)
		return true;
	*place->path = '\0';
	if (!debugfiles_place(debugfiles, file, &owner))
		return true;
	slash = strrchr(owner.path, '/');
	if (slash)
		*slash = '\0';
	set(place, owner.path, text_base_name(noted.path), "");
	return true;
}
