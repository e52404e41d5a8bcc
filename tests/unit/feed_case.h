/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This very process, as those who feed BPF know it, over a session without a kernel. For cmocka tests
 * only, which include its headers first.
 */
#ifndef CPROF_TESTS_FEED_CASE_H
#define CPROF_TESTS_FEED_CASE_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "feed/tablecache.h"
#include "process/task.h"
#include "unit/parser_case.h"
#include "unit/session_case.h"

struct feed_case {
	struct session session;
	struct files *files;
	struct tasks *tasks;
	struct parser *parser;
	struct workbudget budget;
};

static inline void feed_case_init(struct feed_case *c)
{
	*c = (struct feed_case){0};
	c->files = files_new("/proc");
	c->tasks = tasks_new("/proc", c->files);
	c->parser = parser_case_open();
	assert_int_equal(tasks_snapshot(c->tasks, getpid()), 0);
}

static inline void feed_case_release(struct feed_case *c)
{
	parser_close(c->parser);
	tasks_free(c->tasks);
	files_free(c->files);
	session_case_release(&c->session);
}

/* Where code of this program is. */
#define FEED_CASE_IP ((uint64_t)(uintptr_t)feed_case_init)

/* The vma of this process that holds ip: there is one. */
static inline const struct unwind_vma *feed_case_vma(struct feed_case *c, uint64_t ip)
{
	const struct unwind_vma *vma = session_case_vma(&c->session, getpid(), ip);

	assert_non_null(vma);
	return vma;
}

#endif
