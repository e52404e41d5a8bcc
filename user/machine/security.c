// SPDX-License-Identifier: BSD-2-Clause
/* What the kernel forbids whatever the capabilities: lockdown, seccomp filters; and what a sandbox can be made of. */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/smallfile.h"
#include "machine/checks.h"
#include "process/procfs.h"

#define NOBODY		 65534 /* as in sandbox/confine.c */
#define LANDLOCK_VERSION 1u    /* LANDLOCK_CREATE_RULESET_VERSION, linux/landlock.h */

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

/* Whether a call that was given no filter was refused for another reason: consent is EFAULT, as nothing is at address 0. */
static bool is_refused(long result)
{
	return result && errno != EFAULT;
}

/*
 * Without a filter of its own, the process that parses files is not safe; it installs that by prctl(2). cprof itself has threads,
 * for which there is seccomp(2) alone (sandbox/narrow.h).
 */
void check_seccomp(struct machine_finding *finding)
{
	if (is_refused(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL)))
		finding_set(finding, MACHINE_CANNOT, MACHINE_EVERY, seccomp_remedy,
			    "the process that parses files cannot be confined: prctl(2) refuses a "
			    "filter of system calls (%s)",
			    strerror(errno));
	else if (is_refused(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
				    NULL)))
		finding_set(finding, MACHINE_LOSS, MACHINE_EVERY, seccomp_remedy,
			    "seccomp(2) refuses a filter of system calls (%s): the process that "
			    "parses files has one, and cprof itself has none",
			    strerror(errno));
	else
		snprintf(finding->value, sizeof(finding->value), "%s",
			 has_seccomp_filter()
				 ? "a filter is in force; the calls below were tried under it"
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

/* What the process that parses files does (sandbox/confine.h), done by a child: 0 or an errno. */
static int become_nobody(void)
{
	pid_t child = fork();
	int status = 0;

	if (!child)
		_exit(setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
				      setresuid(NOBODY, NOBODY, NOBODY)
			      ? errno
			      : 0);
	if (child < 0)
		return errno;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

/* A user who is not root and cannot change to another one has not much more to lose than his own files. */
void check_nobody(struct machine_finding *finding)
{
	int err = become_nobody();

	if (!err)
		snprintf(finding->value, sizeof(finding->value), "uid %d", NOBODY);
	else if (geteuid())
		finding_set(finding, MACHINE_INFO, 0, "",
			    "the process that parses files runs as uid %u, not as nobody (%s)",
			    geteuid(), strerror(err));
	else
		finding_set(finding, MACHINE_LOSS, MACHINE_EVERY,
			    "give it CAP_SETUID and CAP_SETGID (" PRIVILEGES ")",
			    "the process that parses files runs as root, not as nobody (%s%s)",
			    strerror(err),
			    has_capability(CAP_SETUID) && has_capability(CAP_SETGID)
				    ? ""
				    : ": CAP_SETUID or CAP_SETGID is missing");
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
