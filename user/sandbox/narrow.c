// SPDX-License-Identifier: BSD-2-Clause
/*
 * The bounding set goes first, since that takes CAP_SETPCAP.
 *
 * The filter of system calls is a list of what is refused, where the filters of other processes are lists of what is
 * allowed. Main has libbpf, libelf and libc beside its own code, runs on kernels from 5.10 on, and writes profiles at its
 * end: a call that is missing from a list of allowed ones (another libc's, the next libbpf's) would cost a run that may
 * have taken hours. And the list would have to allow bpf(2), perf_event_open(2), and files to write anyway. What is
 * worth taking away is the rest of what turns a main that was taken over into a machine that was: other programs,
 * other processes, the network, modules, mounts, users. A call that a list does not know yet costs only that.
 *
 * Main parses nothing that may train its branch predictors, so it does without the kernel's slow mode for processes with a
 * filter (SECCOMP_FILTER_FLAG_SPEC_ALLOW; Linux before 5.16).
 */
#include "sandbox/narrow.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/callfilter.h"
#include "sandbox/capset.h"
#include "sandbox/confine.h"

static const uint8_t kept[] = {
	/* tables and maps, probes, the events of CPUs that come online */
	CAP_BPF,
	CAP_PERFMON,
	CAP_IPC_LOCK,
	/* /proc/kallsyms, read at the end */
	CAP_SYSLOG,
	/* cprof's own priority, and the end of its command */
	CAP_SYS_NICE,
	CAP_KILL,
	/* output where root may write, given to the user behind sudo */
	CAP_DAC_OVERRIDE,
	CAP_CHOWN,
	CAP_FOWNER,
};

/* CAP_SYS_ADMIN serves in place of each of these. */
static const uint8_t once_admin[] = {CAP_BPF, CAP_PERFMON};

static bool lacks_any(uint64_t permitted)
{
	for (size_t i = 0; i < sizeof(once_admin); i++)
		if (!(permitted >> once_admin[i] & 1))
			return true;
	return false;
}

/* System calls ----------------------------------------------------------------------------------- */

static const struct call_rule refused[] = {
	/* programs and processes; what cprof launches is forked before */
	CALL(execve),
	CALL(execveat),
	CALL_IF(clone, CALL_NONE_OF, CALL_LOW(0), CLONE_THREAD),
#ifdef SYS_fork /* x86 */
	CALL(fork),
	CALL(vfork),
#endif
	/* other processes: the opener reads their memory */
	CALL(ptrace),
	CALL(process_vm_readv),
	CALL(process_vm_writev),
	CALL(process_madvise),
	CALL(pidfd_getfd),
	/* network */
	CALL(socket),
	CALL(connect),
	CALL(bind),
	CALL(listen),
	CALL(accept),
	CALL(accept4),
	/* users, keys */
	CALL(setuid),
	CALL(setgid),
	CALL(setreuid),
	CALL(setregid),
	CALL(setresuid),
	CALL(setresgid),
	CALL(setfsuid),
	CALL(setfsgid),
	CALL(setgroups),
	CALL(keyctl),
	CALL(add_key),
	CALL(request_key),
	/* what is mounted, and what is seen of it */
	CALL(mount),
	CALL(umount2),
	CALL(pivot_root),
	CALL(chroot),
	CALL(setns),
	CALL(unshare),
	CALL(open_tree),
	CALL(move_mount),
	CALL(fsopen),
	CALL(fsconfig),
	CALL(fsmount),
	CALL(fspick),
	CALL(mount_setattr),
	CALL(open_by_handle_at),
	CALL(fanotify_init),
	CALL(mknodat),
	/* the machine */
	CALL(init_module),
	CALL(finit_module),
	CALL(delete_module),
	CALL(kexec_load),
	CALL(kexec_file_load),
	CALL(reboot),
	CALL(swapon),
	CALL(swapoff),
	CALL(syslog),
	CALL(acct),
	CALL(quotactl),
	CALL(sethostname),
	CALL(setdomainname),
	CALL(settimeofday),
	CALL(clock_settime),
	CALL(clock_adjtime),
	CALL(adjtimex),
	CALL(vhangup),
	CALL(personality),
#ifdef SYS_iopl
	CALL(iopl),
	CALL(ioperm),
	CALL(modify_ldt),
	CALL(mknod),
	CALL(uselib),
#endif
	/* much code of the kernel that cprof does not use */
	CALL(userfaultfd),
	CALL(io_uring_setup),
	CALL(io_uring_enter),
	CALL(io_uring_register),
};

/* Its flags are in memory, where a filter cannot look; libc then uses clone. */
static const struct call_rule unknown[] = {CALL(clone3)};

static int refuse_calls(void)
{
	struct callfilter filter;

	if (CONFINE_IS_SANITIZED)
		return 0;
	callfilter_begin(&filter, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ERRNO | ENOSYS);
	callfilter_add(&filter, refused, sizeof(refused) / sizeof(refused[0]));
	filter.matched = SECCOMP_RET_ERRNO | ENOSYS;
	callfilter_add(&filter, unknown, sizeof(unknown) / sizeof(unknown[0]));
	return callfilter_install(&filter, SECCOMP_RET_ALLOW,
				  SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW);
}

uint32_t narrow_main(const struct narrow_needs *needs)
{
	uint64_t keep = 0;
	uint32_t missing = 0;

	if (needs->administers || lacks_any(capset_permitted()))
		keep |= CAPSET_OF(CAP_SYS_ADMIN);
	if (needs->inspects)
		keep |= CAPSET_OF(CAP_SYS_PTRACE);
	for (size_t i = 0; i < sizeof(kept); i++)
		keep |= CAPSET_OF(kept[i]);
	capset_bound(keep);
	missing |= prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? CONFINE_NO_PRIVS : 0;
	missing |= capset_keep(keep) ? CONFINE_NO_CAPSET : 0;
	missing |= refuse_calls() ? CONFINE_NO_SECCOMP : 0;
	return missing;
}
