/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A builder over this very process and a child of it, for the tests of profile/builder. For cmocka
 * tests only, which include its headers first.
 */
#ifndef CPROF_TESTS_BUILDER_CASE_H
#define CPROF_TESTS_BUILDER_CASE_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "record/builder.h"
#include "temp.h"
#include "unit/judge.h"
#include "unit/parser_case.h"

#define PERIOD_NS  10101010
#define RATE_BYTES (512 * 1024)
#define NR(array)  (sizeof(array) / sizeof(*(array)))

struct fixture {
	struct files *files;
	struct tasks *tasks;
	struct parser *parser;
	struct symbolizer *symbolizer;
	struct builder *builder;
	pid_t child; /* another process, of the same program */
	char *file;  /* for what is judged */
};

static __attribute__((noinline, unused)) void leaf_function(void)
{
	__asm__ volatile("nop; nop; nop; nop");
}

static __attribute__((noinline, unused)) void calling_function(void)
{
	__asm__ volatile("nop; nop; nop; nop; nop");
}

static const uint64_t __attribute__((unused))
kernel_ips[] = {0xffffffff81000110, 0xffffffff81000220};
static uint64_t user_ips[2];

static inline int set_up(void **state)
{
	struct fixture *fixture = xcalloc(1, sizeof(*fixture));

	user_ips[0] = (uintptr_t)leaf_function + 1;
	user_ips[1] = (uintptr_t)calling_function + 2;
	fixture->files = files_new("/proc");
	fixture->tasks = tasks_new("/proc", fixture->files);
	fixture->parser = parser_case_open();
	fixture->symbolizer = symbolizer_new(fixture->tasks, fixture->files, fixture->parser);
	fixture->file = temp_path("built.pb.gz");
	fixture->child = fork();
	if (!fixture->child) {
		pause();
		_exit(0);
	}
	*state = fixture;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *fixture = *state;

	kill(fixture->child, SIGKILL);
	waitpid(fixture->child, NULL, 0);
	free(fixture->file);
	builder_free(fixture->builder);
	symbolizer_free(fixture->symbolizer);
	parser_close(fixture->parser);
	tasks_free(fixture->tasks);
	files_free(fixture->files);
	free(fixture);
	return 0;
}

static inline struct builder *start(struct fixture *fixture, enum profile_kind kind, bool threads)
{
	struct builder_options options = {
		.kind = kind,
		.period = kind == PROFILE_CPU ? PERIOD_NS : RATE_BYTES,
		.threads = threads,
	};

	fixture->builder = builder_new(&options, fixture->tasks);
	return fixture->builder;
}

/* A record of this process, user frames only. */
static inline struct record own_record(uint64_t id)
{
	return (struct record){.id = id,
			       .tgid = getpid(),
			       .time_ns = clock_monotonic_ns(),
			       .comm = "own",
			       .user_ips = user_ips,
			       .nr_user = NR(user_ips)};
}

static inline void take(struct builder *builder, const struct record *record, uint64_t nr_taken,
			uint64_t nr_freed)
{
	struct count count = {.id = record->id, .nr_taken = nr_taken, .nr_freed = nr_freed};

	builder_record(builder, record);
	builder_count(builder, &count);
}

static inline struct built build_view(struct fixture *fixture, const struct process *process,
				      enum heap_view view)
{
	struct build_order order = {.process = process,
				    .time_ns = clock_realtime_ns(),
				    .duration_ns = view == VIEW_INUSE ? 0 : 1000000000,
				    .comment = "cprof test",
				    .view = view,
				    .variances = view == VIEW_DELTA,
				    .records = view == VIEW_DELTA};
	struct built built;

	builder_build(fixture->builder, fixture->symbolizer, &order, &built);
	return built;
}

static inline struct built build(struct fixture *fixture, const struct process *process)
{
	return build_view(fixture, process, VIEW_ALL);
}

#endif
