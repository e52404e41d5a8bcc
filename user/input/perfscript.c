// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two passes over the text: the first finds the events, since the number of sample types must be
 * known before the first sample is added; the second makes samples.
 *
 * perf prints inlined functions before the frame that they are in, as lines of their own; they
 * wait in an array until that frame comes, and become its lines.
 */
#include "input/perfscript.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "input/lines.h"
#include "input/perfscript_head.h"

#define MAX_EVENTS 16
#define MAX_DEPTH  65536 /* perf itself stops at 127, or at what sysctl says */

struct event {
	struct text name;
	uint32_t type; /* of the profile; 0: it has no periods */
	bool has_periods;
};

struct perfscript {
	struct profile *profile;
	const struct source *source;
	struct input_error *error;
	struct event events[MAX_EVENTS];
	size_t nr_events;
	uint64_t first_ns, last_ns;
	int64_t period; /* of all samples; 0: not known yet, -1: not the same */
	vec_of(uint32_t) locations;
	vec_of(struct profile_line) inlined; /* lines that wait for the frame they are in */
};

/* A frame's line begins with white space, a sample's does not, but where its comm is padded. */
static bool is_frame(struct text line, uint64_t *address, struct text *rest)
{
	text_skip_spaces(&line);
	if (!text_take_hex(&line, address) || !line.len || !isspace((unsigned char)*line.at))
		return false;
	text_skip_spaces(&line);
	*rest = line;
	return line.len && line.at[line.len - 1] == ')';
}

static bool is_indented(struct text line)
{
	return line.len && isspace((unsigned char)*line.at);
}

bool perfscript_detect(const struct source *source)
{
	struct perfscript_head head;

	return perfscript_head_parse(input_first_line(source), &head);
}

/* The "(...)" that ends a frame, which may itself have some in it: "(/usr/bin/x (deleted))". */
static const char *last_group(struct text frame)
{
	int depth = 0;

	for (const char *c = frame.at + frame.len; c-- > frame.at;) {
		depth += *c == ')';
		depth -= *c == '(';
		if (!depth)
			return c;
	}
	return NULL;
}

/* "helper+0x14" without "+0x14". */
static struct text without_offset(struct text symbol)
{
	const char *plus = memrchr(symbol.at, '+', symbol.len);
	struct text offset;
	uint64_t value;

	if (!plus)
		return symbol;
	offset = (struct text){plus + 1, symbol.at + symbol.len - plus - 1};
	if (!text_starts(offset, "0x") || !text_take_hex(&offset, &value) || offset.len)
		return symbol;
	return (struct text){symbol.at, plus - symbol.at};
}

static uint32_t function_id(struct profile *profile, struct text name, bool is_symbol)
{
	uint32_t id = input_string(profile, name.at, name.len);
	struct profile_function function = {.name = id, .system_name = is_symbol ? id : 0};

	return profile_function_id(profile, &function);
}

/* "[libfoo.so.1]", for a frame of which only the file is known. */
static uint32_t nameless_function_id(struct profile *profile, struct text path)
{
	const char *slash = memrchr(path.at, '/', path.len);
	struct text base = slash ? (struct text){slash + 1, path.at + path.len - slash - 1} : path;
	char *name scoped(freep) = NULL;
	int len;

	if (base.len && *base.at == '[')
		return function_id(profile, base, false);
	name = xmalloc(base.len + 3);
	len = sprintf(name, "[%.*s]", (int)base.len, base.at);
	return function_id(profile, (struct text){name, len}, false);
}

static void add_frame(struct perfscript *script, uint64_t address, struct text frame)
{
	struct profile *profile = script->profile;
	const char *group = last_group(frame);
	struct text symbol, path;
	struct profile_line line = {0};
	struct profile_mapping mapping = {.limit = UINT64_MAX, .has_functions = true};
	struct profile_location location = {.address = address};

	if (!group || script->locations.nr == MAX_DEPTH || script->inlined.nr == MAX_DEPTH)
		return;
	symbol = without_offset(text_trim((struct text){frame.at, group - frame.at}));
	path = (struct text){group + 1, frame.at + frame.len - group - 2};
	if (text_equals(path, "inlined")) {
		line.function = function_id(profile, symbol, true);
		vec_push(&script->inlined, line);
		return;
	}
	if (!symbol.len || text_equals(symbol, "[unknown]"))
		line.function = nameless_function_id(profile, path);
	else
		line.function = function_id(profile, symbol, true);
	vec_push(&script->inlined, line);
	mapping.path = input_string(profile, path.at, path.len);
	location.mapping = profile_mapping_id(profile, &mapping);
	location.address -= script->locations.nr && address;
	location.lines = script->inlined.at;
	location.nr_lines = script->inlined.nr;
	vec_push(&script->locations, profile_location_id(profile, &location));
	script->inlined.nr = 0;
}

static struct event *event_of(struct perfscript *script, struct text name)
{
	for (size_t i = 0; i < script->nr_events; i++) {
		struct event *event = &script->events[i];

		if (event->name.len == name.len && !memcmp(event->name.at, name.at, name.len))
			return event;
	}
	return NULL;
}

static int bad_head(struct perfscript *script, const struct lines *lines)
{
	return input_fail_text(script->error, lines,
			       "not the first line of a sample of perf script");
}

/* Before the first sample can be added, all sample types must be known. */
static int find_events(struct perfscript *script, struct lines lines)
{
	struct text line, rest;
	struct perfscript_head head;
	uint64_t address;
	bool in_sample = false;

	while (lines_next(&lines, &line)) {
		struct event *event;

		if (text_is_blank(line))
			in_sample = false;
		if (text_is_comment(line) || (in_sample && is_frame(line, &address, &rest)) ||
		    (in_sample && is_indented(line)))
			continue;
		if (!perfscript_head_parse(line, &head))
			return bad_head(script, &lines);
		in_sample = true;
		event = event_of(script, head.event);
		if (!event && script->nr_events == MAX_EVENTS)
			return input_fail_line(script->error, -EFBIG, lines.nr,
					       "more than %d different events", MAX_EVENTS);
		if (!event) {
			event = &script->events[script->nr_events++];
			*event = (struct event){.name = head.event};
		}
		event->has_periods |= head.period > 0;
	}
	return 0;
}

/* Letters, digits and '_' are what every reader of profiles takes. */
static char *type_name(struct text event)
{
	char *name = xcalloc(event.len + 1, 1);

	for (size_t i = 0; i < event.len; i++) {
		unsigned char c = event.at[i];

		name[i] = isalnum(c) ? tolower(c) : '_';
	}
	return name;
}

static void set_types(struct perfscript *script)
{
	struct profile *profile = script->profile;

	profile_add_type(profile, "samples", "count");
	profile_set_period(profile, "samples", "count", 1);
	for (size_t i = 0; i < script->nr_events; i++) {
		struct event *event = &script->events[i];
		bool is_time = text_equals(event->name, "cpu-clock") ||
			       text_equals(event->name, "task-clock");
		char *name scoped(freep) = is_time ? xstrdup("cpu") : type_name(event->name);

		if (!event->has_periods)
			continue;
		event->type = profile->nr_types;
		profile_add_type(profile, name, is_time ? "nanoseconds" : "count");
		profile_set_period(profile, name, is_time ? "nanoseconds" : "count", 1);
	}
}

/* A number that is 0 and has no unit is the same as no label: the idle task has none. */
static uint32_t set_labels(struct profile *profile, const struct perfscript_head *head,
			   struct profile_label *labels)
{
	uint32_t nr = 0;

	labels[nr++] =
		(struct profile_label){.key = profile_string(profile, "comm"),
				       .str = input_string(profile, head->comm.at, head->comm.len)};
	if (head->pid)
		labels[nr++] = (struct profile_label){.key = profile_string(profile, "pid"),
						      .num = head->pid};
	if (head->tid)
		labels[nr++] = (struct profile_label){.key = profile_string(profile, "tid"),
						      .num = head->tid};
	return nr;
}

/* The sample whose head was read, with the stack that followed. */
static void end_sample(struct perfscript *script, const struct perfscript_head *head)
{
	struct profile *profile = script->profile;
	int64_t values[1 + MAX_EVENTS] = {1};
	struct profile_label labels[3];
	struct profile_sample sample = {.labels = labels, .values = values};
	uint32_t type = event_of(script, head->event)->type;

	if (!script->locations.nr)
		add_frame(script, 0, (struct text){"[unknown] (unknown)", 19});
	sample.locations = script->locations.at;
	sample.nr_locations = script->locations.nr;
	sample.nr_labels = set_labels(profile, head, labels);
	if (type)
		values[type] = head->period;
	profile_add_sample(profile, &sample);
	script->locations.nr = script->inlined.nr = 0;
	if (!script->first_ns || head->time_ns < script->first_ns)
		script->first_ns = head->time_ns;
	if (head->time_ns > script->last_ns)
		script->last_ns = head->time_ns;
	if (!script->period)
		script->period = head->period;
	else if (script->period != head->period)
		script->period = -1;
}

static int read_samples(struct perfscript *script, struct lines lines)
{
	size_t max_items = script->source->limits->max_items;
	struct text line, rest;
	struct perfscript_head head;
	uint64_t address;
	bool in_sample = false;

	while (lines_next(&lines, &line)) {
		if (in_sample && is_frame(line, &address, &rest)) {
			add_frame(script, address, rest);
			continue;
		}
		if (text_is_comment(line) ? !text_is_blank(line) : in_sample && is_indented(line))
			continue; /* a comment, or a line of source under its frame */
		if (in_sample)
			end_sample(script, &head);
		in_sample = !text_is_blank(line);
		if (in_sample && !perfscript_head_parse(line, &head))
			return bad_head(script, &lines);
		if (in_sample && is_frame(head.rest, &address, &rest))
			add_frame(script, address, rest);
		if (script->profile->samples.nr > max_items ||
		    script->profile->locations.nr > max_items)
			return input_fail_line(script->error, -EFBIG, lines.nr,
					       "too many samples or locations");
	}
	if (in_sample)
		end_sample(script, &head);
	return 0;
}

int perfscript_read(const struct source *source, struct profile *profile, struct input_error *error)
{
	struct perfscript script = {.profile = profile, .source = source, .error = error};
	struct lines lines = input_lines(source);
	int err = find_events(&script, lines);

	if (!err) {
		set_types(&script);
		err = read_samples(&script, lines);
	}
	if (!err && script.period > 0)
		profile->period = script.period;
	if (!err)
		profile->duration_ns = script.last_ns - script.first_ns;
	vec_release(&script.locations);
	vec_release(&script.inlined);
	return err;
}
