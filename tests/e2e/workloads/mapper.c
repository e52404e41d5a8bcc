/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mapper: has a great many executable mappings. Says {"mapped": N} and waits for a line on stdin.
 *
 *	mapper files FOLDER	the first page of each file there
 *	mapper pieces FILE N	N pages of a file, every second one executable: N mappings, or as many as it gets
 *	mapper churn FILE N	the same, then for ever: one page more, and one less
 *	mapper same FILE N	the first page of a file N times, all executable; then busy for ever, in the C library
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "workload.h"

#define PAGE 4096ul

static long map_files(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	long nr = 0;

	while (folder && (entry = readdir(folder))) {
		int fd = openat(dirfd(folder), entry->d_name, O_RDONLY | O_NOFOLLOW);

		if (fd < 0 || entry->d_name[0] == '.')
			continue;
		nr += mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED;
		close(fd);
	}
	return nr;
}

/* Where the pages are, in *at. */
static long map_pieces(const char *path, long nr, char **at)
{
	int fd = open(path, O_RDONLY);
	long i;

	*at = mmap(NULL, nr * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	if (*at == MAP_FAILED)
		return 0;
	for (i = 1; i < nr; i += 2)
		if (mprotect(*at + i * PAGE, PAGE, PROT_READ | PROT_EXEC))
			break;
	return i;
}

static long map_same(const char *path, long nr)
{
	int fd = open(path, O_RDONLY);
	long i;

	for (i = 0; i < nr; i++)
		if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			break;
	return i;
}

static long map_as(const char *how, const char *path, long nr, char **at)
{
	if (!strcmp(how, "files"))
		return map_files(path);
	return strcmp(how, "same") ? map_pieces(path, nr, at) : map_same(path, nr);
}

int main(int argc, char **argv)
{
	long nr = argc > 3 ? atol(argv[3]) : 0, mapped;
	char *at = NULL;

	if (argc < 3)
		return 2;
	mapped = map_as(argv[1], argv[2], nr, &at);
	if (!mapped)
		return 1;
	printf("{\"mapped\": %ld}\n", mapped);
	fflush(stdout);
	for (long i = 1; !strcmp(argv[1], "churn"); i = (i + 2) % (mapped - 1) | 1) {
		mprotect(at + i * PAGE, PAGE, PROT_READ);
		mprotect(at + i * PAGE, PAGE, PROT_READ | PROT_EXEC);
	}
	while (!strcmp(argv[1], "same"))
		random();
	wait_for_line("ready");
	return 0;
}
