// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Targets, and what is known of a process's mappings, are kept up to date here and not in user space,
 * because a child may be born, work and die between two of user space's looks. The scheduler's fork,
 * exec and exit tracepoints run once per task, are reached through BTF (no tracefs), and cost nothing
 * in between.
 */
#include "target.bpf.h"

#include "record.bpf.h"
#include "stats.bpf.h"
#include "tables.bpf.h"

const volatile struct abi_config config = {};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_TARGETS_ENTRIES);
	__type(key, u32);  /* tgid */
	__type(value, u8); /* enum abi_target */
} targets SEC(".maps");

/* The last two children of each of config.helper_tgids: one may still be ending. They are forked after this is attached. */
volatile __u32 helpers[2][2] = {};

static __always_inline bool is_helper(u32 tgid)
{
	return config.helper_tgids[0] &&
	       (tgid == config.helper_tgids[0] || tgid == helpers[0][0] || tgid == helpers[0][1] ||
		tgid == config.helper_tgids[1] || tgid == helpers[1][0] || tgid == helpers[1][1]);
}

__hidden bool target_is_current(void)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32;
	u8 *target;

	if (!tgid || tgid == config.self_tgid)
		return false;
	if (config.all)
		return !is_helper(tgid);
	if (config.only_tgid) /* a lookup at each malloc and free is time of the target's */
		return tgid == config.only_tgid;
	target = bpf_map_lookup_elem(&targets, &tgid);
	return target ? *target == ABI_TARGET_NOW : config.unknown_too && !is_helper(tgid);
}

/*
 * What tracepoints have seen of a process, for want of its task: before Linux 5.11 there is no typed pointer to
 * it, and lockdown=confidentiality forbids to read it by address. A process that was there before, and has not called
 * exec since, is not in here: its start is not known (0), and it runs its image 0.
 */
struct seen {
	u64 start_ns;
	u32 nr_execs;
	u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_PROCESS_ENTRIES);
	__type(key, u32); /* tgid */
	__type(value, struct seen);
} seen_processes SEC(".maps");

static __always_inline bool needs_seen(void)
{
	return config.no_kernel_reads && !kernel_has(get_current_task_btf);
}

static __always_inline struct seen seen_of(u32 tgid)
{
	struct seen *seen = bpf_map_lookup_elem(&seen_processes, &tgid);

	return seen ? *seen : (struct seen){};
}

static __always_inline void note_image(const struct task_struct *task, u32 nr_execs)
{
	struct seen seen = {.start_ns = task->group_leader->start_time, .nr_execs = nr_execs};
	u32 tgid = task->tgid;

	bpf_map_update_elem(&seen_processes, &tgid, &seen, BPF_ANY);
}

/* Asked at every free: without a call since Linux 5.11. */
__hidden u32 target_exec_id(void)
{
	struct task_struct *task;

	if (kernel_has(get_current_task_btf))
		return bpf_get_current_task_btf()->self_exec_id;
	if (config.no_kernel_reads)
		return seen_of(bpf_get_current_pid_tgid() >> 32).nr_execs;
	task = (void *)bpf_get_current_task();
	return BPF_CORE_READ(task, self_exec_id);
}

/* seen_processes is as it was: end_on_exec is attached before on_exec, and end_on_exit before on_exit. */
__hidden u32 target_ended_image(const struct task_struct *task, bool by_exec)
{
	if (needs_seen())
		return seen_of(task->tgid).nr_execs;
	return task->self_exec_id - by_exec;
}

/* Before Linux 5.11. */
static __always_inline void identify_by_reads(struct scratch *scratch)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	struct abi_record *record = &scratch->record;

	scratch->exec_id = BPF_CORE_READ(task, self_exec_id);
	scratch->is_kernel_thread = BPF_CORE_READ(task, flags) & PF_KTHREAD;
	record->start_ns = BPF_CORE_READ(leader, start_time);
	BPF_CORE_READ_INTO(&record->comm, leader, comm);
}

/* The same without calls: each costs as much as a frame of the walk. */
static __always_inline void identify_by_btf(struct scratch *scratch)
{
	struct task_struct *task = bpf_get_current_task_btf(), *leader = task->group_leader;
	struct abi_record *record = &scratch->record;

	scratch->exec_id = task->self_exec_id;
	scratch->is_kernel_thread = task->flags & PF_KTHREAD;
	record->start_ns = leader->start_time;
	*(u64 *)&record->comm[0] = *(u64 *)&leader->comm[0];
	*(u64 *)&record->comm[8] = *(u64 *)&leader->comm[8];
}

/* Whether it is a kernel thread shows later, by its lack of a user stack. */
static __always_inline void identify_by_seen(struct scratch *scratch)
{
	struct seen seen = seen_of(bpf_get_current_pid_tgid() >> 32);
	struct abi_record *record = &scratch->record;

	scratch->exec_id = seen.nr_execs;
	scratch->is_kernel_thread = false;
	record->start_ns = seen.start_ns;
	bpf_get_current_comm(record->comm, sizeof(record->comm));
}

__hidden void target_identify(struct scratch *scratch)
{
	struct abi_record *record = &scratch->record;
	u64 pid_tgid = bpf_get_current_pid_tgid();

	if (kernel_has(get_current_task_btf))
		identify_by_btf(scratch);
	else if (config.no_kernel_reads)
		identify_by_seen(scratch);
	else
		identify_by_reads(scratch);
	record->tgid = pid_tgid >> 32;
	record->tid = config.threads ? (u32)pid_tgid : 0;
	if (config.threads)
		bpf_get_current_comm(record->comm, sizeof(record->comm));
}

static __always_inline void note_helper(int i, u32 parent_tgid, u32 tgid)
{
	if (!config.helper_tgids[i] || parent_tgid != config.helper_tgids[i])
		return;
	helpers[i][1] = helpers[i][0];
	helpers[i][0] = tgid;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	u32 parent_tgid = parent->tgid, tgid = child->tgid;
	u8 now = ABI_TARGET_NOW, *target;

	if (tgid == parent_tgid)
		return 0; /* a thread */
	note_helper(0, parent_tgid, tgid);
	note_helper(1, parent_tgid, tgid);
	tables_inherit(parent_tgid, tgid);
	if (needs_seen())
		note_image(child, 0);
	target = bpf_map_lookup_elem(&targets, &parent_tgid);
	if (config.follow_forks && target && *target != ABI_TARGET_REJECTED)
		bpf_map_update_elem(&targets, &tgid, &now, BPF_ANY);
	else
		bpf_map_delete_elem(&targets, &tgid); /* said of one that was gone by then */
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	u32 tgid = task->tgid;
	u8 *target = bpf_map_lookup_elem(&targets, &tgid);

	tables_forget(tgid);
	if (needs_seen())
		note_image(task, seen_of(tgid).nr_execs + 1);
	if (config.wake_at_exec && !target)
		record_wake();
	if (!target)
		return 0;
	if (*target == ABI_TARGET_REJECTED) {
		bpf_map_delete_elem(&targets, &tgid);
		return 0;
	}
	*target = ABI_TARGET_NOW;
	record_wake();
	return 0;
}

/* What the threads of a process have used of CPUs, at the exit of the last one. */
static __always_inline u64 cpu_time(const struct task_struct *task,
				    const struct signal_struct *signal)
{
	const struct task_struct *leader = task->group_leader;
	u64 ns = signal->sum_sched_runtime + task->se.sum_exec_runtime;

	return task->pid == task->tgid ? ns : ns + leader->se.sum_exec_runtime;
}

/* The tgid may be reused by another process. live counts threads that have not begun to exit. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	const struct signal_struct *signal = task->signal;
	u32 tgid = task->tgid;
	u8 *target;

	if (signal->live.counter)
		return 0;
	target = bpf_map_lookup_elem(&targets, &tgid);
	if (target && *target == ABI_TARGET_NOW)
		stat_add(ABI_STAT_ENDED_NS, cpu_time(task, signal));
	bpf_map_delete_elem(&targets, &tgid);
	tables_forget(tgid);
	if (needs_seen())
		bpf_map_delete_elem(&seen_processes, &tgid);
	return 0;
}
