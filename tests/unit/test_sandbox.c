// SPDX-License-Identifier: BSD-2-Clause
/*
 * Against real workers, forked and confined: what they answer about real files, how they are confined as /proc tells it,
 * and what becomes of those that die, stall, spin, lie, or use a system call that they must not.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "object/elf.h"
#include "object/symtab.h"
#include "probes/allocator.h"
#include "sandbox/confine.h"
#include "sandbox/parser.h"
#include "sandbox/transfer.h"
#include "temp.h"
#include "unwind/tablebuild.h"
#include "worker/serve.h"

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED true /* then system calls are not limited */
#else
#define IS_SANITIZED false
#endif

/* The file that makes a worker misbehave; it behaves with others. */
#define BAD  7u
#define GOOD 1u

static __attribute__((noinline)) void a_known_function(void)
{
	__asm__ volatile("nop; nop; nop; nop");
}

static int own_fd(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static struct parser *open_parser(keeper_serve_fn serve_fn, bool in_process)
{
	const struct peer_options options = {.serve = serve_fn,
					     .in_process = in_process,
					     .stall_ns = NSEC_PER_SEC / 2,
					     .cpu_ns = NSEC_PER_SEC / 5};
	struct parser *parser = NULL;
	uint32_t missing;

	assert_int_equal(parser_open(&options, &parser), 0);
	assert_int_equal(parser_meet(parser, &missing), 0);
	return parser;
}

/* Processes -------------------------------------------------------------------------------------- */

/* A line of /proc/PID/status, "Name:\tvalue" without its name; owned by the caller, NULL: no such process. */
static char *status_of(pid_t pid, const char *name)
{
	char path[64], line[512], *found = NULL;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':') {
			line[strcspn(line, "\n")] = '\0';
			found = xstrdup(line + strlen(name) + 1 +
					strspn(line + strlen(name) + 1, "\t "));
		}
	if (file)
		fclose(file);
	return found;
}

static pid_t parent_of(pid_t pid)
{
	char *ppid scoped(freep) = status_of(pid, "PPid");

	return ppid ? atoi(ppid) : 0;
}

/* A process of that name that lives, so many generations below ancestor; 0: none. One of an earlier case may be a zombie. */
static pid_t descendant_of(pid_t ancestor, const char *name, int nr_generations)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0;

	while (!found && (entry = readdir(proc))) {
		pid_t pid = atoi(entry->d_name), above = pid;
		char *comm scoped(freep) = pid ? status_of(pid, "Name") : NULL;
		char *state scoped(freep) = pid ? status_of(pid, "State") : NULL;

		if (!comm || !state || strcmp(comm, name) || strchr("ZX", *state))
			continue;
		for (int i = 0; i < nr_generations && above; i++)
			above = parent_of(above);
		if (above == ancestor)
			found = pid;
	}
	closedir(proc);
	return found;
}

static pid_t keeper_of(pid_t parent)
{
	return descendant_of(parent, "cprof-keeper", 1);
}

static pid_t worker_of(pid_t parent)
{
	return descendant_of(parent, "cprof-parser", 2);
}

static bool is_gone(pid_t pid)
{
	for (int i = 0; i < 300000; i++) {
		char *state scoped(freep) = status_of(pid, "State");

		if (!state || *state == 'Z' || *state == 'X')
			return true;
		usleep(1000);
	}
	return false;
}

/* Answers ---------------------------------------------------------------------------------------- */

static void check_table(struct parser *parser, int fd)
{
	struct unwind_table *table, *here;
	struct elf_file *elf;

	assert_int_equal(parser_table(parser, GOOD, fd, &table), 0);
	assert_int_equal(elf_file_open(fd, &elf), 0);
	assert_int_equal(unwind_table_from_elf(elf, &here), 0);
	assert_int_equal(table->start, here->start);
	assert_int_equal(table->nr_pages, here->nr_pages);
	assert_int_equal(table->stats.nr_fdes, here->stats.nr_fdes);
	assert_int_equal(unwind_table_bytes(table), unwind_table_bytes(here));
	assert_memory_equal(table->pages, here->pages, (table->nr_pages + 1) * sizeof(uint32_t));
	assert_memory_equal(table->rows, here->rows, table->nr_rows * sizeof(uint32_t));
	assert_memory_equal(table->extended, here->extended,
			    table->nr_extended * sizeof(*table->extended));
	elf_file_close(elf);
	unwind_table_free(table);
	unwind_table_free(here);
}

static void check_names(struct parser *parser, int fd)
{
	static const char symbol_name[] = "a_known_function";
	struct elf_file *elf;
	struct symtab *symtab;
	struct symbol symbol;
	const struct parser_code code = {.key = GOOD, .fd = fd};
	struct parser_named named;
	uint64_t addrs[2];
	bool is_ifunc;

	assert_int_equal(elf_file_open(fd, &elf), 0);
	symtab = symtab_new(elf);
	assert_true(symtab_lookup(symtab, symbol_name, &symbol, &is_ifunc));
	addrs[0] = symbol.elf_addr + 1;
	addrs[1] = 1; /* in the ELF header: no function */
	symtab_free(symtab);
	elf_file_close(elf);
	assert_int_equal(parser_names(parser, &code, addrs, 2, &named), 0);
	assert_int_equal(named.nr, 2);
	assert_int_equal(named.nr_split, 0);
	assert_int_equal(named.names[0].kind, MESSAGE_NAME_SYMBOL);
	assert_string_equal(named.names[0].raw, symbol_name);
	assert_ptr_equal(named.names[0].display, named.names[0].raw);
	assert_int_equal(named.names[1].kind, MESSAGE_NAME_NONE);
	free(named.names);
	assert_int_equal(parser_names(parser, &code, addrs, 0, &named), -EINVAL);
}

/* A C++ name so long that main would start a thread for it. */
static void check_long_name(struct parser *parser)
{
	char *folder scoped(freep) = temp_folder(), *name scoped(freep) = xmalloc(3000);
	char *source scoped(freep) = NULL, *object scoped(freep) = NULL;
	char *command scoped(freep) = NULL;
	int fd scoped(closep) = -1;
	struct parser_code code = {.key = 9};
	struct parser_named named;
	struct symtab *symtab;
	struct symbol symbol;
	struct elf_file *elf;
	bool is_ifunc;
	FILE *file;

	snprintf(name, 3000, "_Z2000%02000dv", 0);
	memset(name + 6, 'f', 2000);
	source = xasprintf("%s/long.S", folder);
	object = xasprintf("%s/long.so", folder);
	file = fopen(source, "we");
	fprintf(file, ".globl %s\n.type %s,@function\n%s: ret\n.size %s,1\n", name, name, name,
		name);
	fclose(file);
	command = xasprintf("gcc -shared -nostdlib -o %s %s", object, source);
	assert_int_equal(system(command), 0);
	fd = open(object, O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_file_open(fd, &elf), 0);
	symtab = symtab_new(elf);
	assert_true(symtab_lookup(symtab, name, &symbol, &is_ifunc));
	code.fd = fd;
	assert_int_equal(parser_names(parser, &code, &symbol.elf_addr, 1, &named), 0);
	assert_int_equal(named.names[0].kind, MESSAGE_NAME_SYMBOL);
	assert_string_equal(named.names[0].raw, name);
	assert_int_equal(strcmp(named.names[0].display + 2000, "()"), 0);
	free(named.names);
	symtab_free(symtab);
	elf_file_close(elf);
}

/* Those of the C library: the same as found without a parser, and by a worker that saw no other file. */
static void check_sites(struct parser *parser, bool in_process)
{
	struct objects *objects = objects_new();
	struct allocator expected;
	struct reply_sites sites;
	pid_t before = in_process ? 0 : worker_of(getpid());
	int fd scoped(closep) = -1;
	Dl_info info;

	assert_int_not_equal(dladdr(dlsym(RTLD_DEFAULT, "mallinfo"), &info), 0);
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	allocator_find(objects_get(objects, 0, fd), fd, &expected);
	assert_true(expected.nr > 4);
	assert_int_equal(parser_sites(parser, 10, fd, &sites), 0);
	assert_int_equal(sites.nr, expected.nr);
	for (size_t i = 0; i < sites.nr; i++) {
		assert_memory_equal(&sites.sites[i], &expected.sites[i],
				    offsetof(struct alloc_site, is_leaf));
		assert_int_equal(sites.sites[i].is_leaf, expected.sites[i].is_leaf);
		assert_int_equal(sites.offsets[i], expected.offsets[i]);
		assert_string_equal(sites.functions[i], expected.names[i]);
	}
	assert_false(sites.is_go || sites.is_nameless);
	assert_true(in_process || is_gone(before));
	objects_free(objects);
}

static void check_script(struct parser *parser, const char *text, const char *expected)
{
	int fd scoped(closep) = memfd_create("script", MFD_CLOEXEC);
	char interp[MESSAGE_INTERP_BYTES] = "";

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(parser_script(parser, MESSAGE_COMMAND, fd, interp),
			 expected ? 0 : -ENOEXEC);
	assert_string_equal(interp, expected ? expected : "");
}

static void check_scripts(struct parser *parser)
{
	char longer[600] = "#!/";

	check_script(parser, "#!/bin/sh\n", "/bin/sh");
	check_script(parser, "#! \t/bin/sh -e\nexit", "/bin/sh");
	check_script(parser, "#!sh", "sh");
	check_script(parser, "#!\n", NULL);
	check_script(parser, "#!", NULL);
	check_script(parser, "#", NULL);
	check_script(parser, "", NULL);
	check_script(parser, "\177ELF", NULL);
	memset(longer + 3, 'x', sizeof(longer) - 4);
	longer[MESSAGE_INTERP_BYTES - 1] = '\0';
	check_script(parser, longer, longer + 2);
}

static void check_answers(bool in_process)
{
	struct parser *parser = open_parser(serve, in_process);
	const struct reply_file *file;
	int fd scoped(closep) = own_fd(), script scoped(closep) = -1;
	struct unwind_table *table;
	uint64_t file_off = 0, elf_addr;

	file = parser_file(parser, GOOD, fd);
	assert_non_null(file);
	assert_ptr_equal(parser_file(parser, GOOD, fd), file);
	assert_true(strlen(file->build_id) > 8);
	assert_false(file->is_go);
	assert_int_equal(segments_addr(file->segments, file_off, &elf_addr), 0);
	check_table(parser, fd);
	check_names(parser, fd);
	check_long_name(parser);
	check_sites(parser, in_process);
	assert_non_null(parser_file(parser, PARSER_VDSO, -1));
	assert_int_equal(parser_table(parser, PARSER_VDSO, -1, &table), 0);
	unwind_table_free(table);

	script = memfd_create("script", MFD_CLOEXEC);
	assert_int_equal(write(script, "#!/bin/sh\n", 10), 10);
	assert_null(parser_file(parser, 2, script));
	assert_int_equal(parser_table(parser, 2, script, &table), -ENOEXEC);
	check_scripts(parser);
	/* Not open now, but later: it is asked again. */
	assert_null(parser_file(parser, 3, -1));
	assert_int_equal(parser_table(parser, 3, -1, &table), -EBADF);
	assert_non_null(parser_file(parser, 3, fd));
	assert_int_equal(parser_nr_left_out(parser), 0);
	parser_close(parser);
}

static void test_answers(void **state)
{
	(void)state;
	a_known_function();
	check_answers(false);
}

static void test_answers_in_process(void **state)
{
	(void)state;
	check_answers(true);
}

/* A worker forgets after so many files, and nobody notices. */
static void test_many_files(void **state)
{
	struct parser *parser = open_parser(serve, false);
	int fd scoped(closep) = own_fd();

	(void)state;
	for (uint32_t key = 0; key < SERVE_MAX_FILES + 200; key++)
		assert_non_null(parser_file(parser, key, fd));
	check_names(parser, fd);
	assert_int_equal(parser_nr_left_out(parser), 0);
	parser_close(parser);
}

/* Limits ----------------------------------------------------------------------------------------- */

static void expect_status(pid_t pid, const char *name, const char *value)
{
	char *found scoped(freep) = status_of(pid, name);

	assert_non_null(found);
	assert_string_equal(found, value);
}

static void test_is_confined(void **state)
{
	struct parser *parser;
	pid_t keeper, worker;
	char path[64];
	struct stat st;

	(void)state;
	if (geteuid())
		skip();
	parser = open_parser(serve, false);
	keeper = keeper_of(getpid());
	worker = worker_of(getpid());
	assert_true(keeper > 0 && worker > 0);
	for (int i = 0; i < 2; i++) {
		pid_t pid = i ? worker : keeper;

		expect_status(pid, "Uid", "65534\t65534\t65534\t65534");
		expect_status(pid, "Gid", "65534\t65534\t65534\t65534");
		expect_status(pid, "Groups", "");
		expect_status(pid, "CapInh", "0000000000000000");
		expect_status(pid, "CapPrm", "0000000000000000");
		expect_status(pid, "CapEff", "0000000000000000");
		expect_status(pid, "CapBnd", "0000000000000000");
		expect_status(pid, "CapAmb", "0000000000000000");
		expect_status(pid, "NoNewPrivs", "1");
	}
	if (!IS_SANITIZED)
		expect_status(worker, "Seccomp", "2");
	/* Its one descriptor, and /dev/null three times. */
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", worker, CONFINE_FD);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", worker, CONFINE_FD + 1);
	assert_int_not_equal(stat(path, &st), 0);
	parser_close(parser);
	assert_true(is_gone(worker));
	assert_true(is_gone(keeper));
}

static void put(pid_t pid, const char *name, const char *text)
{
	char path[64];
	int fd scoped(closep) = -1;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* What became of a process that gave up what it could. */
struct confined {
	uint32_t missing;
	uid_t uid;
	gid_t gid;
};

static void __attribute__((noreturn)) confine_in_namespace(int socket)
{
	struct confined confined;
	char go = !unshare(CLONE_NEWUSER);

	if (write(socket, &go, 1) != 1 || read(socket, &go, 1) != 1)
		_exit(1);
	confined.missing = confine_process(socket, CONFINE_PARSER);
	confined.uid = getuid();
	confined.gid = getgid();
	_exit(write(CONFINE_FD, &confined, sizeof(confined)) != sizeof(confined));
}

/* As root of a user namespace that has these users and groups, and forbids to change the supplementary ones. */
static struct confined confined_in_namespace(const char *ids)
{
	struct confined confined;
	int sockets[2];
	char go = 0;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
	pid = fork();
	if (!pid)
		confine_in_namespace(sockets[1]);
	close(sockets[1]);
	assert_int_equal(read(sockets[0], &go, 1), 1);
	if (!go) {
		close(sockets[0]);
		waitpid(pid, NULL, 0);
		skip(); /* there are none here */
	}
	put(pid, "setgroups", "deny");
	put(pid, "gid_map", ids);
	put(pid, "uid_map", ids);
	assert_int_equal(write(sockets[0], &go, 1), 1);
	assert_int_equal(read(sockets[0], &confined, sizeof(confined)), sizeof(confined));
	close(sockets[0]);
	waitpid(pid, NULL, 0);
	return confined;
}

#define NO_NAMES (CONFINE_NO_USER | CONFINE_NO_NOBODY | CONFINE_NO_GROUPS)

/* A rootless container: what can be given up is, and why the rest cannot is told apart. */
static void test_in_a_namespace(void **state)
{
	struct confined confined;

	(void)state;
	if (geteuid())
		skip();
	confined = confined_in_namespace("0 0 1\n65534 65534 1\n");
	assert_int_equal(confined.missing & NO_NAMES, CONFINE_NO_GROUPS);
	assert_int_equal(confined.uid, 65534);
	assert_int_equal(confined.gid, 65534);
	confined = confined_in_namespace("0 0 1\n");
	assert_int_equal(confined.missing & NO_NAMES, CONFINE_NO_NOBODY);
	assert_int_equal(confined.uid, 0);
}

/* What a worker must not do; which is in the request's number of items. */
static void do_forbidden(uint32_t which)
{
	switch (which) {
	case 0:
		open("/etc/passwd", O_RDONLY);
		break;
	case 1:
		socket(AF_INET, SOCK_STREAM, 0);
		break;
	case 2:
		fork();
		break;
	case 3:
		kill(getppid(), SIGKILL);
		break;
	case 4:
		execl("/bin/true", "true", NULL);
		break;
	case 5:
		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		break;
	case 6:
		memfd_create("x", 0);
		break;
	case 7:
		setuid(0);
		break;
	case 8:
		fstatat(AT_FDCWD, "/etc/passwd", &(struct stat){0}, 0);
		break;
	}
}

#define NR_FORBIDDEN 9
#define ASKS_MEMORY  101u /* what qsort(3) of some C library may do */

static void serve_forbidden(int socket)
{
	struct message request;
	int fd;

	while (!transfer_receive(socket, &request, sizeof(request), &fd, NULL)) {
		struct message reply = request;

		closep(&fd);
		reply.status = -ENOENT;
		if (request.key < NR_FORBIDDEN)
			do_forbidden(request.key);
		else if (request.key == ASKS_MEMORY)
			reply.status = sysinfo(&(struct sysinfo){0}) ? -errno : 0;
		transfer_send(socket, &reply, NULL, -1, NULL);
	}
}

static void test_forbidden_calls(void **state)
{
	struct parser *parser;
	struct unwind_table *table;
	int fd scoped(closep) = own_fd(), err;

	(void)state;
	if (IS_SANITIZED)
		skip();
	parser = open_parser(serve_forbidden, false);
	for (uint32_t which = 0; which < NR_FORBIDDEN; which++) {
		assert_int_equal(parser_table(parser, which, fd, &table), -EPIPE);
		assert_int_equal(parser_nr_left_out(parser), which + 1);
		assert_int_equal(parser_left_out(parser, which, &err), which);
		assert_int_equal(err, -EPIPE);
	}
	assert_int_equal(parser_table(parser, 100, fd, &table), -ENOENT);
	assert_int_equal(parser_table(parser, ASKS_MEMORY, fd, &table), -ENOSYS);
	assert_int_equal(parser_nr_left_out(parser), NR_FORBIDDEN);
	parser_close(parser);
}

/* Failures --------------------------------------------------------------------------------------- */

/* What the workers of a test do about the bad file; they are forked with it. */
static enum {
	DIES,
	STALLS,
	SPINS,
	LIES,
} how;
static unsigned int lie;

static void stall(void)
{
	for (;;)
		ppoll(NULL, 0, NULL, NULL);
}

static void spin(void)
{
	for (volatile unsigned int i = 0;; i++)
		;
}

/* Replies to a question for a file, each wrong in one thing. */
static void tell_lie(int socket, const struct message *request)
{
	struct {
		struct message header;
		struct message_file file;
		struct message_segment segments[2];
	} reply = {
		.header = {.kind = request->kind,
			   .key = request->key,
			   .serial = request->serial,
			   .nr = 1,
			   .len_bytes =
				   sizeof(struct message_file) + sizeof(struct message_segment)},
		.file = {.build_id = "0123456789abcdef"},
		.segments = {{.mem_bytes = 1, .file_bytes = 1}},
	};
	struct message *header = &reply.header;
	struct iovec piece = {&reply, 0};
	struct msghdr whole = {.msg_iov = &piece, .msg_iovlen = 1};

	switch (lie) {
	case 0:
		header->kind = MESSAGE_TABLE;
		break;
	case 1:
		header->key++;
		break;
	case 2:
		header->serial--;
		break;
	case 3:
		header->status = 1;
		break;
	case 4:
		header->status = -ENOENT; /* with a payload */
		break;
	case 5:
		header->nr = 2;
		break;
	case 6:
		header->nr = UINT32_MAX;
		break;
	case 7:
		header->len_bytes = UINT64_MAX;
		break;
	case 8:
		header->len_bytes--;
		break;
	case 9:
		reply.file.build_id[3] = '/';
		break;
	case 10:
		memset(reply.file.build_id, 'a', sizeof(reply.file.build_id));
		break;
	case 11:
		reply.file.is_go = 2;
		break;
	case 12:
		reply.segments[0].file_bytes = 2;
		break;
	case 13:
		reply.segments[0].elf_addr = UINT64_MAX;
		break;
	case 14:
		reply.segments[0].executable = 256;
		break;
	}
	/* of more than there is the beginning */
	piece.iov_len = header->len_bytes < sizeof(reply) - sizeof(*header)
				? sizeof(*header) + header->len_bytes
				: sizeof(reply);
	sendmsg(socket, &whole, MSG_NOSIGNAL);
}

#define NR_LIES 15

static void misbehave(int socket, const struct message *request)
{
	switch (how) {
	case DIES:
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV); /* no such system call either: it dies in any case */
		_exit(1);
	case STALLS:
		stall();
		break;
	case SPINS:
		spin();
		break;
	case LIES:
		tell_lie(socket, request);
		break;
	}
}

static void serve_badly(int socket)
{
	struct message request;
	int fd;

	while (!transfer_receive(socket, &request, sizeof(request), &fd, NULL)) {
		struct message reply = {.kind = request.kind,
					.key = request.key,
					.serial = request.serial,
					.status = -ENOEXEC};

		closep(&fd);
		if (request.key == BAD)
			misbehave(socket, &request);
		else
			transfer_send(socket, &reply, NULL, -1, NULL);
	}
}

/* The bad file is left out because of err, in these words; others have their answers, before and after. */
static void check_failure(int err, const char *words)
{
	struct parser *parser = open_parser(serve_badly, false);
	struct unwind_table *table = NULL;
	int fd scoped(closep) = own_fd(), why = 0;

	assert_int_equal(parser_table(parser, GOOD, fd, &table), -ENOEXEC);
	assert_null(parser_file(parser, BAD, fd));
	assert_int_equal(parser_nr_left_out(parser), 1);
	assert_int_equal(parser_left_out(parser, 0, &why), BAD);
	assert_int_equal(why, err);
	assert_string_equal(parser_why_left_out(why), words);
	/* It is not asked about again, whatever the question. */
	assert_int_equal(parser_table(parser, BAD, fd, &table), err);
	assert_int_equal(parser_table(parser, GOOD, fd, &table), -ENOEXEC);
	assert_int_equal(parser_nr_left_out(parser), 1);
	assert_null(table);
	parser_close(parser);
}

static void test_dies(void **state)
{
	(void)state;
	how = DIES;
	check_failure(-EPIPE, "its parser died twice");
}

static void test_stalls(void **state)
{
	(void)state;
	how = STALLS;
	check_failure(-ETIME, "its parser took too long");
}

static void test_spins(void **state)
{
	(void)state;
	how = SPINS;
	check_failure(-ETIME, "its parser took too long");
}

static void test_lies(void **state)
{
	(void)state;
	how = LIES;
	for (lie = 0; lie < NR_LIES; lie++)
		check_failure(-EBADMSG, "its parser gave invalid answers");
}

static bool has_had_enough(void *ctx)
{
	return ++*(int *)ctx == 5;
}

/* Who asks has no time: the file is not left out for that, and may be asked about again. */
static void test_gives_up(void **state)
{
	struct parser *parser;
	struct unwind_table *table;
	int fd scoped(closep) = own_fd(), nr = 0, err;

	(void)state;
	how = STALLS;
	parser = open_parser(serve_badly, false);
	parser_while_waiting(parser, (struct peer_idle){has_had_enough, &nr});
	assert_int_equal(parser_table(parser, BAD, fd, &table), -EINTR);
	assert_int_equal(nr, 5);
	assert_int_equal(parser_nr_left_out(parser), 0);
	parser_while_waiting(parser, (struct peer_idle){0});
	assert_int_equal(parser_table(parser, GOOD, fd, &table), -ENOEXEC);
	assert_int_equal(parser_table(parser, BAD, fd, &table), -ETIME);
	assert_int_equal(parser_left_out(parser, 0, &err), BAD);
	parser_close(parser);
}

/* Killed by somebody: the file is not to blame, and has its answer. */
static void test_is_killed(void **state)
{
	struct parser *parser = open_parser(serve, false);
	int fd scoped(closep) = own_fd();

	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		pid_t worker = worker_of(getpid());

		assert_true(worker > 0);
		assert_int_equal(kill(worker, SIGKILL), 0);
		assert_non_null(parser_file(parser, i, fd));
		check_table(parser, fd);
	}
	assert_int_equal(parser_nr_left_out(parser), 0);
	assert_true(parser_cpu_ns(parser) > 0);
	parser_close(parser);
}

/* Without the keeper there is no other worker: the error says so, and blames no file. */
static void test_keeper_is_killed(void **state)
{
	struct parser *parser = open_parser(serve, false);
	pid_t keeper = keeper_of(getpid()), worker = worker_of(getpid());
	int fd scoped(closep) = own_fd();
	struct unwind_table *table;

	(void)state;
	assert_int_equal(kill(keeper, SIGKILL), 0);
	assert_true(is_gone(worker));
	assert_int_equal(parser_table(parser, GOOD, fd, &table), -ENOTCONN);
	assert_null(parser_file(parser, 2, fd));
	parser_close(parser);
}

static bool counts(void *ctx)
{
	++*(int *)ctx;
	return false;
}

/* Stopped, not killed: as little time is lost as by a worker that stalls, once; meanwhile who asks goes on. */
static void test_keeper_is_stopped(void **state)
{
	struct parser *parser = open_parser(serve, false);
	pid_t keeper = keeper_of(getpid()), worker = worker_of(getpid());
	int fd scoped(closep) = own_fd(), nr = 0;
	uint64_t began_ns = clock_monotonic_ns();
	struct unwind_table *table;

	(void)state;
	parser_while_waiting(parser, (struct peer_idle){counts, &nr});
	assert_int_equal(kill(keeper, SIGSTOP), 0);
	assert_int_equal(kill(worker, SIGKILL), 0);
	assert_int_equal(parser_table(parser, GOOD, fd, &table), -ENOTCONN);
	assert_true(clock_monotonic_ns() - began_ns < 5 * PEER_STALL_NS);
	assert_true(nr > 50);
	nr = 0;
	assert_int_equal(parser_table(parser, 2, fd, &table), -ENOTCONN);
	assert_int_equal(nr, 0);
	assert_true(parser_is_lost(parser));
	assert_int_equal(parser_nr_left_out(parser), 0);
	kill(keeper, SIGCONT);
	assert_true(is_gone(keeper));
	parser_close(parser);
}

/* Who asks gave up on a keeper that goes on later: what it answers then is not taken for the answer to the next order. */
static void test_keeper_is_late(void **state)
{
	struct parser *parser = open_parser(serve, false);
	pid_t keeper = keeper_of(getpid()), worker = worker_of(getpid());
	int fd scoped(closep) = own_fd(), nr = 0;
	struct unwind_table *table;

	(void)state;
	parser_while_waiting(parser, (struct peer_idle){has_had_enough, &nr});
	assert_int_equal(kill(keeper, SIGSTOP), 0);
	assert_int_equal(kill(worker, SIGKILL), 0);
	assert_int_equal(parser_table(parser, GOOD, fd, &table), -EINTR);
	assert_false(parser_is_lost(parser));
	kill(keeper, SIGCONT);
	parser_while_waiting(parser, (struct peer_idle){0});
	check_table(parser, fd);
	parser_set_nice(parser, 7);
	assert_int_equal(getpriority(PRIO_PROCESS, worker_of(getpid())), 7);
	parser_close(parser);
}

/* When main is killed, none of its processes stays. */
static void test_main_is_killed(void **state)
{
	pid_t parent = fork(), keeper, worker;

	(void)state;
	if (!parent) {
		open_parser(serve, false);
		for (;;)
			pause();
	}
	for (int i = 0; i < 300000 && !worker_of(parent); i++)
		usleep(1000);
	keeper = keeper_of(parent);
	worker = worker_of(parent);
	assert_true(keeper > 0 && worker > 0);
	kill(parent, SIGKILL);
	waitpid(parent, NULL, 0);
	assert_true(is_gone(keeper));
	assert_true(is_gone(worker));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_answers_in_process),
		cmocka_unit_test(test_many_files),
		cmocka_unit_test(test_is_confined),
		cmocka_unit_test(test_in_a_namespace),
		cmocka_unit_test(test_forbidden_calls),
		cmocka_unit_test(test_dies),
		cmocka_unit_test(test_stalls),
		cmocka_unit_test(test_spins),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_gives_up),
		cmocka_unit_test(test_is_killed),
		cmocka_unit_test(test_keeper_is_killed),
		cmocka_unit_test(test_keeper_is_stopped),
		cmocka_unit_test(test_keeper_is_late),
		cmocka_unit_test(test_main_is_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
