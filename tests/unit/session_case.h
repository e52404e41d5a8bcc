/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session without a kernel, for the tests of those who feed one: it keeps the unwind tables and the
 * vmas that it is given, and holds the caller to the contract of collect/session.h. A program that includes
 * this has these functions instead of those in the archive. For cmocka tests only.
 */
#ifndef CPROF_TESTS_SESSION_CASE_H
#define CPROF_TESTS_SESSION_CASE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "collect/session.h"

struct session_case_process {
	uint32_t tgid;
	vec_of(struct unwind_vma) vmas;
};

/* Zeroed: empty. */
struct session {
	vec_of(bool) tables; /* by id: is it there? */
	vec_of(struct session_case_process) processes;
	int table_err, vmas_err; /* what the next calls return */
	unsigned int nr_added, nr_removed, nr_written;
};

static inline struct session_case_process *session_case_process(struct session *session,
								uint32_t tgid)
{
	vec_for_each(&session->processes, process)
		if (process->tgid == tgid)
			return process;
	return NULL;
}

/* The vma that holds ip; NULL: none. */
static inline const struct unwind_vma *session_case_vma(struct session *session, uint32_t tgid,
							uint64_t ip)
{
	struct session_case_process *process = session_case_process(session, tgid);

	if (process)
		vec_for_each(&process->vmas, vma)
			if (vma->start <= ip && ip < vma->limit)
				return vma;
	return NULL;
}

static inline bool session_case_has_table(const struct session *session, uint32_t table)
{
	return table < session->tables.nr && session->tables.at[table];
}

static inline unsigned int session_case_nr_tables(const struct session *session)
{
	return session->nr_added - session->nr_removed;
}

int session_add_table(struct session *session, const struct table_image *image, uint32_t *table)
{
	assert_true(image->nr_pages > 0);
	assert_int_equal(image->pages[image->nr_pages], image->nr_rows);
	if (session->table_err)
		return session->table_err;
	*table = session->tables.nr;
	vec_push(&session->tables, true);
	session->nr_added++;
	return 0;
}

void session_remove_table(struct session *session, uint32_t table)
{
	assert_true(session_case_has_table(session, table));
	vec_for_each(&session->processes, process)
		vec_for_each(&process->vmas, vma)
			assert_int_not_equal(vma->table, table);
	session->tables.at[table] = false;
	session->nr_removed++;
}

static inline void session_case_check_vmas(struct session *session, const struct unwind_vma *vmas,
					   uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		assert_true(vmas[i].start < vmas[i].limit && vmas[i].limit <= 1ull << 63);
		assert_true(!i || vmas[i - 1].limit <= vmas[i].start);
		assert_true(vmas[i].table == TABLE_UNBUILT || vmas[i].table == TABLE_NO_CFI ||
			    session_case_has_table(session, vmas[i].table));
	}
}

int session_set_vmas(struct session *session, uint32_t tgid, const struct unwind_vma *vmas,
		     uint32_t nr, uint32_t runtime, struct jvm_counters counters,
		     struct vma_run *run)
{
	struct session_case_process *process = session_case_process(session, tgid);

	(void)runtime;
	(void)counters;
	assert_int_equal(run->nr, process ? process->vmas.nr : 0);
	session_case_check_vmas(session, vmas, nr);
	if (session->vmas_err)
		return session->vmas_err;
	session->nr_written++;
	if (!process) {
		vec_push(&session->processes, (struct session_case_process){.tgid = tgid});
		process = session_case_process(session, tgid);
	}
	process->vmas.nr = 0;
	for (uint32_t i = 0; i < nr; i++)
		vec_push(&process->vmas, vmas[i]);
	run->nr = nr;
	return 0;
}

int session_add_runtime(struct session *session, enum abi_runtime kind,
			const union abi_layout *layout, uint32_t *runtime)
{
	(void)session;
	(void)kind;
	(void)layout;
	*runtime = 1;
	return 0;
}

void session_remove_runtime(struct session *session, uint32_t runtime)
{
	(void)session;
	(void)runtime;
}

void session_forget_vmas(struct session *session, uint32_t tgid, struct vma_run *run)
{
	struct session_case_process *process = session_case_process(session, tgid);

	*run = (struct vma_run){0};
	if (!process)
		return;
	vec_release(&process->vmas);
	*process = session->processes.at[--session->processes.nr];
}

void session_absorb(struct session *session)
{
	(void)session;
}

static inline void session_case_release(struct session *session)
{
	vec_for_each(&session->processes, process)
		vec_release(&process->vmas);
	vec_release(&session->processes);
	vec_release(&session->tables);
}

#endif
