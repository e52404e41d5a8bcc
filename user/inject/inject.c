// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which addresses: the process must map the very C library that cprof itself runs with, so that the places of dlopen() and
 * of the return from a handler are cprof's own, in another place. That rules out static programs, other C libraries, other
 * architectures and most containers, and needs no look into a file. The library's own function is its entry point, which
 * stands in its first bytes.
 */
#include "inject/inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <poll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "inject/tracee.h"
#include "sandbox/capset.h"

#define CALL_NS		 (3 * NSEC_PER_SEC)
#define END_NS		 (10 * NSEC_PER_SEC)
#define MAX_DESCRIPTORS	 4096
#define LOOK_MS		 1000
#define ALLOCATOR_MARGIN (64u << 10) /* functions without a name beside those with one */
#define LIST_WALK_BYTES	 1024	     /* of the function that holds the lock of the loader's list */
#define ENTRY_AT	 24	     /* e_entry in an ELF header */

/* A line of a maps file. */
struct map_line {
	uint64_t start, limit, offset;
	char access[5];
	char file[40]; /* device and inode */
	const char *path;
};

typedef void map_fn(void *ctx, const struct map_line *line);

static int each_map(pid_t pid, map_fn *fn, void *ctx)
{
	char path[64], text[512], device[20];
	unsigned long inode;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (!maps)
		return -errno;
	while (fgets(text, sizeof(text), maps)) {
		struct map_line line;
		bool is_whole = strchr(text, '\n');

		if (sscanf(text, "%lx-%lx %4s %lx %19s %lu", &line.start, &line.limit, line.access,
			   &line.offset, device, &inode) == 6) {
			snprintf(line.file, sizeof(line.file), "%s %lu", device, inode);
			text[strcspn(text, "\n")] = '\0';
			line.path = strchr(text, '/') ? strchr(text, '/') : "";
			fn(ctx, &line);
		}
		while (!is_whole && fgets(text, sizeof(text), maps))
			is_whole = strchr(text, '\n');
	}
	fclose(maps);
	return 0;
}

/* Where a file begins, and which one is where an address is. */
struct search {
	uint64_t address;
	char file[40];
	uint64_t base; /* 0: it is not mapped */
};

static void find_file_at(void *ctx, const struct map_line *line)
{
	struct search *search = ctx;

	if (search->address >= line->start && search->address < line->limit)
		memcpy(search->file, line->file, sizeof(search->file));
}

static void find_base(void *ctx, const struct map_line *line)
{
	struct search *search = ctx;

	if (!search->base && !line->offset && !strcmp(search->file, line->file))
		search->base = line->start;
}

/* Of the file that this process has mapped at here: where pid has it. 0: nowhere. */
static uint64_t base_in(pid_t pid, const void *here, uint64_t *own_base)
{
	struct search search = {.address = (uintptr_t)here};
	uint64_t found;

	each_map(getpid(), find_file_at, &search);
	if (!*search.file)
		return 0;
	each_map(getpid(), find_base, &search);
	*own_base = search.base;
	search.base = 0;
	each_map(pid, find_base, &search);
	found = search.base;
	return found;
}

static void *own_function(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

/* Where pid has a function of the C library. 0: it has another one, or none. */
static uint64_t remote_function(pid_t pid, const void *own)
{
	uint64_t own_base = 0, base = own ? base_in(pid, own, &own_base) : 0;

	return base ? base + ((uintptr_t)own - own_base) : 0;
}

/* What handlers return to, somewhere in the C library. */
struct restorer_search {
	struct search libc;
	const uint8_t *found;
};

static void find_restorer(void *ctx, const struct map_line *line)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	struct restorer_search *search = ctx;

	if (!search->found && line->access[2] == 'x' && !strcmp(search->libc.file, line->file))
		search->found = memmem((const void *)line->start, line->limit - line->start, code,
				       sizeof(code));
}

static const void *own_restorer(void)
{
	struct restorer_search search = {.libc.address = (uintptr_t)own_function("dlopen")};

	each_map(getpid(), find_file_at, &search.libc);
	each_map(getpid(), find_restorer, &search);
	return search.found;
}

/* Refusals --------------------------------------------------------------------------------------- */

static bool status_line(pid_t pid, const char *name, char *value, size_t bytes)
{
	char path[64], line[256];
	bool is_found = false;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "re");
	while (status && !is_found && fgets(line, sizeof(line), status))
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':') {
			line[strcspn(line, "\n")] = '\0';
			snprintf(value, bytes, "%s", line + strlen(name) + 1);
			is_found = true;
		}
	if (status)
		fclose(status);
	return is_found;
}

static bool is_number(pid_t pid, const char *name, unsigned long number)
{
	char value[128];

	return !status_line(pid, name, value, sizeof(value)) || strtoul(value, NULL, 10) == number;
}

static bool has_one_user(pid_t pid, const char *name)
{
	unsigned int real, effective, saved;
	char value[128];

	return status_line(pid, name, value, sizeof(value)) &&
	       sscanf(value, "%u %u %u", &real, &effective, &saved) == 3 && real == effective &&
	       real == saved;
}

static bool has_own_files(pid_t pid)
{
	char path[64], theirs[64] = "", ours[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	return readlink(path, theirs, sizeof(theirs) - 1) > 0 &&
	       readlink("/proc/self/ns/mnt", ours, sizeof(ours) - 1) > 0 && strcmp(theirs, ours);
}

const char *inject_refusal(pid_t pid, char reason[INJECT_REASON_BYTES])
{
	const char *why = "";
	char value[128];

	if (!is_number(pid, "TracerPid", 0))
		why = "it is traced, by a debugger or by strace";
	else if (!is_number(pid, "Seccomp", 0))
		why = "it is confined by seccomp, which may refuse what the loader does";
	else if (!has_one_user(pid, "Uid") || !has_one_user(pid, "Gid"))
		why = "it is setuid or setgid, or has changed its user";
	else if (status_line(pid, "x86_Thread_features", value, sizeof(value)) &&
		 strstr(value, "shstk"))
		why = "it has a shadow stack";
	else if (has_own_files(pid))
		why = "it sees other files (a container)";
	else if (!remote_function(pid, own_function("dlopen")) || !own_restorer())
		why = "it is static, or its C library is not the one that cprof runs with";
	snprintf(reason, INJECT_REASON_BYTES, "%s", why);
	return reason;
}

/* The injector ----------------------------------------------------------------------------------- */

struct injection {
	const struct inject_options *options;
	struct tracee tracee;
	const void *library; /* its first page, mapped here */
	uint64_t nr_mapped;  /* executable mappings of files */
};

struct unsafe_search {
	struct tracee *tracee;
	char loader[40];
	uint64_t loader_at, malloc_at;
};

static uint64_t loader_of(pid_t pid)
{
	uint64_t pair[2], at = 0;
	char path[64];
	FILE *auxv;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	auxv = fopen(path, "re");
	while (auxv && fread(pair, sizeof(pair), 1, auxv) == 1)
		if (pair[0] == 7) /* AT_BASE */
			at = pair[1];
	if (auxv)
		fclose(auxv);
	return at;
}

static void find_loader(void *ctx, const struct map_line *line)
{
	struct unsafe_search *search = ctx;

	if (line->start == search->loader_at)
		memcpy(search->loader, line->file, sizeof(search->loader));
}

static void add_unsafe(struct tracee *tracee, uint64_t start, uint64_t limit)
{
	if (tracee->nr_unsafe < TRACEE_MAX_RANGES)
		tracee->unsafe[tracee->nr_unsafe++] = (struct code_range){start, limit};
	else
		tracee->needs_call = true;
}

static void add_code(void *ctx, const struct map_line *line)
{
	struct unsafe_search *search = ctx;
	const char *name = text_base_name(line->path);

	if (line->access[2] == 'x' && (!strcmp(line->file, search->loader) ||
				       strstr(name, "malloc") || strstr(name, "cprof-heap")))
		add_unsafe(search->tracee, line->start, line->limit);
}

/* The loader's code, that of allocators that are libraries, and of the C library's. */
static void find_unsafe(struct tracee *tracee)
{
	static const char *const names[] = {"malloc",	"free",	       "calloc", "realloc",
					    "memalign", "malloc_trim", "mallopt"};
	struct unsafe_search search = {.tracee = tracee, .loader_at = loader_of(tracee->pid)};
	uint64_t first = UINT64_MAX, last = 0;

	tracee->nr_unsafe = 0;
	each_map(tracee->pid, find_loader, &search);
	each_map(tracee->pid, add_code, &search);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint64_t at = remote_function(tracee->pid, own_function(names[i]));

		first = at && at < first ? at : first;
		last = at > last ? at : last;
	}
	if (last)
		add_unsafe(tracee, first - ALLOCATOR_MARGIN, last + ALLOCATOR_MARGIN);
	first = remote_function(tracee->pid, own_function("dl_iterate_phdr"));
	if (first)
		add_unsafe(tracee, first, first + LIST_WALK_BYTES);
}

static void count_code(void *ctx, const struct map_line *line)
{
	struct injection *injection = ctx;

	injection->nr_mapped += line->access[2] == 'x' && *line->path;
}

/* Where the process has the library's function. 0: it is not mapped. */
static uint64_t redirect_at(const struct injection *injection)
{
	uint64_t own_base = 0, entry, base;

	base = base_in(injection->options->pid, injection->library, &own_base);
	memcpy(&entry, (const char *)injection->library + ENTRY_AT, sizeof(entry));
	return base ? base + entry : 0;
}

static int redirect(struct injection *injection, uint64_t rate_bytes, uint64_t timeout_ns,
		    int64_t *nr_slots)
{
	struct remote_call call = {
		.function = redirect_at(injection), .first = rate_bytes, .has_result = true};

	if (!call.function)
		return -ENOENT;
	injection->nr_mapped = 0;
	each_map(injection->options->pid, count_code, injection);
	find_unsafe(&injection->tracee);
	return tracee_call(&injection->tracee, &call, timeout_ns, nr_slots);
}

static int load(struct injection *injection)
{
	struct remote_call call = {
		.function = remote_function(injection->options->pid, own_function("dlopen")),
		.text = injection->options->library,
		.second = RTLD_NOW | RTLD_NODELETE};

	if (redirect_at(injection))
		return 0; /* an earlier cprof's */
	find_unsafe(&injection->tracee);
	return call.function ? tracee_call(&injection->tracee, &call, CALL_NS, NULL) : -ENOENT;
}

static bool is_same(const struct tracee *tracee)
{
	return remote_function(tracee->pid, own_restorer()) == tracee->restorer;
}

static int prepare(struct injection *injection)
{
	pid_t pid = injection->options->pid;
	int fd scoped(closep) = open(injection->options->library, O_RDONLY | O_CLOEXEC);
	void *first = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	if (first == MAP_FAILED)
		return -errno;
	injection->library = first;
	injection->tracee.pid = pid;
	injection->tracee.is_same = is_same;
	injection->tracee.restorer = remote_function(pid, own_restorer());
	return injection->tracee.restorer ? 0 : -ENOENT;
}

/* What goes over the socket, back. */
struct outcome {
	int64_t nr_slots;
	int err;
	bool is_loaded;
};

static struct outcome begin(struct injection *injection)
{
	struct outcome outcome = {.err = prepare(injection)};

	if (!outcome.err)
		outcome.err = load(injection);
	outcome.is_loaded = !outcome.err && redirect_at(injection);
	if (outcome.is_loaded)
		outcome.err = redirect(injection, injection->options->rate_bytes, CALL_NS,
				       &outcome.nr_slots);
	return outcome;
}

static void look_for_more(struct injection *injection)
{
	uint64_t nr_before = injection->nr_mapped;
	int64_t nr_slots;

	injection->nr_mapped = 0;
	each_map(injection->options->pid, count_code, injection);
	if (injection->nr_mapped != nr_before)
		redirect(injection, injection->options->rate_bytes, CALL_NS, &nr_slots);
}

/*
 * Keeps its socket and what goes to the terminal of main's descriptors, and of its capabilities the one to trace. The name
 * is held until it ends: of two cprofs the first to end would take the library away from the other. false: another has it.
 */
static bool settle(pid_t pid, int socket_fd)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int lock, len;

	for (int fd = 3; fd < MAX_DESCRIPTORS; fd++)
		if (fd != socket_fd)
			close(fd);
	capset_keep(CAPSET_OF(CAP_SYS_PTRACE));
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_IGN); /* Ctrl-C is for cprof; this ends with it */
	signal(SIGCHLD, SIG_DFL);
	len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "cprof-inject.%d", pid);
	lock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return !bind(lock, (struct sockaddr *)&name,
		     offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

/* Puts all slots back. false: some thread was in the way all the time. */
static bool take_out(struct injection *injection)
{
	int64_t nr_slots;
	int err = redirect(injection, 0, END_NS, &nr_slots);

	return !err || err == -ESRCH || err == -ENOENT;
}

static void __attribute__((noreturn)) inject(const struct inject_options *options, int socket)
{
	struct injection injection = {.options = options};
	struct pollfd ready = {.fd = socket, .events = POLLIN};
	bool is_only = settle(options->pid, socket), is_used;
	struct outcome outcome = {.err = -EEXIST};
	char word;

	if (read(socket, &word, 1) != 1)
		_exit(0);
	injection.tracee.needs_call = word;
	if (is_only)
		outcome = begin(&injection);
	if (write(socket, &outcome, sizeof(outcome)) < 0 && !outcome.is_loaded)
		_exit(0);
	while (!outcome.err && poll(&ready, 1, LOOK_MS) <= 0)
		look_for_more(&injection);
	is_used = outcome.err ? outcome.err == -ETIMEDOUT : outcome.nr_slots > 0;
	_exit(is_used && !take_out(&injection));
}

/* Main ------------------------------------------------------------------------------------------- */

int inject_start(const struct inject_options *options, struct injector *injector)
{
	int sockets[2], err;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	pid = fork();
	if (!pid) {
		close(sockets[0]);
		inject(options, sockets[1]);
	}
	err = -errno;
	close(sockets[1]);
	if (pid < 0) {
		close(sockets[0]);
		return err;
	}
	*injector = (struct injector){.pid = pid, .socket = sockets[0]};
	return 0;
}

static void say_why(const struct outcome *outcome, char reason[INJECT_REASON_BYTES])
{
	const char *why = strerror(-outcome->err);

	if (outcome->err == -EEXIST)
		why = "another cprof injects it";
	else if (outcome->err == -ETIME)
		why = "none of its threads was outside of the loader and the allocator";
	else if (outcome->err == -ETIMEDOUT)
		why = "its loader did not answer in time";
	else if (outcome->err == -EFAULT)
		why = "its loader failed";
	else if (!outcome->err && !outcome->is_loaded)
		why = "its loader did not take libcprof-heap.so, which its user may not be able to "
		      "read";
	else if (outcome->nr_slots == -2)
		why = "the program has an allocator of its own";
	else if (outcome->nr_slots == -1)
		why = "it was started with the library, and samples by itself";
	else if (!outcome->err)
		why = "nothing in it calls the allocator by a slot";
	snprintf(reason, INJECT_REASON_BYTES, "%s", why);
}

int inject_begin(struct injector *injector, int needs_call, int64_t *nr_slots,
		 char reason[INJECT_REASON_BYTES])
{
	struct outcome outcome = {.err = -ECHILD};
	char word = needs_call;

	if (write(injector->socket, &word, 1) != 1 ||
	    read(injector->socket, &outcome, sizeof(outcome)) != sizeof(outcome))
		outcome.err = -ECHILD;
	*nr_slots = outcome.nr_slots;
	if (!outcome.err && outcome.nr_slots > 0)
		return 0;
	say_why(&outcome, reason);
	return -ENOTSUP;
}

bool inject_end(struct injector *injector)
{
	int status = 0;

	if (!injector->pid)
		return true;
	close(injector->socket);
	while (waitpid(injector->pid, &status, 0) < 0 && errno == EINTR)
		;
	injector->pid = 0;
	return !status;
}
