// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reports are rows of a table: option, writer, and whether the file is appended to (a job's
 * summary). Files are checked before a run, since a comparison may take minutes; at most one
 * report can go to stdout, where it takes the place of the table.
 */
#include "tools/gating.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "output/folder.h"
#include "tools/load.h"
#include "tools/save.h"

void gating_init(struct gating *gating)
{
	*gating = (struct gating){.options = gate_default_options};
}

/* One of two words, or "both", or nothing was given: which of the two is left out? */
static void choose(const char *text, const char *first, const char *second, bool *no_first,
		   bool *no_second)
{
	*no_first = text && !strcmp(text, second);
	*no_second = text && !strcmp(text, first);
}

static int parse_renames(struct gating *gating)
{
	vec_for_each(&gating->rename_texts, text) {
		struct identity_rename rename;

		if (identity_parse_rename(*text, &rename))
			return fail(-EINVAL, "--rename %s: not OLD=NEW.", *text);
		vec_push(&gating->renames, rename);
	}
	return 0;
}

static const struct {
	const char *option;
	report_fn write;
	bool is_appended; /* a job's summary is one file for all of its steps, there already */
} file_rows[NR_GATING_FILES] = {
	[GATING_JSON] = {"--json", report_json, false},
	[GATING_MARKDOWN] = {"--markdown", report_markdown, true},
	[GATING_JUNIT] = {"--junit", report_junit, false},
	[GATING_SARIF] = {"--sarif", report_sarif, false},
};

static bool is_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

bool gating_has_reports(const struct gating *gating)
{
	bool any = gating->github;

	for (int i = 0; i < NR_GATING_FILES; i++)
		any |= gating->files[i] != NULL;
	return any;
}

/* What is known to fail fails before a run rather than after it. */
static int check_file(const char *path, bool is_appended)
{
	struct output_owner owner = output_owner_from_env();
	int err = is_appended ? 0 : output_file_check(path, &owner);
	return err ? output_file_fail(err, path) : 0;
}

static int check_files(const struct gating *gating)
{
	const char *to_stdout = gating->github ? "--github" : NULL;

	for (int i = 0; i < NR_GATING_FILES; i++) {
		const char *option = file_rows[i].option, *path = gating->files[i];
		int err;

		if (is_stdout(path) && to_stdout)
			return fail(-EINVAL,
				    "%s and %s cannot both go to stdout: name a file, %s=FILE.",
				    to_stdout, option, option);
		if (is_stdout(path))
			to_stdout = option;
		err = path && !is_stdout(path) ? check_file(path, file_rows[i].is_appended) : 0;
		if (err)
			return err;
	}
	return 0;
}

int gating_complete(struct gating *gating)
{
	struct gate_options *options = &gating->options;
	int err = parse_renames(gating);

	if (err)
		return err;
	choose(gating->as, "share", "absolute", &options->no_share, &options->no_absolute);
	choose(gating->measure, "flat", "cum", &options->no_flat, &options->no_cum);
	if (!(options->alpha > 0 && options->alpha < 1))
		return fail(-EINVAL, "--alpha %g: not between 0 and 1.", options->alpha);
	gating->pass_inconclusive = gating->inconclusive && !strcmp(gating->inconclusive, "pass");
	gating->identity = (struct identity){.drop_templates = gating->no_templates,
					     .renames = gating->renames.at,
					     .nr_renames = gating->renames.nr};
	return check_files(gating);
}

void gating_release(struct gating *gating)
{
	vec_for_each(&gating->renames, rename)
		identity_release_rename(rename);
	vec_release(&gating->renames);
}

int gating_add(struct gating *gating, const char *path, enum run_side side, struct runs *runs)
{
	struct profile *profile;
	uint32_t type;
	int err = load_profile(path, &profile);

	if (err)
		return err;
	err = selection_apply(&gating->selection, profile, &type);
	if (!err)
		runs_add_profile(runs, path, side, profile, type, &gating->identity);
	profile_free(profile);
	return err;
}

/* Reports ---------------------------------------------------------------------------------------- */

static int write_file(const struct gate_result *result, const struct report_options *options,
		      report_fn report, const char *path)
{
	struct save save;
	int err = save_open(&save, path);

	return err ? err : save_close(&save, report(result, options, save_write, &save));
}

static int append(void *ctx, const void *bytes, size_t len)
{
	errno = 0;
	return fwrite(bytes, 1, len, ctx) == len ? 0 : errno ? -errno : -EIO;
}

/* A new file is the user's behind sudo, as all that cprof writes. */
static void give_new_file(int fd)
{
	struct output_owner owner = output_owner_from_env();
	struct stat status;

	if (owner.given && !fstat(fd, &status) && S_ISREG(status.st_mode) && !status.st_size &&
	    fchown(fd, owner.uid, owner.gid))
		warn("cannot change the owner of the summary to the user who ran sudo: %s",
		     strerror(errno));
}

static int append_file(const struct gate_result *result, const struct report_options *options,
		       report_fn report, const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
		      0644);
	struct output_owner owner = output_owner_from_env();
	int err = fd < 0 ? -errno : output_check_shared_file(fd, path, &owner);
	FILE *file = err ? NULL : fdopen(fd, "a");

	if (!file) {
		err = err ? err : -errno;
		closep(&fd);
		return output_file_fail(err, path);
	}
	give_new_file(fd);
	err = report(result, options, append, file);
	if (fclose(file) && !err)
		err = -errno;
	return err ? output_file_fail(err, path) : 0;
}

static enum exit_code code_of(const struct gating *gating, enum gate_verdict verdict)
{
	switch (verdict) {
	case GATE_PASS:
		return EXIT_DONE;
	case GATE_REGRESSION:
		return EXIT_REGRESSION;
	case GATE_INCONCLUSIVE:
		break;
	}
	return gating->pass_inconclusive ? EXIT_DONE : EXIT_NOTHING;
}

/* What a build recorded as its folder: its sources' paths are shown from there on. */
static const char *source_root(void)
{
	const char *root = getenv("GITHUB_WORKSPACE");

	return root && *root ? root : NULL;
}

enum exit_code gating_report(const struct gating *gating, const struct gate_result *result)
{
	struct report_options options = {.source_root = source_root(), .all = gating->all};
	bool with_table = true;
	int err = 0;

	for (int i = 0; i < NR_GATING_FILES; i++)
		with_table &= !is_stdout(gating->files[i]);
	if (with_table)
		err |= write_file(result, &options, report_text, "-");
	if (gating->github && !err) /* what cannot be written is said once */
		err = write_file(result, &options, report_github, "-");
	for (int i = 0; i < NR_GATING_FILES; i++) {
		const char *path = gating->files[i];

		if (path && file_rows[i].is_appended && !is_stdout(path))
			err |= append_file(result, &options, file_rows[i].write, path);
		else if (path)
			err |= write_file(result, &options, file_rows[i].write, path);
	}
	return err ? EXIT_USAGE : code_of(gating, result->verdict);
}
