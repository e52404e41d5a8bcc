// SPDX-License-Identifier: BSD-2-Clause
/*
 * Phrases are values and not allocated, so that one can be an argument of another. Escaping is two
 * steps: text_escape() makes any bytes valid text without control characters, then the characters
 * that the format gives a meaning are replaced by a table.
 */
#include "gate/phrase.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static struct phrase phrase(const char *format, ...) __attribute__((format(printf, 1, 2)));

static struct phrase phrase(const char *format, ...)
{
	struct phrase phrase;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(phrase.text, sizeof(phrase.text), format, arguments);
	va_end(arguments);
	return phrase;
}

struct scale {
	double from;
	const char *unit;
};

static struct phrase scaled(double value, const struct scale *scales, size_t nr)
{
	size_t i = 0;

	while (i + 1 < nr && fabs(value) < scales[i].from)
		i++;
	return phrase("%.4g %s", value / scales[i].from, scales[i].unit);
}

struct phrase phrase_value(const struct gate_result *result, const struct gate_test *test,
			   double value)
{
	static const struct scale times[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
	static const struct scale sizes[] = {{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}};
	char unit[64];

	if (test->quantity == GATE_SHARE)
		return phrase("%.2f %%", 100 * value);
	if (!strcmp(result->runs->unit, "nanoseconds"))
		return scaled(value, times, LENGTH(times));
	if (!strcmp(result->runs->unit, "bytes"))
		return scaled(value, sizes, LENGTH(sizes));
	if (!strcmp(result->runs->unit, "count"))
		return phrase("%.0f", value);
	return phrase("%.6g %s", value, text_escape(result->runs->unit, unit, sizeof(unit)));
}

struct phrase phrase_growth(const struct gate_test *test)
{
	return isinf(test->growth) ? phrase("new") : phrase("%+.1f %%", test->growth);
}

struct phrase phrase_interval(const struct gate_test *test)
{
	double base = test->stats.base;

	if (!(base > 0))
		return phrase("-");
	return phrase("%+.1f .. %+.1f %%", 100 * test->stats.ci_low / base,
		      100 * test->stats.ci_high / base);
}

struct phrase phrase_p(const struct gate_test *test)
{
	double p = fmin(test->p_grown, test->p_shrunk);

	return p < 1e-9 ? phrase("<1e-9") : phrase("%.2g", p);
}

struct phrase phrase_name(const struct gate_test *test)
{
	char name[160];

	return phrase("%s", test->function ? text_escape(test->function->name, name, sizeof(name))
					   : "total");
}

struct phrase phrase_subject(const struct gate_test *test)
{
	if (test->measure == GATE_TOTAL)
		return phrase("run");
	return phrase("%s %s", gate_measure_name(test->measure),
		      test->quantity == GATE_SHARE ? "share" : "per run");
}

static struct phrase amount(double value, const char *unit)
{
	return isinf(value) ? phrase("none") : phrase("+%.2g %s", value, unit);
}

struct phrase phrase_detectable(const struct gate_result *result)
{
	struct phrase total = amount(result->detectable_total, "%");
	struct phrase share = amount(result->detectable_share, "points");
	bool no_total = isnan(result->detectable_total);

	if (isnan(result->detectable_share))
		return phrase("smallest detectable change: total %.60s", total.text);
	return phrase("smallest detectable change: %s%.60s%sa function with %g %% of it %.60s",
		      no_total ? "" : "total ", no_total ? "" : total.text, no_total ? "" : "; ",
		      100 * GATE_TYPICAL_SHARE, share.text);
}

struct phrase phrase_size(const struct gate_result *result)
{
	return phrase("a head run is %.3g times as large as a base run, by its %s: shares are "
		      "corrected for it",
		      result->size_ratio, result->factor.is_known ? "typical function" : "total");
}

struct phrase phrase_runs(const struct gate_result *result)
{
	char type[64];

	return phrase("%s: %zu base run%s (%s samples), %zu head run%s (%s samples)",
		      text_escape(result->runs->type ? result->runs->type : "nothing", type,
				  sizeof(type)),
		      result->nr_runs[RUN_BASE], result->nr_runs[RUN_BASE] == 1 ? "" : "s",
		      text_count(result->nr_samples[RUN_BASE]), result->nr_runs[RUN_HEAD],
		      result->nr_runs[RUN_HEAD] == 1 ? "" : "s",
		      text_count(result->nr_samples[RUN_HEAD]));
}

struct phrase phrase_change(const struct gate_result *result, const struct gate_test *test)
{
	struct phrase base = phrase_value(result, test, test->stats.base);
	struct phrase head = phrase_value(result, test, test->stats.head);

	return phrase("%.40s from %.40s to %.40s (%.20s, 95 %% interval %.40s, adjusted p %.12s)",
		      phrase_subject(test).text, base.text, head.text, phrase_growth(test).text,
		      phrase_interval(test).text, phrase_p(test).text);
}

struct phrase phrase_move(const struct gate_move *move)
{
	char from[100], to[100];

	text_escape(move->from->name, from, sizeof(from));
	text_escape(move->to->name, to, sizeof(to));
	return phrase("%s%s is now %s%s (moved)", move->is_gone ? "" : "part of ", from,
		      move->is_all ? "" : "in ", to);
}

/* In the quotes of a shell. The caller frees it. */
static char *quoted(const char *text)
{
	char *result = xmalloc(4 * strlen(text) + 3), *out = result;

	*out++ = '\'';
	for (; *text; text++) {
		if (*text == '\'')
			out = stpcpy(out, "'\\'");
		*out++ = *text;
	}
	strcpy(out, "'");
	return result;
}

char *phrase_rename(const struct gate_move *move)
{
	const struct run_function *from = move->is_gone ? move->from : move->to;
	const struct run_function *to = move->is_gone ? move->to : move->from;
	char *text scoped(freep) = NULL, *both scoped(freep) = NULL;

	if (move->is_certain || !(move->is_gone || move->is_new))
		return NULL;
	both = xasprintf("%s=%s", from->name, to->name);
	text = quoted(both);
	return xasprintf("--rename %s", text);
}

/* Escaping --------------------------------------------------------------------------------------- */

static const struct replacement {
	char character;
	const char *by;
} xml[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&apos;"}},
  /* entities, which mean the same wherever in a table of GitHub's they stand */
	markdown[] = {{'&', "&amp;"}, {'<', "&lt;"},   {'>', "&gt;"},	{'|', "&#124;"},
		      {'`', "&#96;"}, {'*', "&#42;"},  {'_', "&#95;"},	{'[', "&#91;"},
		      {']', "&#93;"}, {'\\', "&#92;"}, {'~', "&#126;"}, {'@', "&#64;"},
		      {'#', "&#35;"}, {'!', "&#33;"},  {':', "&#58;"},	{'$', "&#36;"}},
  command[] = {{'%', "%25"}, {'\r', "%0D"}, {'\n', "%0A"}},
  property[] = {{'%', "%25"}, {'\r', "%0D"}, {'\n', "%0A"}, {':', "%3A"}, {',', "%2C"}};

static const struct {
	const struct replacement *at;
	size_t nr;
} escapes[] = {
	[ESCAPE_NONE] = {NULL, 0},
	[ESCAPE_XML] = {xml, LENGTH(xml)},
	[ESCAPE_MARKDOWN] = {markdown, LENGTH(markdown)},
	[ESCAPE_COMMAND] = {command, LENGTH(command)},
	[ESCAPE_PROPERTY] = {property, LENGTH(property)},
};

static const char *replacement_of(enum escape escape, char character)
{
	for (size_t i = 0; i < escapes[escape].nr; i++)
		if (escapes[escape].at[i].character == character)
			return escapes[escape].at[i].by;
	return NULL;
}

void put_escaped(struct text_out *out, enum escape escape, const char *text)
{
	size_t room = 4 * strlen(text) + 1;
	char *safe scoped(freep) = xmalloc(room), *from = safe;

	text_escape(text, safe, room);
	for (char *p = safe;; p++) {
		const char *by = *p ? replacement_of(escape, *p) : "";

		if (!by)
			continue;
		text_out_write(out, from, p - from);
		text_out_write(out, by, strlen(by));
		from = p + 1;
		if (!*p)
			return;
	}
}

const char *source_path(const struct report_options *options, const struct gate_test *test)
{
	const char *path = test->function ? test->function->file : "";
	size_t len = options->source_root ? strlen(options->source_root) : 0;

	while (len && options->source_root[len - 1] == '/')
		len--;
	if (len && !strncmp(path, options->source_root, len) && path[len] == '/')
		path += len + 1;
	return *path ? path : NULL;
}
