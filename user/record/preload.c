// SPDX-License-Identifier: BSD-2-Clause
/*
 * A command cannot if the loader would not look at LD_PRELOAD (it is static, or setuid), or would complain of it (the
 * command's user cannot read the library), or if the library would not be harmless or not see all: the runtimes of the
 * sanitizers insist on being first. Children are not looked at: one that has no use for LD_PRELOAD is probed from
 * outside when it runs (heap/served.h).
 *
 * The library is the one that was built with this cprof: beside it, or where `make install` puts it.
 */
#include "record/preload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "output/file.h"

#define LIBRARY "libcprof-heap.so"

/* What is known of a command's files. */
struct look {
	struct opener *opener;
	uint32_t nr_files;
	bool is_setid;
	char sanitizer[64]; /* "" if there is none */
};

static bool is_sanitizer(const char *name)
{
	static const char *const names[] = {"libasan.so", "libtsan.so", "liblsan.so",
					    "libhwasan.so", "libmsan.so"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

/* A copy is of a file system on which these bits count for nothing, but where root mounted it. */
static bool is_setid(struct opener *opener, const char *path)
{
	bool is_copy;
	int fd scoped(closep) = opener_of_host(opener, path, &is_copy);
	struct statx st;

	return fd >= 0 && !is_copy &&
	       !statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MODE, &st) &&
	       st.stx_mode & (S_ISUID | S_ISGID);
}

static void look_at(void *ctx, const char *path)
{
	const char *name = text_base_name(path);
	struct look *look = ctx;

	if (!look->nr_files++)
		look->is_setid = is_setid(look->opener, path);
	if (is_sanitizer(name))
		snprintf(look->sanitizer, sizeof(look->sanitizer), "%s", name);
}

/* "DIR/../lib/cprof/libcprof-heap.so" or "DIR/libcprof-heap.so", DIR being where cprof is. NULL: neither. */
static char *find_library(void)
{
	char *self scoped(freep) = realpath("/proc/self/exe", NULL), *end;
	char *beside scoped(freep) = NULL, *installed scoped(freep) = NULL;

	if (!self || !(end = strrchr(self, '/')))
		return NULL;
	*end = '\0';
	beside = xasprintf("%s/" LIBRARY, self);
	installed = xasprintf("%s/../lib/cprof/" LIBRARY, self);
	return !access(beside, R_OK) ? realpath(beside, NULL) : realpath(installed, NULL);
}

/* Can everybody read the file at path? */
static bool is_public(const char *path)
{
	char *folder scoped(freep) = xstrdup(path), *end;
	struct stat st;

	if (stat(path, &st) || !(st.st_mode & S_IROTH))
		return false;
	while ((end = strrchr(folder, '/')) && end != folder) {
		*end = '\0';
		if (stat(folder, &st) || !(st.st_mode & S_IXOTH))
			return false;
	}
	return true;
}

/* The loader takes blanks and colons for separators. */
static bool is_fit_for_list(const char *path)
{
	return !strpbrk(path, " :$");
}

static int refuse(struct preload *preload, const char *format, const char *what)
{
	snprintf(preload->reason, sizeof(preload->reason), format, what);
	return -ENOTSUP;
}

/* "NAME=one:other", without the colon if there is no other. Owned by the caller. */
static char *variable(const char *name, const char *one, const char *other)
{
	bool has_other = other && *other;

	return xasprintf("%s=%s%s%s", name, one, has_other ? ":" : "", has_other ? other : "");
}

static bool is_replaced(const char *text, char *const own[], size_t nr_own)
{
	for (size_t i = 0; i < nr_own; i++)
		if (!strncmp(text, own[i], strchr(own[i], '=') - own[i] + 1))
			return true;
	return false;
}

/*
 * This process's environment, with variables in place of its own. The last of them is for children: the address
 * sanitizer's runtime, if it is not the first library, would end them.
 */
static void make_environment(struct preload *preload, const char *path, uint64_t rate_bytes)
{
	size_t nr = 0, kept;
	char **env;

	while (environ[nr])
		nr++;
	preload->env = env = xcalloc(nr + 4, sizeof(*env));
	env[0] = variable("LD_PRELOAD", path, getenv("LD_PRELOAD"));
	env[1] = xasprintf("CPROF_HEAP_RATE=%lu", rate_bytes);
	env[2] = variable("ASAN_OPTIONS", "verify_asan_link_order=0", getenv("ASAN_OPTIONS"));
	kept = preload->nr_own = 3;
	for (size_t i = 0; i < nr; i++)
		if (!is_replaced(environ[i], env, preload->nr_own))
			env[kept++] = environ[i];
}

int preload_choose(struct preload *preload, const char *command, uint64_t rate_bytes,
		   const struct elfdeps_helpers *helpers)
{
	char *path scoped(freep) = find_library(), safe[128];
	struct look look = {.opener = helpers->opener};

	*preload = (struct preload){0};
	elfdeps_of(command, helpers, look_at, &look);
	text_escape(command, safe, sizeof(safe));
	if (!look.nr_files)
		return -ENOENT;
	if (!path)
		return refuse(preload, "%s is not where cprof is, nor in ../lib/cprof", LIBRARY);
	if (!is_fit_for_list(path))
		return refuse(preload, "the path of %s has a blank, a colon or a $ in it", LIBRARY);
	if (output_owner_from_env().given && !is_public(path))
		return refuse(preload, "the user who runs '%s' cannot read " LIBRARY, safe);
	if (look.nr_files < 2)
		return refuse(preload, "'%s' is static, or its loader does not tell what it loads",
			      safe);
	if (look.is_setid)
		return refuse(preload, "'%s' is setuid or setgid", safe);
	if (*look.sanitizer)
		return refuse(preload, "%s wants to be the first library", look.sanitizer);
	make_environment(preload, path, rate_bytes);
	preload->path = path;
	path = NULL;
	return 0;
}

int preload_find(struct preload *preload)
{
	*preload = (struct preload){.path = find_library()};
	return preload->path
		       ? 0
		       : refuse(preload, "%s is not where cprof is, nor in ../lib/cprof", LIBRARY);
}

void preload_release(struct preload *preload)
{
	for (size_t i = 0; i < preload->nr_own; i++)
		free(preload->env[i]);
	free(preload->env);
	free(preload->path);
}
