// SPDX-License-Identifier: BSD-2-Clause
/*
 * A signal handler removes the temporary of a file that is not finished, and then raises the
 * signal again with its default action, so that the exit status is that of the signal.
 */
#include "tools/save.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "output/pprof.h"

static void die_clean(int signal_nr)
{
	output_file_remove_temporary();
	raise(signal_nr); /* SA_RESETHAND: by default now, when this handler is left */
}

/* A file that is not whole does not stay behind, whichever of these signals ends the process. */
static void die_clean_on_signals(void)
{
	const struct sigaction action = {.sa_handler = die_clean, .sa_flags = SA_RESETHAND};
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
}

int save_open(struct save *save, const char *path)
{
	struct output_owner owner = output_owner_from_env();
	int err;

	*save = (struct save){.path = path};
	if (!path && isatty(STDOUT_FILENO))
		return fail(-EINVAL, "no output: use -o FILE, or redirect stdout.");
	if (!path || output_is_stdout(path))
		return 0;
	die_clean_on_signals();
	err = output_file_create(path, &owner, &save->file);
	return err ? output_file_fail(err, path) : 0;
}

int save_open_in(struct save *save, int folder, const char *path)
{
	struct output_owner owner = output_owner_from_env();
	int err;

	*save = (struct save){.path = path};
	die_clean_on_signals();
	err = output_file_create_at(folder, text_base_name(path), &owner, &save->file);
	return err ? output_file_fail(err, path) : 0;
}

int save_write(void *ctx, const void *bytes, size_t len_bytes)
{
	struct save *save = ctx;

	if (save->file)
		return output_file_write(save->file, bytes, len_bytes);
	return output_stdout_write(NULL, bytes, len_bytes);
}

int save_close(struct save *save, int err)
{
	bool is_file = save->file;

	if (!err && is_file)
		err = output_file_commit(save->file);
	else
		output_file_abandon(save->file);
	save->file = NULL;
	if (err && is_file)
		return output_file_fail(err, save->path);
	if (err == -EPIPE)
		return 0; /* a reader that went away is no error */
	return err ? fail(err, "cannot write to stdout") : 0;
}

void save_abandon(struct save *save)
{
	output_file_abandon(save->file);
	save->file = NULL;
}

int save_profile(const struct profile *profile, const char *path)
{
	struct save save;
	int err = save_open(&save, path);

	return err ? err : save_close(&save, pprof_encode(profile, save_write, &save));
}

int save_profile_in(const struct profile *profile, int folder, const char *path)
{
	struct save save;
	int err = save_open_in(&save, folder, path);

	return err ? err : save_close(&save, pprof_encode(profile, save_write, &save));
}
