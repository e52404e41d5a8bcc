// SPDX-License-Identifier: BSD-2-Clause
/*
 * What forbids a run is read from files (capabilities, the pid namespace, BTF, lockdown); which features there are is
 * answered by a small BPF program, run once, whose BTF relocations libbpf resolves against the running kernel.
 * Rejected: comparing kernel versions, because distributions backport features, and leave some out.
 */
#include "collect/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/alloc.h"
#include "base/log.h"
#include "probe.skel.h"

#define BTF_PATH  "/sys/kernel/btf/vmlinux"
#define BTF_MAGIC 0xeb9f /* Documentation/bpf/btf.rst */

#define PROC_PID_INIT_INO 0xeffffffcu /* include/linux/proc_ns.h */

static bool has_capability(unsigned int capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	if (syscall(SYS_capget, &header, data))
		return false;
	return data[capability / 32].effective >> capability % 32 & 1;
}

static int check_privileges(void)
{
	bool admin = has_capability(CAP_SYS_ADMIN);

	if (!admin && !(has_capability(CAP_BPF) && has_capability(CAP_PERFMON)))
		return fail(
			-EPERM,
			"profiling other processes needs root: run it with sudo "
			"(or with CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE).");
	return 0;
}

/* BPF sees the kernel's own pids; in another pid namespace the user's would mean other processes. */
static int check_pid_namespace(void)
{
	struct stat st;

	if (!stat("/proc/self/ns/pid", &st) && st.st_ino != PROC_PID_INIT_INO)
		return fail(-ENOTSUP,
			    "this is a pid namespace of its own, where pids are not the kernel's: "
			    "run cprof on the host (docker run --pid=host --privileged).");
	return 0;
}

static int check_btf(void)
{
	int fd scoped(closep) = open(BTF_PATH, O_RDONLY | O_CLOEXEC);
	uint16_t magic = 0;

	if (fd < 0 || read(fd, &magic, sizeof(magic)) != sizeof(magic) || magic != BTF_MAGIC)
		return fail(
			-ENOTSUP,
			"this kernel has no BTF (" BTF_PATH "): "
			"cprof needs one built with CONFIG_DEBUG_INFO_BTF=y, Linux 5.10 or later.");
	return 0;
}

/* Under lockdown=confidentiality BPF may not read memory, so there are no user stacks. */
static int check_lockdown(void)
{
	int fd scoped(closep) = open("/sys/kernel/security/lockdown", O_RDONLY | O_CLOEXEC);
	char text[128] = "";

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && strstr(text, "[confidentiality]"))
		return fail(
			-EPERM,
			"kernel lockdown is 'confidentiality', which forbids BPF to read memory: "
			"boot with lockdown=integrity or none.");
	return 0;
}

static int run_probe(struct probe_bpf *probe, struct kernel_features *features)
{
	struct bpf_test_run_opts run = {.sz = sizeof(run)};
	int err = bpf_prog_test_run_opts(bpf_program__fd(probe->progs.probe_kernel), &run);

	if (err || !probe->bss->has_ran)
		return fail(err ? err : -EIO, "cannot run the BPF program that probes the kernel");
	*features = (struct kernel_features){
		.task_pt_regs = probe->bss->has_task_pt_regs,
		.attach_cookie = probe->bss->has_attach_cookie,
		.map_allocator = probe->bss->has_map_allocator,
		.uprobe_multi = probe->bss->has_uprobe_multi,
		.uprobe_session = probe->bss->has_uprobe_session,
	};
	detail("kernel: task_pt_regs %d, attach cookie %d, map allocator %d, uprobe multi %d, "
	       "uprobe session %d",
	       features->task_pt_regs, features->attach_cookie, features->map_allocator,
	       features->uprobe_multi, features->uprobe_session);
	return 0;
}

int probe_kernel(struct kernel_features *features)
{
	static int (*const checks[])(void) = {check_privileges, check_pid_namespace, check_btf,
					      check_lockdown};
	struct probe_bpf *probe;
	int err;

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		err = checks[i]();
		if (err)
			return err;
	}
	probe = probe_bpf__open_and_load();
	if (!probe)
		return fail(-errno, "cannot load a minimal BPF program (is bpf(2) filtered by "
				    "seccomp? -v shows the kernel's messages)");
	err = run_probe(probe, features);
	probe_bpf__destroy(probe);
	return err;
}
