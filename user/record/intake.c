// SPDX-License-Identifier: BSD-2-Clause
#include "record/intake.h"

#define MOST_LOOKS 8 /* for new code, one after the other */

static void on_event(void *ctx, const struct task_event *event)
{
	struct intake *intake = ctx;

	patience_is_over(intake->patience); /* it notices when the time is up */
	tasks_apply(intake->tasks, event);
	unwinder_event(intake->unwinder, event);
	if (intake->chooser)
		chooser_event(intake->chooser, event);
}

static bool same_id(const void *ctx, uint32_t value, const void *key)
{
	const struct intake *intake = ctx;

	return intake->unwanted.at[value] == *(const uint64_t *)key;
}

static bool is_unwanted(const struct intake *intake, uint64_t id)
{
	return hash_find(&intake->unwanted_index, hash_u64(id), same_id, intake, &id) != HASH_NONE;
}

/* BPF did not know whose it was. */
static bool is_wanted(struct intake *intake, const struct record *record)
{
	const struct image *image;
	const struct process *process;

	if (!intake->judges)
		return true;
	image = tasks_image(intake->tasks, record->tgid, record->start_ns, record->time_ns);
	process = image->process;
	if (chooser_wants(intake->chooser, record->tgid, image->comm,
			  image == process->images.at[process->images.nr - 1]))
		return true;
	if (!is_unwanted(intake, record->id)) {
		hash_insert(&intake->unwanted_index, hash_u64(record->id), intake->unwanted.nr);
		vec_push(&intake->unwanted, record->id);
	}
	return false;
}

static void on_record(void *ctx, const struct record *record)
{
	struct intake *intake = ctx;
	struct record whole = *record;

	patience_is_over(intake->patience);
	if (!is_wanted(intake, record))
		return;
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

	if (intake->judges && is_unwanted(intake, count->id))
		intake->nr_unwanted += count->nr_taken;
	else
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

void intake_release(struct intake *intake)
{
	vec_release(&intake->unwanted);
	hash_release(&intake->unwanted_index);
}
