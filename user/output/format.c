// SPDX-License-Identifier: BSD-2-Clause
/*
 * One table, whose order is that of `--help`; its first row is the default. Encoders that need
 * more than a sample type get it from small functions here, so that all rows have one signature.
 */
#include "output/format.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "output/afdo.h"
#include "output/flame.h"
#include "output/flamesvg.h"
#include "output/folded.h"
#include "output/gecko.h"
#include "output/heaptext.h"
#include "output/legacy.h"
#include "output/pprof.h"
#include "output/speedscope.h"
#include "output/text.h"
#include "profile/algebra.h"

static int encode_proto(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx)
{
	(void)type;
	return pprof_encode(profile, sink, ctx);
}

static int encode_plain(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx)
{
	(void)type;
	return pprof_encode_plain(profile, sink, ctx);
}

/* What was sampled, unscaled, where it is known; else the samples. */
static int encode_legacy(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx)
{
	return profile->records.nr ? legacy_encode(profile, type, sink, ctx)
				   : heaptext_encode(profile, type, false, sink, ctx);
}

static int encode_text(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx)
{
	return profile->records.nr ? text_encode(profile, type, sink, ctx)
				   : heaptext_encode(profile, type, true, sink, ctx);
}

static int encode_html(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx)
{
	return flame_html_encode(profile, &(struct flame_options){.type = type}, sink, ctx);
}

static int encode_svg(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx)
{
	return flame_svg_encode(profile, &(struct flame_options){.type = type}, sink, ctx);
}

#define NO_NEGATIVE "it has negative values (it is a difference), which this format does not know"

#define NO_LINES                                                                              \
	"it is of a heap, has negative values, or no sample of a function of which is known " \
	"where it begins "                                                                    \
	"(record a program that was compiled with -g, or clang -g1 -fdebug-info-for-profiling)"

static const struct output_format formats[] = {
	{"proto", {".pb.gz", ".pprof", ".gz"}, encode_proto, NULL, false, false, true},
	{"proto-plain", {".pb"}, encode_plain, NULL, false, false, true},
	{"legacy", {".heap", ".legacy"}, encode_legacy, NO_NEGATIVE, true, false, false},
	{"text", {".txt"}, encode_text, NO_NEGATIVE, true, false, false},
	{"folded",
	 {".folded", ".folded.txt", ".collapsed"},
	 folded_encode,
	 NULL,
	 false,
	 true,
	 false},
	{"speedscope", {".speedscope.json"}, speedscope_encode, NO_NEGATIVE, false, false, false},
	{"gecko", {".gecko.json"}, gecko_encode, NULL, false, false, false},
	{"html", {".html", ".htm"}, encode_html, NULL, false, false, false},
	{"svg", {".svg"}, encode_svg, NULL, false, false, false},
	{"afdo", {".afdo.txt", ".afdo"}, afdo_encode, NO_LINES, false, true, false},
};

#define NR_FORMATS (sizeof(formats) / sizeof(formats[0]))

const struct output_format *format_of_path(const char *path, const char **suffix)
{
	const struct output_format *best = NULL;
	size_t len = strlen(path), longest = 0;

	for (size_t i = 0; i < NR_FORMATS; i++)
		for (size_t j = 0; j < FORMAT_MAX_SUFFIXES && formats[i].suffixes[j]; j++) {
			size_t suffix_len = strlen(formats[i].suffixes[j]);

			if (suffix_len > len || suffix_len <= longest ||
			    strcasecmp(path + len - suffix_len, formats[i].suffixes[j]))
				continue;
			longest = suffix_len;
			best = &formats[i];
		}
	if (suffix)
		*suffix = path + len - longest;
	return best;
}

bool format_is_foreign(const char *path)
{
	static const char *const suffixes[] = {".csv",	".dot", ".gif", ".gv",	".jpg",
					       ".json", ".md",	".pdf", ".png", ".ps",
					       ".tsv",	".xml", ".yaml"};
	size_t len = strlen(path);

	if (format_of_path(path, NULL))
		return false;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t suffix_len = strlen(suffixes[i]);

		if (suffix_len < len && !strcasecmp(path + len - suffix_len, suffixes[i]))
			return true;
	}
	return false;
}

const struct output_format *format_by_name(const char *name)
{
	for (size_t i = 0; i < NR_FORMATS; i++)
		if (!strcmp(name, formats[i].name))
			return &formats[i];
	return NULL;
}

uint32_t format_main_type(const struct output_format *format, const struct profile *profile)
{
	const struct strtab *strings = &profile->strings;

	for (uint32_t i = 0; format->counts && i < profile->nr_types; i++)
		if (!strcmp(strtab_get(strings, profile->types[i].type), "samples") &&
		    !strcmp(strtab_get(strings, profile->types[i].unit), "count"))
			return i;
	return profile_main_type(profile);
}

const struct output_format *format_at(unsigned int i)
{
	return i < NR_FORMATS ? &formats[i] : NULL;
}

static char *join_names(char *out, size_t out_bytes, const char *between)
{
	size_t used = 0;

	*out = '\0';
	for (size_t i = 0; i < NR_FORMATS && used < out_bytes; i++)
		used += snprintf(out + used, out_bytes - used, "%s%s", i ? between : "",
				 formats[i].name);
	return out;
}

char *format_names(char *out, size_t out_bytes)
{
	return join_names(out, out_bytes, ", ");
}

const char *format_words(void)
{
	static char words[256];

	return *words ? words : join_names(words, sizeof(words), " ");
}
