// SPDX-License-Identifier: BSD-2-Clause
/*
 * A head has no separators that a thread's name could not contain. So the end of the name is searched: at every word that
 * begins like a number, the rest of the line is tried as pid, cpu, time, period and event, and the first place where
 * all of it fits is taken.
 *
 * Rejected: one regex for the line; POSIX regexes are greedy, and which words are the name's depends on all that follows.
 */
#include "input/perfscript_head.h"

#include <ctype.h>
#include <string.h>

/* "5213.123456:" */
static bool take_time(struct text *line, uint64_t *time_ns)
{
	int64_t seconds;
	uint64_t scale = 1000000000, fraction = 0;
	struct text rest = *line;

	if (!text_take_int(&rest, &seconds) || seconds < 0 || seconds > INT64_MAX / 2000000000 ||
	    !text_take(&rest, '.'))
		return false;
	while (rest.len && isdigit((unsigned char)*rest.at) && scale > 1) {
		scale /= 10;
		fraction += (*rest.at - '0') * scale;
		rest.at++, rest.len--;
	}
	if (!text_take(&rest, ':'))
		return false;
	*time_ns = seconds * 1000000000ull + fraction;
	*line = rest;
	return true;
}

/* "cpu-clock:pppH:" is cpu-clock, "sched:sched_switch:" stays as it is. */
static struct text without_modifiers(struct text event)
{
	const char *colon;
	size_t nr;

	if (event.len && event.at[event.len - 1] == ':')
		event.len--;
	colon = memrchr(event.at, ':', event.len);
	nr = colon ? event.at + event.len - colon - 1 : 0;
	for (size_t i = 0; i < nr; i++)
		if (!strchr("ukhpPGHSDIeW", colon[1 + i]))
			return event;
	return colon ? (struct text){event.at, colon - event.at} : event;
}

/* What follows comm: "pid[/tid] [cpu] time: period event:". */
static bool take_columns(struct text line, struct perfscript_head *head)
{
	struct text rest, token;
	int64_t cpu;

	if (!text_take_int(&line, &head->pid) || head->pid < -1)
		return false;
	head->tid = head->pid;
	if (text_take(&line, '/') && !text_take_int(&line, &head->tid))
		return false;
	if (!line.len || !isspace((unsigned char)*line.at))
		return false;
	text_skip_spaces(&line);
	if (text_take(&line, '[') && (!text_take_int(&line, &cpu) || !text_take(&line, ']')))
		return false;
	text_skip_spaces(&line);
	if (!take_time(&line, &head->time_ns))
		return false;
	text_skip_spaces(&line);
	rest = line;
	head->period = 0;
	if (text_take_int(&rest, &head->period) && rest.len && isspace((unsigned char)*rest.at))
		line = rest;
	else
		head->period = 0;
	if (head->period < 0 || !text_take_token(&line, &token) || token.at[token.len - 1] != ':')
		return false;
	head->event = without_modifiers(token);
	head->rest = line;
	return true;
}

bool perfscript_head_parse(struct text line, struct perfscript_head *head)
{
	line = text_trim(line);
	for (size_t i = 1; i < line.len; i++) {
		if (!isspace((unsigned char)line.at[i - 1]) ||
		    !(isdigit((unsigned char)line.at[i]) || line.at[i] == '-'))
			continue;
		if (!take_columns((struct text){line.at + i, line.len - i}, head))
			continue;
		head->comm = text_trim((struct text){line.at, i});
		return true;
	}
	return false;
}
