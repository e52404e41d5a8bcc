/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mapalloc FOLDER [BYTES]: maps every file of a folder as code (its first BYTES, 16,384), then says {"ready": PID} and
 * waits for a line; allocates 1,000 blocks of 1,000 bytes from the function `mapalloc`, says {"done": PID}, and waits for
 * another.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "workload.h"

static void map_file(int folder, const char *name, size_t bytes)
{
	int fd = openat(folder, name, O_RDONLY);

	if (fd < 0 || mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		abort();
	close(fd);
}

static void mapalloc(void)
{
	for (int i = 0; i < 1000; i++)
		if (!malloc(1000))
			abort();
}

int main(int argc, char **argv)
{
	DIR *folder = argc > 1 ? opendir(argv[1]) : NULL;
	struct dirent *entry;

	if (!folder)
		return 2;
	while ((entry = readdir(folder)))
		if (*entry->d_name != '.')
			map_file(dirfd(folder), entry->d_name,
				 (size_t)number_arg(argc, argv, 2, 16384));
	closedir(folder);
	wait_for_line("ready");
	mapalloc();
	wait_for_line("done");
	return 0;
}
