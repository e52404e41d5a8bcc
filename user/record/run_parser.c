// SPDX-License-Identifier: BSD-2-Clause
/*
 * The steps of a run that have to do with the process which parses the targets' files. It is forked first and asked how it
 * is confined only once the BPF programs are loaded, so that both happen at the same time.
 */
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/smallfile.h"
#include "base/text.h"
#include "record/priority.h"
#include "record/run_state.h"
#include "sandbox/confine.h"
#include "sandbox/narrow.h"

int run_start_parser(struct run *run)
{
	const struct peer_options options = {.serve = run->serve,
					     .in_process = run->options->no_sandbox};
	int err = parser_open(&options, &run->parser);

	if (err) {
		warn("cannot start the process that parses files: %s", strerror(-err));
		return EXIT_CANNOT;
	}
	run->budget.others_cpu_ns = parser_cpu_ns;
	run->budget.others = run->parser;
	priority_share(parser_set_nice, run->parser);
	if (run->options->no_sandbox)
		warn("--no-sandbox: files that the targets chose are parsed with all of cprof's "
		     "privileges. Do this for debugging only.");
	return EXIT_DONE;
}

/* What it means that something is missing. */
static const struct {
	uint32_t missing;
	const char *what;
	const char *why; /* or "" */
} losses[] = {
	{CONFINE_NO_SECCOMP, "may use all system calls (seccomp is refused)", ""},
	{CONFINE_NO_CAPSET, "keeps its capabilities", ""},
	{CONFINE_NO_PRIVS, "may gain privileges (no_new_privs is refused)", ""},
	{CONFINE_NO_USER, "runs as cprof's user, not as nobody",
	 " (CAP_SETUID or CAP_SETGID is missing)"},
	{CONFINE_NO_LIMITS, "has no limits of memory and CPU time", ""},
	{CONFINE_NO_NETNS, "is in cprof's network namespace", ""},
	{CONFINE_NO_LANDLOCK, "is not restricted by landlock, which this kernel lacks", ""},
};

/* The namespace and landlock only say twice what the filter of system calls says. Who is not root loses less, too. */
static bool is_minor(uint32_t missing)
{
	return missing & (CONFINE_NO_NETNS | CONFINE_NO_LANDLOCK) ||
	       (missing == CONFINE_NO_USER && geteuid());
}

static void say_missing(uint32_t missing)
{
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		if (!(missing & losses[i].missing))
			continue;
		if (is_minor(losses[i].missing))
			detail("the process that parses files %s", losses[i].what);
		else
			warn("the process that parses files %s%s", losses[i].what, losses[i].why);
	}
}

static int refuse(uint32_t missing)
{
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		if (missing & losses[i].missing & CONFINE_NEEDED) {
			warn("not safe: the process that parses the targets' files %s. "
			     "--no-sandbox goes on nevertheless.",
			     losses[i].what);
			break;
		}
	return EXIT_CANNOT;
}

/* For probes that come later, before Linux 6.10; and for the events of CPUs that come online, where Debian's kernels demand it. */
static bool needs_admin(const struct run *run)
{
	return run_is_heap(run) || smallfile_number("/proc/sys/kernel/perf_event_paranoid", 3) > 2;
}

int run_give_up_powers(struct run *run)
{
	int err = run->options->no_sandbox ? 0 : narrow_main(needs_admin(run));

	if (err)
		detail("cprof keeps privileges that it does not need any more: %s", strerror(-err));
	return EXIT_DONE;
}

int run_check_parser(struct run *run)
{
	uint32_t missing = 0;
	int err = parser_meet(run->parser, &missing);

	if (err) {
		warn("the process that parses files does not start: %s", strerror(-err));
		return EXIT_CANNOT;
	}
	if (missing & CONFINE_NEEDED)
		return refuse(missing);
	say_missing(missing);
	return EXIT_DONE;
}
