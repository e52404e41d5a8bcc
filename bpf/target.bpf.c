// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Targets, and what is known of a process's mappings, are kept up to date here and not in user space,
 * because a child may be born, work and die between two of user space's looks. The scheduler's fork,
 * exec and exit tracepoints run once per task, are reached through BTF (no tracefs), and cost nothing
 * in between.
 */
#include "target.bpf.h"

#include "record.bpf.h"
#include "tables.bpf.h"

const volatile struct abi_config config = {};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_TARGETS_ENTRIES);
	__type(key, u32);  /* tgid */
	__type(value, u8); /* enum abi_target */
} targets SEC(".maps");

__hidden bool target_is_current(void)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32;
	u8 *target;

	if (!tgid || tgid == config.self_tgid)
		return false;
	if (config.all)
		return true;
	if (config.only_tgid) /* a lookup at each malloc and free is time of the target's */
		return tgid == config.only_tgid;
	target = bpf_map_lookup_elem(&targets, &tgid);
	return target ? *target == ABI_TARGET_NOW : config.unknown_too;
}

/* Asked at every free: without a call since Linux 5.11. */
__hidden u32 target_exec_id(void)
{
	struct task_struct *task;

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf))
		return bpf_get_current_task_btf()->self_exec_id;
	task = (void *)bpf_get_current_task();
	return BPF_CORE_READ(task, self_exec_id);
}

__hidden void target_identify(struct scratch *scratch)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	struct abi_record *record = &scratch->record;
	u64 pid_tgid = bpf_get_current_pid_tgid();

	scratch->exec_id = BPF_CORE_READ(task, self_exec_id);
	scratch->is_kernel_thread = BPF_CORE_READ(task, flags) & PF_KTHREAD;
	record->tgid = pid_tgid >> 32;
	record->tid = config.threads ? (u32)pid_tgid : 0;
	record->start_ns = BPF_CORE_READ(leader, start_time);
	if (config.threads)
		bpf_get_current_comm(record->comm, sizeof(record->comm));
	else
		BPF_CORE_READ_INTO(&record->comm, leader, comm);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	u32 parent_tgid = parent->tgid, tgid = child->tgid;
	u8 now = ABI_TARGET_NOW, *target;

	if (tgid == parent_tgid)
		return 0; /* a thread */
	tables_inherit(parent_tgid, tgid);
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

/* The tgid may be used again by a stranger. live counts threads that have not begun to exit. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	u32 tgid = task->tgid;

	if (task->signal->live.counter)
		return 0;
	bpf_map_delete_elem(&targets, &tgid);
	tables_forget(tgid);
	return 0;
}
