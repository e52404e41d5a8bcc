// SPDX-License-Identifier: BSD-2-Clause
/*
 * Cheap where it is frequent: a fork shares its parent's mappings until one of the two changes them
 * (mappings_copy()), a mapping of a file that is open costs no system call, an exit sets one time.
 * What must be asked of /proc is asked when pruning, once for each first thread that ended.
 *
 * task_event.c has what the kernel's announcements change.
 */
#include "process/task_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "process/procfs.h"
#include "process/snapshot.h"

/* After losses, /proc is searched for exited processes at most this often. */
#define SWEEP_NS NSEC_PER_SEC

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

bool tasks_measure_jitsyms(struct tasks *tasks, uint64_t now_ns)
{
	bool grew = false;

	vec_for_each(&tasks->proctable.all, process)
		vec_for_each(&(*process)->images, image)
			if ((*image)->jitsym_files)
				grew |= jitsymfiles_measure((*image)->jitsym_files, now_ns);
	tasks->jitsyms_grew |= grew;
	return grew;
}

bool tasks_jitsyms_grew(const struct tasks *tasks)
{
	return tasks->jitsyms_grew;
}

bool tasks_is_reading(const struct tasks *tasks)
{
	return tasks->is_reading;
}

size_t tasks_nr(const struct tasks *tasks)
{
	return tasks->proctable.all.nr;
}

struct process *tasks_at(const struct tasks *tasks, size_t i)
{
	return tasks->proctable.all.at[i];
}

void tasks_set_comm(struct image *image, const char *comm)
{
	size_t len = strnlen(comm, COMM_BYTES - 1);

	memcpy(image->comm, comm, len);
	memset(image->comm + len, 0, COMM_BYTES - len);
}

struct image *tasks_add_image(const struct tasks *tasks, struct process *process, uint64_t since_ns,
			      const char *comm)
{
	struct image *image = process_add_image(process, since_ns);

	image->nr_losses = tasks->nr_losses;
	tasks_set_comm(image, comm);
	return image;
}

void tasks_add_map(struct tasks *tasks, struct image *image, const struct mapping *map)
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
		tasks_add_image(tasks, process, 0, stat->comm);
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
	tasks_set_comm(image, snapshot.stat.comm);
	/* What is new at a second look came since the first one: hardly before events were lost. */
	if (image->was_read || image->mappings.now.nr)
		since_ns = tasks->lost_ns ? tasks->lost_ns : clock_monotonic_ns();
	tasks->is_reading = true;
	vec_for_each(&snapshot.maps, map) {
		map->since_ns = since_ns;
		tasks_add_map(tasks, image, map);
	}
	tasks->is_reading = false;
	image->was_read = !snapshot.maps_error;
	image->process->was_forbidden = snapshot.maps_error == -EACCES ||
					snapshot.maps_error == -EPERM;
	image->nr_losses = tasks->nr_losses;
	return snapshot.maps_error;
}

bool tasks_was_read(const struct tasks *tasks, uint32_t tgid)
{
	const struct process *process = proctable_newest(&tasks->proctable, tgid);

	return process && process_last_image(process)->was_read;
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

int tasks_snapshot_rest(struct tasks *tasks, tasks_enough_fn enough, void *ctx)
{
	uint32_t *tgids scoped(freep) = NULL;
	size_t nr, nr_left = 0;
	int err = procfs_list(tasks->proc_root, &tgids, &nr);

	for (size_t i = 0; !err && i < nr; i++) {
		if (proctable_newest(&tasks->proctable, tgids[i]))
			continue;
		if (enough(ctx))
			nr_left++;
		else
			tasks_snapshot(tasks, tgids[i]);
	}
	return err ? err : (int)nr_left;
}

struct process *tasks_add_unannounced(struct tasks *tasks, uint32_t tgid, uint64_t start_ns,
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
	tasks_add_image(tasks, process, 0, "?");
	return process;
}

/* Look-ups -------------------------------------------------------------------------------------- */

struct image *tasks_image(struct tasks *tasks, uint32_t tgid, uint64_t start_ns, uint64_t time_ns)
{
	struct process *process = start_ns ? proctable_started(&tasks->proctable, tgid, start_ns, 0)
					   : proctable_at(&tasks->proctable, tgid, time_ns);

	if (!process)
		process = tasks_add_unannounced(tasks, tgid, start_ns, time_ns);
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
	image->nr_losses = tasks->nr_losses; /* once, even if that fails */
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

bool tasks_is_over(const struct tasks *tasks, uint32_t tgid)
{
	struct proc_stat stat;

	return procfs_stat(tasks->proc_root, tgid, &stat) ||
	       (stat.is_exiting && stat.nr_threads <= 1);
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
