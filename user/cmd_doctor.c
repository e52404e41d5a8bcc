// SPDX-License-Identifier: BSD-2-Clause
/*
 * cprof doctor: what works on this machine, what does not, why, and what to type.
 *
 * The checks of machine/ come first. Where none of them rules a command out, its BPF programs are loaded and attached
 * as a run does it, and released again: then nothing but the target itself can stop a run.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/vec.h"
#include "cli/args.h"
#include "cmd.h"
#include "collect/session.h"
#include "exit.h"
#include "machine/machine.h"

struct row {
	const char *name;
	struct machine_finding finding;
};

struct doctor {
	vec_of(struct row) rows;
};

/* The commands that the report ends with. */
static const struct use {
	const char *name;
	enum machine_use use;
} uses[] = {
	{"record -p", MACHINE_PID},
	{"record -a", MACHINE_ALL},
	{"heap", MACHINE_HEAP},
};

static bool concerns(const struct row *row, enum machine_verdict verdict, unsigned int use)
{
	return row->finding.verdict == verdict && row->finding.uses & use;
}

/* The first row, if any, that says so of a command. */
static const struct row *find_row(const struct doctor *doctor, enum machine_verdict verdict,
				  unsigned int use)
{
	vec_for_each(&doctor->rows, row)
		if (concerns(row, verdict, use))
			return row;
	return NULL;
}

/* What it prints where it fails comes before the report, on standard error. */
static void try_session(struct doctor *doctor, enum session_source source, const char *name,
			unsigned int use)
{
	const struct session_options options = {
		.source = source,
		.frequency_hz = 99,
		.rate_bytes = 512 * 1024,
		.all = true,
		.kernel_stacks = true,
	};
	struct row row = {.name = name};
	struct session *session = NULL;
	uint64_t began_ns = clock_monotonic_ns();

	if (find_row(doctor, MACHINE_CANNOT, use))
		return;
	if (session_open(&options, &session)) {
		row.finding.verdict = MACHINE_CANNOT;
		row.finding.uses = use;
		snprintf(row.finding.why, sizeof(row.finding.why),
			 "the BPF programs cannot be loaded and attached; the message above says "
			 "why");
	} else {
		snprintf(row.finding.value, sizeof(row.finding.value),
			 "loaded and attached in %.0f ms", (clock_monotonic_ns() - began_ns) / 1e6);
	}
	session_close(session);
	vec_push(&doctor->rows, row);
}

/* The only library that cprof can be built without. */
static struct row zstd_row(void)
{
	if (CPROF_HAS_ZSTD)
		return (struct row){.name = "zstd", .finding.value = "built with libzstd"};
	return (struct row){.name = "zstd",
			    .finding = {.verdict = MACHINE_INFO,
					.value = "built without libzstd",
					.why = "debug information that is compressed with zstd "
					       "is not read",
					.remedy = "apt-get install libzstd-dev, and build again"}};
}

static void examine(struct doctor *doctor)
{
	for (size_t i = 0; i < machine_nr_checks(); i++) {
		struct row row = {.name = machine_check_name(i)};

		machine_check(i, &row.finding);
		vec_push(&doctor->rows, row);
	}
	vec_push(&doctor->rows, zstd_row());
	try_session(doctor, SESSION_CPU, "programs of record", MACHINE_RECORD);
	try_session(doctor, SESSION_HEAP, "programs of heap", MACHINE_HEAP);
}

static const char *const verdict_words[] = {
	[MACHINE_OK] = "ok",
	[MACHINE_INFO] = "info",
	[MACHINE_LOSS] = "loss",
	[MACHINE_CANNOT] = "no",
};

static const char *outcome(const struct doctor *doctor, unsigned int use)
{
	return find_row(doctor, MACHINE_CANNOT, use) ? "cannot"
	       : find_row(doctor, MACHINE_LOSS, use) ? "works with losses"
						     : "works";
}

/* For people -------------------------------------------------------------------------------------- */

#define NAME_WIDTH 23

static void print_row(const struct row *row)
{
	const struct machine_finding *f = &row->finding;

	printf("%-5s %-*s %s%s%s\n", verdict_words[f->verdict], NAME_WIDTH, row->name, f->value,
	       *f->value && *f->why ? ": " : "", f->why);
	if (*f->remedy)
		printf("%-5s %-*s -> %s\n", "", NAME_WIDTH, "", f->remedy);
}

static void print_use(const struct doctor *doctor, const struct use *use)
{
	const struct row *first = find_row(doctor, MACHINE_CANNOT, use->use);
	enum machine_verdict verdict = first ? MACHINE_CANNOT : MACHINE_LOSS;
	const char *before = ": ";

	printf("cprof %-10s %s", use->name, outcome(doctor, use->use));
	vec_for_each(&doctor->rows, row) {
		if (!concerns(row, verdict, use->use))
			continue;
		printf("%s%s", before, row->name);
		before = ", ";
	}
	putchar('\n');
	if (first && *first->finding.remedy)
		printf("%-16s -> %s\n", "", first->finding.remedy);
}

static void print_report(const struct doctor *doctor)
{
	printf("cprof %s, uid %u\n\n", CPROF_VERSION, geteuid());
	vec_for_each(&doctor->rows, row)
		print_row(row);
	putchar('\n');
	for (size_t i = 0; i < ARRAY_SIZE(uses); i++)
		print_use(doctor, &uses[i]);
	puts("other commands   work: reading profiles needs none of this");
}

/* For programs ------------------------------------------------------------------------------------ */

static void put_row(struct json *json, const struct row *row)
{
	const struct machine_finding *f = &row->finding;

	json_object(json);
	json_key(json, "name"), json_string(json, row->name);
	json_key(json, "verdict"), json_string(json, verdict_words[f->verdict]);
	json_key(json, "value"), json_string(json, f->value);
	json_key(json, "why"), json_string(json, f->why);
	json_key(json, "remedy"), json_string(json, f->remedy);
	json_key(json, "commands"), json_array(json);
	for (size_t i = 0; i < ARRAY_SIZE(uses); i++)
		if (f->uses & uses[i].use)
			json_string(json, uses[i].name);
	json_end(json);
	json_end(json);
}

static void put_names(struct json *json, const struct doctor *doctor, const char *key,
		      enum machine_verdict verdict, unsigned int use)
{
	json_key(json, key), json_array(json);
	vec_for_each(&doctor->rows, row)
		if (concerns(row, verdict, use))
			json_string(json, row->name);
	json_end(json);
}

static void put_report(struct json *json, const struct doctor *doctor)
{
	json_object(json);
	json_key(json, "version"), json_string(json, CPROF_VERSION);
	json_key(json, "uid"), json_uint(json, geteuid());
	json_key(json, "checks"), json_array(json);
	vec_for_each(&doctor->rows, row)
		put_row(json, row);
	json_end(json);
	json_key(json, "commands"), json_array(json);
	for (size_t i = 0; i < ARRAY_SIZE(uses); i++) {
		json_object(json);
		json_key(json, "name"), json_string(json, uses[i].name);
		json_key(json, "outcome"), json_string(json, outcome(doctor, uses[i].use));
		put_names(json, doctor, "losses", MACHINE_LOSS, uses[i].use);
		put_names(json, doctor, "causes", MACHINE_CANNOT, uses[i].use);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}

static int to_stdout(void *ctx, const void *bytes, size_t len_bytes)
{
	(void)ctx;
	return fwrite(bytes, 1, len_bytes, stdout) == len_bytes ? 0 : -1;
}

static enum exit_code examine_and_report(bool as_json)
{
	struct doctor doctor = {0};
	struct json json;
	bool can = true;

	examine(&doctor);
	for (size_t i = 0; i < ARRAY_SIZE(uses); i++)
		can &= !find_row(&doctor, MACHINE_CANNOT, uses[i].use);
	if (as_json) {
		json_begin(&json, to_stdout, NULL);
		put_report(&json, &doctor);
		json_finish(&json); /* main() says what could not be written */
		putchar('\n');
	} else {
		print_report(&doctor);
	}
	vec_release(&doctor.rows);
	return can ? EXIT_DONE : EXIT_CANNOT;
}

int cmd_doctor(int argc, char **argv)
{
	bool as_json = false, verbose = false;
	const struct arg_row rows[] = {
		{"json", 0, ARG_FLAG, NULL, "print one JSON object", &as_json},
		{"verbose", 'v', ARG_FLAG, NULL, "print the kernel's messages, too", &verbose},
	};
	struct args args scoped(args_release) = {
		.command = "doctor",
		.operands = "",
		.about = "Check whether cprof can record on this machine: what works, what does "
			 "not, why, and what to type. Nothing is left behind.",
		.rows = rows,
		.nr_rows = ARRAY_SIZE(rows),
		.epilog = "Exit codes: 0 record and heap work, perhaps with losses; 2 usage error; "
			  "4 one of them cannot work.",
	};
	enum exit_code code;

	if (!args_begin(&args, argc, argv, &code))
		return code;
	log_set_verbose(verbose);
	if (!verbose)
		machine_silence_libbpf();
	return examine_and_report(as_json);
}
