// SPDX-License-Identifier: BSD-2-Clause
#include "intake.h"

#define MOST_LOOKS 8 /* for new code, one after the other */

static void on_event(void *ctx, const struct task_event *event)
{
	struct intake *intake = ctx;

	tasks_apply(intake->tasks, event);
	unwinder_event(intake->unwinder, event);
}

static void on_record(void *ctx, const struct record *record)
{
	struct intake *intake = ctx;
	struct record whole = *record;

	if (record->copy)
		unwinder_complete(intake->unwinder, &whole);
	if (record->capture)
		captures_write(intake->captures, record, &whole);
	unwinder_name(intake->unwinder, &whole);
	builder_record(intake->builder, &whole);
}

static void on_count(void *ctx, const struct count *count)
{
	struct intake *intake = ctx;

	builder_count(intake->builder, count);
}

int intake_drain(struct intake *intake, bool *is_new)
{
	struct session_sink sink = {on_event, on_record, on_count, intake};
	bool found = false, more = true;
	int err = 0;

	/*
	 * What is mapped first: it is there at once, and samples go on while the rest is waited for.
	 * While tables are made more may have been mapped, by a dynamic linker at its work.
	 */
	for (int i = 0; !err && more && i < MOST_LOOKS; i++) {
		err = session_drain(intake->session, &sink, true);
		more = unwinder_sync(intake->unwinder);
		found = found || more;
	}
	if (!err)
		err = session_drain(intake->session, &sink, false);
	/* What is new now will bring more that is new. */
	*is_new = unwinder_sync(intake->unwinder) || found;
	return err;
}
