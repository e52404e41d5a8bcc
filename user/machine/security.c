// SPDX-License-Identifier: BSD-2-Clause
/* What the kernel forbids whatever the capabilities: lockdown, seccomp filters; and what a sandbox can be made of. */
#include <errno.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/smallfile.h"
#include "machine/checks.h"
#include "process/procfs.h"

#define LANDLOCK_VERSION 1u /* LANDLOCK_CREATE_RULESET_VERSION, linux/landlock.h */

static const char seccomp_remedy[] =
	"run cprof outside the container, or docker run --security-opt seccomp=unconfined";

static void set_lockdown_value(struct machine_finding *finding)
{
	char text[128] = "", *open, *close;

	if (!smallfile_line("/sys/kernel/security/lockdown", text, sizeof(text))) {
		snprintf(finding->value, sizeof(finding->value),
			 "not known (securityfs is not mounted)");
		return;
	}
	open = strchr(text, '[');
	close = open ? strchr(open, ']') : NULL;
	if (close)
		snprintf(finding->value, sizeof(finding->value), "%.*s", (int)(close - open - 1),
			 open + 1);
}

/*
 * lockdown=confidentiality takes bpf_probe_read_kernel() from BPF programs (LOCKDOWN_BPF_READ_KERNEL; before Linux 5.15
 * LOCKDOWN_BPF_READ), and nothing else that cprof uses: user memory, typed pointers to kernel structures,
 * bpf_get_stack(), perf events without PERF_SAMPLE_REGS_INTR, and probes that do not come from tracefs remain.
 */
void check_lockdown(struct machine_finding *finding)
{
	struct kernel_features features;

	set_lockdown_value(finding);
	if (features_find(&features) || features.kernel_reads)
		return;
	if (!features.user_reads)
		finding_set(finding, MACHINE_CANNOT, MACHINE_EVERY,
			    "boot with lockdown=integrity or none",
			    "kernel lockdown is 'confidentiality', which keeps BPF from reading "
			    "memory");
	else if (!features.task_pt_regs)
		finding_set(finding, MACHINE_LOSS, MACHINE_RECORD,
			    "boot with lockdown=integrity or none, or Linux 5.15 or later",
			    "kernel lockdown is 'confidentiality': samples taken inside the kernel "
			    "have user stacks by frame pointers only, if code keeps them; "
			    "all other stacks are complete");
	else
		finding_set(finding, MACHINE_INFO, 0, "",
			    "BPF may not read kernel memory by address; record and heap do "
			    "not need to, and nothing is lost");
}

bool has_seccomp_filter(void)
{
	uint32_t mode;

	return !procfs_status_number("/proc", getpid(), "\nSeccomp:", 0, &mode) &&
	       mode == SECCOMP_MODE_FILTER;
}

/* Without a filter of its own, the process that parses files is not safe. No filter is at address 0: EFAULT is consent. */
void check_seccomp(struct machine_finding *finding)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) && errno != EFAULT) {
		finding_set(finding, MACHINE_CANNOT, MACHINE_EVERY, seccomp_remedy,
			    "the process that parses files cannot be confined: prctl(2) refuses a "
			    "filter of system calls (%s)",
			    strerror(errno));
		return;
	}
	snprintf(finding->value, sizeof(finding->value), "%s",
		 has_seccomp_filter() ? "a filter is in force; the calls below were tried under it"
				      : "no filter");
}

void finding_of_refusal(struct machine_finding *finding, unsigned int uses, const char *call,
			int err, const char *why)
{
	bool is_refusal = err == -EPERM || err == -EACCES || err == -ENOSYS;

	if (is_refusal && has_seccomp_filter()) {
		finding_set(finding, MACHINE_CANNOT, uses, seccomp_remedy,
			    "a seccomp filter refuses %s (%s)", call, strerror(-err));
		return;
	}
	finding_set(finding, MACHINE_CANNOT, uses,
		    err == -ENOSYS ? "boot a kernel that has it" : "-v shows the kernel's messages",
		    "%s: %s", why, strerror(-err));
	finding->lacks_kernel = err != -EPERM && err != -EACCES;
}

/* The uid that whatever parses foreign files runs as. */
void check_nobody(struct machine_finding *finding)
{
	const struct passwd *user = getpwnam("nobody");

	if (user)
		snprintf(finding->value, sizeof(finding->value), "uid %u", user->pw_uid);
	else
		finding_set(finding, MACHINE_INFO, 0, "",
			    "there is no user nobody: uid 65534 is used");
}

void check_landlock(struct machine_finding *finding)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);

	if (abi > 0)
		snprintf(finding->value, sizeof(finding->value), "ABI %ld", abi);
	else
		finding_set(finding, MACHINE_INFO, 0,
			    "boot Linux 5.13 or later with lsm=landlock,...",
			    "the kernel has no landlock (%s), one of the layers of the sandbox",
			    strerror(errno));
}
