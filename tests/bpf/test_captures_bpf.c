/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks of real processes: a child is stopped at random moments, its registers, mappings and stack are
 * taken by ptrace, and the BPF unwinder walks that copy by tables of the files the child has mapped.
 * The plain walker must agree on every frame, and the walk must come to the root.
 */
#include "shim/walker.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "object/elf.h"

#define NR_CAPTURES	200
#define STACK_MAX_BYTES (1024 * 1024)
#define DEEP		700

struct file {
	char path[256];
	struct elf_file *elf;
	struct unwind_table *table; /* NULL: none */
	int fd;
	u32 id;
	void *image; /* the vdso's */
};

struct fixture {
	struct walker walker;
	vec_of(struct file) files;
	u8 *stack;
	struct walked walked;
	u32 nr, nr_root, nr_frames, most;
};

static int set_up(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	host_open();
	walker_open(&f->walker);
	f->stack = xmalloc(STACK_MAX_BYTES);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	vec_for_each(&f->files, file) {
		unwind_table_free(file->table);
		elf_file_close(file->elf);
		free(file->image);
		if (file->fd >= 0)
			close(file->fd);
	}
	vec_release(&f->files);
	walker_release(&f->walker);
	free(f->stack);
	free(f);
	host_close();
	return 0;
}

/* What the child has mapped ---------------------------------------------------------------------- */

static size_t read_child(pid_t pid, u64 address, void *to, size_t len_bytes)
{
	struct iovec here = {to, len_bytes}, there = {(void *)address, len_bytes};
	ssize_t len = process_vm_readv(pid, &here, 1, &there, 1, 0);

	return len < 0 ? 0 : (size_t)len;
}

static void open_vdso(struct file *file, pid_t pid, u64 start, u64 limit)
{
	file->image = xmalloc(limit - start);
	assert_int_equal(read_child(pid, start, file->image, limit - start), limit - start);
	assert_int_equal(elf_file_open_memory(file->image, limit - start, &file->elf), 0);
}

/* The file of a mapping, with its table built and uploaded when it is first seen. */
static struct file *file_of(struct fixture *f, pid_t pid, const char *path, u64 start, u64 limit)
{
	struct file file = {.fd = -1, .id = ABI_TABLE_NO_CFI};

	vec_for_each(&f->files, known)
		if (!strcmp(known->path, path))
			return known;
	snprintf(file.path, sizeof(file.path), "%s", path);
	if (!strcmp(path, "[vdso]")) {
		open_vdso(&file, pid, start, limit);
	} else if (path[0] == '/') {
		file.fd = open(path, O_RDONLY | O_CLOEXEC);
		if (file.fd >= 0 && elf_file_open(file.fd, &file.elf))
			file.elf = NULL;
	}
	if (file.elf && !unwind_table_from_elf(file.elf, &file.table))
		file.id = walker_upload(&f->walker, file.table);
	vec_push(&f->files, file);
	return &f->files.at[f->files.nr - 1];
}

static void add_mapping(struct fixture *f, pid_t pid, const char *line)
{
	unsigned long start, limit, offset;
	char access[8], path[256] = "";
	struct file *file;
	uint64_t elf_addr;

	if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255[^\n]", &start, &limit, access, &offset,
		   path) < 4 ||
	    access[2] != 'x' || !strcmp(path, "[vsyscall]"))
		return;
	file = file_of(f, pid, path, start, limit);
	if (!file->elf || elf_file_addr(file->elf, offset, &elf_addr))
		elf_addr = offset;
	walker_add_vma(&f->walker, start, limit, start - elf_addr, file->table, file->id);
}

static void read_mappings(struct fixture *f, pid_t pid)
{
	char name[64], line[512];
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	maps = fopen(name, "r");
	assert_non_null(maps);
	f->walker.vmas.nr = 0;
	while (fgets(line, sizeof(line), maps))
		add_mapping(f, pid, line);
	fclose(maps);
	walker_publish(&f->walker);
}

/* A capture -------------------------------------------------------------------------------------- */

static struct pt_regs read_registers(pid_t pid)
{
	struct user_regs_struct user;

	assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &user), 0);
	return (struct pt_regs){.ip = user.rip,
				.sp = user.rsp,
				.bp = user.rbp,
				.bx = user.rbx,
				.ax = user.rax,
				.cx = user.rcx,
				.dx = user.rdx,
				.si = user.rsi,
				.di = user.rdi,
				.r8 = user.r8,
				.r9 = user.r9,
				.r10 = user.r10,
				.r11 = user.r11,
				.r12 = user.r12,
				.r13 = user.r13,
				.r14 = user.r14,
				.r15 = user.r15};
}

/* The pages from address on, as far as they go. */
static size_t add_stack(struct fixture *f, pid_t pid, u64 address, size_t used)
{
	u64 start = address & ~4095ull;
	size_t len = read_child(pid, start, f->stack + used, STACK_MAX_BYTES - used);

	if (len)
		host_add_range(start, f->stack + used, len);
	return used + len;
}

/* Of a stopped child. other_stack: where else its frames may be. */
static void capture(struct fixture *f, pid_t pid, u64 other_stack)
{
	struct pt_regs regs = read_registers(pid);
	size_t used;

	read_mappings(f, pid);
	host.nr_ranges = 0;
	used = add_stack(f, pid, regs.sp, 0);
	if (other_stack)
		add_stack(f, pid, other_stack, used);
	assert_true(walker_agree(&f->walker, &regs, &f->walked));
	f->nr++;
	f->nr_root += f->walked.end == ABI_END_ROOT;
	f->nr_frames += f->walked.nr;
	f->most = f->walked.nr > f->most ? f->walked.nr : f->most;
	if (f->walked.end != ABI_END_ROOT)
		print_message("end %u after %u frames, at %llx\n", f->walked.end, f->walked.nr,
			      f->walked.ip);
}

static void kill_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
}

static void wait_ms(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* Until it is past its start, however slow the machine is: exec(2) and the loader have stacks of their own. */
static void wait_until_at_work(pid_t pid)
{
	struct timespec used = {0};
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	for (int i = 0; i < 60000 && !used.tv_sec && used.tv_nsec < 200000000; i++) {
		wait_ms(1);
		assert_int_equal(clock_gettime(clock, &used), 0);
	}
}

/* Runs a command and stops it now and then. */
static void capture_command(struct fixture *f, const char *const *argv)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		close(1);
		execv(argv[0], (char **)argv);
		_exit(127);
	}
	wait_until_at_work(pid);
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
	for (u32 i = 0; i < NR_CAPTURES; i++) {
		wait_ms(1 + rand() % 5);
		assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, __WALL), pid);
		if (!WIFSTOPPED(status))
			break;
		capture(f, pid, 0);
		ptrace(PTRACE_CONT, pid, NULL, NULL);
	}
	kill_child(pid);
	print_message("%s: %u captures, %u to the root, %.1f frames each, %u at most\n", argv[0],
		      f->nr, f->nr_root, (double)f->nr_frames / f->nr, f->most);
	assert_int_equal(f->nr, NR_CAPTURES);
	assert_true(f->nr_root * 1000 >= f->nr * 995);
}

static void test_python(void **state)
{
	static const char *const argv[] = {
		"/usr/bin/python3", "-c",
		"import json, re\n"
		"def deep(n):\n"
		"    return sorted([n, 2, 1], key=lambda x: deep(n - 1) if n else x)[0]\n"
		"while True:\n"
		"    deep(8)\n"
		"    json.loads(json.dumps({str(i): [i] * 5 for i in range(50)}))\n"
		"    re.sub('a+b', lambda m: m.group(0) * 2, 'aaab' * 50)\n",
		NULL};

	if (access(argv[0], X_OK))
		skip();
	capture_command(*state, argv);
}

static void test_perl(void **state)
{
	static const char *const argv[] = {"/usr/bin/perl", "-e",
					   "sub f { my $n = shift; return $n ? f($n - 1) + 1 : "
					   "length(join('', sort map { $_ * "
					   "7 % 11 } 1 .. 50)) } while (1) { f(20); }",
					   NULL};

	if (access(argv[0], X_OK))
		skip();
	capture_command(*state, argv);
}

/* Scenes, played by a fork of this program that stops itself --------------------------------------- */

static char alternate_stack[64 * 1024];

static void stop_in_handler(int signo)
{
	(void)signo;
	raise(SIGSTOP);
}

static __attribute__((noinline)) int recurse(int depth)
{
	volatile char large[64];

	if (!depth) {
		raise(SIGUSR1);
		return 0;
	}
	large[depth % 64] = 1;
	return recurse(depth - 1) + large[depth % 64];
}

static int compare(const void *a, const void *b)
{
	recurse(3);
	return *(const int *)a - *(const int *)b;
}

/* The handler is on its own stack or on the one that it interrupted. */
static void play(int flags, int depth)
{
	struct sigaction action = {.sa_handler = stop_in_handler, .sa_flags = flags};
	stack_t stack = {.ss_sp = alternate_stack, .ss_size = sizeof(alternate_stack)};
	int numbers[] = {2, 1, 3};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	if (depth)
		recurse(depth);
	qsort(numbers, 3, sizeof(numbers[0]), compare);
	_exit(0);
}

static void capture_scene(struct fixture *f, int flags, int depth)
{
	pid_t pid = fork();
	char name[64], line[512];
	unsigned long stack_start = 0;
	int status;
	FILE *maps;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		play(flags, depth);
	}
	/* The first stop is for the signal itself: hand it on. */
	assert_int_equal(waitpid(pid, &status, __WALL), pid);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGUSR1);
	/* Where the interrupted frames are. */
	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	maps = fopen(name, "r");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "[stack]"))
			sscanf(line, "%lx", &stack_start);
	fclose(maps);
	ptrace(PTRACE_CONT, pid, NULL, SIGUSR1);
	assert_int_equal(waitpid(pid, &status, __WALL), pid);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	capture(f, pid, stack_start);
	kill_child(pid);
}

static void test_signal_handlers(void **state)
{
	struct fixture *f = *state;

	capture_scene(f, 0, 0);
	assert_int_equal(f->walked.end, ABI_END_ROOT);
	capture_scene(f, SA_ONSTACK, 0);
	assert_int_equal(f->walked.end, ABI_END_ROOT);
	assert_true(f->walked.nr > 10);
}

static void test_deep_recursion(void **state)
{
	struct fixture *f = *state;

	capture_scene(f, SA_ONSTACK, 400);
	assert_int_equal(f->walked.end, ABI_END_ROOT);
	assert_true(f->walked.nr > 400);
	capture_scene(f, SA_ONSTACK, DEEP);
	assert_int_equal(f->walked.end, ABI_END_ROOT);
	assert_int_equal(f->walked.nr, ABI_MAX_USER_FRAMES);
	assert_int_equal(f->walked.ips[ABI_LEAF_FRAMES], ABI_IP_ELIDED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(python),
		TEST(perl),
		TEST(signal_handlers),
		TEST(deep_recursion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
