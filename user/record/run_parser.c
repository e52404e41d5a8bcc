// SPDX-License-Identifier: BSD-2-Clause
/*
 * The steps of a run that have to do with the processes which open and parse the targets' files. They are forked first and
 * asked how they are confined only once the BPF programs are loaded, so that all happens at the same time.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/smallfile.h"
#include "base/text.h"
#include "collect/attacher_serve.h"
#include "debuginfod/fetcher_serve.h"
#include "machine/machine.h"
#include "process/opener_serve.h"
#include "record/priority.h"
#include "record/run_state.h"
#include "sandbox/confine.h"
#include "sandbox/narrow.h"

static uint64_t helpers_cpu_ns(const void *ctx)
{
	const struct run *run = ctx;

	return parser_cpu_ns(run->parser) + (run->opener ? opener_cpu_ns(run->opener) : 0);
}

static void set_nice(void *ctx, int nice)
{
	struct run *run = ctx;

	parser_set_nice(run->parser, nice);
	if (run->opener)
		opener_set_nice(run->opener, nice);
	if (run->attacher)
		attacher_set_nice(run->attacher, nice);
}

/* What the kernel says while the opener is waited for is not lost. */
static void look_meanwhile(void *ctx)
{
	const struct run *run = ctx;

	if (run->session)
		session_gather(run->session);
}

/* Files are probed within a budget, and what the kernel says meanwhile is not lost. */
static bool is_probing_over(void *ctx)
{
	struct run *run = ctx;

	return workbudget_is_over(&run->probing);
}

int run_start_helpers(struct run *run)
{
	const struct peer_options options = {.serve = run->serve,
					     .in_process = run->options->no_sandbox};
	int err = parser_open(&options, &run->parser);

	if (err) {
		warn("cannot start the process that parses files: %s", strerror(-err));
		return EXIT_CANNOT;
	}
	err = run->options->no_sandbox ? 0 : opener_open(opener_serve, &run->opener);
	if (err) {
		warn("cannot start the process that opens files: %s", strerror(-err));
		return EXIT_CANNOT;
	}
	if (run_is_heap(run) && !run->options->no_sandbox)
		err = attacher_open(attacher_serve, &run->attacher);
	if (err) {
		warn("cannot start the process that attaches probes: %s", strerror(-err));
		return EXIT_CANNOT;
	}
	if (run->attacher)
		attacher_while_waiting(run->attacher, (struct peer_idle){is_probing_over, run});
	if (run->options->debuginfod)
		err = fetcher_open(fetcher_serve, run->options->debuginfod,
				   run->options->debuginfod_timeout_ns, &run->fetcher);
	if (err) {
		warn("cannot start the process that downloads debug files: %s", strerror(-err));
		return EXIT_CANNOT;
	}
	if (run->opener)
		opener_while_waiting(run->opener, look_meanwhile, run);
	run->budget.others_cpu_ns = helpers_cpu_ns;
	run->budget.others = run;
	priority_share(set_nice, run);
	if (run->options->no_sandbox)
		warn("--no-sandbox: files that the targets chose are opened and parsed with all of "
		     "cprof's "
		     "privileges. Do this for debugging only.");
	return EXIT_DONE;
}

/* What it means that something is missing, of a process that opens or parses files, and of main. */
static const struct {
	uint32_t missing;
	const char *what;
	const char *why; /* or "" */
} losses[] = {
	{CONFINE_NO_SECCOMP, "may use all system calls (seccomp is refused)", ""},
	{CONFINE_NO_CAPSET, "keeps its capabilities", ""},
	{CONFINE_NO_PRIVS, "may gain privileges (no_new_privs is refused)", ""},
	{CONFINE_NO_USER, "runs as cprof's user, not as nobody", " (CAP_SETUID is missing)"},
	{CONFINE_NO_NOBODY, "runs as cprof's user, not as nobody",
	 " (there is no user 65534 in this user namespace)"},
	{CONFINE_NO_GROUPS, "is still in groups of cprof's user",
	 " (CAP_SETGID is missing, or the user namespace forbids setgroups(2))"},
	{CONFINE_NO_LIMITS, "has no limits on memory and CPU time", ""},
	{CONFINE_NO_NETNS, "is in cprof's network namespace", ""},
	{CONFINE_NO_LANDLOCK, "is kept from opening others by its filter of system calls alone",
	 " (there is no landlock)"},
};

/*
 * Where cprof does not run as root it cannot make a network namespace, which only says again what the filter of system calls
 * says, nor become another user, and has less to lose.
 */
static bool is_minor(uint32_t missing)
{
	return missing & CONFINE_NO_NETNS ||
	       (missing & (CONFINE_NO_USER | CONFINE_NO_NOBODY | CONFINE_NO_GROUPS) && geteuid());
}

/* who: "the process that opens files". */
static void say_missing(const char *who, uint32_t missing)
{
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		if (!(missing & losses[i].missing))
			continue;
		if (is_minor(losses[i].missing))
			detail("%s %s", who, losses[i].what);
		else
			warn("%s %s%s", who, losses[i].what, losses[i].why);
	}
}

static int refuse(const char *does, uint32_t missing)
{
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		if (missing & losses[i].missing & CONFINE_NEEDED) {
			warn("not safe: the process that %s the targets' files %s. "
			     "Use --no-sandbox to continue anyway.",
			     does, losses[i].what);
			break;
		}
	return EXIT_CANNOT;
}

/* Is CAP_SYS_ADMIN needed during the run? For events of CPUs that come online, where Debian's kernels demand it. */
static bool needs_admin(void)
{
	return smallfile_number("/proc/sys/kernel/perf_event_paranoid", 3) > 2;
}

/* Is /proc mounted with hidepid? Then the processes of other users are not to be seen without CAP_SYS_PTRACE, not even their numbers. */
static bool hides_pids(void)
{
	FILE *mounts scoped(fclosep) = fopen("/proc/self/mounts", "re");
	char line[4096];

	while (mounts && fgets(line, sizeof(line), mounts))
		if (strstr(line, " /proc proc ") && strstr(line, "hidepid="))
			return true;
	return false;
}

int run_give_up_powers(struct run *run)
{
	const struct narrow_needs needs = {needs_admin(), hides_pids()};

	snprintf(run->lacks, sizeof(run->lacks), "%s", machine_lacks_for_files());
	if (!run->options->no_sandbox)
		say_missing("the process that samples", narrow_main(&needs));
	return EXIT_DONE;
}

/* does: "opens" or "parses", as "the process that opens files". err: it does not answer. */
static int check_helper(const char *does, int err, uint32_t missing)
{
	char *who scoped(freep) = xasprintf("the process that %s files", does);

	if (err) {
		warn("%s did not start: %s", who, strerror(-err));
		return EXIT_CANNOT;
	}
	if (missing & CONFINE_NEEDED)
		return refuse(does, missing);
	say_missing(who, missing);
	return EXIT_DONE;
}

static int check_attacher(struct run *run)
{
	uint32_t missing = 0;
	int err = run->attacher ? attacher_handshake(run->attacher, &missing) : 0;

	return check_helper("probes", err, missing);
}

static int check_fetcher(struct run *run)
{
	uint32_t missing = 0;
	int err = run->fetcher ? fetcher_handshake(run->fetcher, &missing) : 0;

	if (!err && missing & CONFINE_NO_LANDLOCK)
		warn("the process that downloads debug files can read every file that user 65534 "
		     "can (there is no landlock)");
	return check_helper("downloads debug", err, missing & ~CONFINE_NO_LANDLOCK);
}

int run_check_helpers(struct run *run)
{
	uint32_t missing = 0;
	int err = parser_meet(run->parser, &missing);
	int code = check_helper("parses", err, missing);

	if (code)
		return code;
	if (!run->opener)
		return check_fetcher(run);
	missing = 0;
	err = opener_handshake(run->opener, &missing);
	code = check_helper("opens", err, missing);
	code = code ? code : check_attacher(run);
	return code ? code : check_fetcher(run);
}
