// SPDX-License-Identifier: BSD-2-Clause
/*
 * The table of options, and what is made of it: the tables of getopt_long(), --help, the listing for a
 * shell's completion, and the suggestion for a word that is no option. An option that only the other
 * command has is suggested with that command's name.
 */
#include "options_parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/optiontext.h"
#include "base/suggest.h"
#include "output/format.h"

#define HELP_COLUMN 29
#define BOTH	    (OPTIONS_RECORD | OPTIONS_HEAP)

/* One option, as --help lists it. */
struct option_row {
	const char *name;
	int value;
	const char *argument; /* NULL: takes none */
	int commands;	      /* enum options_command, or'ed */
	const char *help;     /* NULL: not shown */
};

static const struct option_row rows[] = {
	{"pid", 'p', "PID|NAME[,...]", BOTH,
	 "these processes; a NAME is a process's own or its\nexecutable's, and means all that have "
	 "it, "
	 "now or later"},
	{"all", 'a', NULL, BOTH, "profile every process; -o names a folder, one file per process"},
	{"comm", OPT_COMM, "REGEX", BOTH, "only processes whose name matches, now or later"},
	{"uid", OPT_UID, "UID|NAME", BOTH, "only those of this user"},
	{"cgroup", OPT_CGROUP, "PATH", BOTH, "only those in this cgroup, or below it"},
	{"container", OPT_CONTAINER, "ID", BOTH,
	 "only those in this container (docker, podman, kubernetes,\nlxc); the ID's beginning will "
	 "do"},
	{"no-children", OPT_NO_CHILDREN, NULL, OPTIONS_RECORD,
	 "not what the processes of -p have forked, or will"},
	{"frequency", 'F', "HZ", OPTIONS_RECORD, "ticks a second on each CPU (default 99)"},
	{"rate", OPT_RATE, "BYTES", OPTIONS_HEAP,
	 "one sample per so many bytes allocated, on average\n(default 524288; 1: every "
	 "allocation)"},
	{"alloc-only", OPT_ALLOC_ONLY, NULL, OPTIONS_HEAP,
	 "do not follow frees: half the cost, and only the view\n--alloc, unless another is asked "
	 "for"},
	{"follow-fork", OPT_FOLLOW_FORK, NULL, OPTIONS_HEAP,
	 "their children too; every process that maps the same\nallocator pays for the probes"},
	{"duration", 'd', "TIME", BOTH,
	 "stop after 30s, 500ms, 2m ... (default: at Ctrl-C,\nor when the targets have exited)"},
	{"output", 'o', "FILE|DIR", BOTH,
	 "one file for all processes, or a folder for one file\neach (default: "
	 "cprof.KIND.COMM.PID.pb.gz here). Several FILEs:\nthe suffix says the format of each: "
	 ".pb.gz .html .svg\n.folded .speedscope.json .gecko.json .heap .txt .pb;\n"
	 "- is standard output"},
	{"inuse", OPT_INUSE, NULL, OPTIONS_HEAP,
	 "only what is in use at the end: alloc values are 0, empty\nsamples left out"},
	{"alloc", OPT_ALLOC, NULL, OPTIONS_HEAP, "only what was allocated: two sample types"},
	{"delta", OPT_DELTA, "TIME", OPTIONS_HEAP,
	 "what was allocated in so long a time, then done;\nwith a longer -d a series of them"},
	{"views", OPT_VIEWS, NULL, OPTIONS_HEAP, "all of these from one run, a file each"},
	{"interval", OPT_INTERVAL, "TIME", BOTH,
	 "each time write what was counted since the last one, in\nfiles .1, .2 ... (SIGUSR1 "
	 "does so, too)"},
	{"format", OPT_FORMAT, "NAME[,NAME]", BOTH,
	 "a file each in proto (default), proto-plain, legacy\n(gperftools' text), text (for "
	 "people), "
	 "folded, speedscope,\ngecko, html, svg"},
	{"errors", OPT_ERRORS, NULL, OPTIONS_HEAP,
	 "two more sample types: the variances of the estimates"},
	{"all-frames", OPT_ALL_FRAMES, NULL, OPTIONS_HEAP,
	 "the allocator's own frames too (malloc, operator new);\nelse stacks begin with who "
	 "allocates"},
	{"allow-empty", OPT_ALLOW_EMPTY, NULL, BOTH,
	 "write a file even if it is empty, and exit with 0"},
	{"threads", 't', NULL, BOTH, "label samples with their thread"},
	{"kernel", OPT_KERNEL, NULL, OPTIONS_RECORD, "kernel stacks too (default)"},
	{"no-kernel", OPT_NO_KERNEL, NULL, OPTIONS_RECORD, "user stacks only"},
	{"verbose", 'v', NULL, BOTH, "say more, and show what the kernel says"},
	{"help", 'h', NULL, BOTH, "this text"},
	{"limit", OPT_LIMIT, "NAME=N", BOTH, NULL},
	{"captures", OPT_CAPTURES, "FILE", OPTIONS_RECORD, NULL},
};

#define NR_ROWS (sizeof(rows) / sizeof(rows[0]))

_Static_assert(NR_ROWS <= OPTIONS_ROWS_MAX, "struct options_getopt holds the table");

/* For people, or for a shell. */
static void print_rows(enum options_command command, bool is_listing)
{
	char names[256];

	for (size_t i = 0; i < NR_ROWS; i++) {
		const struct option_row *row = &rows[i];
		struct option_text option = {
			.name = row->name,
			.letter = row->value < OPT_RATE ? row->value : 0,
			.value = row->argument,
			.words = row->value == OPT_FORMAT ? format_words(names, sizeof(names))
							  : NULL,
			.help = row->help,
		};
		char *text scoped(freep) = NULL;

		if (!row->help || !(row->commands & command))
			continue;
		text = is_listing ? option_listing(&option) : option_help(&option, HELP_COLUMN);
		fputs(text, stdout);
	}
}

void options_table_help(enum options_command command)
{
	bool heap = command == OPTIONS_HEAP;
	const char *name = heap ? "heap" : "record";

	printf("usage: cprof %s [options] -p PID|NAME[,...] | -a | -- COMMAND [ARGUMENT...]\n\n",
	       name);
	puts(heap ? "Samples malloc and free: who allocates, and who holds the memory."
		  : "Samples stacks on the CPU: where the time goes.");
	puts("Writes pprof files (gzip'ed profile.proto) for `go tool pprof` and its kin.\n");
	print_rows(command, false);
	puts("\nExit codes: 0 done, 2 usage or files, 3 nothing to profile, 4 privileges or "
	     "kernel;\n"
	     "with a command: its own; where that is 0, as above");
}

void options_table_listing(enum options_command command)
{
	print_rows(command, true);
}

static const struct option_row *nearest_row(const char *text)
{
	struct suggestion suggestion = suggestion_for(text + 2, strcspn(text + 2, "="));
	const struct option_row *nearest = NULL;

	for (size_t i = 0; i < NR_ROWS; i++) {
		if (rows[i].help)
			suggestion_offer(&suggestion, rows[i].name);
		if (suggestion.best == rows[i].name)
			nearest = &rows[i];
	}
	return nearest;
}

/* What getopt choked on, as the user wrote it. */
int options_table_complain(int value, char **argv, enum options_command command)
{
	char letter[] = {'-', optopt, '\0'};
	bool is_letter = optopt > 0 && optopt < OPT_RATE;
	const char *text = is_letter ? letter : argv[optind - 1], *name = argv[0];
	const struct option_row *nearest = is_letter ? NULL : nearest_row(text);

	if (value == ':')
		return fail(-EINVAL, "%s needs an argument (see cprof %s --help).", text, name);
	if (nearest && nearest->commands & command)
		return fail(-EINVAL, "unknown option %s. Did you mean --%s?", text, nearest->name);
	if (nearest)
		return fail(-EINVAL, "unknown option %s: cprof %s has --%s, %s has not.", text,
			    command == OPTIONS_HEAP ? "record" : "heap", nearest->name, name);
	return fail(-EINVAL, "unknown option %s (see cprof %s --help).", text, name);
}

void options_table_getopt(enum options_command command, struct options_getopt *getopt)
{
	size_t nr = 0, len = 2;

	*getopt = (struct options_getopt){
		.shorts = "+:"}; /* stop at the command; tell ':' from '?' */
	for (size_t i = 0; i < NR_ROWS; i++) {
		const struct option_row *row = &rows[i];

		if (!(row->commands & command))
			continue;
		getopt->longs[nr++] = (struct option){row->name, !!row->argument, NULL, row->value};
		if (row->value < OPT_RATE) {
			getopt->shorts[len++] = row->value;
			if (row->argument)
				getopt->shorts[len++] = ':';
		}
	}
}
