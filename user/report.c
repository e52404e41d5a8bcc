// SPDX-License-Identifier: BSD-2-Clause
#include "report.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
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
#include "base/vec.h"
#include "output/file.h"
#include "output/pprof.h"

/* Of stacks that are not whole, shown without -v. */
#define MAX_REASONS 5

static const char *kind_name(const struct options *options)
{
	return options->command == OPTIONS_HEAP ? "heap" : "cpu";
}

static bool ends_in(const char *s, const char *suffix)
{
	size_t len = strlen(s), suffix_len = strlen(suffix);

	return len >= suffix_len && !strcmp(s + len - suffix_len, suffix);
}

/* Is -o to be a folder? One that is there, or a name that can only mean one. */
static bool means_folder(const struct options *options)
{
	const char *path = options->output;
	struct stat st;

	if (!stat(path, &st))
		return S_ISDIR(st.st_mode);
	return ends_in(path, "/") || (options->all && !ends_in(path, ".gz") &&
				      !ends_in(path, ".pb") && !ends_in(path, ".pprof"));
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

static int make_folder(const char *path, const struct output_owner *owner)
{
	if (!mkdir(path, 0700)) {
		if (owner->given && lchown(path, owner->uid, owner->gid))
			return fail(-errno, "give folder '%s' to user %u", path, owner->uid);
		return 0;
	}
	if (errno != EEXIST)
		return fail(-errno, "make folder '%s'", path);
	return access(path, W_OK | X_OK) ? fail(-errno, "write to folder '%s'", path) : 0;
}

static int complain_of_file(int err, const char *path)
{
	if (err == -ELOOP)
		return fail(err, "output '%s' is a symbolic link: give the file itself.", path);
	if (err == -EEXIST)
		return fail(err,
			    "output '%s' is there already, and is not a regular file of yours: "
			    "remove it or choose another name.",
			    path);
	return fail(err, "write '%s'", path);
}

int report_check(const struct options *options, struct report_place *place)
{
	struct output_owner owner = output_owner_from_env();
	int err;

	*place = (struct report_place){0};
	if (options->output && !means_folder(options)) {
		err = output_file_check(options->output, &owner);
		if (err)
			return complain_of_file(err, options->output);
		place->file = options->output;
		return 0;
	}
	if (!options->output && !options->all)
		return access(".", W_OK | X_OK) ? fail(-errno, "write to the current folder") : 0;
	place->folder = options->output ? xstrdup(options->output) : default_folder(options);
	return make_folder(place->folder, &owner);
}

void report_place_release(struct report_place *place)
{
	free(place->folder);
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

/* turn: how many earlier processes of this run had the same pid. */
static char *process_path(const struct report *report, const struct built_process *process,
			  unsigned int turn)
{
	const char *folder = report->place->folder;
	char comm[COMM_BYTES], number[16] = "";

	plain_name(process->comm, comm, sizeof(comm));
	if (turn)
		snprintf(number, sizeof(number), ".%u", turn + 1);
	return xasprintf("%s%scprof.%s.%s.%u%s.pb.gz", folder ? folder : "",
			 folder && !ends_in(folder, "/") ? "/" : "", kind_name(report->options),
			 comm, process->process->tgid, number);
}

/* "lost 13 (event ring full 13)", with what the builder dropped; "" if there is nothing to say. */
static uint64_t describe_losses(const struct tally *tally, const struct builder *builder,
				char *text, size_t text_bytes)
{
	char reasons[512] = "";
	uint64_t nr_lost = tally->nr_lost;
	size_t len = 0;

	for (size_t i = 0; i < tally->nr_losses && len < sizeof(reasons); i++)
		len += snprintf(reasons + len, sizeof(reasons) - len, "%s%s %s", len ? ", " : "",
				tally->losses[i].reason, text_count(tally->losses[i].nr));
	for (int i = 0; i < NR_DROP_REASONS && len < sizeof(reasons); i++) {
		uint64_t nr = builder_dropped(builder, i);

		nr_lost += nr;
		if (nr)
			len += snprintf(reasons + len, sizeof(reasons) - len, "%s%s %s",
					len ? ", " : "", drop_reason_text(i), text_count(nr));
	}
	snprintf(text, text_bytes, nr_lost ? " + lost %s (%s)" : "", text_count(nr_lost), reasons);
	return nr_lost;
}

static uint64_t nr_taken(const struct report *report)
{
	const struct tally *tally = report->tally;

	if (report->options->command == OPTIONS_HEAP)
		return tally->nr_sampled - tally->nr_failed - tally->nr_under_way;
	return tally->nr_ticks - tally->nr_filtered;
}

static char *profile_comment(const struct report *report, const struct builder *builder)
{
	const struct options *options = report->options;
	char losses[600];
	uint64_t nr_lost = describe_losses(report->tally, builder, losses, sizeof(losses));
	uint64_t taken = nr_taken(report);
	const char *how = options->command == OPTIONS_HEAP ? "heap --rate" : "record -F";
	uint64_t value = options->command == OPTIONS_HEAP ? options->rate_bytes
							  : options->frequency_hz;

	return xasprintf("cprof " CPROF_VERSION " %s %lu: taken %s = written %s%s", how, value,
			 text_count(taken), text_count(taken - nr_lost), losses);
}

static int write_profile(const struct profile *profile, const char *path)
{
	struct output_owner owner = output_owner_from_env();
	struct output_file *file;
	int err = output_file_create(path, &owner, &file);

	if (err)
		return complain_of_file(err, path);
	err = pprof_encode(profile, output_file_write, file);
	if (err) {
		output_file_abandon(file);
		return fail(err, "write '%s'", path);
	}
	err = output_file_commit(file);
	return err ? fail(err, "write '%s'", path) : 0;
}

/* What was written, in the unit that a reader would think in. */
static void say_written(const struct report *report, const char *path, const struct built *built,
			const char *of_whom)
{
	char safe[PATH_MAX];

	text_escape(path, safe, sizeof(safe));
	if (report->options->command == OPTIONS_HEAP)
		say("wrote %s: %s sampled allocations of %s", safe, text_count(built->nr_written),
		    of_whom);
	else
		say("wrote %s: %s samples of %s, %.2f s on the CPU", safe,
		    text_count(built->nr_written), of_whom,
		    (double)built->nr_written / report->options->frequency_hz);
}

/*
 * Everything that was counted in, in as many files as asked for: one call for each. process NULL:
 * all in one.
 */
static int write_one(const struct report *report, struct builder *builder,
		     struct symbolizer *symbolizer, const struct built_process *process,
		     const char *path, uint64_t *nr_written)
{
	char *comment scoped(freep) = profile_comment(report, builder);
	char of_whom[128], comm[4 * COMM_BYTES];
	struct built built;
	int err;

	builder_build(builder, symbolizer, process ? process->process : NULL, report->main_process,
		      report->duration_ns, comment, &built);
	err = write_profile(built.profile, path);
	*nr_written += built.nr_written;
	if (process)
		snprintf(of_whom, sizeof(of_whom), "%s (%u)",
			 text_escape(process->comm, comm, sizeof(comm)), process->process->tgid);
	else
		snprintf(of_whom, sizeof(of_whom), "all processes");
	if (!err)
		say_written(report, path, &built, of_whom);
	profile_free(built.profile);
	return err;
}

/* *next is the most interesting of the files, owned by the caller; NULL: none was written. */
static enum exit_code write_files(const struct report *report, struct builder *builder,
				  struct symbolizer *symbolizer, uint64_t *nr_written, char **next)
{
	enum exit_code code = EXIT_DONE;
	const struct built_process *processes;
	size_t nr;

	processes = builder_processes(builder, &nr);
	if (report->place->file) {
		if (write_one(report, builder, symbolizer, nr == 1 ? processes : NULL,
			      report->place->file, nr_written))
			return EXIT_USAGE;
		*next = xstrdup(report->place->file);
	}
	for (size_t i = 0; i < nr && !report->place->file; i++) {
		unsigned int turn = 0;
		char *path scoped(freep) = NULL;

		for (size_t j = 0; j < i; j++)
			turn += processes[j].process->tgid == processes[i].process->tgid;
		path = process_path(report, &processes[i], turn);
		if (write_one(report, builder, symbolizer, &processes[i], path, nr_written))
			code = EXIT_USAGE;
		else if (!*next)
			*next = xstrdup(path);
	}
	return code;
}

/* How whole the user stacks are, and why the others are not: the main reasons, or all with -v. */
static void say_ends(const struct report *report, struct builder *builder)
{
	const struct built_end *ends;
	uint64_t nr_all = 0, nr_whole;
	size_t nr, nr_shown;

	ends = builder_ends(builder, &nr);
	for (size_t i = 0; i < nr; i++)
		nr_all += ends[i].nr;
	nr_whole = nr ? ends[0].nr : 0;
	if (nr_whole < nr_all || log_is_verbose())
		say("stacks whole: %s of %s (%.2f %%)", text_count(nr_whole), text_count(nr_all),
		    nr_all ? 100.0 * nr_whole / nr_all : 100.0);
	nr_shown = log_is_verbose() || nr < MAX_REASONS ? nr : MAX_REASONS;
	for (size_t i = 1; i < nr_shown; i++)
		say("stacks %s: %s of %s (%.2f %%)", ends[i].why, text_count(ends[i].nr),
		    text_count(nr_all), 100.0 * ends[i].nr / nr_all);
	if (nr_shown < nr)
		say("stacks cut short for %zu other reasons (-v shows them)", nr - nr_shown);
	detail("user frames: %s", text_count(report->tally->nr_frames));
}

static void say_accounts(const struct report *report, struct builder *builder, uint64_t nr_written)
{
	const struct tally *tally = report->tally;
	char losses[600];
	uint64_t nr_lost = describe_losses(tally, builder, losses, sizeof(losses));

	if (report->options->command == OPTIONS_HEAP) {
		detail("calls %s = nested %s + not sampled %s + failed %s + under way %s + taken "
		       "%s",
		       text_count(tally->nr_calls), text_count(tally->nr_nested),
		       text_count(tally->nr_unsampled), text_count(tally->nr_failed),
		       text_count(tally->nr_under_way), text_count(nr_taken(report)));
		detail("stored %s = live %s + freed %s + gone by exec %s + frees lost %s",
		       text_count(tally->nr_stored), text_count(tally->nr_live),
		       text_count(tally->nr_freed), text_count(tally->nr_purged),
		       text_count(tally->nr_frees_lost));
	} else {
		detail("ticks %s (%s expected) = filtered %s + taken %s",
		       text_count(tally->nr_ticks), text_count(tally->nr_expected),
		       text_count(tally->nr_filtered), text_count(nr_taken(report)));
	}
	say_ends(report, builder);
	say("taken %s = written %s%s", text_count(nr_taken(report)), text_count(nr_written),
	    losses);
	if (nr_taken(report) != nr_written + nr_lost)
		warn("%s samples are not accounted for: please report this.",
		     text_count(nr_taken(report) - nr_written - nr_lost));
	if (tally->nr_events_lost)
		warn("the kernel dropped %s process events: some names may be missing.",
		     text_count(tally->nr_events_lost));
	if (tally->nr_frees_lost)
		warn("%s frees were lost: in-use values are too high by as many samples.",
		     text_count(tally->nr_frees_lost));
}

/* No sample at all: the one thing a user must not find out from an empty file. */
static enum exit_code complain_of_nothing(const struct report *report)
{
	const struct tally *tally = report->tally;
	const struct process *process = report->main_process;
	double seconds = report->duration_ns / 1e9;

	if (nr_taken(report))
		warn("all %s samples were lost.", text_count(nr_taken(report)));
	else if (report->options->command == OPTIONS_HEAP)
		warn("nothing to write: %s allocations were seen in %.1f s and none was sampled%s.",
		     text_count(tally->nr_calls), seconds,
		     tally->nr_calls ? ": a lower --rate takes more" : "");
	else if (!process)
		warn("nothing to write: no process ran on a CPU at a tick in %.1f s.", seconds);
	else
		warn("nothing to write: process %u %s in %.1f s%s.", process->tgid,
		     process->exited_ns ? "exited, and was on no CPU at a tick,"
					: "was on no CPU at a tick",
		     seconds,
		     process->exited_ns ? ": a higher -F sees more"
					: " (idle or waiting): off-CPU time is not sampled");
	return EXIT_NOTHING;
}

enum exit_code report_write(const struct report *report, struct builder *builder,
			    struct symbolizer *symbolizer)
{
	char *next scoped(freep) = NULL, safe[PATH_MAX];
	uint64_t nr_written = 0;
	enum exit_code code;
	size_t nr;

	builder_processes(builder, &nr);
	if (!nr) {
		if (nr_taken(report))
			say_accounts(report, builder, 0);
		return complain_of_nothing(report);
	}
	code = write_files(report, builder, symbolizer, &nr_written, &next);
	say_accounts(report, builder, nr_written);
	if (next)
		say("next: go tool pprof -top %s", text_escape(next, safe, sizeof(safe)));
	return code;
}
