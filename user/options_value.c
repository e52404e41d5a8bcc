// SPDX-License-Identifier: BSD-2-Clause
/*
 * Parses the argument of one option into struct options. Each number has its range here; what depends on
 * several options is checked in options_check.c, when all have been read.
 */
#include "options_parts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "output/format.h"

#define MAX_RATE (1ull << 40)

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
		    "--limit %s: not NAME=N, with NAME one of counts, events, live, inflight, "
		    "slots, attach_mode.",
		    text);
}

/* Each once. */
void options_add_target(struct options *options, const struct output_format *format,
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
		options_add_target(options, format, NULL);
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

int options_value(int value, const char *text, struct options_parsing *parsing)
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
			return fail(-EINVAL, "-o: the file name is empty.");
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
