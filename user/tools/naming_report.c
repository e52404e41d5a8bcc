// SPDX-License-Identifier: BSD-2-Clause
/* Says what came of naming profiles after the fact. What is missing is a warning, what was found a result. */
#include "tools/naming_report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "symbolize/codenames.h"

#define MAX_SHOWN 5

void naming_report_note(struct profile *profile, const struct profilenames_counts *counts)
{
	char *note scoped(freep) = codenames_say_left_out(counts->nr_left_out, counts->nr_asked);

	if (counts->nr_left_out)
		vec_push(&profile->comments, profile_string(profile, note));
}

static void report_missing(const struct profile *profile, const struct profilenames_counts *counts)
{
	const struct profile_mapping *mapping = &profile->mappings.at[counts->missing - 1];
	const char *build_id = strtab_get(&profile->strings, mapping->build_id);
	char path[512], id[160];

	text_escape(strtab_get(&profile->strings, mapping->path), path, sizeof(path));
	text_escape(build_id, id, sizeof(id));
	warn("%s addresses have no names: their files are not here, such as '%s'%s%s (--debug-dir "
	     "names folders to look in)",
	     text_count(counts->nr_missing), path, *id ? ", build-id " : "", id);
}

void naming_report(const struct profile *profile, const char *path,
		   const struct profilenames_counts *counts)
{
	char *left_out scoped(freep) =
		codenames_say_left_out(counts->nr_left_out, counts->nr_asked);
	char name[512];

	text_escape(strcmp(path, "-") ? path : "stdin", name, sizeof(name));
	if (!counts->nr_named && !counts->nr_made_up && !counts->nr_lined)
		say("%s: nothing was added", name);
	else if (!counts->nr_made_up)
		say("%s: %s addresses have a symbol now, %s have lines", name,
		    text_count(counts->nr_named), text_count(counts->nr_lined));
	else
		say("%s: %s addresses have a symbol now, %s are named by where their function "
		    "begins "
		    "(libfoo.so+0x1234), %s have lines",
		    name, text_count(counts->nr_named), text_count(counts->nr_made_up),
		    text_count(counts->nr_lined));
	if (counts->missing)
		report_missing(profile, counts);
	if (counts->nr_changed)
		warn("%s addresses have no names: their files have changed since the profile was "
		     "taken, and it has no build-ids to find them by",
		     text_count(counts->nr_changed));
	if (counts->nr_by_path)
		warn("%s addresses were named by the files at their paths: no build-id tells "
		     "whether these are the right ones",
		     text_count(counts->nr_by_path));
	if (counts->nr_left_out)
		warn("%s (--symbolize-timeout)", left_out);
}

static const char *why_refused(int why)
{
	switch (why) {
	case -ESTALE:
		return "it is of another build";
	case -ENOEXEC:
		return "it is not a readable ELF file";
	case -ENOTSUP:
		return "it is not a regular file, or empty";
	case -EFBIG:
		return "it is larger than 4 GiB";
	default:
		return strerror(-why);
	}
}

static void report_refused(const struct localfiles *files)
{
	size_t nr = localfiles_nr_refused(files);
	char path[512];

	for (size_t i = 0; i < nr && i < MAX_SHOWN; i++) {
		const struct localfile_refusal *refused = localfiles_refused(files, i);

		warn("'%s' was not used: %s", text_escape(refused->path, path, sizeof(path)),
		     why_refused(refused->why));
	}
	if (nr > MAX_SHOWN)
		warn("nor were %s others", text_count(nr - MAX_SHOWN));
}

static void report_left_out(const struct parser *parser, const struct localfiles *files)
{
	size_t nr = parser_nr_left_out(parser);
	char path[512];

	for (size_t i = 0; i < nr && i < MAX_SHOWN; i++) {
		int err;
		uint32_t key = parser_left_out(parser, i, &err);

		warn("no names from%s '%s': %s", debugfile_is_key(key) ? " the debug file of" : "",
		     text_escape(localfiles_path(files, key), path, sizeof(path)),
		     parser_why_left_out(err));
	}
	if (nr > MAX_SHOWN)
		warn("nor from %s others", text_count(nr - MAX_SHOWN));
}

void naming_report_files(const struct parser *parser, const struct localfiles *files,
			 const struct profilenames *names)
{
	report_refused(files);
	report_left_out(parser, files);
	for (int what = 0; what < NR_CODENAMES_MISSING; what++) {
		char *text scoped(freep) = profilenames_say_missing(names, what);

		if (text)
			warn("%s", text);
	}
	if (parser_is_lost(parser))
		warn("the process that parses files was killed or stopped, and could not be "
		     "replaced: other "
		     "code has no names");
	if (localfiles_is_cut(files))
		warn("--debug-dir: not all files were searched, there are too many");
}

void naming_report_fetched(const struct fetcher *fetcher)
{
	bool failed;
	char *text scoped(freep) = fetcher ? fetcher_say(fetcher, &failed) : NULL;

	if (text && failed)
		warn("%s", text);
	else if (text)
		say("%s", text);
}
