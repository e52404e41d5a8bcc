// SPDX-License-Identifier: BSD-2-Clause
/* The options of the collecting commands: one table for both, group by group, from which each takes its rows. */
#include "options_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "output/format.h"

#define BOTH (OPTIONS_RECORD | OPTIONS_HEAP)

struct command_row {
	int commands; /* enum options_command, or'ed */
	struct arg_row row;
};

static int parse_pids(const char *name, const char *text, void *value)
{
	(void)name;
	return targetspec_parse(text, value);
}

static int parse_mode(const char *option, const char *text, void *value)
{
	enum options_mode *mode = value;

	if (!strcmp(text, "inside"))
		*mode = OPTIONS_MODE_INSIDE;
	else if (!strcmp(text, "probe"))
		*mode = OPTIONS_MODE_PROBE;
	else
		return fail(-EINVAL, "%s %s: not inside or probe.", option, text);
	return 0;
}

static int parse_limit(const char *option, const char *text, void *value)
{
	struct options_limits *limits = value;
	const struct {
		const char *name;
		uint32_t *value;
	} names[] = {{"counts", &limits->counts}, {"events", &limits->events},
		     {"live", &limits->live},	  {"inflight", &limits->inflight},
		     {"slots", &limits->slots},	  {"attach_mode", &limits->attach_mode},
		     {"files", &limits->files}};
	const char *equals = strchrnul(text, '=');
	uint64_t number;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t len = strlen(names[i].name);

		if ((size_t)(equals - text) != len || strncmp(text, names[i].name, len) ||
		    !*equals || argtype_whole(equals + 1, 1, 1u << 30, &number))
			continue;
		*names[i].value = number;
		return 0;
	}
	return fail(-EINVAL,
		    "%s %s: not NAME=N, with NAME one of counts, events, live, inflight, "
		    "slots, attach_mode, files.",
		    option, text);
}

static void add_rows(enum options_command command, const struct command_row *rows, size_t nr,
		     struct options_table *table)
{
	if (table->nr + nr > OPTIONS_ROWS_MAX)
		abort(); /* the table in the source is too long */
	for (size_t i = 0; i < nr; i++)
		if (rows[i].commands & command)
			table->rows[table->nr++] = rows[i].row;
}

static void add_targets(enum options_command command, struct options_parsing *parsing,
			struct options_table *table)
{
	struct options *options = parsing->options;
	struct arg_list *filters = parsing->filters;
	const struct command_row rows[] = {
		{BOTH, ARG_GROUP("Targets")},
		{BOTH,
		 {"pid", 'p', ARG_CALL(parse_pids, targetspec_is_pid), "PID|NAME[,...]",
		  "profile these processes; NAME selects all processes with this command or "
		  "executable name, now or later",
		  &options->spec}},
		{BOTH,
		 {"all", 'a', ARG_FLAG, NULL,
		  "profile every process; -o names a folder, for one file per process",
		  &options->all}},
		{BOTH,
		 {"comm", 0, ARG_REGEXES, "REGEX",
		  "profile only processes whose name matches, now or later",
		  &filters[TARGETSPEC_COMM]}},
		{BOTH,
		 {"uid", 0, ARG_TEXTS, "UID|NAME", "profile only processes of this user",
		  &filters[TARGETSPEC_UID]}},
		{BOTH,
		 {"cgroup", 0, ARG_TEXTS, "PATH",
		  "profile only processes in this cgroup, or below it",
		  &filters[TARGETSPEC_CGROUP]}},
		{BOTH,
		 {"container", 0, ARG_TEXTS, "ID",
		  "profile only processes in this container (docker, podman, kubernetes, lxc); a "
		  "prefix of the ID is enough",
		  &filters[TARGETSPEC_CONTAINER]}},
		{OPTIONS_RECORD,
		 {"no-children", 0, ARG_CLEAR, NULL,
		  "do not profile child processes of the -p processes", &options->follow_forks}},
		{OPTIONS_HEAP,
		 {"follow-fork", 0, ARG_FLAG, NULL,
		  "profile child processes, too; every process that maps the same allocator pays "
		  "for the probes",
		  &options->follow_forks}},
	};

	add_rows(command, rows, ARRAY_SIZE(rows), table);
}

static void add_sampling(enum options_command command, struct options *options,
			 struct options_table *table)
{
	const struct command_row rows[] = {
		{BOTH, ARG_GROUP("Sampling")},
		{OPTIONS_RECORD,
		 {"frequency", 'F', ARG_FREQUENCY, "HZ",
		  "sample HZ times per second on each CPU (default 99)", &options->frequency_hz}},
		{OPTIONS_HEAP,
		 {"rate", 0, ARG_SIZE, "BYTES",
		  "take one sample per BYTES allocated, on average (default 524288; 1: every "
		  "allocation)",
		  &options->rate_bytes}},
		{OPTIONS_HEAP,
		 {"mode", 0, ARG_CALL(parse_mode, NULL), "inside|probe",
		  "with -- COMMAND: sample inside it, by a preloaded library, which costs nearly "
		  "nothing and includes its child processes (default, where possible); or from "
		  "outside, by probes",
		  &options->mode}},
		{OPTIONS_HEAP,
		 {"inject", 0, ARG_FLAG, NULL,
		  "with -p PID: load a library into the running process, by ptrace, which samples "
		  "at nearly no cost; its calls of the allocator go through the library until the "
		  "end",
		  &options->inject}},
		{OPTIONS_HEAP,
		 {"alloc-only", 0, ARG_FLAG, NULL,
		  "do not follow frees, at half the cost; write only the --alloc view, unless "
		  "another is requested",
		  &options->allocs_only}},
		{OPTIONS_HEAP,
		 {"max-overhead", 0, ARG_PERCENT, "PCT",
		  "stop and write when probes take more than PCT % of the targets' CPU time, with "
		  "-a "
		  "of the time of all CPUs (default: 10 with -a, else 100: never)",
		  &options->max_overhead}},
		{OPTIONS_HEAP,
		 {"max-blocks", 0, ARG_COUNT_FROM(1, 1 << 30), "N",
		  "follow at most N sampled blocks at a time (default: 1,048,576; with --rate 1 "
		  "4,194,304, if memory allows)",
		  &options->max_blocks}},
		{BOTH,
		 {"duration", 'd', ARG_DURATION, "TIME",
		  "stop after TIME: 30s, 500ms, 2m ... (default: when the targets exit, or at "
		  "Ctrl-C)",
		  &options->duration_ns}},
		{BOTH,
		 {"threads", 't', ARG_FLAG, NULL, "label samples with their thread",
		  &options->threads}},
		{OPTIONS_RECORD,
		 {"kernel", 0, ARG_FLAG, NULL, "record kernel stacks, too (default)",
		  &options->kernel_stacks}},
		{OPTIONS_RECORD,
		 {"no-kernel", 0, ARG_CLEAR, NULL, "record user stacks only",
		  &options->kernel_stacks}},
	};

	add_rows(command, rows, ARRAY_SIZE(rows), table);
}

static void add_output(enum options_command command, struct options_parsing *parsing,
		       struct options_table *table)
{
	struct options *options = parsing->options;
	const struct command_row rows[] = {
		{BOTH, ARG_GROUP("Output")},
		{BOTH,
		 {"output", 'o', ARG_FILES, "FILE|DIR",
		  "write one file for all processes, or one file per process to a folder (default: "
		  "cprof.KIND.COMM.PID.pb.gz in the current folder); may be given several times, "
		  "for the formats of these suffixes: " FORMAT_SUFFIXES_HELP
		  "; - is standard output",
		  &parsing->outputs}},
		{BOTH,
		 {"format", 0, ARG_CHOICES(format_words()), "NAME[,NAME]",
		  "write one file per format: " FORMAT_NAMES_HELP, &parsing->formats}},
		{BOTH,
		 {"interval", 0, ARG_DURATION, "TIME",
		  "every TIME, write what was counted since the last write to files .1, .2 ... "
		  "(SIGUSR1 does the same)",
		  &options->interval_ns}},
	};

	add_rows(command, rows, ARRAY_SIZE(rows), table);
}

/* Options for the values of a heap profile and their labels. */
static void add_values(enum options_command command, struct options_parsing *parsing,
		       struct options_table *table)
{
	struct options *options = parsing->options;
	const struct command_row rows[] = {
		{OPTIONS_HEAP,
		 {"inuse", 0, ARG_FLAG, NULL,
		  "write only what is in use at the end: set alloc values to 0, and omit empty "
		  "samples",
		  &parsing->inuse}},
		{OPTIONS_HEAP,
		 {"peak", 0, ARG_FLAG, NULL,
		  "write only what was in use when the total was highest, each process at its own "
		  "moment",
		  &parsing->peak}},
		{OPTIONS_HEAP,
		 {"leaks", 0, ARG_FLAG, NULL,
		  "look for leaks: stacks with old blocks whose memory in use grows steadily; list "
		  "them, and write only these",
		  &parsing->leaks}},
		{OPTIONS_HEAP,
		 {"leak-age", 0, ARG_DURATION, "TIME",
		  "--leaks: a block is old after TIME (default: half of the run)",
		  &options->leak_age_ns}},
		{OPTIONS_HEAP,
		 {"alloc", 0, ARG_FLAG, NULL, "write only what was allocated: two sample types",
		  &parsing->alloc}},
		{OPTIONS_HEAP,
		 {"delta", 0, ARG_DURATION, "TIME",
		  "write what is allocated within TIME, then stop; with a longer -d, write a "
		  "series of such profiles",
		  &options->delta_ns}},
		{OPTIONS_HEAP,
		 {"views", 0, ARG_FLAG, NULL,
		  "write what was allocated, what is in use, and both, from one run, one file "
		  "each; "
		  "and what --peak, --leaks and --delta ask for",
		  &parsing->views}},
		{OPTIONS_HEAP,
		 {"lifetimes", 0, ARG_FLAG, NULL,
		  "label samples with how long their blocks lived: lifetime=<100us, <1ms, ... "
		  ">=10s, alive",
		  &options->lifetimes}},
		{OPTIONS_HEAP,
		 {"errors", 0, ARG_FLAG, NULL,
		  "add two sample types: the variances of the estimates", &options->errors}},
	};

	add_rows(command, rows, ARRAY_SIZE(rows), table);
}

/* Options for the frames of stacks and their names. */
static void add_frames(enum options_command command, struct options_parsing *parsing,
		       struct options_table *table)
{
	struct options *options = parsing->options;
	const struct command_row rows[] = {
		{OPTIONS_RECORD,
		 {"all-frames", 0, ARG_FLAG, NULL,
		  "keep the interpreter's own frames between a program's functions",
		  &options->all_frames}},
		{OPTIONS_HEAP,
		 {"all-frames", 0, ARG_FLAG, NULL,
		  "keep the allocator's own frames (malloc, operator new), and the interpreter's "
		  "between a program's functions; by default, the caller of the allocator is the "
		  "leaf",
		  &options->all_frames}},
		{BOTH,
		 {"no-native", 0, ARG_CLEAR, NULL,
		  "where a stack has Python, PHP, Ruby, Perl or JavaScript functions, leave its "
		  "other "
		  "frames "
		  "out",
		  &options->native}},
		{BOTH,
		 {"no-python", 0, ARG_CLEAR, NULL,
		  "do not read Python's stacks: show the interpreter's functions",
		  &options->python}},
		{BOTH,
		 {"no-php", 0, ARG_CLEAR, NULL,
		  "do not read PHP's stacks: show the interpreter's functions", &options->php}},
		{BOTH,
		 {"no-v8", 0, ARG_CLEAR, NULL, "do not read the functions of JavaScript: show V8's",
		  &options->v8}},
		{BOTH,
		 {"no-ruby", 0, ARG_CLEAR, NULL,
		  "do not read Ruby's stacks: show the interpreter's functions", &options->ruby}},
		{BOTH,
		 {"no-perl", 0, ARG_CLEAR, NULL,
		  "do not read Perl's stacks: show the interpreter's functions", &options->perl}},
		{BOTH,
		 {"no-lines", 0, ARG_CLEAR, NULL,
		  "name functions only: no source files, lines, or inlined functions",
		  &options->lines}},
		{BOTH,
		 {"no-inlines", 0, ARG_CLEAR, NULL,
		  "count inlined functions as the function they were compiled into",
		  &options->inlines}},
		{BOTH,
		 {"symbolize-timeout", 0, ARG_DURATION, "TIME",
		  "spend at most TIME on looking up names, heaviest addresses first (default "
		  "10s)",
		  &options->symbolize_timeout_ns}},
		{BOTH,
		 {"allow-empty", 0, ARG_FLAG, NULL,
		  "write a file even if it is empty, and exit with 0", &options->allow_empty}},
	};

	add_rows(command, rows, ARRAY_SIZE(rows), table);
}

static void add_others(enum options_command command, struct options_parsing *parsing,
		       struct options_table *table)
{
	struct options *options = parsing->options;
	const struct command_row rows[] = {
		{BOTH, ARG_GROUP("Other options")},
		{BOTH,
		 {"debug-dir", 0, ARG_FILES, "DIR",
		  "look for separate debug files in DIR first, by build-id "
		  "(DIR/.build-id/ab/cdef.debug) or name; may be given several times",
		  &parsing->debug_dirs}},
		{BOTH,
		 {"debuginfod", 0, ARG_MAYBE_TEXT, "URL",
		  "download debug files that are missing, by build-id, from the debuginfod server "
		  "at URL, by default from those in DEBUGINFOD_URLS",
		  &options->debuginfod}},
		{BOTH,
		 {"debuginfod-timeout", 0, ARG_DURATION, "TIME",
		  "spend at most TIME on downloads, and a fifth of it on each file (default 10s)",
		  &options->debuginfod_timeout_ns}},
		{BOTH,
		 {"no-cache", 0, ARG_FLAG, NULL,
		  "look up all names: do not use the cache of names (~/.cache/cprof)",
		  &options->no_cache}},
		{BOTH,
		 {"no-sandbox", 0, ARG_FLAG, NULL,
		  "open and parse the targets' files in this process, with all its privileges: "
		  "unsafe, for "
		  "debugging only",
		  &options->no_sandbox}},
		{BOTH,
		 {"verbose", 'v', ARG_FLAG, NULL, "print details, and the kernel's messages",
		  &options->verbose}},
		{BOTH, {"limit", 0, ARG_CALL(parse_limit, NULL), "NAME=N", NULL, &options->limits}},
		{OPTIONS_RECORD, {"captures", 0, ARG_FILE, "FILE", NULL, &options->captures}},
	};

	add_rows(command, rows, ARRAY_SIZE(rows), table);
}

void options_table_make(enum options_command command, struct options_parsing *parsing,
			struct options_table *table)
{
	table->nr = 0;
	add_targets(command, parsing, table);
	add_sampling(command, parsing->options, table);
	add_output(command, parsing, table);
	add_values(command, parsing, table);
	add_frames(command, parsing, table);
	add_others(command, parsing, table);
}
