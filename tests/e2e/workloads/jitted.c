// SPDX-License-Identifier: BSD-2-Clause
/*
 * Makes two functions at run time, runs the first twice as much as the second, and tells profilers of them:
 *
 *	jitted map SECONDS	in a perf map, at once
 *	jitted late SECONDS	in a perf map that stays empty until the end, when it is written and then deleted
 *	jitted memfd SECONDS	as map, but the code is in memory of memfd_create(2)
 *	jitted dump SECONDS	in a jitdump in the current folder; a third function takes the place of the second
 *				half-way, for the rest of the time; the first has lines
 *	jitted map SIGNALS	in a perf map, or in a jitdump: at the first SIGUSR1 a third function takes the place of
 *	jitted dump SIGNALS	the second, whose place does not run then before the second SIGUSR1; until it is killed
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "workload.h"

#define PAGE  4096
#define PLACE 64 /* bytes for each function */
#define LOOP  6	 /* where its loop begins */

/* push %rbp; mov %rsp,%rbp; mov %edi,%ecx; 1: dec %ecx; jnz 1b; pop %rbp; ret */
static const unsigned char loop[] = {0x55, 0x48, 0x89, 0xe5, 0x89, 0xf9,
				     0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};

typedef void (*made_fn)(unsigned times);

static char *code;
static FILE *map, *dump;

static char *make_code(int is_memfd)
{
	int fd = is_memfd ? memfd_create("doublemapper", 0) : -1;
	char *at;

	if (is_memfd && ftruncate(fd, PAGE))
		exit(1);
	at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		  is_memfd ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
	if (at == MAP_FAILED)
		exit(1);
	for (int i = 0; i < 2; i++)
		memcpy(at + i * PLACE, loop, sizeof(loop));
	if (mprotect(at, PAGE, PROT_READ | PROT_EXEC))
		exit(1);
	return at;
}

static char *map_path(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	return path;
}

static void tell_map(void)
{
	fprintf(map, "%lx %x made_one\nnot a line\n%lx %x made_two /srv/app.js:12\n",
		(unsigned long)code, PLACE, (unsigned long)(code + PLACE), PLACE);
	fflush(map);
}

static void put(const void *bytes, size_t len)
{
	if (fwrite(bytes, 1, len, dump) != len)
		exit(1);
}

static void tell_load(const char *name, const char *start, uint64_t number)
{
	const uint64_t body[] = {(uint64_t)(uintptr_t)start, (uint64_t)(uintptr_t)start, PLACE,
				 number};
	const uint32_t head[] = {0, (uint32_t)(16 + 8 + sizeof(body) + strlen(name) + 1 + PLACE)};
	const uint32_t ids[] = {(uint32_t)getpid(), (uint32_t)getpid()};
	const uint64_t now_ns = (uint64_t)(now_seconds(CLOCK_MONOTONIC) * 1e9);

	put(head, sizeof(head));
	put(&now_ns, sizeof(now_ns));
	put(ids, sizeof(ids));
	put(body, sizeof(body));
	put(name, strlen(name) + 1);
	put(start, PLACE);
	fflush(dump);
}

/* The function begins in line 10 of /srv/made.c, and its loop is in line 12. */
static void tell_lines(const char *start)
{
	static const char file[] = "/srv/made.c", same[] = "\xff";
	const uint64_t at = (uint64_t)(uintptr_t)start, info[] = {at, 2}, loop_at = at + LOOP;
	const uint32_t head[] = {
		2, (uint32_t)(16 + sizeof(info) + 2 * 16 + sizeof(file) + sizeof(same))};
	const int32_t first[] = {10, 0}, second[] = {12, 0};
	const uint64_t now_ns = (uint64_t)(now_seconds(CLOCK_MONOTONIC) * 1e9);

	put(head, sizeof(head));
	put(&now_ns, sizeof(now_ns));
	put(info, sizeof(info));
	put(&at, sizeof(at));
	put(first, sizeof(first));
	put(file, sizeof(file));
	put(&loop_at, sizeof(loop_at));
	put(second, sizeof(second));
	put(same, sizeof(same));
}

static void open_dump(void)
{
	const uint32_t header[] = {0x4a695444, 1, 40, 62, 0, (uint32_t)getpid(), 0, 0, 0, 0};
	char path[64];

	snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
	dump = fopen(path, "w+");
	if (!dump)
		exit(1);
	put(header, sizeof(header));
	fflush(dump);
	if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
		exit(1);
}

static volatile sig_atomic_t nr_signals;

static void on_signal(int number)
{
	(void)number;
	nr_signals++;
}

static void tell_third(int is_dump)
{
	if (is_dump) {
		tell_load("made_three", code + PLACE, 3);
		return;
	}
	fprintf(map, "%lx %x made_three\n", (unsigned long)(code + PLACE), PLACE);
	fflush(map);
}

static void run_by_signals(int is_dump)
{
	for (int nr_told = 0;;) {
		((made_fn)(void *)code)(100000);
		if (nr_signals && !nr_told++)
			tell_third(is_dump);
		if (nr_signals != 1)
			((made_fn)(void *)(code + PLACE))(100000);
	}
}

/* For times that differ, so that no ticks are in step with the turns. */
static void run(double seconds)
{
	double end = now_seconds(CLOCK_PROCESS_CPUTIME_ID) + seconds;
	unsigned random = 1;

	while (now_seconds(CLOCK_PROCESS_CPUTIME_ID) < end) {
		unsigned times;

		random = random * 1103515245 + 12345;
		times = 50000 + random / 65536 % 100000;
		((made_fn)(void *)code)(2 * times);
		((made_fn)(void *)(code + PLACE))(times);
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "map";
	double seconds = argc > 2 ? atof(argv[2]) : 1;
	int is_dump = !strcmp(how, "dump"), is_late = !strcmp(how, "late");
	int by_signals = argc > 2 && !strcmp(argv[2], "SIGNALS");

	signal(SIGUSR1, on_signal);
	code = make_code(!strcmp(how, "memfd"));
	if (is_dump) {
		open_dump();
		tell_lines(code);
		tell_load("made_one", code, 1);
		tell_load("made_two", code + PLACE, 2);
		if (by_signals)
			run_by_signals(is_dump);
		run(seconds / 2);
		tell_load("made_three", code + PLACE, 3);
		run(seconds / 2);
		return 0;
	}
	map = fopen(map_path(), "w");
	if (!map)
		return 1;
	if (!is_late)
		tell_map();
	if (by_signals)
		run_by_signals(is_dump);
	run(seconds);
	if (is_late)
		tell_map();
	unlink(map_path());
	return 0;
}
