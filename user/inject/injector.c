// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which addresses: the process must map the very C library that cprof itself runs with, so that the places of dlopen() and
 * of the return from a handler are cprof's own, in another place. That rules out static programs, other C libraries, other
 * architectures and most containers, and needs no look into a file. The library's own function is its entry point, which
 * stands in its first bytes.
 */
#include "inject/injector.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "inject/places.h"
#include "inject/safety.h"
#include "inject/slotwatch.h"
#include "inject/threadstop.h"
#include "inject/tracee.h"
#include "sandbox/capset.h"

#define CALL_NS		(3 * NSEC_PER_SEC)
#define END_NS		(10 * NSEC_PER_SEC)
#define MAX_DESCRIPTORS 4096
#define LOOK_MS		1000
#define LOOK_NS		(NSEC_PER_SEC / 4)
#define RETRY_MS	10
#define LATE_MS		10 /* until it is looked at threads that have not stopped yet */

#define ENTRY_AT 24 /* e_entry in an ELF header */

struct injection {
	const struct inject_options *options;
	struct tracee tracee;
	const void *library; /* its first page, mapped here */
	uint64_t nr_mapped;  /* executable mappings of files */
	struct slotwatch slots;
	bool is_new;   /* the last look found other ones than the one before */
	bool is_stuck; /* a call has not returned, or has faulted */
};

static void count_code(void *ctx, const struct map_line *line)
{
	struct injection *injection = ctx;

	injection->nr_mapped += line->access[2] == 'x' && *line->path;
}

/* Finds the library's function in the process. -ENOENT: the library is not mapped; -ESRCH: the process has ended. */
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
	struct remote_call call = {.first = rate_bytes, .nr_results = 3};
	int64_t results[TRACEE_MAX_RESULTS] = {0}; /* struct redirect_result */
	int err = redirect_at(injection, &call.function);

	if (err)
		return err;
	injection->nr_mapped = 0;
	places_maps(injection->options->pid, count_code, injection);
	safety_find_unsafe(&injection->tracee);
	err = tracee_call(&injection->tracee, &call, timeout_ns, results);
	*nr_slots = results[0];
	if (!err)
		slotwatch_begin(&injection->slots, injection->options->pid, results[1], results[2]);
	return err;
}

static int load(struct injection *injection)
{
	struct remote_call call = {.function = places_function(injection->options->pid, "dlopen"),
				   .text = injection->options->library,
				   .second = RTLD_NOW | RTLD_NODELETE};

	if (is_mapped(injection))
		return 0; /* an earlier cprof's */
	safety_find_unsafe(&injection->tracee);
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

static struct injector_outcome begin(struct injection *injection)
{
	struct injector_outcome outcome = {.err = prepare(injection)};

	if (!outcome.err)
		outcome.err = load(injection);
	outcome.is_loaded = !outcome.err && is_mapped(injection);
	if (outcome.is_loaded)
		outcome.err = redirect(injection, injection->options->rate_bytes, CALL_NS,
				       &outcome.nr_slots);
	return outcome;
}

/*
 * A file that was unmapped and mapped again, in the same place, has slots that are not redirected any more. A file that is new is looked
 * at twice, since the loader may not be done with it. Where no thread could make the call it
 * is tried again the next time. Where the call has not returned it goes on, and there
 * may be no other beside it. One that has faulted would do so again.
 */
static void look_for_more(struct injection *injection)
{
	uint64_t nr_before = injection->nr_mapped;
	int64_t nr_slots;
	bool is_new;
	int err = 0;

	if (injection->is_stuck)
		return;
	injection->nr_mapped = 0;
	places_maps(injection->options->pid, count_code, injection);
	is_new = injection->nr_mapped != nr_before ||
		 slotwatch_has_changed(&injection->slots, injection->options->pid);
	if (is_new || injection->is_new)
		err = redirect(injection, injection->options->rate_bytes, LOOK_NS, &nr_slots);
	injection->is_stuck = err == -ETIMEDOUT || err == -EFAULT;
	if (err)
		injection->nr_mapped = nr_before;
	else
		injection->is_new = is_new;
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

/*
 * May slots lead to the library though the call that redirects them has failed? Not where dlopen() has: then a call of the library would
 * wait for the same lock, in one more thread.
 */
static bool is_half_done(const struct injector_outcome *outcome)
{
	return outcome->is_loaded && (outcome->err == -ETIMEDOUT || outcome->err == -EFAULT);
}

/* Waits for the end of it all. Meanwhile threads that stop late are let go. */
static bool is_over_within(struct pollfd *ready, uint64_t ms)
{
	uint64_t end_ns = clock_monotonic_ns() + ms * (NSEC_PER_SEC / 1000), now_ns;

	while ((now_ns = clock_monotonic_ns()) < end_ns) {
		uint64_t left_ms = (end_ns - now_ns) / (NSEC_PER_SEC / 1000) + 1;

		if (threadstop_release_late() && left_ms > LATE_MS)
			left_ms = LATE_MS;
		if (poll(ready, 1, (int)left_ms) > 0)
			return true;
	}
	return false;
}

const char *injector_refusal(void)
{
	return "";
}

void injector_run(const struct inject_options *options, int socket)
{
	static struct injection injection;
	struct pollfd ready = {.fd = socket, .events = POLLIN};
	struct injector_outcome outcome = {0};
	bool is_used;
	char word;

	injection.options = options;
	settle(socket);
	outcome.err = take_lock(options->pid);
	if (read(socket, &word, 1) != 1)
		_exit(0);
	injection.tracee.needs_call = word;
	if (!outcome.err)
		outcome = begin(&injection);
	if (write(socket, &outcome, sizeof(outcome)) < 0 && !outcome.is_loaded)
		_exit(0);
	while (!outcome.err && !is_over_within(&ready, LOOK_MS))
		look_for_more(&injection);
	is_used = outcome.err ? is_half_done(&outcome) : outcome.nr_slots > 0;
	_exit(is_used && !take_out(&injection));
}
