// SPDX-License-Identifier: BSD-2-Clause
/*
 * A drain has two phases. First only the side-band events are delivered, and unwind tables are made for what they show;
 * more code may have been mapped meanwhile, so this is repeated a few times. Then records and counts follow. In between, the
 * lengths of perf maps and jitdumps are noted. While one grows, drains come faster: all samples of a drain are taken to be of
 * the time between two looks at these files.
 *
 * Where user space chooses the targets, BPF also samples processes that turn out not to be any. Their records are
 * left out here, and their ids are kept, because counts for these ids come with every later drain.
 */
#include "record/dispatch.h"

#include "base/clock.h"

#define MOST_LOOKS 8 /* for new code, one after the other */

static void on_event(void *ctx, const struct task_event *event)
{
	struct dispatch *dispatch = ctx;

	workbudget_is_over(dispatch->budget); /* it notices when the time is up */
	if (event->kind == KERNEL_CODE_CAME || event->kind == KERNEL_CODE_WENT) {
		kernelcode_event(dispatch->kernelcode, event);
		return;
	}
	if (!dispatch->only_known || tasks_knows(dispatch->tasks, event))
		tasks_apply(dispatch->tasks, event);
	tablesync_event(dispatch->tablesync, event);
	if (dispatch->targetset)
		targetset_event(dispatch->targetset, event);
}

static bool same_id(const void *ctx, uint32_t value, const void *key)
{
	const struct dispatch *dispatch = ctx;

	return dispatch->unwanted.at[value] == *(const uint64_t *)key;
}

static bool is_unwanted(const struct dispatch *dispatch, uint64_t id)
{
	return hash_find(&dispatch->unwanted_index, hash_u64(id), same_id, dispatch, &id) !=
	       HASH_NONE;
}

/* BPF samples all processes that it does not know. Whether this one is a target. */
static bool is_wanted(struct dispatch *dispatch, const struct record *record)
{
	const struct image *image;
	const struct process *process;

	if (!dispatch->judges)
		return true;
	image = tasks_image(dispatch->tasks, record->tgid, record->start_ns, record->time_ns);
	process = image->process;
	if (targetset_wants(dispatch->targetset, record->tgid, image->comm,
			    image == process->images.at[process->images.nr - 1]))
		return true;
	if (!is_unwanted(dispatch, record->id)) {
		hash_insert(&dispatch->unwanted_index, hash_u64(record->id), dispatch->unwanted.nr);
		vec_push(&dispatch->unwanted, record->id);
	}
	return false;
}

static void on_record(void *ctx, const struct record *record)
{
	struct dispatch *dispatch = ctx;
	struct record whole = *record;

	workbudget_is_over(dispatch->budget);
	if (!is_wanted(dispatch, record))
		return;
	if (record->copy)
		tablesync_complete(dispatch->tablesync, &whole);
	if (record->capture)
		captures_write(dispatch->captures, record, &whole);
	tablesync_name(dispatch->tablesync, &whole);
	builder_record(dispatch->builder, &whole);
	ifuncnames_look(dispatch->ifuncnames, &whole, dispatch->budget);
}

static void on_count(void *ctx, const struct count *count)
{
	struct dispatch *dispatch = ctx;

	if (dispatch->judges && is_unwanted(dispatch, count->id))
		dispatch->nr_unwanted += count->nr_taken;
	else
		builder_count(dispatch->builder, count);
}

static void on_text(void *ctx, const struct runtime_text *text)
{
	struct dispatch *dispatch = ctx;

	framenames_text(dispatch->framenames, text);
}

static void on_peak(void *ctx, const struct peak *peak)
{
	struct dispatch *dispatch = ctx;

	builder_peak(dispatch->builder, peak);
}

static void on_block(void *ctx, uint64_t id, uint64_t born_ns)
{
	struct dispatch *dispatch = ctx;

	builder_block(dispatch->builder, id, born_ns);
}

static struct session_sink sink_of(struct dispatch *dispatch)
{
	return (struct session_sink){.event = on_event,
				     .record = on_record,
				     .count = on_count,
				     .text = on_text,
				     .peak = on_peak,
				     .block = on_block,
				     .ctx = dispatch};
}

void dispatch_blocks(struct dispatch *dispatch)
{
	struct session_sink sink = sink_of(dispatch);

	session_each_block(dispatch->session, &sink);
}

int dispatch_drain(struct dispatch *dispatch, bool *is_new)
{
	struct session_sink sink = sink_of(dispatch);
	bool found = false, more = true;
	int err = 0;

	/*
	 * What is mapped first: it is there at once, and samples go on while the rest is waited for.
	 * While tables are made more may have been mapped, by a dynamic linker at its work.
	 */
	for (int i = 0; !err && more && i < MOST_LOOKS; i++) {
		err = session_drain(dispatch->session, &sink, true);
		more = tablesync_sync(dispatch->tablesync);
		found = found || more;
	}
	found |= tasks_measure_jitsyms(dispatch->tasks, clock_monotonic_ns());
	dispatch->collected_ns = clock_monotonic_ns();
	builder_advance(dispatch->builder, dispatch->collected_ns);
	if (!err)
		err = session_drain(dispatch->session, &sink, false);
	/* New tables let BPF walk further, into code that may be new too. */
	*is_new = tablesync_sync(dispatch->tablesync) || found;
	return err;
}

void dispatch_release(struct dispatch *dispatch)
{
	vec_release(&dispatch->unwanted);
	hash_release(&dispatch->unwanted_index);
}
