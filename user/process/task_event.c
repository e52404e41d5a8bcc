// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the kernel's announcements (fork, exec, names, mappings, exit) change in what is known of the processes.
 *
 * Events come in the order of their times but for the processors' clocks, and /proc may have been read before an event
 * comes that is older than what was read: an event about a process that is known already must find that one.
 */
#include "process/task_state.h"

#include "process/snapshot.h"

/*
 * A fork's time is that of its announcement. The child has started before that, and where a loaded
 * virtual machine's processor is taken away in between, long before. A tgid is not used again so soon.
 */
#define FORK_SLACK_NS NSEC_PER_SEC
/* The process that an event is about; NULL where the event is older than the one there is. */
static struct process *process_of(struct tasks *tasks, uint32_t tgid, uint64_t time_ns)
{
	struct process *process = proctable_at(&tasks->proctable, tgid, time_ns);

	if (process || proctable_newest(&tasks->proctable, tgid))
		return process;
	return tasks_add_unannounced(tasks, tgid, 0, time_ns);
}

static void inherit(struct tasks *tasks, struct process *child, const struct process *parent,
		    uint64_t time_ns)
{
	struct image *from = process_image(parent, time_ns), *to = child->images.at[0];

	tasks_set_comm(to, from->comm);
	child->is_kernel_thread = parent->is_kernel_thread;
	mappings_release(&to->mappings);
	mappings_copy(&to->mappings, &from->mappings);
	to->was_read = true;
	to->nr_losses = from->nr_losses;
	if (tasks->on_map)
		vec_for_each(&to->mappings.now, map)
			tasks->on_map(tasks->on_map_ctx, child, map);
}

/*
 * The child of a TASK_FORK, if it is known already: read from /proc or asked for before the event
 * was. Each process is announced once, so a second event is about a second process.
 */
static struct process *known_child(const struct tasks *tasks, const struct task_event *event)
{
	struct process *child =
		proctable_started(&tasks->proctable, event->tgid, event->time_ns, FORK_SLACK_NS);

	if (!child || child->was_forked)
		return NULL;
	/* The slack for suspends is for processes older than cprof; no event comes before its fork. */
	if (child->start_ns && (child->start_ns + FORK_SLACK_NS < event->time_ns ||
				child->start_ns > event->time_ns + START_SLACK_NS))
		return NULL;
	return child;
}

/*
 * Whether the memory of the child of a TASK_FORK, as it was then, is known. If the child has execed since, what was
 * read in between may be the new image's.
 */
static bool knows_beginning(const struct process *child, uint64_t time_ns)
{
	const struct image *first = child->images.at[0];

	if (child->images.nr > 1)
		return first->since_ns > time_ns; /* that image was dropped */
	return first->was_read || first->mappings.now.nr;
}

static void apply_fork(struct tasks *tasks, const struct task_event *event)
{
	struct process *parent = process_of(tasks, event->parent_tgid, event->time_ns);
	struct process *before = proctable_newest(&tasks->proctable, event->tgid);
	struct process *child = known_child(tasks, event);

	if (!child) {
		if (before && !before->exited_ns)
			before->exited_ns = event->time_ns;
		child = proctable_add(&tasks->proctable, event->tgid, event->time_ns,
				      FORK_SLACK_NS);
		tasks_add_image(tasks, child, event->time_ns, "?");
	} else if (!child->start_ns) {
		child->start_ns = event->time_ns;
		child->start_slack_ns = FORK_SLACK_NS;
	}
	child->was_forked = true;
	child->parent_tgid = event->parent_tgid;
	if (parent && parent != child && !knows_beginning(child, event->time_ns))
		inherit(tasks, child, parent, event->time_ns);
}

static void apply_exec(struct tasks *tasks, const struct task_event *event)
{
	struct process *process = process_of(tasks, event->tgid, event->time_ns);

	if (!process)
		return;
	/* if another thread called exec, the first thread has ended */
	process->exited_ns = 0;
	process->lives_on = false;
	process->is_kernel_thread = false;
	tasks_add_image(tasks, process, event->time_ns, event->comm);
}

static void apply_comm(struct tasks *tasks, const struct task_event *event)
{
	struct process *process;

	if (event->tid != event->tgid)
		return;
	process = process_of(tasks, event->tgid, event->time_ns);
	if (process)
		tasks_set_comm(process_image(process, event->time_ns), event->comm);
}

static void apply_map(struct tasks *tasks, const struct task_event *event)
{
	struct process *process = process_of(tasks, event->tgid, event->time_ns);
	struct mapping map;
	uint32_t id;

	if (!process || event->map.start >= event->map.limit)
		return;
	/* The folder of a first thread that ended shows no mappings any more. */
	id = process->exited_ns && event->tid ? event->tid : event->tgid;
	map = snapshot_mapping(&event->map, id, tasks->files, &tasks->names);
	map.since_ns = event->time_ns;
	tasks_add_map(tasks, process_image(process, event->time_ns), &map);
}

static void apply_exit(struct tasks *tasks, const struct task_event *event)
{
	struct process *process = proctable_at(&tasks->proctable, event->tgid, event->time_ns);

	if (!process)
		return;
	process->lives_on = false; /* for now: tasks_prune() looks again */
	if (event->tid == event->tgid)
		process->exited_ns = event->time_ns;
}

bool tasks_knows(const struct tasks *tasks, const struct task_event *event)
{
	return event->kind == TASK_LOST || proctable_newest(&tasks->proctable, event->tgid) ||
	       (event->kind == TASK_FORK &&
		proctable_newest(&tasks->proctable, event->parent_tgid));
}

void tasks_apply(struct tasks *tasks, const struct task_event *event)
{
	switch (event->kind) {
	case TASK_FORK:
		apply_fork(tasks, event);
		break;
	case TASK_EXEC:
		apply_exec(tasks, event);
		break;
	case TASK_COMM:
		apply_comm(tasks, event);
		break;
	case TASK_MAP:
		apply_map(tasks, event);
		break;
	case TASK_EXIT:
		apply_exit(tasks, event);
		break;
	case TASK_LOST:
		tasks->nr_losses++;
		tasks->lost_ns = event->time_ns;
		break;
	default:
		break;
	}
}
