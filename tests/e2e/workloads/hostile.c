/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile: a program that tries to harm a profiler of the whole machine. Says {"ready": PID} once it runs,
 * and goes on until it is killed, with the lowest priority. In a file it runs the code at OFFSET, which must be that of a function
 * void (uint64_t turns); where there is none it writes its own into its private copy.
 *
 *	hostile stay FILE OFFSET	runs in one page of a file, which it maps once
 *	hostile files FOLDER OFFSET	runs in each file of a folder, one after another; again and again; after a SIGUSR1 it
 *					says {"files": N}, in how many it has run until then
 *	hostile exchange A B N SECONDS [OTHER]
 *					exchanges two names N times in SECONDS (renameat2(2)), then says {"exchanged": N};
 *					each time that A is A again, a new copy of OTHER takes its place
 *	hostile cut FILE OTHER		cuts a file to some length and restores it from OTHER, all the time
 *	hostile hidden			runs in memory, and on a stack, of which pages are missing (userfaultfd(2))
 *	hostile memfd FILE -		maps a copy of it in memory as code, whose pages are never provided to the first reader
 *	hostile jvm LIBJVM HOW		loads it, and has its gHotSpot variables point to structures that are hidden (their
 *					pages never come), endless, or garbage; runs in anonymous memory
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "workload.h"

#define PAGE	   4096ul
#define TURNS	   4000000ul /* some milliseconds */
#define ANY_ACCESS (PROT_READ | PROT_WRITE | PROT_EXEC)

typedef void (*code_fn)(uint64_t turns);

/* 1: dec %rdi; jnz 1b; ret */
static const uint8_t own_code[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
static sigjmp_buf gone; /* the page of a file that was cut */

static void on_fault(int number)
{
	(void)number;
	siglongjmp(gone, 1);
}

static void say_ready(void)
{
	if (nice(19) < 0)
		abort();
	printf("{\"ready\": %d}\n", (int)getpid());
	fflush(stdout);
}

/* A page of fd (-1: of no file) with code in it, or NULL. */
static uint8_t *map_code(int fd, off_t offset)
{
	int flags = MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0);
	uint8_t *volatile at = mmap(NULL, PAGE, ANY_ACCESS, flags, fd, offset);

	if (at == MAP_FAILED)
		return NULL;
	if (sigsetjmp(gone, 1)) {
		munmap(at, PAGE);
		return NULL;
	}
	if (!at[0])
		memcpy(at, own_code, sizeof(own_code));
	return at;
}

static void run_code(uint8_t *at)
{
	if (at && !sigsetjmp(gone, 1))
		((code_fn)at)(TURNS);
}

static int stay(const char *path, off_t offset)
{
	int fd = *path ? open(path, O_RDONLY) : -1;
	uint8_t *at = map_code(fd, offset);

	if (!at)
		return 1;
	say_ready();
	for (;;)
		run_code(at);
}

static volatile sig_atomic_t is_asked;

static void on_question(int number)
{
	(void)number;
	is_asked = true;
}

static void say_if_asked(unsigned long nr_files)
{
	if (!is_asked)
		return;
	is_asked = false;
	printf("{\"files\": %lu}\n", nr_files);
	fflush(stdout);
}

static void run_files(const char *path, off_t offset)
{
	unsigned long nr_files = 0;

	signal(SIGUSR1, on_question);
	say_ready();
	for (;;) {
		DIR *folder = opendir(path);
		struct dirent *entry;

		while (folder && (entry = readdir(folder))) {
			int fd = openat(dirfd(folder), entry->d_name, O_RDONLY | O_NONBLOCK);
			uint8_t *at = fd < 0 ? NULL : map_code(fd, offset);

			if (fd >= 0)
				close(fd);
			run_code(at);
			if (at)
				munmap(at, PAGE);
			nr_files += at != NULL;
			say_if_asked(nr_files);
		}
		if (folder)
			closedir(folder);
	}
}

/* Of a file of some kilobytes, with another inode each time. */
static bool put_copy(const char *of, const char *path)
{
	static char content[1 << 16], beside[4096];
	int from = open(of, O_RDONLY), to;
	ssize_t len = from < 0 ? -1 : read(from, content, sizeof(content));

	snprintf(beside, sizeof(beside), "%s.new", path);
	to = open(beside, O_WRONLY | O_CREAT | O_EXCL, 0755);
	len = len > 0 && to >= 0 && write(to, content, (size_t)len) == len ? len : -1;
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return len > 0 && !rename(beside, path);
}

static int exchange(const char *a, const char *b, long nr, double seconds, const char *other)
{
	long i;

	say_ready();
	for (i = 0; i < nr; i++) {
		if (other && i % 2 == 0 && !put_copy(other, a))
			return 1;
		if (syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 2 /* RENAME_EXCHANGE */))
			return 1;
		usleep((useconds_t)(seconds / nr * 1e6));
	}
	printf("{\"exchanged\": %ld}\n", i);
	fflush(stdout);
	for (;;)
		pause();
}

static int cut(const char *path, const char *other)
{
	int fd = open(path, O_RDWR), from = open(other, O_RDONLY);
	static char content[1 << 20];
	ssize_t len = read(from, content, sizeof(content));
	unsigned seed = 1;

	if (fd < 0 || len <= 0)
		return 1;
	say_ready();
	for (;;) {
		seed = seed * 1103515245 + 12345;
		if (ftruncate(fd, seed / 65536 % (size_t)len))
			return 1;
		usleep(seed / 65536 % 1000);
		if (pwrite(fd, content, (size_t)len, 0) != len)
			return 1;
		usleep(seed / 65536 % 500);
	}
}

/* Nobody provides the pages that are not there: who reads them waits. */
static int hide(uint8_t *at, size_t nr_bytes, uint64_t features, uint64_t mode)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC); /* stays open */
	struct uffdio_api api = {.api = UFFD_API, .features = features};
	struct uffdio_register range = {.range = {(uintptr_t)at, nr_bytes}, .mode = mode};

	return fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range);
}

static uint8_t *hidden_memory(size_t nr_bytes)
{
	uint8_t *at = mmap(NULL, nr_bytes, ANY_ACCESS, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || hide(at, nr_bytes, 0, UFFDIO_REGISTER_MODE_MISSING))
		return NULL;
	return at;
}

/* The pages are in the file, but not yet in this process. */
static int map_hidden_file(const char *path)
{
	int from = open(path, O_RDONLY), fd = memfd_create("lib.so", 0);
	static char content[1 << 16];
	ssize_t len = read(from, content, sizeof(content));
	size_t nr_bytes = ((size_t)len + PAGE - 1) / PAGE * PAGE;
	uint8_t *at;

	if (len <= 0 || write(fd, content, (size_t)len) != len || ftruncate(fd, (off_t)nr_bytes))
		return 1;
	at = mmap(NULL, nr_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED ||
	    hide(at, nr_bytes, UFFD_FEATURE_MINOR_SHMEM, UFFDIO_REGISTER_MODE_MINOR))
		return 1;
	return stay("", 0);
}

static int show_page(uint8_t *at)
{
	static uint8_t zeros[PAGE] __attribute__((aligned(4096)));
	struct uffdio_copy copy = {(uintptr_t)at, (uintptr_t)zeros, PAGE, 0, 0};

	for (int fd = 3; fd < 16; fd++)
		if (!ioctl(fd, UFFDIO_COPY, &copy))
			return 0;
	return -1;
}

static uint8_t *hidden_code;

static void run_hidden(void)
{
	say_ready();
	for (;;)
		run_code(hidden_code);
}

/* One page of three is there, of the code and of the stack; the stack begins at its end, so callers are not. */
static int run_in_hidden(void)
{
	uint8_t *stack = hidden_memory(16 * PAGE);
	static ucontext_t context;

	hidden_code = hidden_memory(3 * PAGE);
	if (!stack || !hidden_code || show_page(hidden_code + PAGE))
		return 1;
	for (int page = 4; page < 15; page++)
		if (show_page(stack + page * PAGE))
			return 1;
	hidden_code += PAGE;
	memcpy(hidden_code, own_code, sizeof(own_code));
	getcontext(&context);
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = 15 * PAGE;
	makecontext(&context, run_hidden, 0);
	setcontext(&context);
	return 1;
}

/* What OpenJDK's vmStructs.hpp has, but for the content. */
struct vm_entry {
	const char *type, *field, *kind;
	uint64_t is_static, offset;
	void *address;
};

static bool set_variable(void *library, const char *name, uint64_t value)
{
	uint64_t *variable = dlsym(library, name);

	if (variable)
		*variable = value;
	return variable;
}

static uint8_t *structures(const char *how)
{
	size_t nr_bytes = 4ul << 20;
	struct vm_entry *entry;
	unsigned seed = 1;

	if (!strcmp(how, "hidden"))
		return hidden_memory(nr_bytes);
	entry = mmap(NULL, nr_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (entry == MAP_FAILED)
		return NULL;
	if (!strcmp(how, "endless")) {
		for (size_t i = 0; i < nr_bytes / sizeof(*entry); i++)
			entry[i] = (struct vm_entry){"CodeCache", "_heaps", "address",
						     1,		  i,	    &entry[i]};
		return (uint8_t *)entry;
	}
	for (size_t i = 0; i < nr_bytes / 4; i++)
		((uint32_t *)entry)[i] = seed = seed * 1103515245 + 12345;
	return (uint8_t *)entry;
}

static int forge_jvm(const char *path, const char *how)
{
	static const struct {
		const char *name;
		uint64_t value;
	} layout[] = {
		{"gHotSpotVMStructEntryArrayStride", sizeof(struct vm_entry)},
		{"gHotSpotVMStructEntryTypeNameOffset", offsetof(struct vm_entry, type)},
		{"gHotSpotVMStructEntryFieldNameOffset", offsetof(struct vm_entry, field)},
		{"gHotSpotVMStructEntryTypeStringOffset", offsetof(struct vm_entry, kind)},
		{"gHotSpotVMStructEntryIsStaticOffset", offsetof(struct vm_entry, is_static)},
		{"gHotSpotVMStructEntryOffsetOffset", offsetof(struct vm_entry, offset)},
		{"gHotSpotVMStructEntryAddressOffset", offsetof(struct vm_entry, address)},
		{"gHotSpotVMTypeEntryArrayStride", 16},
		{"gHotSpotVMTypeEntryTypeNameOffset", 0},
		{"gHotSpotVMTypeEntrySizeOffset", 8},
	};
	void *library = dlopen(path, RTLD_NOW);
	uint8_t *at = structures(how);
	bool is_set = library && at;

	for (size_t i = 0; is_set && i < sizeof(layout) / sizeof(layout[0]); i++)
		is_set = set_variable(library, layout[i].name, layout[i].value);
	if (!is_set || !set_variable(library, "gHotSpotVMStructs", (uintptr_t)at) ||
	    !set_variable(library, "gHotSpotVMTypes", (uintptr_t)at))
		return 1;
	return stay("", 0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	double number = number_arg(argc, argv, 3, 0);

	signal(SIGBUS, on_fault);
	signal(SIGSEGV, on_fault);
	if (!strcmp(what, "hidden"))
		return run_in_hidden();
	if (argc < 4)
		return 2;
	if (!strcmp(what, "stay"))
		return stay(argv[2], (off_t)number);
	if (!strcmp(what, "files"))
		run_files(argv[2], (off_t)number);
	if (!strcmp(what, "cut"))
		return cut(argv[2], argv[3]);
	if (!strcmp(what, "memfd"))
		return map_hidden_file(argv[2]);
	if (!strcmp(what, "jvm"))
		return forge_jvm(argv[2], argv[3]);
	if (!strcmp(what, "exchange") && argc > 5)
		return exchange(argv[2], argv[3], atol(argv[4]), atof(argv[5]), argv[6]);
	return 2;
}
