// SPDX-License-Identifier: BSD-2-Clause
/*
 * cprof symbolize: profiles in, the same profiles with names out.
 *
 *	keeper forked -> this process confined -> for each file: read, named, written
 *
 * The keeper comes first, while this process holds nothing, and because a confined reader makes no processes.
 */
#include "tools/symbolizing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/urls.h"
#include "debuginfod/fetcher_serve.h"
#include "exit.h"
#include "output/folder.h"
#include "sandbox/confine.h"
#include "symbolize/profilenames.h"
#include "tools/load.h"
#include "tools/naming_report.h"
#include "tools/reading.h"
#include "tools/save.h"

#define TIMEOUT_NS    (10 * NSEC_PER_SEC)
#define MAX_DOWNLOADS 64
static const char suffix[] = ".pb.gz";

struct symbolizing {
	const char *output;
	bool no_lines, no_inlines, no_cache;
	uint64_t timeout_ns;
	struct arg_list debug_dirs;
	const char
		*debuginfod; /* "-": the servers of the environment; NULL: nothing is downloaded */
	uint64_t debuginfod_timeout_ns;
	vec_of(const char *) dirs; /* the same as absolute paths; owned */
	struct parser *parser;
	struct fetcher *fetcher; /* NULL: nothing is downloaded */
	struct localfiles *files;
	struct profilenames *names;
	struct namecache *cache; /* NULL: there is none */
};

/* Outputs ----------------------------------------------------------------------------------------- */

/* "x.pb.gz" of "in/x.pb.gz", "in/x" and "in/x.folded.pb.gz" of "in/x.folded". Owned by the caller. */
static char *output_name(const char *path)
{
	const char *base = strcmp(path, "-") ? text_base_name(path) : "stdin";
	size_t len = strlen(base), len_suffix = sizeof(suffix) - 1;
	bool has_suffix = len > len_suffix && !strcmp(base + len - len_suffix, suffix);

	return xasprintf("%s%s", base, has_suffix ? "" : suffix);
}

static bool is_same_file(const char *path, int folder, const char *name)
{
	struct stat in, out;

	return !stat(path, &in) && !fstatat(folder, name, &out, AT_SYMLINK_NOFOLLOW) &&
	       in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}

/* Before anything is written: each file has a name of its own in the folder, and none is an input. */
static int check_names(const struct arg_list *paths, int folder)
{
	struct strtab names = {0};
	char safe[512];
	int err = 0;

	strtab_intern(&names, "");
	for (size_t i = 0; !err && i < paths->nr; i++) {
		char *name scoped(freep) = output_name(paths->at[i]);
		size_t nr_before = strtab_nr(&names);

		text_escape(name, safe, sizeof(safe));
		strtab_intern(&names, name);
		if (strtab_nr(&names) == nr_before)
			err = fail(-EEXIST, "two of the files would be written as %s.", safe);
		for (size_t k = 0; !err && k < paths->nr; k++)
			if (is_same_file(paths->at[k], folder, name))
				err = fail(-EEXIST,
					   "-o names the folder of %s, which would be "
					   "replaced: use another folder.",
					   safe);
	}
	strtab_release(&names);
	return err;
}

/* Several files go to a folder, one does to a file. *folder: -1 for one. */
static int open_folder(const struct symbolizing *symbolizing, const struct arg_list *paths,
		       int *folder)
{
	struct output_owner owner = output_owner_from_env();
	int err;

	*folder = -1;
	if (paths->nr == 1)
		return 0;
	if (!symbolizing->output || !strcmp(symbolizing->output, "-"))
		return fail(-EINVAL, "several files are written to a folder: use -o FOLDER.");
	err = output_folder_open(symbolizing->output, OUTPUT_FOLDER_ANY, &owner, folder);
	return err ? err : check_names(paths, *folder);
}

static int write_profile(const struct symbolizing *symbolizing, const struct profile *profile,
			 const char *path, int folder)
{
	char *name scoped(freep) = NULL, *in_folder scoped(freep) = NULL;

	if (folder < 0)
		return save_profile(profile, symbolizing->output);
	name = output_name(path);
	in_folder = xasprintf("%s/%s", symbolizing->output, name);
	return save_profile_in(profile, folder, in_folder);
}

/* Files ------------------------------------------------------------------------------------------- */

static int symbolize_one(const struct symbolizing *symbolizing, const char *path, int folder)
{
	struct profilenames_counts counts;
	struct profile *profile;
	int err = load_profile(path, &profile);

	if (err)
		return err;
	profilenames_add(symbolizing->names, profile, &counts);
	naming_report_note(profile, &counts);
	err = write_profile(symbolizing, profile, path, folder);
	if (!err)
		naming_report(profile, path, &counts);
	profile_free(profile);
	return err;
}

static enum exit_code symbolize_all(struct symbolizing *symbolizing, const struct arg_list *paths)
{
	struct profilenames_options options = {.lines = !symbolizing->no_lines,
					       .inlines = !symbolizing->no_inlines,
					       .until_ns = clock_monotonic_ns() +
							   symbolizing->timeout_ns};
	struct debugfile_dirs dirs = {symbolizing->dirs.at, symbolizing->dirs.nr,
				      symbolizing->fetcher};
	enum exit_code code = EXIT_DONE;
	int folder scoped(closep) = -1;

	if (open_folder(symbolizing, paths, &folder))
		return EXIT_USAGE;
	options.cache = symbolizing->cache;
	symbolizing->files = localfiles_new(symbolizing->parser, dirs);
	symbolizing->names =
		profilenames_new(symbolizing->parser, symbolizing->files, dirs, &options);
	for (size_t i = 0; i < paths->nr; i++)
		if (symbolize_one(symbolizing, paths->at[i], folder))
			code = EXIT_USAGE;
	naming_report_files(symbolizing->parser, symbolizing->files, symbolizing->names);
	naming_report_fetched(symbolizing->fetcher);
	profilenames_free(symbolizing->names);
	localfiles_free(symbolizing->files);
	return code;
}

/* The beginning ----------------------------------------------------------------------------------- */

static int find_dirs(struct symbolizing *symbolizing)
{
	vec_for_each(&symbolizing->debug_dirs, text) {
		char *inside scoped(freep) = xasprintf("%s/.", *text);
		char *path = realpath(inside, NULL);

		if (!path)
			return fail(-EINVAL, "--debug-dir %s: %s.", *text, strerror(errno));
		vec_push(&symbolizing->dirs, path);
	}
	return 0;
}

/* Forks what downloads; its files are made before this process may make none. */
static int start_fetcher(struct symbolizing *symbolizing, uint32_t *missing)
{
	const char *urls;
	int err;

	if (!symbolizing->debuginfod)
		return 0;
	err = urls_find("--debuginfod", symbolizing->debuginfod, "DEBUGINFOD_URLS", &urls);
	if (err)
		return err;
	err = fetcher_open(fetcher_serve, urls, symbolizing->debuginfod_timeout_ns,
			   &symbolizing->fetcher);
	if (!err)
		err = fetcher_handshake(symbolizing->fetcher, missing);
	if (err || *missing & CONFINE_NEEDED)
		return fail(err ? err : -EPERM,
			    "cannot start the process that downloads debug files: %s",
			    strerror(err ? -err : EPERM));
	fetcher_prepare(symbolizing->fetcher, MAX_DOWNLOADS);
	return 0;
}

/* Forks what reads the files, and confines this process. */
static enum exit_code start(struct symbolizing *symbolizing, struct reading *reading,
			    const struct args *args, keeper_serve_fn serve)
{
	const struct peer_options options = {.serve = serve, .in_process = reading->no_sandbox};
	uint32_t missing = 0;
	int err = parser_open(&options, &symbolizing->parser);

	if (!err && start_fetcher(symbolizing, &missing))
		return EXIT_USAGE;
	if (!err)
		err = parser_meet(symbolizing->parser, &reading->worker_missing);
	if (err) {
		warn("cannot start the process that parses files: %s", strerror(-err));
		return EXIT_CANNOT;
	}
	log_set_verbose(reading->verbose);
	err = symbolizing->no_cache ? 0 : namecache_open(&symbolizing->cache);
	if (err)
		detail("there is no cache of names: %s", strerror(-err));
	if (symbolizing->cache)
		reading->folder = namecache_path(symbolizing->cache);
	reading->asks_worker = true;
	return reading_confine(reading, args, false);
}

static void symbolizing_release(struct symbolizing *symbolizing)
{
	parser_close(symbolizing->parser);
	fetcher_close(symbolizing->fetcher);
	vec_for_each(&symbolizing->dirs, dir)
		free((char *)*dir);
	vec_release(&symbolizing->dirs);
	namecache_close(symbolizing->cache);
}

int symbolizing_run(int argc, char **argv, keeper_serve_fn serve)
{
	struct symbolizing symbolizing scoped(symbolizing_release) = {
		.timeout_ns = TIMEOUT_NS, .debuginfod_timeout_ns = FETCHER_TIMEOUT_NS};
	struct reading reading = {.no_sandbox = false};
	const struct arg_row rows[] = {
		{"output", 'o', ARG_OUTPUT, "OUT",
		 "write to the file OUT; several files: to the folder OUT, under their names; - is "
		 "stdout, the default for one file unless that is a terminal",
		 &symbolizing.output},
		{"debug-dir", 0, ARG_FILES, "DIR",
		 "look for files in DIR, by build-id, whatever their names; may be given "
		 "several times",
		 &symbolizing.debug_dirs},
		{"debuginfod", 0, ARG_MAYBE_TEXT, "URL",
		 "download debug files that are missing, by build-id, from the debuginfod server "
		 "at "
		 "URL, by default from those in DEBUGINFOD_URLS",
		 &symbolizing.debuginfod},
		{"debuginfod-timeout", 0, ARG_DURATION, "TIME",
		 "spend at most TIME on downloads, and a fifth of it on each file (default 10s)",
		 &symbolizing.debuginfod_timeout_ns},
		{"no-lines", 0, ARG_FLAG, NULL,
		 "add names only: no source files, lines or inlined functions",
		 &symbolizing.no_lines},
		{"no-inlines", 0, ARG_FLAG, NULL, "add no inlined functions",
		 &symbolizing.no_inlines},
		{"symbolize-timeout", 0, ARG_DURATION, "TIME",
		 "spend at most TIME on looking up names, heaviest addresses first (default "
		 "10s)",
		 &symbolizing.timeout_ns},
		{"no-cache", 0, ARG_FLAG, NULL,
		 "look up all names: do not use the cache of names (~/.cache/cprof)",
		 &symbolizing.no_cache},
		READING_ROWS(&reading),
	};
	struct args args scoped(args_release) = {
		.command = "symbolize",
		.operands = "FILE... -o OUT",
		.needs_file = true,
		.about = "Name the code in profiles after the fact: add functions, source lines "
			 "and inlined functions from binaries and debug files of this machine, "
			 "which are found by build-id. What a profile already has is kept. Read "
			 "any format that cprof knows; write pprof (gzip-compressed "
			 "profile.proto).",
		.rows = rows,
		.nr_rows = ARRAY_SIZE(rows),
		.epilog = "Exit codes: 0 success, even if nothing was found; 2 usage error, or a "
			  "file cannot be read or written.",
	};
	enum exit_code code;

	if (!args_begin(&args, argc, argv, &code))
		return code;
	if (find_dirs(&symbolizing))
		return EXIT_USAGE;
	code = start(&symbolizing, &reading, &args, serve);
	return code ? code : symbolize_all(&symbolizing, &args.operand);
}
