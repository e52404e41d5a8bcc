// SPDX-License-Identifier: BSD-2-Clause
/*
 * Cheap where it is frequent: a fork shares its parent's mappings until one of the two changes them
 * (mappings_copy()), a mapping of a file that is open costs no system call, an exit sets one time.
 * What must be asked of /proc is asked when pruning, once for each first thread that ended.
 */
#include "process/task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "process/procfs.h"
#include "process/proctable.h"
#include "process/snapshot.h"

/*
 * /proc counts the start in clock ticks of CLOCK_BOOTTIME, BPF sees it in CLOCK_MONOTONIC. At a fork the kernel
 * reads one clock after the other, and a virtual machine's processor may be taken away in between: more than two
 * ticks were seen on a loaded host, and then all that a launched command did was nobody's.
 */
#define START_SLACK_NS 200000000ull
/*
 * A fork's time is that of its announcement. The child has started before that, and where a loaded
 * virtual machine's processor is taken away in between, long before. A tgid is not used again so soon.
 */
#define FORK_SLACK_NS NSEC_PER_SEC
/* After losses, /proc is searched for exited processes at most this often. */
#define SWEEP_NS NSEC_PER_SEC

struct tasks {
	const char *proc_root; /* borrowed */
	struct files *files;   /* borrowed */
	struct strtab names;
	struct proctable proctable;
	tasks_on_map_fn on_map;
	void *on_map_ctx;
	uint32_t nr_losses, nr_losses_swept;
	uint64_t lost_ns, swept_ns;
	bool was_forbidden; /* to read somebody's mappings */
};

struct tasks *tasks_new(const char *proc_root, struct files *files)
{
	struct tasks *tasks = xcalloc(1, sizeof(*tasks));

	tasks->proc_root = proc_root;
	tasks->files = files;
	return tasks;
}

void tasks_free(struct tasks *tasks)
{
	if (!tasks)
		return;
	proctable_release(&tasks->proctable);
	strtab_release(&tasks->names);
	free(tasks);
}

const struct strtab *tasks_names(const struct tasks *tasks)
{
	return &tasks->names;
}

void tasks_on_map(struct tasks *tasks, tasks_on_map_fn fn, void *ctx)
{
	tasks->on_map = fn;
	tasks->on_map_ctx = ctx;
}

bool tasks_was_forbidden(const struct tasks *tasks)
{
	return tasks->was_forbidden;
}

size_t tasks_nr(const struct tasks *tasks)
{
	return tasks->proctable.all.nr;
}

struct process *tasks_at(const struct tasks *tasks, size_t i)
{
	return tasks->proctable.all.at[i];
}

static void set_comm(struct image *image, const char *comm)
{
	size_t len = strnlen(comm, COMM_BYTES - 1);

	memcpy(image->comm, comm, len);
	memset(image->comm + len, 0, COMM_BYTES - len);
}

static struct image *image_add(const struct tasks *tasks, struct process *process,
			       uint64_t since_ns, const char *comm)
{
	struct image *image = process_add_image(process, since_ns);

	image->nr_losses = tasks->nr_losses;
	set_comm(image, comm);
	return image;
}

static void map_add(struct tasks *tasks, struct image *image, const struct mapping *map)
{
	if (mappings_add(&image->mappings, map) && tasks->on_map)
		tasks->on_map(tasks->on_map_ctx, image->process, map);
}

/* What /proc says ------------------------------------------------------------------------------- */

static struct process *process_read(struct tasks *tasks, uint32_t tgid,
				    const struct proc_stat *stat)
{
	uint64_t slack_ns = START_SLACK_NS + clock_suspended_ns();
	struct process *process =
		proctable_started(&tasks->proctable, tgid, stat->start_ns, slack_ns);

	if (!process) {
		process = proctable_add(&tasks->proctable, tgid, stat->start_ns, slack_ns);
		image_add(tasks, process, 0, stat->comm);
	} else if (!process->start_ns) {
		process->start_ns = stat->start_ns;
		process->start_slack_ns = slack_ns;
	}
	process->parent_tgid = stat->parent_tgid;
	process->is_kernel_thread = stat->is_kernel_thread;
	return process;
}

int tasks_snapshot(struct tasks *tasks, uint32_t tgid)
{
	struct snapshot snapshot scoped(snapshot_release) = {0};
	struct image *image;
	uint64_t since_ns = 0;
	int err;

	err = snapshot_take(tasks->proc_root, tgid, tasks->files, &tasks->names, &snapshot);
	if (err)
		return err;
	image = process_last_image(process_read(tasks, tgid, &snapshot.stat));
	set_comm(image, snapshot.stat.comm);
	/* What is new at a second look came since the first one: hardly before events were lost. */
	if (image->was_read || image->mappings.now.nr)
		since_ns = tasks->lost_ns ? tasks->lost_ns : clock_monotonic_ns();
	vec_for_each(&snapshot.maps, map) {
		map->since_ns = since_ns;
		map_add(tasks, image, map);
	}
	image->was_read = !snapshot.maps_error;
	tasks->was_forbidden |= snapshot.maps_error == -EACCES || snapshot.maps_error == -EPERM;
	image->nr_losses = tasks->nr_losses;
	return snapshot.maps_error;
}

int tasks_snapshot_all(struct tasks *tasks, const struct busiest *before, tasks_enough_fn enough,
		       void *ctx)
{
	uint32_t *tgids scoped(freep) = NULL;
	size_t nr, i;
	int err = busiest_order(before, tasks->proc_root, &tgids, &nr);

	if (err)
		return err;
	for (i = 0; i < nr && !(enough && enough(ctx)); i++)
		tasks_snapshot(tasks, tgids[i]);
	return nr - i;
}

/* No event announced it: read it now, or add an empty one where it is gone. */
static struct process *process_unannounced(struct tasks *tasks, uint32_t tgid, uint64_t start_ns,
					   uint64_t time_ns)
{
	struct process *process;

	tasks_snapshot(tasks, tgid);
	process = start_ns ? proctable_started(&tasks->proctable, tgid, start_ns, 0)
			   : proctable_at(&tasks->proctable, tgid, time_ns);
	if (process)
		return process;
	process = proctable_add(&tasks->proctable, tgid, start_ns, start_ns ? 0 : UINT64_MAX);
	process->exited_ns = time_ns;
	image_add(tasks, process, 0, "?");
	return process;
}

/* What events say ------------------------------------------------------------------------------- */

/* The process that an event is about; NULL where the event is older than the one there is. */
static struct process *process_of(struct tasks *tasks, uint32_t tgid, uint64_t time_ns)
{
	struct process *process = proctable_at(&tasks->proctable, tgid, time_ns);

	if (process || proctable_newest(&tasks->proctable, tgid))
		return process;
	return process_unannounced(tasks, tgid, 0, time_ns);
}

static void inherit(struct tasks *tasks, struct process *child, const struct process *parent,
		    uint64_t time_ns)
{
	struct image *from = process_image(parent, time_ns), *to = child->images.at[0];

	set_comm(to, from->comm);
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
 * Is it known what the child of a TASK_FORK had in memory? If it has execed since, what was read of it
 * in between may be the new image's.
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
		image_add(tasks, child, event->time_ns, "?");
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
	/* Where another thread called exec, the first one ended on the way. */
	process->exited_ns = 0;
	process->lives_on = false;
	process->is_kernel_thread = false;
	image_add(tasks, process, event->time_ns, event->comm);
}

static void apply_comm(struct tasks *tasks, const struct task_event *event)
{
	struct process *process;

	if (event->tid != event->tgid)
		return;
	process = process_of(tasks, event->tgid, event->time_ns);
	if (process)
		set_comm(process_image(process, event->time_ns), event->comm);
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
	map_add(tasks, process_image(process, event->time_ns), &map);
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
	}
}

/* Look-ups -------------------------------------------------------------------------------------- */

struct image *tasks_image(struct tasks *tasks, uint32_t tgid, uint64_t start_ns, uint64_t time_ns)
{
	struct process *process = start_ns ? proctable_started(&tasks->proctable, tgid, start_ns, 0)
					   : proctable_at(&tasks->proctable, tgid, time_ns);

	if (!process)
		process = process_unannounced(tasks, tgid, start_ns, time_ns);
	if (start_ns && process->start_slack_ns) {
		process->start_ns = start_ns;
		process->start_slack_ns = 0;
	}
	return process_image(process, time_ns);
}

const struct mapping *tasks_mapping(struct tasks *tasks, struct image *image, uint64_t ip,
				    uint64_t time_ns)
{
	const struct mapping *map = mappings_find(&image->mappings, ip, time_ns);
	struct process *process = image->process;

	if (map || image->nr_losses == tasks->nr_losses)
		return map;
	image->nr_losses = tasks->nr_losses; /* once, whatever comes of it */
	if (process != proctable_newest(&tasks->proctable, process->tgid) ||
	    image != process_last_image(process))
		return NULL;
	tasks_snapshot(tasks, process->tgid);
	return mappings_find(&image->mappings, ip, time_ns);
}

/* Pruning --------------------------------------------------------------------------------------- */

bool tasks_is_alive(const struct tasks *tasks, uint32_t tgid)
{
	struct proc_stat stat;

	return !procfs_stat(tasks->proc_root, tgid, &stat) && !proc_stat_is_dead(&stat);
}

/* Does anything of the process still run? */
static bool is_alive(const struct tasks *tasks, const struct process *process)
{
	struct proc_stat stat;

	if (process != proctable_newest(&tasks->proctable, process->tgid))
		return false;
	if (procfs_stat(tasks->proc_root, process->tgid, &stat) || proc_stat_is_dead(&stat))
		return false;
	return process_started(process, stat.start_ns, START_SLACK_NS + clock_suspended_ns());
}

/* Events were lost, and exits may have been among them. */
static void sweep(struct tasks *tasks, uint64_t time_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (tasks->nr_losses == tasks->nr_losses_swept ||
	    (tasks->swept_ns && time_ns < tasks->swept_ns + SWEEP_NS))
		return;
	tasks->nr_losses_swept = tasks->nr_losses;
	tasks->swept_ns = time_ns;
	vec_for_each(&tasks->proctable.all, p) {
		(*p)->lives_on = false;
		if (!(*p)->exited_ns && !is_alive(tasks, *p))
			(*p)->exited_ns = now_ns;
	}
}

static bool is_over(const struct tasks *tasks, struct process *process, uint64_t time_ns)
{
	if (process->is_sampled || !process->exited_ns || process->exited_ns >= time_ns ||
	    process->lives_on)
		return false;
	process->lives_on = is_alive(tasks, process);
	return !process->lives_on;
}

void tasks_prune(struct tasks *tasks, uint64_t time_ns)
{
	size_t nr_over = 0;

	sweep(tasks, time_ns);
	vec_for_each(&tasks->proctable.all, p) {
		(*p)->is_over = is_over(tasks, *p, time_ns);
		nr_over += (*p)->is_over;
		if (!(*p)->is_sampled) /* one that execs again and again would grow without end */
			process_drop_images(*p, time_ns);
	}
	if (nr_over)
		proctable_drop_over(&tasks->proctable);
}
