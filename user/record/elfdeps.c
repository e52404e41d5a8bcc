// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program's own loader knows best what it will map: `ld.so --list PROGRAM` (glibc's and musl's) resolves
 * DT_NEEDED, run paths, LD_PRELOAD, LD_LIBRARY_PATH and the cache as it will when the program runs, prints
 * where it found each library, and runs nothing of the program. It is run as the user that the command
 * will run as, and runs the same loader that the command will. Rejected: LD_TRACE_LOADED_OBJECTS (what ldd
 * does), which runs a program whose loader does not know it; and resolving it all here once more.
 */
#include "record/elfdeps.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "record/child.h"
#include "process/vetted.h"

#define MAX_SCRIPTS    4   /* a script's interpreter may be a script: as in the kernel */
#define MAX_LINE_BYTES 256 /* of a script's first line: as in the kernel */
#define MAX_LIST_BYTES 65536

/* As execvp() looks for it. NULL: not found. Owned by the caller. */
static char *find_command(const char *name)
{
	const char *path = getenv("PATH");
	char *folders scoped(freep) = xstrdup(path ? path : "/bin:/usr/bin");
	char *rest = folders, *folder;

	if (strchr(name, '/'))
		return xstrdup(name);
	while ((folder = strsep(&rest, ":"))) {
		char *found = xasprintf("%s/%s", *folder ? folder : ".", name);

		if (!access(found, X_OK))
			return found;
		free(found);
	}
	return NULL;
}

/* The interpreter that a script names in its first line. NULL: it is no script. Owned by the caller. */
static char *script_interpreter(int fd)
{
	char line[MAX_LINE_BYTES + 1], *name = line + 2;
	ssize_t len = pread(fd, line, MAX_LINE_BYTES, 0);

	if (len < 3 || memcmp(line, "#!", 2))
		return NULL;
	line[len] = '\0';
	name += strspn(name, " \t");
	name[strcspn(name, " \t\n")] = '\0';
	return *name ? xstrdup(name) : NULL;
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
static void list_libraries(const char *loader, const char *program, elfdeps_fn fn, void *ctx)
{
	char *list scoped(freep) = xmalloc(MAX_LIST_BYTES), *rest = list, *line;
	char *real scoped(freep) = realpath(program, NULL);
	const char *const argv[] = {loader, "--list", real ? real : program, NULL};

	if (child_capture(argv, list, MAX_LIST_BYTES))
		return;
	while ((line = strsep(&rest, "\n")))
		take_line(line, fn, ctx);
}

void elfdeps_of(const char *command, struct parser *parser, elfdeps_fn fn, void *ctx)
{
	char *path scoped(freep) = find_command(command);

	for (int i = 0; path && i <= MAX_SCRIPTS; i++) {
		int fd scoped(closep) = file_open_vetted(path, 0, 0, 0);
		const char *loader;
		char *interpreter;

		if (fd < 0)
			return;
		interpreter = script_interpreter(fd);
		if (interpreter) {
			free(path);
			path = interpreter;
			continue;
		}
		fn(ctx, path);
		loader = loader_of(parser, fd);
		if (loader)
			list_libraries(loader, path, fn, ctx);
		return;
	}
}
