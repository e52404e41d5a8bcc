// SPDX-License-Identifier: BSD-2-Clause
/*
 * A run is this program again (/proc/self/exe), as record or heap, with the command below sh -c: a profiler of its own for
 * each run, so that no run inherits another's state. Its output goes to a log, whose last line says why a run failed.
 *
 * Requests and replies are structs in pipes. An attacker who takes over the process that reads profiles can ask for another run of
 * one of the two commands, which is what they are there for, and for nothing else.
 */
#include "tools/launcher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "output/file.h"

#define MAX_ARGUMENTS	 16
#define SHOWN_BYTES	 300
#define LEAST_ROOM_BYTES (64u << 10) /* for a profile and its log */

static const char *const side_names[] = {"base", "head"};
static const char *const kind_names[] = {"warm-up", "run", "confirm"};

struct request {
	uint32_t kind, side, number;
};

struct reply {
	int32_t code;
	char message[2 * SHOWN_BYTES + 64]; /* "": there is none */
};

static char *path_of(const struct launch *launch, const struct request *request, const char *suffix)
{
	return xasprintf("%s/%s.%s.%u.%s", launch->folder, kind_names[request->kind],
			 side_names[request->side], request->number, suffix);
}

char *launch_path(const struct launch *launch, enum launch_kind kind, enum run_side side,
		  uint32_t number)
{
	return path_of(launch, &(struct request){kind, side, number}, "pb.gz");
}

/* In the launcher -------------------------------------------------------------------------------- */

/* Does not return. What the command prints goes where the profiler's words go: into the log. */
static void __attribute__((noreturn)) run_profiler(char **argv, int log_fd)
{
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
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

/* Is there room in the folder? If not, the log that would say so is missing, too. */
static bool has_room(const char *folder)
{
	struct statvfs fs;

	return statvfs(folder, &fs) || fs.f_bavail * fs.f_frsize >= LEAST_ROOM_BYTES;
}

/* Without a profile it is the profiler that failed, and its code says at what. */
static void complain(const struct launch *launch, const char *command, const char *profile,
		     const char *log, int code, struct reply *reply)
{
	bool profiled = !access(profile, F_OK);
	char said[SHOWN_BYTES], shown[SHOWN_BYTES];

	if (!profiled && !has_room(launch->folder)) {
		snprintf(reply->message, sizeof(reply->message),
			 "cannot write profiles to '%s': %s",
			 text_escape(launch->folder, shown, sizeof(shown)), strerror(ENOSPC));
		reply->code = EXIT_USAGE;
		return;
	}

	last_line(log, !profiled, said, sizeof(said));
	text_escape(command, shown, sizeof(shown));
	if (!profiled && (code == EXIT_CANNOT || code == EXIT_NOTHING)) {
		snprintf(reply->message, sizeof(reply->message), "cannot profile '%s': %s", shown,
			 said);
		reply->code = code;
		return;
	}
	snprintf(reply->message, sizeof(reply->message), "'%s' ended with exit code %d%s%s", shown,
		 code, *said ? ": " : "", said);
	reply->code = EXIT_USAGE;
}

static void profile_once(const struct launch *launch, const struct request *request,
			 struct reply *reply)
{
	char *profile scoped(freep) = path_of(launch, request, "pb.gz");
	char *log scoped(freep) = path_of(launch, request, "log");
	const char *argv[MAX_ARGUMENTS] = {"cprof", launch->heap ? "heap" : "record", "-o",
					   profile};
	uint64_t value = launch->heap ? launch->rate_bytes : launch->frequency_hz;
	char *value_text scoped(freep) = xasprintf("%lu", value);
	size_t nr = 4;
	int code;

	if (launch->heap) {
		argv[nr++] = "--errors";
		argv[nr++] = "--follow-fork"; /* of the shell, as record does anyway */
	}
	if (value) {
		argv[nr++] = launch->heap ? "--rate" : "-F";
		argv[nr++] = value_text;
	}
	argv[nr++] = "--";
	argv[nr++] = "sh";
	argv[nr++] = "-c";
	argv[nr++] = launch->commands[request->side];
	code = spawn_and_wait((char **)argv, log);
	reply->code = code ? EXIT_USAGE : EXIT_DONE;
	if (code > 0)
		complain(launch, launch->commands[request->side], profile, log, code, reply);
}

/* It is ours: nothing but files is in it. */
static void remove_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder)
		closedir(folder);
	rmdir(path);
}

/* A struct is smaller than what a pipe takes at once. */
static bool transfer_whole(ssize_t nr, size_t bytes)
{
	return nr >= 0 && (size_t)nr == bytes;
}

static void __attribute__((noreturn)) serve(const struct launch *launch, int requests, int replies)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct request request;

	/* it may outlive its parent by a run; who reads that one's output does not wait for it */
	dup2(null_fd, STDIN_FILENO);
	dup2(null_fd, STDOUT_FILENO);
	signal(SIGINT, SIG_IGN); /* the profiler gets it too, ends, and so do we */
	signal(SIGPIPE, SIG_IGN);
	while (transfer_whole(TEMP_FAILURE_RETRY(read(requests, &request, sizeof(request))),
			      sizeof(request)) &&
	       request.kind < NR_LAUNCH_KINDS && request.side <= RUN_HEAD) {
		struct reply reply = {.code = EXIT_DONE};

		profile_once(launch, &request, &reply);
		if (!transfer_whole(write(replies, &reply, sizeof(reply)), sizeof(reply)))
			break;
	}
	if (launch->is_temporary)
		remove_folder(launch->folder);
	_exit(0);
}

/* In the process that reads ---------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

void launcher_hear_interrupts(bool hears)
{
	const struct sigaction action = {.sa_handler = hears ? on_interrupt : SIG_DFL,
					 .sa_flags = SA_RESTART};

	sigaction(SIGINT, &action, NULL);
}

bool launcher_was_interrupted(void)
{
	return interrupted;
}

int launcher_start(const struct launch *launch, struct launcher *launcher)
{
	int requests[2], replies[2];
	pid_t pid;

	if (pipe2(requests, O_CLOEXEC) || pipe2(replies, O_CLOEXEC)) /* bench ends */
		return fail(-errno, "cannot create a pipe");
	pid = fork();
	if (!pid) {
		close(requests[1]);
		close(replies[0]);
		serve(launch, requests[0], replies[1]);
	}
	close(requests[0]);
	close(replies[1]);
	*launcher = (struct launcher){requests[1], replies[0]};
	if (pid > 0)
		return 0;
	launcher_stop(launcher);
	if (launch->is_temporary)
		remove_folder(launch->folder);
	return fail(-EAGAIN, "cannot fork");
}

enum exit_code launcher_run(const struct launcher *launcher, enum launch_kind kind,
			    enum run_side side, uint32_t number)
{
	const struct request request = {kind, side, number};
	struct reply reply;

	if (!transfer_whole(write(launcher->requests, &request, sizeof(request)),
			    sizeof(request)) ||
	    !transfer_whole(TEMP_FAILURE_RETRY(read(launcher->replies, &reply, sizeof(reply))),
			    sizeof(reply))) {
		warn("the process that runs the profilers is gone.");
		return EXIT_CANNOT;
	}
	if (interrupted)
		return reply.code ? EXIT_NOTHING : EXIT_DONE;
	if (*reply.message)
		warn("%s", reply.message);
	return reply.code;
}

void launcher_stop(struct launcher *launcher)
{
	char byte;

	close(launcher->requests);
	while (TEMP_FAILURE_RETRY(read(launcher->replies, &byte, 1)) > 0)
		;
	close(launcher->replies);
}
