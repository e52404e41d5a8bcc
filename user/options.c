// SPDX-License-Identifier: BSD-2-Clause
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/optiontext.h"
#include "base/suggest.h"
#include "output/file.h"

#define DEFAULT_HZ   99 /* not a divisor of other timers' rates: no lockstep */
#define DEFAULT_RATE (512 * 1024)
#define MAX_RATE     (1ull << 40)

/* What getopt returns for options without a letter. */
enum {
	OPT_RATE = 256,
	OPT_ALLOC_ONLY,
	OPT_FOLLOW_FORK,
	OPT_NO_CHILDREN,
	OPT_COMM,
	OPT_CGROUP,
	OPT_CONTAINER,
	OPT_UID,
	OPT_KERNEL,
	OPT_NO_KERNEL,
	OPT_LIMIT,
	OPT_CAPTURES,
	OPT_INUSE,
	OPT_ALLOC,
	OPT_DELTA,
	OPT_VIEWS,
	OPT_INTERVAL,
	OPT_FORMAT,
	OPT_ERRORS,
	OPT_ALL_FRAMES,
	OPT_ALLOW_EMPTY
};

struct option_row {
	const char *name;
	int value;
	const char *argument; /* NULL: takes none */
	int commands;	      /* enum options_command, or'ed */
	const char *help;     /* NULL: not shown */
};

#define HELP_COLUMN 29
#define BOTH	    (OPTIONS_RECORD | OPTIONS_HEAP)

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

static void print_help(enum options_command command)
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

/* While argv is read. */
struct parsing {
	struct options *options;
	vec_of(const char *) outputs;
};

/* A whole number from 1 to max, in *value. */
static int parse_number(const char *s, uint64_t max, uint64_t *value)
{
	char *end;
	unsigned long long n;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	n = strtoull(s, &end, 10);
	if (errno || *end || !n || n > max)
		return -EINVAL;
	*value = n;
	return 0;
}

static int parse_limit(const char *text, struct options_limits *limits)
{
	const struct {
		const char *name;
		uint32_t *value;
	} names[] = {{"counts", &limits->counts}, {"events", &limits->events},
		     {"live", &limits->live},	  {"inflight", &limits->inflight},
		     {"slots", &limits->slots},	  {"attach_mode", &limits->attach_mode}};
	const char *equals = strchrnul(text, '=');
	uint64_t value;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t len = strlen(names[i].name);

		if ((size_t)(equals - text) != len || strncmp(text, names[i].name, len) ||
		    !*equals || parse_number(equals + 1, 1u << 30, &value))
			continue;
		*names[i].value = value;
		return 0;
	}
	return fail(-EINVAL,
		    "--limit %s: not one of counts, events, live, inflight, slots, attach_mode =N.",
		    text);
}

/* Each once. */
static void add_target(struct options *options, const struct output_format *format,
		       const char *file)
{
	vec_for_each(&options->targets, target)
		if (!file && target->format == format)
			return;
	vec_push(&options->targets, (struct options_target){format, file});
}

static int parse_format(const char *text, struct options *options)
{
	char *copy scoped(freep) = xstrdup(text), *rest = copy, *word;
	char names[256];

	while ((word = strsep(&rest, ","))) {
		const struct output_format *format = format_by_name(word);

		if (!format)
			return fail(-EINVAL, "--format %s: not one of %s.", text,
				    format_names(names, sizeof(names)));
		add_target(options, format, NULL);
	}
	return 0;
}

static int parse_time(const char *name, const char *text, uint64_t *duration_ns)
{
	if (!clock_parse_duration(text, duration_ns))
		return 0;
	return fail(-EINVAL, "%s %s: not a duration such as 30s, 500ms or 2m.", name, text);
}

/* perf refuses to tick faster than this, by throttling: samples would go missing without a word. */
static uint64_t highest_frequency(void)
{
	FILE *file scoped(fclosep) = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	uint64_t max = 100000;

	if (file && fscanf(file, "%lu", &max) != 1)
		max = 100000;
	return max;
}

static int parse_frequency(const char *text, struct options *options)
{
	uint64_t max = highest_frequency(), hz;

	if (parse_number(text, max, &hz))
		return fail(-EINVAL,
			    "-F %s: not a rate from 1 to %lu ticks a second "
			    "(kernel.perf_event_max_sample_rate).",
			    text, max);
	options->frequency_hz = hz;
	return 0;
}

/* What a heap run writes. */
static int parse_view(int value, const char *text, struct options *options)
{
	switch (value) {
	case OPT_INUSE:
		options->views |= OPTIONS_VIEW_INUSE;
		return 0;
	case OPT_ALLOC:
		options->views |= OPTIONS_VIEW_ALLOC;
		return 0;
	case OPT_VIEWS:
		options->views |= OPTIONS_VIEW_ALL | OPTIONS_VIEW_INUSE | OPTIONS_VIEW_ALLOC;
		return 0;
	case OPT_DELTA:
		options->views |= OPTIONS_VIEW_DELTA;
		return parse_time("--delta", text, &options->delta_ns);
	case OPT_ERRORS:
		options->errors = true;
		return 0;
	case OPT_ALL_FRAMES:
		options->all_frames = true;
		return 0;
	default:
		return parse_format(text, options);
	}
}

static int parse_option(int value, const char *text, struct parsing *parsing)
{
	struct options *options = parsing->options;

	switch (value) {
	case 'p':
		return targetspec_parse(text, &options->spec);
	case 'a':
		options->all = true;
		return 0;
	case 'F':
		return parse_frequency(text, options);
	case OPT_RATE:
		if (parse_number(text, MAX_RATE, &options->rate_bytes))
			return fail(-EINVAL, "--rate %s: not a number of bytes from 1 to 2^40.",
				    text);
		return 0;
	case OPT_ALLOC_ONLY:
		options->allocs_only = true;
		return 0;
	case OPT_FOLLOW_FORK:
	case OPT_NO_CHILDREN:
		options->follow_forks = value == OPT_FOLLOW_FORK;
		return 0;
	case OPT_COMM:
		return targetspec_add_filter(&options->spec, TARGETSPEC_COMM, text);
	case OPT_UID:
		return targetspec_add_filter(&options->spec, TARGETSPEC_UID, text);
	case OPT_CGROUP:
		return targetspec_add_filter(&options->spec, TARGETSPEC_CGROUP, text);
	case OPT_CONTAINER:
		return targetspec_add_filter(&options->spec, TARGETSPEC_CONTAINER, text);
	case 'd':
		return parse_time("-d", text, &options->duration_ns);
	case 'o':
		if (!*text)
			return fail(-EINVAL, "-o: an empty name.");
		vec_push(&parsing->outputs, text);
		return 0;
	case 't':
		options->threads = true;
		return 0;
	case OPT_KERNEL:
	case OPT_NO_KERNEL:
		options->kernel_stacks = value == OPT_KERNEL;
		return 0;
	case OPT_CAPTURES:
		options->captures = text;
		return 0;
	case 'v':
		options->verbose = true;
		return 0;
	case OPT_ALLOW_EMPTY:
		options->allow_empty = true;
		return 0;
	case OPT_INTERVAL:
		return parse_time("--interval", text, &options->interval_ns);
	case OPT_LIMIT:
		return parse_limit(text, &options->limits);
	default:
		return parse_view(value, text, options);
	}
}

/*
 * --format says formats; the name that -o gives is that of the one whose suffix it bears, or of the first
 * if it bears none: no file's name says that it is of another format. Else each -o says by its suffix
 * what it is to be, and pprof is what any other name means.
 */
static void name_one(struct options *options)
{
	const struct output_format *format = options->output ? format_of_path(options->output, NULL)
							     : NULL;

	vec_for_each(&options->targets, target)
		if (target->format == format)
			target->file = options->output;
	if (!format)
		options->targets.at[0].file = options->output;
}

static int choose_targets(struct parsing *parsing)
{
	struct options *options = parsing->options;
	size_t nr = parsing->outputs.nr;

	if (nr)
		options->output = parsing->outputs.at[0];
	if (options->targets.nr) {
		name_one(options);
		return nr < 2 ? 0
			      : fail(-EINVAL, "--format goes with one -o: of several, the suffixes "
					      "say the formats.");
	}
	if (!nr)
		add_target(options, format_at(0), NULL);
	for (size_t i = 0; i < nr; i++) {
		const char *file = parsing->outputs.at[i];
		const struct output_format *format = format_of_path(file, NULL);

		for (size_t j = 0; j < i; j++)
			if (!strcmp(file, parsing->outputs.at[j]))
				return fail(-EINVAL, "-o %s is given twice.", file);
		add_target(options, format ? format : format_at(0), file);
	}
	return 0;
}

/* Is there something to write that standard output, which is one file, has no place for? */
static int check_stdout(const struct options *options)
{
	bool series = options->interval_ns || options->views & (options->views - 1) ||
		      (options->delta_ns && options->duration_ns > options->delta_ns);
	bool unnamed = false, is_stdout = false;

	vec_for_each(&options->targets, target) {
		unnamed |= !target->file;
		is_stdout |= target->file && output_is_stdout(target->file);
	}
	if (!is_stdout || (!series && !unnamed))
		return 0;
	return fail(-EINVAL, "-o - is one file: not for --interval, or several views or formats.");
}

/* What follows from several options together. */
static int complete(struct parsing *parsing)
{
	struct options *options = parsing->options;
	int err = choose_targets(parsing);

	if (err)
		return err;
	if (!options->views)
		options->views = options->allocs_only ? OPTIONS_VIEW_ALLOC : OPTIONS_VIEW_ALL;
	if (options->views & OPTIONS_VIEW_DELTA && !options->duration_ns)
		options->duration_ns = options->delta_ns;
	if (options->views & OPTIONS_VIEW_DELTA && options->duration_ns < options->delta_ns)
		return fail(-EINVAL, "--delta is longer than -d: the run would end within it.");
	return check_stdout(options);
}

static int check_targets(int argc, char **argv, struct options *options)
{
	const char *name = argv[0];
	int nr_ways = targetspec_names(&options->spec) + options->all + (optind < argc);

	if (optind < argc)
		options->child_argv = argv + optind;
	if (!nr_ways && !targetspec_filters(&options->spec))
		return fail(-EINVAL,
			    "%s whom? Give -p PID, -a, or -- COMMAND (see cprof %s --help).", name,
			    name);
	if (nr_ways > 1)
		return fail(-EINVAL, "give one of -p, -a and -- COMMAND, not several.");
	if (optind < argc && targetspec_filters(&options->spec))
		return fail(-EINVAL,
			    "--comm, --uid, --cgroup and --container choose among the processes "
			    "of the machine: not with -- COMMAND.");
	return 0;
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
static int complain(int value, char **argv, enum options_command command)
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

int options_parse(int argc, char **argv, enum options_command command, struct options *options)
{
	struct option longs[NR_ROWS + 1] = {{0}};
	char shorts[3 * NR_ROWS + 3] = "+:"; /* stop at the command; tell ':' from '?' */
	struct parsing parsing = {.options = options};
	size_t nr = 0, len = 2;
	int value, err = 0;

	*options = (struct options){
		.command = command,
		.frequency_hz = DEFAULT_HZ,
		.rate_bytes = DEFAULT_RATE,
		.kernel_stacks = command == OPTIONS_RECORD,
		.follow_forks = command == OPTIONS_RECORD,
	};
	for (size_t i = 0; i < NR_ROWS; i++) {
		if (!(rows[i].commands & command))
			continue;
		longs[nr++] =
			(struct option){rows[i].name, !!rows[i].argument, NULL, rows[i].value};
		if (rows[i].value < OPT_RATE) {
			shorts[len++] = rows[i].value;
			if (rows[i].argument)
				shorts[len++] = ':';
		}
	}
	if (argc == 2 && !strcmp(argv[1], OPTION_LISTING)) {
		print_rows(command, true);
		return 1;
	}
	optind = 0; /* GNU: begin anew, whatever was parsed before */
	opterr = 0;
	while (!err && (value = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (value == 'h') {
			print_help(command);
			vec_release(&parsing.outputs);
			return 1;
		}
		err = value == '?' || value == ':' ? complain(value, argv, command)
						   : parse_option(value, optarg, &parsing);
		/* -p $(pidof many): no command goes with -p */
		while (!err && value == 'p' && optind < argc && targetspec_is_pid(argv[optind]))
			err = targetspec_parse(argv[optind++], &options->spec);
	}
	if (!err)
		err = complete(&parsing);
	vec_release(&parsing.outputs);
	return err ? err : check_targets(argc, argv, options);
}

void options_release(struct options *options)
{
	targetspec_release(&options->spec);
	vec_release(&options->targets);
}
