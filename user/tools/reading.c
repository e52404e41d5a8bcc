// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who is not root may go on without a filter of system calls, as with any other reader of profiles: a crafted file could
 * then do what this user can. For root that is everything, so the command ends.
 */
#include "tools/reading.h"

#include <unistd.h>

#include "base/log.h"
#include "base/vec.h"
#include "output/file.h"
#include "sandbox/reader.h"

static const struct {
	uint32_t missing;
	const char *what;
} losses[] = {
	{CONFINE_NO_SECCOMP, "all system calls (seccomp is refused)"},
	{CONFINE_NO_CAPSET, "all capabilities of this process"},
	{CONFINE_NO_PRIVS, "programs that gain privileges (no_new_privs is refused)"},
	{CONFINE_NO_LANDLOCK, "any file of this user, which landlock would restrict (Linux 5.13)"},
};

static enum exit_code say_missing(uint32_t missing)
{
	for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
		if (!(missing & losses[i].missing))
			continue;
		if (!(missing & losses[i].missing & CONFINE_NEEDED)) {
			detail("the sandbox is incomplete: profiles are parsed with the use of %s",
			       losses[i].what);
			continue;
		}
		if (!geteuid()) {
			warn("not safe: profiles would be parsed with the use of %s. Use "
			     "--no-sandbox to continue anyway.",
			     losses[i].what);
			return EXIT_CANNOT;
		}
		warn("the sandbox is incomplete: profiles are parsed with the use of %s",
		     losses[i].what);
	}
	return EXIT_DONE;
}

enum exit_code reading_confine(const struct reading *reading, const struct args *args,
			       bool is_sudo_users)
{
	struct output_owner owner = output_owner_from_env();
	struct arg_list inputs = {0}, outputs = {0};
	struct reader_files files = {.gives_away = owner.given,
				     .uid = owner.uid,
				     .gid = owner.gid,
				     .reads_others = is_sudo_users && owner.given,
				     .asks_worker = reading->asks_worker};
	uint32_t missing;

	log_set_verbose(reading->verbose);
	if (reading->no_sandbox) {
		warn("--no-sandbox: profiles are parsed with all privileges of this process. Do "
		     "this for debugging only.");
		return EXIT_DONE;
	}
	args_files(args, &inputs, &outputs);
	if (reading->folder)
		vec_push(&outputs, reading->folder);
	files.inputs = inputs.at;
	files.nr_inputs = inputs.nr;
	files.outputs = outputs.at;
	files.nr_outputs = outputs.nr;
	missing = confine_reader(&files) | reading->worker_missing;
	vec_release(&inputs);
	vec_release(&outputs);
	return say_missing(missing);
}

bool reading_begin(const struct reading *reading, struct args *args, int argc, char **argv,
		   enum exit_code *code)
{
	if (!args_begin(args, argc, argv, code))
		return false;
	*code = reading_confine(reading, args, false);
	return !*code;
}
