// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program's own loader knows best what it will map: `ld.so --list PROGRAM` (glibc's and musl's) resolves
 * DT_NEEDED, run paths, LD_PRELOAD, LD_LIBRARY_PATH and the cache as it will when the program runs, prints
 * where it found each library, and runs nothing of the program. It is run as the user that the command
 * will run as, and runs the same loader that the command will. Rejected: LD_TRACE_LOADED_OBJECTS (what ldd
 * does), which runs a program whose loader does not know it; and resolving it all here once more.
 *
 * The list is text of a program that the command's file names, and main itself reads it: of at most MAX_LIST_BYTES, up to a
 * newline at a time, for paths, which the opener opens as any others.
 */
#include "record/elfdeps.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "record/child.h"
#include "process/vetted.h"

#define MAX_SCRIPTS    4 /* a script's interpreter may be a script: as in the kernel */
#define MAX_LIST_BYTES 65536

/* NULL: there is none. Owned by the caller. */
static char *absolute(const char *path)
{
	char *folder scoped(freep) = NULL;

	if (*path == '/')
		return xstrdup(path);
	folder = getcwd(NULL, 0);
	return folder && *path ? xasprintf("%s/%s", folder, path) : NULL;
}

/* A copy in memory says nothing of who may execute the file. */
static bool is_executable(struct opener *opener, const char *path)
{
	bool is_copy;
	int fd scoped(closep) = opener_of_host(opener, path, &is_copy);
	struct statx st;

	return fd >= 0 &&
	       (is_copy || (!statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MODE, &st) &&
			    st.stx_mode & (S_IXUSR | S_IXGRP | S_IXOTH)));
}

/* As execvp() looks for it. NULL: not found. Owned by the caller. */
static char *find_command(struct opener *opener, const char *name)
{
	const char *path = getenv("PATH");
	char *folders scoped(freep) = xstrdup(path ? path : "/bin:/usr/bin");
	char *rest = folders, *folder;

	if (strchr(name, '/'))
		return absolute(name);
	while ((folder = strsep(&rest, ":"))) {
		char *below scoped(freep) = xasprintf("%s/%s", *folder ? folder : ".", name);
		char *found = absolute(below);

		if (found && is_executable(opener, found))
			return found;
		free(found);
	}
	return NULL;
}

/* The loader that an ELF file names, if it is one that lists. NULL: it is another, or none. */
static const char *loader_of(struct parser *parser, int fd)
{
	const struct reply_file *elf = parser_file(parser, MESSAGE_COMMAND, fd);
	const char *base = elf ? strrchr(elf->interp, '/') : NULL;

	return base && (!strncmp(base, "/ld-linux", 9) || !strncmp(base, "/ld-musl", 8))
		       ? elf->interp
		       : NULL;
}

/*
 * A line of the list: "\tNAME => PATH (0xADDRESS)" or "\tPATH (0xADDRESS)"; others ("not found", a vdso)
 * have no path.
 */
static void take_line(char *line, elfdeps_fn fn, void *ctx)
{
	char *arrow = strstr(line, " => "), *path = arrow ? arrow + 4 : line + strspn(line, "\t");
	char *address = strrchr(path, '(');

	if (*path != '/' || !address || address - path < 2 || address[-1] != ' ')
		return;
	address[-1] = '\0';
	fn(ctx, path);
}

/* $ORIGIN is the folder of the file itself, as when the kernel starts it, not of a link to it. */
static void list_libraries(const char *loader, int fd, const char *program, elfdeps_fn fn,
			   void *ctx)
{
	char *list scoped(freep) = xmalloc(MAX_LIST_BYTES), *rest = list, *line;
	char real[PATH_MAX];
	const char *const argv[] = {loader, "--list",
				    vetted_path(fd, real, sizeof(real)) ? program : real, NULL};

	if (child_capture(argv, list, MAX_LIST_BYTES))
		return;
	while ((line = strsep(&rest, "\n")))
		take_line(line, fn, ctx);
}

void elfdeps_of(const char *command, const struct elfdeps_helpers *helpers, elfdeps_fn fn,
		void *ctx)
{
	char *path scoped(freep) = find_command(helpers->opener, command);

	for (int i = 0; path && i <= MAX_SCRIPTS; i++) {
		int fd scoped(closep) = opener_of_host(helpers->opener, path, NULL);
		char interpreter[MESSAGE_INTERP_BYTES];
		const char *loader;

		if (fd < 0)
			return;
		if (!parser_script(helpers->parser, MESSAGE_COMMAND, fd, interpreter)) {
			free(path);
			path = absolute(interpreter);
			continue;
		}
		fn(ctx, path);
		loader = loader_of(helpers->parser, fd);
		if (loader)
			list_libraries(loader, fd, path, fn, ctx);
		return;
	}
}
