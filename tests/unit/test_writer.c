// SPDX-License-Identifier: BSD-2-Clause
/*
 * The files of a run, from samples that are made up of this very process and a child of it. Their content is
 * judged by tests/contract.py, their sums by our reader.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "input/input.h"
#include "record/writer.h"
#include "unit/builder_case.h"

struct run {
	struct fixture *fixture;
	char *folder; /* everything is written there */
	char *argv_text;
	struct options options;
	struct outpath outpath;
	struct tally tally;
	struct nosamples nosamples;
	struct report report;
	struct writing writing;
	struct writer writer;
};

static int run_up(void **state)
{
	struct run *run = xcalloc(1, sizeof(*run));

	run->folder = temp_folder();
	set_up((void **)&run->fixture);
	*state = run;
	return 0;
}

static int run_down(void **state)
{
	struct run *run = *state;

	writer_release(&run->writer);
	outpath_release(&run->outpath);
	options_release(&run->options);
	tear_down((void **)&run->fixture);
	free(run->argv_text);
	free(run->folder);
	free(run);
	return 0;
}

/* "record -o %s/p.pb.gz ...": begins a run whose sampling has just begun. */
static void begin(struct run *run, const char *format)
{
	char *argv[32], *save, *percent;
	bool is_heap = !strncmp(format, "heap", 4);
	uint64_t now_ns = clock_monotonic_ns();
	int argc = 0;

	run->argv_text = xstrdup(format);
	while ((percent = strstr(run->argv_text, "%s"))) {
		char *text = xasprintf("%.*s%s%s", (int)(percent - run->argv_text), run->argv_text,
				       run->folder, percent + 2);

		free(run->argv_text);
		run->argv_text = text;
	}
	for (char *word = strtok_r(run->argv_text, " ", &save); word;
	     word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	argv[argc] = NULL;
	assert_int_equal(
		options_parse(argc, argv, is_heap ? OPTIONS_HEAP : OPTIONS_RECORD, &run->options),
		0);
	assert_int_equal(outpath_open(&run->options, &run->outpath), 0);
	run->fixture->builder = builder_new(
		&(struct builder_options){
			.kind = is_heap ? PROFILE_HEAP : PROFILE_CPU,
			.period = is_heap ? run->options.rate_bytes : PERIOD_NS,
		},
		run->fixture->tasks);
	run->report = (struct report){.options = &run->options,
				      .tally = &run->tally,
				      .builder = run->fixture->builder,
				      .nosamples = &run->nosamples};
	run->writing = (struct writing){
		.symbolizer = run->fixture->symbolizer, .report = &run->report, .now_ns = now_ns};
	writer_init(&run->writer, &run->options, &run->outpath, run->fixture->builder, now_ns);
}

/* pid was sampled nr times; heap: so many blocks of 64 bytes, of which nr_freed are gone. */
static void sampled(struct run *run, pid_t pid, uint64_t nr, uint64_t nr_freed)
{
	struct record record = own_record(pid);

	record.tgid = pid;
	record.size_bytes = run->options.command == OPTIONS_HEAP ? 64 : 0;
	take(run->fixture->builder, &record, nr, nr_freed);
}

static enum exit_code written(struct run *run, enum moment moment)
{
	run->writing.now_ns += NSEC_PER_SEC;
	return writer_write(&run->writer, moment, &run->writing);
}

static int nr_files(const struct run *run)
{
	DIR *folder = opendir(run->folder);
	int nr = 0;

	assert_non_null(folder);
	for (struct dirent *entry; (entry = readdir(folder));)
		nr += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
	closedir(folder);
	return nr;
}

static bool has_file(const struct run *run, const char *name)
{
	char *path scoped(freep) = xasprintf("%s/%s", run->folder, name);

	return !access(path, F_OK);
}

/* The sum of a value of its samples, by the type's position; the file is judged. */
static int64_t total_of(const struct run *run, const char *name, uint32_t type)
{
	char *path scoped(freep) = xasprintf("%s/%s", run->folder, name);
	struct profile *profile = NULL;
	struct input_error error;
	struct stat st;
	int64_t sum = 0;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	judge_contract(path);
	assert_int_equal(input_read(path, &input_default_limits, &profile, NULL, &error), 0);
	vec_for_each(&profile->samples, sample)
		sum += sample->values[type];
	profile_free(profile);
	return sum;
}

static void test_one_file(void **state)
{
	struct run *run = *state;
	char *path scoped(freep) = xasprintf("%s/p.pb.gz", run->folder);

	begin(run, "record -p 1 -o %s/p.pb.gz");
	sampled(run, getpid(), 5, 0);
	sampled(run, run->fixture->child, 2, 0);
	assert_int_equal(written(run, MOMENT_END), EXIT_DONE);
	assert_int_equal(nr_files(run), 1);
	assert_int_equal(total_of(run, "p.pb.gz", 0), 7); /* both are in it */
	assert_int_equal(run->writer.nr_written, 7);
	assert_string_equal(run->writer.main_file, path);
}

static void test_a_file_for_each_process(void **state)
{
	struct run *run = *state;
	char *own scoped(freep) = xasprintf("cprof.cpu.test_writer.%d.pb.gz", getpid());
	char *childs scoped(freep) =
		xasprintf("cprof.cpu.test_writer.%d.pb.gz", run->fixture->child);

	begin(run, "record -p 1 -o %s");
	sampled(run, getpid(), 5, 0);
	sampled(run, run->fixture->child, 2, 0);
	assert_int_equal(written(run, MOMENT_END), EXIT_DONE);
	assert_int_equal(nr_files(run), 2);
	assert_int_equal(total_of(run, own, 0), 5);
	assert_int_equal(total_of(run, childs, 0), 2);
	assert_int_equal(run->writer.nr_written, 7);
	assert_non_null(strstr(run->writer.main_file, own)); /* the busiest */
}

/* What was counted is in the file of its window, and in no other. */
static void test_windows(void **state)
{
	struct run *run = *state;

	begin(run, "record -p 1 -o %s/p.pb.gz");
	sampled(run, getpid(), 3, 0);
	assert_int_equal(written(run, MOMENT_SNAPSHOT), EXIT_DONE);
	sampled(run, getpid(), 2, 0);
	assert_int_equal(written(run, MOMENT_SNAPSHOT), EXIT_DONE);
	assert_int_equal(written(run, MOMENT_SNAPSHOT), EXIT_DONE);
	assert_int_equal(nr_files(run), 2); /* none of a window without a sample */
	sampled(run, getpid(), 4, 0);
	assert_int_equal(written(run, MOMENT_END), EXIT_DONE);
	assert_int_equal(nr_files(run), 3);
	assert_int_equal(total_of(run, "p.1.pb.gz", 0), 3);
	assert_int_equal(total_of(run, "p.2.pb.gz", 0), 2);
	assert_int_equal(total_of(run, "p.pb.gz", 0), 4);
	assert_int_equal(run->writer.nr_written, 9);
}

/* Of 10 blocks 4 are freed. Only the main view counts as written. */
static void test_views(void **state)
{
	struct run *run = *state;

	begin(run, "heap -p 1 --rate 1 --inuse --alloc --views -o %s/h.pb.gz");
	sampled(run, getpid(), 10, 4);
	assert_int_equal(written(run, MOMENT_END), EXIT_DONE);
	assert_int_equal(total_of(run, "h.pb.gz", 0), 10);
	assert_int_equal(total_of(run, "h.pb.gz", 2), 6);
	assert_int_equal(total_of(run, "h.inuse.pb.gz", 0), 0);
	assert_int_equal(total_of(run, "h.inuse.pb.gz", 2), 6);
	assert_int_equal(total_of(run, "h.alloc.pb.gz", 0), 10);
	assert_int_equal(run->writer.nr_written, 10);
	assert_int_equal(run->writer.nr_gone, 0);
	assert_false(run->writer.holds_nothing);
}

static void test_in_use_only(void **state)
{
	struct run *run = *state;

	begin(run, "heap -p 1 --rate 1 --inuse -o %s/h.pb.gz");
	sampled(run, getpid(), 10, 4);
	assert_int_equal(written(run, MOMENT_END), EXIT_DONE);
	assert_int_equal(nr_files(run), 1);
	assert_int_equal(total_of(run, "h.pb.gz", 2), 6);
	assert_int_equal(run->writer.nr_written, 6);
	assert_int_equal(run->writer.nr_gone, 4);
}

static void test_nothing_to_write(void **state)
{
	struct run *run = *state;

	begin(run, "record -p 1 -o %s/p.pb.gz");
	assert_int_equal(written(run, MOMENT_END), EXIT_DONE);
	assert_int_equal(nr_files(run), 0);
	assert_null(run->writer.main_file);
}

static void test_an_empty_file(void **state)
{
	struct run *run = *state;

	begin(run, "record -p 1 --allow-empty -o %s/p.pb.gz");
	run->report.main_process =
		tasks_image(run->fixture->tasks, getpid(), 0, run->writing.now_ns)->process;
	assert_int_equal(written(run, MOMENT_END), EXIT_DONE);
	assert_int_equal(nr_files(run), 1);
	assert_int_equal(total_of(run, "p.pb.gz", 0), 0);
	assert_non_null(run->writer.main_file);
}

/* Nothing is left of a file that cannot be written whole, and what was there before stays. */
static void test_no_room_for_a_file(void **state)
{
	struct run *run = *state;
	char *path scoped(freep) = xasprintf("%s/p.pb.gz", run->folder);
	struct rlimit before, small;
	enum exit_code code;
	char text[8] = "";
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs("old", file) >= 0 && !fclose(file));
	begin(run, "record -p 1 -o %s/p.pb.gz");
	sampled(run, getpid(), 5, 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){64, before.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	code = written(run, MOMENT_END);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0); /* for what the test says, too */
	assert_int_equal(code, EXIT_USAGE);
	assert_null(run->writer.main_file);
	assert_int_equal(nr_files(run), 1);
	file = fopen(path, "r");
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(text, "old");
}

/* One that fails does not keep the others from being written. */
static void test_the_others_are_written(void **state)
{
	struct run *run = *state;
	char *lost scoped(freep) = xasprintf("%s/lost", run->folder);

	assert_int_equal(mkdir(lost, 0700), 0);
	begin(run, "record -p 1 -o %s/lost/p.pb.gz -o %s/q.folded");
	sampled(run, getpid(), 5, 0);
	assert_int_equal(rmdir(lost), 0);
	assert_int_equal(written(run, MOMENT_END), EXIT_USAGE);
	assert_int_equal(nr_files(run), 1);
	assert_true(has_file(run, "q.folded"));
}

static void test_standard_output(void **state)
{
	struct run *run = *state;
	enum exit_code snapshot, end;
	int kept, full;

	fflush(stdout);
	kept = dup(STDOUT_FILENO);
	full = open("/dev/full", O_WRONLY);
	assert_true(kept >= 0 && full >= 0);
	dup2(full, STDOUT_FILENO);
	begin(run, "record -p 1 -o -");
	sampled(run, getpid(), 5, 0);
	snapshot = written(run, MOMENT_SNAPSHOT);
	end = written(run, MOMENT_END);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	close(full);
	assert_int_equal(snapshot, EXIT_DONE); /* it is one file: nothing before the end */
	assert_int_equal(end, EXIT_USAGE);
	assert_null(run->writer.main_file);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, run_up, run_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_one_file),
		CASE(test_a_file_for_each_process),
		CASE(test_windows),
		CASE(test_views),
		CASE(test_in_use_only),
		CASE(test_nothing_to_write),
		CASE(test_an_empty_file),
		CASE(test_no_room_for_a_file),
		CASE(test_the_others_are_written),
		CASE(test_standard_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
