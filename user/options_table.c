// SPDX-License-Identifier: BSD-2-Clause
/*
 * The table of options. Made from it: what getopt_long() needs, --help, the listing for a shell's completion, and the
 * suggestion for an unknown option. An option that only the other
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
	 "profile these processes; NAME selects all processes with\n"
	 "this command or executable name, now or later"},
	{"all", 'a', NULL, BOTH,
	 "profile every process; -o names a folder, for one file\n"
	 "per process"},
	{"comm", OPT_COMM, "REGEX", BOTH,
	 "profile only processes whose name matches, now or later"},
	{"uid", OPT_UID, "UID|NAME", BOTH, "profile only processes of this user"},
	{"cgroup", OPT_CGROUP, "PATH", BOTH, "profile only processes in this cgroup, or below it"},
	{"container", OPT_CONTAINER, "ID", BOTH,
	 "profile only processes in this container (docker, podman,\n"
	 "kubernetes, lxc); a prefix of the ID is enough"},
	{"no-children", OPT_NO_CHILDREN, NULL, OPTIONS_RECORD,
	 "do not profile child processes of the -p processes"},
	{"frequency", 'F', "HZ", OPTIONS_RECORD,
	 "sample HZ times per second on each CPU (default 99)"},
	{"rate", OPT_RATE, "BYTES", OPTIONS_HEAP,
	 "take one sample per BYTES allocated, on average\n"
	 "(default 524288; 1: every allocation)"},
	{"alloc-only", OPT_ALLOC_ONLY, NULL, OPTIONS_HEAP,
	 "do not follow frees, at half the cost; write only the\n"
	 "--alloc view, unless another is requested"},
	{"follow-fork", OPT_FOLLOW_FORK, NULL, OPTIONS_HEAP,
	 "profile child processes, too; every process that maps\n"
	 "the same allocator pays for the probes"},
	{"duration", 'd', "TIME", BOTH,
	 "stop after TIME: 30s, 500ms, 2m ... (default: when the\n"
	 "targets exit, or at Ctrl-C)"},
	{"output", 'o', "FILE|DIR", BOTH,
	 "write one file for all processes, or one file per process\n"
	 "to a folder (default: cprof.KIND.COMM.PID.pb.gz in the\n"
	 "current folder); may be given several times, for the\n"
	 "formats of these suffixes: " FORMAT_SUFFIXES_HELP ";\n"
	 "- is standard output"},
	{"inuse", OPT_INUSE, NULL, OPTIONS_HEAP,
	 "write only what is in use at the end: set alloc values\n"
	 "to 0, and omit empty samples"},
	{"alloc", OPT_ALLOC, NULL, OPTIONS_HEAP, "write only what was allocated: two sample types"},
	{"delta", OPT_DELTA, "TIME", OPTIONS_HEAP,
	 "write what is allocated within TIME, then stop; with a\n"
	 "longer -d, write a series of such profiles"},
	{"views", OPT_VIEWS, NULL, OPTIONS_HEAP, "write all of these from one run, one file each"},
	{"interval", OPT_INTERVAL, "TIME", BOTH,
	 "every TIME, write what was counted since the last write\n"
	 "to files .1, .2 ... (SIGUSR1 does the same)"},
	{"format", OPT_FORMAT, "NAME[,NAME]", BOTH,
	 "write one file per format: " FORMAT_NAMES_HELP},
	{"errors", OPT_ERRORS, NULL, OPTIONS_HEAP,
	 "add two sample types: the variances of the estimates"},
	{"all-frames", OPT_ALL_FRAMES, NULL, OPTIONS_HEAP,
	 "keep the allocator's own frames (malloc, operator new);\n"
	 "by default, the caller of the allocator is the leaf"},
	{"allow-empty", OPT_ALLOW_EMPTY, NULL, BOTH,
	 "write a file even if it is empty, and exit with 0"},
	{"threads", 't', NULL, BOTH, "label samples with their thread"},
	{"kernel", OPT_KERNEL, NULL, OPTIONS_RECORD, "record kernel stacks, too (default)"},
	{"no-kernel", OPT_NO_KERNEL, NULL, OPTIONS_RECORD, "record user stacks only"},
	{"verbose", 'v', NULL, BOTH, "print details, and the kernel's messages"},
	{"help", 'h', NULL, BOTH, "show this help"},
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
	puts(heap ? "Sample malloc and free, to show what allocates and what holds memory."
		  : "Sample stacks on the CPU, to show where the time goes.");
	puts("Write pprof files (gzip-compressed profile.proto) for go tool pprof and other "
	     "readers.\n");
	print_rows(command, false);
	puts("\n"
	     "Exit codes: 0 success, 2 usage error or file error, 3 nothing to profile, 4 missing\n"
	     "privileges or kernel support. With -- COMMAND: its exit code, or the above if that "
	     "is 0.");
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
		return fail(-EINVAL, "unknown option %s: --%s is an option of cprof %s, not of %s.",
			    text, nearest->name, command == OPTIONS_HEAP ? "record" : "heap", name);
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
