// SPDX-License-Identifier: BSD-2-Clause
/*
 * A run is this program again (/proc/self/exe), as record or heap, with the command below sh -c: a
 * profiler of its own for each run, so that no run inherits another's state. Its output goes to a
 * log, whose last line says why a run failed.
 */
#include "tools/replicate.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "output/file.h"

#define MAX_ARGUMENTS 16

static const char *const side_names[] = {"base", "head"};

/* Does not return. What the command prints goes where the profiler's words go: into the log. */
static void __attribute__((noreturn)) run_profiler(char **argv, int log_fd)
{
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	signal(SIGINT, SIG_DFL);
	if (null_fd >= 0 && dup2(null_fd, STDIN_FILENO) >= 0 && dup2(log_fd, STDOUT_FILENO) >= 0 &&
	    dup2(log_fd, STDERR_FILENO) >= 0)
		execv("/proc/self/exe", argv);
	_exit(EXIT_CANNOT);
}

/* Its exit code, or 128 and a signal, or -errno. */
static int spawn_and_wait(char **argv, const char *log)
{
	struct output_owner owner = output_owner_from_env();
	int log_fd = output_file_open_new(log, &owner), status;
	pid_t pid;

	if (log_fd < 0)
		return output_file_fail(log_fd, log);
	pid = fork();
	if (!pid)
		run_profiler(argv, log_fd);
	close(log_fd);
	if (pid < 0)
		return fail(-errno, "cannot fork");
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return fail(-errno, "cannot wait for the profiler");
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The last line of a log, for people: of the command, or of the profiler. "" if there is none. */
static void last_line(const char *path, bool of_profiler, char *line, size_t line_bytes)
{
	static const char prefix[] = "cprof: ";
	FILE *file scoped(fclosep) = fopen(path, "re");
	char *text scoped(freep) = NULL;
	size_t room = 0;

	*line = '\0';
	while (file && getline(&text, &room, file) > 0) {
		bool is_profilers = !strncmp(text, prefix, strlen(prefix));

		text[strcspn(text, "\n")] = '\0';
		if (*text && is_profilers == of_profiler)
			text_escape(text + (is_profilers ? strlen(prefix) : 0), line, line_bytes);
	}
}

/* Without a profile it is the profiler that failed, and its code says at what. */
static enum exit_code complain(const char *command, const char *profile, const char *log, int code)
{
	bool profiled = !access(profile, F_OK);
	char said[300], shown[300];

	last_line(log, !profiled, said, sizeof(said));
	text_escape(command, shown, sizeof(shown));
	if (!profiled && (code == EXIT_CANNOT || code == EXIT_NOTHING)) {
		warn("cannot profile '%s': %s", shown, said);
		return code;
	}
	warn("'%s' ended with exit code %d%s%s", shown, code, *said ? ": " : "", said);
	return EXIT_USAGE;
}

static enum exit_code profile_once(const struct replicate *replicate, enum run_side side,
				   const char *profile, const char *log)
{
	const char *argv[MAX_ARGUMENTS] = {"cprof", replicate->heap ? "heap" : "record", "-o",
					   profile};
	uint64_t value = replicate->heap ? replicate->rate_bytes : replicate->frequency_hz;
	char *value_text scoped(freep) = xasprintf("%lu", value);
	size_t nr = 4;
	int code;

	if (replicate->heap) {
		argv[nr++] = "--errors";
		argv[nr++] = "--follow-fork"; /* of the shell, as record does anyway */
	}
	if (value) {
		argv[nr++] = replicate->heap ? "--rate" : "-F";
		argv[nr++] = value_text;
	}
	argv[nr++] = "--";
	argv[nr++] = "sh";
	argv[nr++] = "-c";
	argv[nr++] = replicate->commands[side];
	code = spawn_and_wait((char **)argv, log);
	if (code < 0)
		return EXIT_USAGE;
	return code ? complain(replicate->commands[side], profile, log, code) : EXIT_DONE;
}

/* runs NULL: it only warms up. */
static enum exit_code one_run(const struct replicate *replicate, const char *word,
			      enum run_side side, uint32_t number, struct gating *gating,
			      struct runs *runs)
{
	char *profile scoped(freep) =
		xasprintf("%s/%s.%s.%u.pb.gz", replicate->folder, word, side_names[side], number);
	char *log scoped(freep) =
		xasprintf("%s/%s.%s.%u.log", replicate->folder, word, side_names[side], number);
	enum exit_code code = profile_once(replicate, side, profile, log);

	if (code || !runs)
		return code;
	return gating_add(gating, profile, side, runs) ? EXIT_USAGE : EXIT_DONE;
}

static bool is_enough(const struct replicate *replicate, const struct gating *gating,
		      const struct runs *runs, uint32_t nr_pairs)
{
	double nr_samples[2] = {0};

	vec_for_each(&runs->at, run)
		nr_samples[run->side] += run->nr_samples;
	log_status("%u of %u pairs, %s and %s samples", nr_pairs, replicate->nr_reps,
		   text_count(nr_samples[RUN_BASE]), text_count(nr_samples[RUN_HEAD]));
	return nr_pairs >= replicate->nr_reps &&
	       nr_samples[RUN_BASE] >= gating->options.min_samples &&
	       nr_samples[RUN_HEAD] >= gating->options.min_samples;
}

static enum exit_code one_pair(const struct replicate *replicate, const char *word, uint32_t number,
			       struct gating *gating, struct runs *runs)
{
	enum run_side first = number % 2 ? RUN_BASE : RUN_HEAD;
	enum exit_code code = one_run(replicate, word, first, number, gating, runs);

	return code ? code : one_run(replicate, word, !first, number, gating, runs);
}

enum exit_code replicate(const struct replicate *replicate, const char *word, struct gating *gating,
			 struct runs *runs)
{
	uint64_t end_ns = clock_monotonic_ns() + replicate->max_time_ns;
	enum exit_code code = EXIT_DONE;
	uint32_t nr_pairs = 0;

	signal(SIGINT, SIG_IGN); /* the profiler gets it too, ends, and so do we */
	for (uint32_t i = 1; !code && i <= replicate->nr_warm_up; i++)
		code = one_pair(replicate, "warm-up", i, gating, NULL);
	while (!code && !is_enough(replicate, gating, runs, nr_pairs)) {
		if (clock_monotonic_ns() > end_ns) {
			warn("stopped by --max-time after %u pairs of runs.", nr_pairs);
			break;
		}
		code = one_pair(replicate, word, ++nr_pairs, gating, runs);
	}
	signal(SIGINT, SIG_DFL);
	return code;
}
