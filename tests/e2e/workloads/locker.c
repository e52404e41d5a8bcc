/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * locker OWN FILE: a process that keeps the lock of its mappings. It maps OWN as code, says {"ready": PID} and waits for a
 * line. Then it reads a page of FILE, which it has mapped, through its own /proc/PID/mem: the kernel holds the lock until the
 * file system provides the page. Says {"released": PID}, and waits for another line.
 *
 * It is linked statically, and has no symbols, so that nobody but the users of OWN has to do with it.
 *
 * LDLIBS: -static -s
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "workload.h"

static void *map_file(const char *path, int protection)
{
	int fd = open(path, O_RDONLY);
	off_t bytes = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	void *at = bytes <= 0 ? MAP_FAILED
			      : mmap(NULL, (size_t)bytes, protection, MAP_PRIVATE, fd, 0);

	if (at == MAP_FAILED)
		abort();
	close(fd);
	return at;
}

int main(int argc, char **argv)
{
	int memory = open("/proc/self/mem", O_RDONLY);
	void *page;
	char byte;

	if (argc < 3 || memory < 0)
		return 2;
	map_file(argv[1], PROT_READ | PROT_EXEC);
	page = map_file(argv[2], PROT_READ);
	wait_for_line("ready");
	if (pread(memory, &byte, 1, (off_t)(uintptr_t)page) != 1)
		return 1;
	wait_for_line("released");
	return 0;
}
