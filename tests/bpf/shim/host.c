// SPDX-License-Identifier: BSD-2-Clause
/* The helpers that are not about maps. */
#include "shim/host.h"
#include "shim/machine.h"

#include <err.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <stdlib.h>

struct host host;

/* The globals of the BPF code that user space writes. */
extern volatile u32 epoch, stopped;

/* libbpf writes .rodata before it loads it; here it is the program's own. */
struct abi_config *host_config(void)
{
	uintptr_t page_bytes = sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)&config & ~(page_bytes - 1);
	uintptr_t limit = ((uintptr_t)(&config + 1) + page_bytes - 1) & ~(page_bytes - 1);

	if (mprotect((void *)start, limit - start, PROT_READ | PROT_WRITE))
		errx(1, "make the BPF settings writable");
	return (struct abi_config *)&config;
}

struct pt_regs *host_saved_regs(void)
{
	return (struct pt_regs *)(host.kernel_stack + HOST_STACK_BYTES - sizeof(struct pt_regs));
}

void host_set_current(u32 tgid, u32 tid)
{
	host.pid_tgid = (u64)tgid << 32 | tid;
	host.task.tgid = host.leader.tgid = host.leader.pid = tgid;
	host.task.pid = tid;
}

void host_open(void)
{
	host_close();
	memset(&host, 0, sizeof(host));
	host.now_ns = 1000;
	host.random = 88172645463325252ull;
	host.has_task_pt_regs = 1;
	host.task.stack = host.kernel_stack;
	host.task.group_leader = &host.leader;
	host.task.mm = &host.mm;
	host.task.signal = host.leader.signal = &host.signal;
	host.signal.live.counter = 1;
	strcpy(host.task.comm, "thread");
	strcpy(host.leader.comm, "process");
	host_set_current(1000, 1000);
	memset(host_config(), 0, sizeof(config));
	host_config()->all = 1;
	host_config()->walk_ns = ~0ull >> 1;
	host_config()->nr_uprobe_slots = ABI_NR_SLOTS - ABI_SLOT_UPROBE;
	host_config()->events_wakeup_bytes = ABI_EVENTS_BYTES / 4;
	host_config()->events_quarter_bytes = ABI_EVENTS_BYTES / 4;
	epoch = stopped = 0;
	host_maps_open();
}

void host_close(void)
{
	host_maps_close();
}

void host_add_range(u64 start, const void *bytes, u64 len_bytes)
{
	if (host.nr_ranges == HOST_MAX_RANGES)
		errx(1, "more than %d ranges of target memory", HOST_MAX_RANGES);
	host.ranges[host.nr_ranges++] = (struct host_range){start, len_bytes, bytes};
}

/* How much of [address, address + len_bytes) is in one range, from address on; 0: it faults. */
static u64 read_some(u64 address, u8 *to, u64 len_bytes)
{
	for (u32 i = 0; i < host.nr_ranges; i++) {
		const struct host_range *range = &host.ranges[i];
		u64 offset = address - range->start, len = range->len_bytes - offset;

		if (offset >= range->len_bytes)
			continue;
		if (len > len_bytes)
			len = len_bytes;
		memcpy(to, range->bytes + offset, len);
		return len;
	}
	return 0;
}

_Bool host_read(u64 address, void *to, u64 len_bytes)
{
	u64 done = 0, some;

	for (; done < len_bytes; done += some) {
		some = read_some(address + done, (u8 *)to + done, len_bytes - done);
		if (!some)
			return 0;
	}
	return 1;
}

/* As the kernel does: all or nothing, and zeros for nothing. */
long bpf_probe_read_user(void *to, u32 len_bytes, const void *from)
{
	host.nr_user_reads++;
	if (host_read((u64)from, to, len_bytes))
		return 0;
	memset(to, 0, len_bytes);
	return -14;
}

long bpf_probe_read_kernel(void *to, u32 len_bytes, const void *from)
{
	if (config.no_kernel_reads)
		errx(1, "bpf_probe_read_kernel() is called where it is forbidden");
	if (host.fail_kernel_reads) {
		memset(to, 0, len_bytes);
		return -14;
	}
	memcpy(to, from, len_bytes);
	return 0;
}

long bpf_get_stack(void *ctx, void *to, u32 len_bytes, u64 flags)
{
	const u64 *ips = flags & BPF_F_USER_STACK ? host.user_ips : host.kernel_ips;
	u32 len = 8 * (flags & BPF_F_USER_STACK ? host.nr_user_ips : host.nr_kernel_ips);

	(void)ctx;
	if (len > len_bytes)
		len = len_bytes;
	memcpy(to, ips, len);
	return len;
}

long bpf_get_current_comm(void *to, u32 len_bytes)
{
	memcpy(to, host.task.comm, len_bytes < 16 ? len_bytes : 16);
	return 0;
}

u64 bpf_get_current_pid_tgid(void)
{
	return host.pid_tgid;
}

/* Without cookies (config.has_cookies is 0) and sessions: the programs of a pair. */
u64 bpf_get_attach_cookie(void *ctx)
{
	(void)ctx;
	return 0;
}

u64 bpf_get_func_ip(void *ctx)
{
	return HOST_IP((struct pt_regs *)ctx);
}

/* There is one that is never made (bpf/alloc.bpf.c). */
long bpf_tail_call(void *ctx, void *programs, u32 index)
{
	(void)ctx;
	(void)programs;
	(void)index;
	abort();
}

u64 bpf_get_current_task(void)
{
	return (u64)&host.task;
}

struct task_struct *bpf_get_current_task_btf(void)
{
	return &host.task;
}

long bpf_task_pt_regs(struct task_struct *task)
{
	(void)task;
	return (long)host_saved_regs();
}

_Bool host_has_helper(int helper)
{
	return (helper == BPF_FUNC_task_pt_regs && host.has_task_pt_regs) ||
	       (helper == BPF_FUNC_get_current_task_btf && host.has_current_task_btf);
}

u64 bpf_ktime_get_ns(void)
{
	return host.now_ns++;
}

/* xorshift64*: the upper half is good. */
u32 bpf_get_prandom_u32(void)
{
	if (host.nr_next_randoms)
		return host.next_randoms[--host.nr_next_randoms];
	host.random ^= host.random >> 12;
	host.random ^= host.random << 25;
	host.random ^= host.random >> 27;
	return host.random * 0x2545f4914f6cdd1dull >> 32;
}
