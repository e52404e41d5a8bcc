// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whether the output can be written is checked before sampling begins (a temporary file is created beside -o FILE and
 * removed, a folder is created): a run of an hour must not fail at its end because a folder is missing. In -o FILE a suffix that a format
 * knows is set aside, further words are added to the stem, and the suffix is put back.
 */
#include "record/outpath.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "output/file.h"
#include "output/folder.h"
#include "output/format.h"
#include "stream.h"

static const char *kind_name(const struct options *options)
{
	return options->command == OPTIONS_HEAP ? "heap" : "cpu";
}

static bool ends_in(const char *s, const char *suffix)
{
	size_t len = strlen(s), suffix_len = strlen(suffix);

	return len >= suffix_len && !strcmp(s + len - suffix_len, suffix);
}

/* The end of a path that says what is in the file; "" if it says nothing. */
static const char *suffix_of(const char *path)
{
	const char *suffix;

	format_of_path(path, &suffix);
	return suffix;
}

/* Is -o to be a folder? One that is there, or a name that can only mean one. */
static bool means_folder(const struct options *options, const char *path)
{
	struct stat st;

	if (output_is_stdout(path))
		return false;
	if (!stat(path, &st))
		return S_ISDIR(st.st_mode);
	return ends_in(path, "/") || (options->all && !*suffix_of(path));
}

static char *default_folder(const struct options *options)
{
	time_t now = clock_realtime_ns() / NSEC_PER_SEC;
	struct tm tm;
	char stamp[32];

	gmtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm);
	return xasprintf("cprof.%s.%s", kind_name(options), stamp);
}

/* Refuses to write pprof's format, the only binary one, to a terminal. */
static int check_stdout(const struct output_format *format)
{
	if (!format->is_pprof || !isatty(STDOUT_FILENO))
		return 0;
	return fail(-EINVAL,
		    "-o -: not writing a binary profile to a terminal: use -o FILE, or a pipe.");
}

/* What -o FILE says: the files that it names, and those of further formats beside it. */
static int check_files(const struct outpath *outpath, const struct output_owner *owner)
{
	const struct options *options = outpath->options;

	vec_for_each(&options->targets, target) {
		const struct outpath_name name = {.suffix = target->format->suffixes[0],
						  .file = target->file};
		char *path scoped(freep) = NULL;
		int err;

		if (target->file && output_is_stdout(target->file)) {
			err = check_stdout(target->format);
			if (err)
				return err;
			continue;
		}
		if (target->file && means_folder(options, target->file))
			return fail(-EINVAL, "-o %s: a folder cannot be one of several outputs.",
				    target->file);
		path = outpath_path(outpath, &name);
		err = output_file_check(path, owner);
		if (err)
			return output_file_fail(err, path);
	}
	return 0;
}

static size_t nr_files(const struct options *options)
{
	size_t nr = 0;

	vec_for_each(&options->targets, target)
		nr += target->file != NULL;
	return nr;
}

int outpath_open(const struct options *options, struct outpath *outpath)
{
	struct output_owner owner = output_owner_from_env();

	*outpath = (struct outpath){.options = options, .folder_fd = -1};
	if (nr_files(options) > 1 || (options->output && !means_folder(options, options->output))) {
		outpath->file = options->output;
		return check_files(outpath, &owner);
	}
	if (!options->output && !options->all)
		return access(".", W_OK | X_OK) ? fail(-errno, "cannot write to the current folder")
						: 0;
	outpath->folder = options->output ? xstrdup(options->output) : default_folder(options);
	return output_folder_open(outpath->folder,
				  options->output ? OUTPUT_FOLDER_ANY : OUTPUT_FOLDER_NEW, &owner,
				  &outpath->folder_fd);
}

int outpath_create(const struct outpath *outpath, const char *path, struct output_file **file)
{
	struct output_owner owner = output_owner_from_env();

	if (outpath->folder)
		return output_file_create_at(outpath->folder_fd, text_base_name(path), &owner,
					     file);
	return output_file_create(path, &owner, file);
}

void outpath_release(struct outpath *outpath)
{
	if (outpath->folder)
		closep(&outpath->folder_fd);
	free(outpath->folder);
}

/* A comm as part of a file name: what is not a plain letter, digit, '.', '_' or '-' becomes '_'. */
static void plain_name(const char *comm, char *out, size_t out_bytes)
{
	size_t i;

	for (i = 0; comm[i] && i + 1 < out_bytes; i++) {
		bool plain = isalnum((unsigned char)comm[i]) || comm[i] == '_' || comm[i] == '-' ||
			     (comm[i] == '.' && i);

		out[i] = plain ? comm[i] : '_';
	}
	out[i] = '\0';
}

/* What all files of this process, or of all, begin with; *suffix is what FILE itself ends in. */
static char *stem_of(const struct outpath *outpath, const struct outpath_name *name,
		     const char **suffix)
{
	const char *folder = outpath->folder, *file = name->file ? name->file : outpath->file;
	char comm[COMM_BYTES], turn[16] = "";

	*suffix = "";
	if (name->turn)
		snprintf(turn, sizeof(turn), "-%u",
			 name->turn + 1); /* no ".2": that is a window of time */
	if (outpath->file) {
		*suffix = suffix_of(file);
		if (!name->tgid)
			return xasprintf("%.*s", (int)(*suffix - file), file);
		return xasprintf("%.*s.%u%s", (int)(*suffix - file), file, name->tgid, turn);
	}
	plain_name(name->comm ? name->comm : "", comm, sizeof(comm));
	return xasprintf("%s%scprof.%s.%s.%u%s", folder ? folder : "",
			 folder && !ends_in(folder, "/") ? "/" : "", kind_name(outpath->options),
			 comm, name->tgid, turn);
}

char *outpath_path(const struct outpath *outpath, const struct outpath_name *name)
{
	const char *own, *suffix = name->suffix;
	char *stem scoped(freep) = stem_of(outpath, name, &own);
	char number[16] = "";

	if (name->number)
		snprintf(number, sizeof(number), ".%u", name->number);
	if (outpath->file && name->file)
		suffix = own;
	return xasprintf("%s%s%s%s%s", stem, name->view ? "." : "", name->view ? name->view : "",
			 number, suffix);
}
