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
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <poll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "inject/places.h"
#include "inject/tracee.h"
#include "sandbox/capset.h"

#define CALL_NS		(3 * NSEC_PER_SEC)
#define END_NS		(10 * NSEC_PER_SEC)
#define MAX_DESCRIPTORS 4096
#define LOOK_MS		1000
#define LOOK_NS		(NSEC_PER_SEC / 4)
#define RETRY_MS	10

/* What heap_redirect() says instead of a number of slots: inside/redirect.h. */
enum {
	REDIRECT_BUSY = -3,
	REDIRECT_OWN_ALLOCATOR = -2,
	REDIRECT_NEEDLESS = -1
};

#define ALLOCATOR_MARGIN (64u << 10) /* functions without a name beside those with one */
#define LIST_WALK_BYTES	 1024	     /* of the function that holds the lock of the loader's list */
#define ENTRY_AT	 24	     /* e_entry in an ELF header */

/* Refusals --------------------------------------------------------------------------------------- */

static bool status_line(pid_t pid, const char *name, char *value, size_t bytes)
{
	char path[64] = "", line[256];
	bool is_found = false;
	FILE *status;

	places_path(pid, "status", path, sizeof(path));
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

	return !places_path(pid, "ns/mnt", path, sizeof(path)) &&
	       readlink(path, theirs, sizeof(theirs) - 1) > 0 &&
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
	else if (!places_function(pid, "dlopen") || !places_restorer(pid))
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
	bool is_stuck;	     /* a call has not returned */
};

struct unsafe_search {
	struct tracee *tracee;
	char loader[40];
	bool has_loader;
};

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

	bool is_loader = !strcmp(line->file, search->loader);

	if (line->access[2] != 'x')
		return;
	search->has_loader |= is_loader;
	if (is_loader || strstr(name, "malloc") || strstr(name, "cprof-heap"))
		add_unsafe(search->tracee, line->start, line->limit);
}

/*
 * The loader's code, that of allocators that are libraries, and of the C library's. The loader is that of this process, as
 * the C library is; /proc/PID/auxv, which tells where it is, is the user's own.
 */
static void find_unsafe(struct tracee *tracee)
{
	static const char *const names[] = {"malloc",	"free",	       "calloc", "realloc",
					    "memalign", "malloc_trim", "mallopt"};
	struct unsafe_search search = {.tracee = tracee};
	uint64_t first = UINT64_MAX, last = 0;

	tracee->nr_unsafe = 0;
	places_file_of((const void *)getauxval(AT_BASE), search.loader);
	places_maps(tracee->pid, add_code, &search);
	tracee->needs_call |= !search.has_loader;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint64_t at = places_function(tracee->pid, names[i]);

		first = at && at < first ? at : first;
		last = at > last ? at : last;
	}
	if (last)
		add_unsafe(tracee, first - ALLOCATOR_MARGIN, last + ALLOCATOR_MARGIN);
	first = places_function(tracee->pid, "dl_iterate_phdr");
	if (first)
		add_unsafe(tracee, first, first + LIST_WALK_BYTES);
}

static void count_code(void *ctx, const struct map_line *line)
{
	struct injection *injection = ctx;

	injection->nr_mapped += line->access[2] == 'x' && *line->path;
}

/* Where the process has the library's function. -ENOENT: it has not mapped it; -ESRCH: it is gone. */
static int redirect_at(const struct injection *injection, uint64_t *at)
{
	uint64_t base, entry;
	int err = places_address(injection->options->pid, injection->library, &base);

	if (err)
		return err;
	memcpy(&entry, (const char *)injection->library + ENTRY_AT, sizeof(entry));
	*at = base + entry;
	return 0;
}

static bool is_mapped(const struct injection *injection)
{
	uint64_t at;

	return !redirect_at(injection, &at);
}

static int redirect(struct injection *injection, uint64_t rate_bytes, uint64_t timeout_ns,
		    int64_t *nr_slots)
{
	struct remote_call call = {.first = rate_bytes, .has_result = true};
	int err = redirect_at(injection, &call.function);

	if (err)
		return err;
	injection->nr_mapped = 0;
	places_maps(injection->options->pid, count_code, injection);
	find_unsafe(&injection->tracee);
	return tracee_call(&injection->tracee, &call, timeout_ns, nr_slots);
}

static int load(struct injection *injection)
{
	struct remote_call call = {.function = places_function(injection->options->pid, "dlopen"),
				   .text = injection->options->library,
				   .second = RTLD_NOW | RTLD_NODELETE};

	if (is_mapped(injection))
		return 0; /* an earlier cprof's */
	find_unsafe(&injection->tracee);
	return call.function ? tracee_call(&injection->tracee, &call, CALL_NS, NULL) : -ENOENT;
}

static bool is_same(const struct tracee *tracee)
{
	return places_restorer(tracee->pid) == tracee->restorer;
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
	injection->tracee.restorer = places_restorer(pid);
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
	outcome.is_loaded = !outcome.err && is_mapped(injection);
	if (outcome.is_loaded)
		outcome.err = redirect(injection, injection->options->rate_bytes, CALL_NS,
				       &outcome.nr_slots);
	return outcome;
}

/*
 * Where no thread could make the call it is tried again the next time. Where the call has not returned it goes on, and there
 * may be no other beside it.
 */
static void look_for_more(struct injection *injection)
{
	uint64_t nr_before = injection->nr_mapped;
	int64_t nr_slots;
	int err = 0;

	if (injection->is_stuck)
		return;
	injection->nr_mapped = 0;
	places_maps(injection->options->pid, count_code, injection);
	if (injection->nr_mapped != nr_before)
		err = redirect(injection, injection->options->rate_bytes, LOOK_NS, &nr_slots);
	injection->is_stuck = err == -ETIMEDOUT;
	if (err)
		injection->nr_mapped = nr_before;
}

/*
 * Of two cprofs the first to end would take the library away from the other: so the lock is held until this ends. It is one
 * of a file that the kernel opens only for those who may trace the process, so that nobody else can keep cprof away; all who
 * may inject it see the same /proc, as they see the same files. Rejected: a name in the abstract namespace, which anybody
 * can take, and which is another one in each network namespace; a folder for locks, which takes root. -EEXIST: another cprof
 * has it.
 */
static int take_lock(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return 0;
	return errno == EWOULDBLOCK ? -EEXIST : -errno;
}

/* Keeps its socket and what goes to the terminal of main's descriptors, and of its capabilities the one to trace. */
static void settle(int socket_fd)
{
	for (int fd = 3; fd < MAX_DESCRIPTORS; fd++)
		if (fd != socket_fd)
			close(fd);
	capset_keep(CAPSET_OF(CAP_SYS_PTRACE));
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_IGN); /* Ctrl-C is for cprof; this ends with it */
	signal(SIGCHLD, SIG_DFL);
}

/*
 * Puts all slots back, unless the process is gone or executes another program. false: some thread was in the way all the
 * time, or a call that has not returned.
 */
static bool take_out(struct injection *injection)
{
	uint64_t end_ns = clock_monotonic_ns() + END_NS;
	int64_t nr_slots;
	int err;

	for (;;) {
		err = redirect(injection, 0, END_NS, &nr_slots);
		if (err || nr_slots != REDIRECT_BUSY || clock_monotonic_ns() >= end_ns)
			break;
		poll(NULL, 0, RETRY_MS);
	}
	return err ? err == -ESRCH || err == -ENOENT : nr_slots != REDIRECT_BUSY;
}

static void __attribute__((noreturn)) inject(const struct inject_options *options, int socket)
{
	struct injection injection = {.options = options};
	struct pollfd ready = {.fd = socket, .events = POLLIN};
	struct outcome outcome = {0};
	bool is_used;
	char word;

	settle(socket);
	outcome.err = take_lock(options->pid);
	if (read(socket, &word, 1) != 1)
		_exit(0);
	injection.tracee.needs_call = word;
	if (!outcome.err)
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
	else if (outcome->err == -EBUSY)
		why = "it is stopped (SIGSTOP), in the loader or the allocator: continue it, and "
		      "try "
		      "again";
	else if (outcome->err == -ETIMEDOUT)
		why = "its loader did not answer in time";
	else if (outcome->err == -EFAULT)
		why = "its loader failed";
	else if (!outcome->err && !outcome->is_loaded)
		why = "its loader did not take libcprof-heap.so, which its user may not be able to "
		      "read";
	else if (outcome->nr_slots == REDIRECT_BUSY)
		why = "a call for an earlier cprof has not returned yet";
	else if (outcome->nr_slots == REDIRECT_OWN_ALLOCATOR)
		why = "the program has an allocator of its own";
	else if (outcome->nr_slots == REDIRECT_NEEDLESS)
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
