// SPDX-License-Identifier: BSD-2-Clause
/*
 * Uprobes, tried: a BPF program that counts is attached to a function of cprof itself, in this process alone, by each
 * of the three attach modes (collect/uprobes.h); the function is called, and the count must have grown.
 *
 * Attaching blocks while another process that has cprof's binary mapped holds its mmap lock (collect/uprobelink.h). So a
 * child process attaches, and the parent waits for it with a timeout.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/alloc.h"
#include "base/smallfile.h"
#include "machine/checks.h"
#include "machine/multilink.h"
#include "machine/owncode.h"
#include "probe.skel.h"

#define UPROBE_TYPE_PATH "/sys/bus/event_source/devices/uprobe/type"

#define ATTACH_PLAIN 0
#define TRIAL_MS     5000

static volatile int nr_called;

static __attribute__((noinline, noclone)) void probed_function(void)
{
	nr_called++;
}

static int open_perf_uprobe(const char *path, uint64_t offset, pid_t pid)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = smallfile_number(UPROBE_TYPE_PATH, 0),
		.config1 = (uintptr_t)path,
		.config2 = offset,
	};
	int fd;

	if (!attr.type)
		return -ENODEV;
	fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int attach_plain(int program_fd, uint64_t offset)
{
	int fd = open_perf_uprobe("/proc/self/exe", offset, getpid());

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

static int attach_link(int program_fd, uint64_t offset, unsigned int type)
{
	static const char path[] = "/proc/self/exe";
	struct multi_link attr = {
		.program_fd = program_fd,
		.attach_type = type,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)&offset,
		.nr = 1,
		.pid = getpid(),
	};
	int fd = syscall(SYS_bpf, LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

static int attach_and_call(struct probe_bpf *probe, unsigned int type)
{
	int program_fd = bpf_program__fd(probe->progs.count_calls);
	uint64_t offset = owncode_offset(probed_function);
	int fd scoped(closep) = -1;

	if (!offset)
		return -ENOENT;
	fd = type == ATTACH_PLAIN ? attach_plain(program_fd, offset)
				  : attach_link(program_fd, offset, type);
	if (fd < 0)
		return fd;
	probed_function();
	return probe->bss->nr_calls ? 0 : -ENOMSG;
}

/* In the child. */
static int load_and_attach(unsigned int type)
{
	struct probe_bpf *probe = probe_bpf__open();
	int err;

	if (!probe)
		return -errno;
	bpf_program__set_autoload(probe->progs.probe_kernel, false);
	bpf_program__set_expected_attach_type(probe->progs.count_calls, type);
	err = probe_bpf__load(probe);
	/* Nothing is printed from here on, and who reads what doctor says need not wait for this process. */
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	err = err ? err : attach_and_call(probe, type);
	probe_bpf__destroy(probe);
	return err;
}

static void __attribute__((noreturn)) run_trial(unsigned int type, int result_fd)
{
	int err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	err = load_and_attach(type);
	_exit(write(result_fd, &err, sizeof(err)) != sizeof(err));
}

/* 0, or why a probe of this type does not work. */
static int try_uprobe(unsigned int type)
{
	static bool is_held;
	struct pollfd result = {.events = POLLIN};
	int ends[2], err = -ETIMEDOUT;
	pid_t child;

	/* The kernel may then let nobody fork. */
	if (is_held)
		return -ETIMEDOUT;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	child = fork();
	if (!child)
		run_trial(type, ends[1]);
	close(ends[1]);
	result.fd = ends[0];
	if (child < 0)
		err = -EAGAIN;
	else if (poll(&result, 1, TRIAL_MS) > 0 && read(ends[0], &err, sizeof(err)) != sizeof(err))
		err = -EPIPE;
	close(ends[0]);
	is_held = child > 0 && err == -ETIMEDOUT;
	if (is_held)
		kill(child, SIGKILL); /* the kernel may keep it even then */
	else if (child > 0)
		waitpid(child, NULL, 0);
	return err;
}

static bool kernel_has(unsigned int type)
{
	struct kernel_features features;

	if (features_find(&features))
		return false;
	return type == ATTACH_MULTI ? features.uprobe_multi : features.uprobe_session;
}

static const char admin_remedy[] = "run cprof with sudo, or give it CAP_SYS_ADMIN (" PRIVILEGES ")";

/* Does anything but a perf event for each probe remain? */
static bool needs_plain(void)
{
	return !kernel_has(ATTACH_MULTI);
}

/* The kernel checks the privilege before the path: an error about the path means that the privilege is there. */
void check_probe_privilege(struct machine_finding *finding)
{
	int fd, err;

	if (!needs_plain()) {
		snprintf(finding->value, sizeof(finding->value), "CAP_BPF and CAP_PERFMON");
		return;
	}
	fd = open_perf_uprobe("/proc/self/nothing", 0, getpid());
	err = fd < 0 ? fd : -ENOENT;
	if (fd >= 0)
		close(fd);
	if (err == -EACCES || err == -EPERM)
		finding_set(finding, MACHINE_CANNOT, MACHINE_HEAP, admin_remedy,
			    "this kernel places probes only with CAP_SYS_ADMIN, which is missing");
	else if (err == -ENODEV)
		finding_set(finding, MACHINE_CANNOT, MACHINE_HEAP,
			    "boot a kernel built with CONFIG_UPROBE_EVENTS=y, and mount /sys",
			    "this kernel has no uprobes");
	finding->lacks_kernel = err == -ENODEV;
}

static void set_trial(struct machine_finding *finding, int err, bool is_needed)
{
	if (!err)
		snprintf(finding->value, sizeof(finding->value),
			 "a probe was placed, hit and removed");
	else if (!is_needed)
		finding_set(finding, MACHINE_INFO, 0, "",
			    "cannot be placed (%s), and are not needed here", strerror(-err));
	else if (err == -ETIMEDOUT)
		finding_set(finding, MACHINE_CANNOT, MACHINE_HEAP,
			    "end that process, or run a copy of cprof",
			    "no probe can be placed: a process that maps cprof's file, too, keeps "
			    "its memory locked");
	else
		finding_of_refusal(finding, MACHINE_HEAP, "perf_event_open(2)", err,
				   "no probe can be placed");
}

void check_uprobes(struct machine_finding *finding)
{
	set_trial(finding, try_uprobe(ATTACH_PLAIN), needs_plain());
}

void check_uprobe_multi(struct machine_finding *finding)
{
	if (kernel_has(ATTACH_MULTI))
		set_trial(finding, try_uprobe(ATTACH_MULTI), true);
	else
		finding_set(finding, MACHINE_INFO, 0, "",
			    "need Linux 6.10; without them heap probes take longer to place and "
			    "remove");
}

void check_uprobe_session(struct machine_finding *finding)
{
	if (kernel_has(ATTACH_SESSION))
		set_trial(finding, try_uprobe(ATTACH_SESSION), true);
	else
		finding_set(finding, MACHINE_INFO, 0, "",
			    "need Linux 6.13; without them each probed allocation traps twice");
}
