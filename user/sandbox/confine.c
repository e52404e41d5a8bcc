// SPDX-License-Identifier: BSD-2-Clause
/*
 * The order matters: the network namespace, the bounding set and the user need capabilities, so these go last; a
 * change of user clears the signal of the parent's death, so the process that forks afterwards sets it (keeper.c).
 *
 * mmap and mprotect may not make memory executable, openat may not write or create. A call that is not in the table kills
 * the process, and so does one of another architecture (x32, i386).
 *
 * The opener gives up less. It keeps its user, since a file system may let that one in and not another (FUSE, NFS). And
 * landlock(7) would forbid it to inspect other processes. Where CAP_SYS_PTRACE is missing it keeps all capabilities that it
 * has: the kernel then lets it inspect those processes only that have no more than itself.
 *
 * Nobody is a user that others run as, too (services, containers), and they can stop and kill a process of theirs. That
 * costs names, which the closing lines say, and no time: main goes on while it waits for a worker or a keeper, and gives
 * up soon (sandbox/peer.h). Alternatives: a user of its own is a number that some system may have given to somebody, who
 * then had a process that reads what others chose; in a user namespace the kernel still goes by the user outside of it, and
 * so it does for signals; real and saved user could be root, whom nobody can signal, and the process could become root
 * again.
 *
 * The attacher keeps its user, who has the right to its own /proc/self/fd, and has no limit of CPU time: what it attached would
 * go with it.
 */
#include "sandbox/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/callfilter.h"
#include "sandbox/capset.h"
#include "sandbox/landlock.h"

#define NOBODY 65534 /* also the kernel's overflow user: owns nothing */

/* Descriptors and signals ------------------------------------------------------------------------ */

static void keep_one_descriptor(int fd)
{
	int null_fd;

	/* fd may be one of those that are replaced */
	fd = fcntl(fd, F_DUPFD, CONFINE_FD + 1);
	null_fd = open("/dev/null", O_RDWR);
	for (int i = 0; i < CONFINE_FD; i++)
		if (null_fd < 0 || dup2(null_fd, i) < 0)
			close(i);
	if (dup2(fd, CONFINE_FD) < 0)
		_exit(1);
	if (syscall(SYS_close_range, CONFINE_FD + 1, ~0u, 0)) /* Linux 5.9 */
		for (int i = CONFINE_FD + 1; i < (int)sysconf(_SC_OPEN_MAX); i++)
			close(i);
}

/* Ctrl-C goes to every process of a terminal's group: it is for main alone. SIGBUS has a handler (base/fileview.h). */
static void ignore_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	sigprocmask(SIG_SETMASK, &all, NULL);
}

/* Powers ----------------------------------------------------------------------------------------- */

static uint64_t capabilities_of(enum confine_role role)
{
	uint64_t permitted = capset_permitted();
	uint64_t keep = CAPSET_OF(CAP_SYS_PTRACE) | CAPSET_OF(CAP_DAC_READ_SEARCH) |
			CAPSET_OF(CAP_CHECKPOINT_RESTORE);

	if (role == CONFINE_ATTACHER)
		return permitted &
		       (CAPSET_OF(CAP_BPF) | CAPSET_OF(CAP_PERFMON) | CAPSET_OF(CAP_SYS_ADMIN));
	if (role != CONFINE_OPENER)
		return 0;
	if (!(permitted & CAPSET_OF(CAP_SYS_PTRACE)))
		return permitted;
	/* these serve in place of others */
	if (!(permitted & CAPSET_OF(CAP_DAC_READ_SEARCH)))
		keep |= CAPSET_OF(CAP_DAC_OVERRIDE);
	if (!(permitted & CAPSET_OF(CAP_CHECKPOINT_RESTORE)))
		keep |= CAPSET_OF(CAP_SYS_ADMIN);
	return permitted & keep;
}

/* Each is tried: a container may forbid to change groups and allow to change the user. */
static uint32_t become_nobody(void)
{
	bool has_groups = setgroups(0, NULL);

	has_groups = setresgid(NOBODY, NOBODY, NOBODY) || has_groups;
	if (setresuid(NOBODY, NOBODY, NOBODY)) /* groups that stay are no news then */
		return errno == EINVAL ? CONFINE_NO_NOBODY : CONFINE_NO_USER;
	return has_groups ? CONFINE_NO_GROUPS : 0;
}

static bool limit(int resource, rlim_t most)
{
	struct rlimit now;

	if (getrlimit(resource, &now))
		return false;
	if (now.rlim_max < most) /* there is a lower one already */
		most = now.rlim_max;
	return !setrlimit(resource, &(struct rlimit){most, most});
}

static uint32_t limit_resources(enum confine_role role)
{
	static const rlim_t file_bytes[] = {[CONFINE_OPENER] = CONFINE_OPENER_FILE_BYTES,
					    [CONFINE_FETCHER] = CONFINE_FETCHER_FILE_BYTES,
					    [CONFINE_ATTACHER] = 0};
	bool done = limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, file_bytes[role]) &&
		    limit(RLIMIT_NOFILE, CONFINE_MAX_FILES) && limit(RLIMIT_MEMLOCK, 0) &&
		    limit(RLIMIT_MSGQUEUE, 0) &&
		    (role == CONFINE_ATTACHER || limit(RLIMIT_CPU, CONFINE_CPU_S));

	/* deep recursion is bounded by the process's own stack, since there are no threads */
	setrlimit(RLIMIT_STACK, &(struct rlimit){CONFINE_STACK_BYTES, RLIM_INFINITY});
	if (!CONFINE_IS_SANITIZED)
		done = limit(RLIMIT_DATA, CONFINE_MEMORY_BYTES) &&
		       limit(RLIMIT_AS, CONFINE_ADDRESS_BYTES) && done;
	return done ? 0 : CONFINE_NO_LIMITS;
}

/* Libraries, names of hosts, certificates. */
static int read_settings_alone(void)
{
	static const char *const folders[] = {"/etc",
					      "/usr",
					      "/lib",
					      "/lib64",
					      "/run/systemd/resolve",
					      "/run/resolvconf",
					      "/run/NetworkManager"};
	struct landlock_grant grants[sizeof(folders) / sizeof(folders[0])];
	size_t nr = 0;
	int err;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		int fd = open(folders[i], O_PATH | O_CLOEXEC);

		if (fd >= 0)
			grants[nr++] = (struct landlock_grant){fd, LANDLOCK_READ};
	}
	err = landlock_restrict_files(grants, nr);
	for (size_t i = 0; i < nr; i++)
		close(grants[i].fd);
	return err;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* glibc's qsort(3) asks how much memory there is the first time that it sorts more than 1 KB, and remembers it. */
static void learn_memory(void)
{
	int numbers[512] = {0};

	qsort(numbers, sizeof(numbers) / sizeof(numbers[0]), sizeof(numbers[0]), compare);
}

uint32_t confine_process(int fd, enum confine_role role)
{
	uint64_t keep = capabilities_of(role);
	uint32_t missing = 0;

	if (role == CONFINE_PARSER)
		learn_memory();
	keep_one_descriptor(fd);
	ignore_signals();
	if (role != CONFINE_FETCHER)
		missing |= unshare(CLONE_NEWNET) ? CONFINE_NO_NETNS : 0;
	capset_bound(keep);
	missing |= prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? CONFINE_NO_PRIVS : 0;
	missing |= limit_resources(role);
	if (role != CONFINE_OPENER && role != CONFINE_ATTACHER)
		missing |= become_nobody();
	if (role == CONFINE_PARSER)
		missing |= landlock_restrict(NULL, 0) ? CONFINE_NO_LANDLOCK : 0;
	if (role == CONFINE_FETCHER)
		missing |= read_settings_alone() ? CONFINE_NO_LANDLOCK : 0;
	missing |= capset_keep(keep) ? CONFINE_NO_CAPSET : 0;
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return missing;
}

/* System calls ----------------------------------------------------------------------------------- */

#define NR_RULES(rules) (sizeof(rules) / sizeof((rules)[0]))

/* One that allocates no executable memory; PROT_EXEC is in the third argument of both. */
#define NOT_EXECUTABLE CALL_NONE_OF, CALL_LOW(2), PROT_EXEC
#define NOT_TO_WRITE               \
	CALL_NONE_OF, CALL_LOW(2), \
		(O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY))

static const struct call_rule of_all[] = {
	/* the sockets, and the files that it is sent */
	CALL(recvmsg),
	CALL(sendmsg),
	CALL(ppoll),
	CALL(close),
	CALL(pread64),
	CALL(fstat),
	/* fstat() of glibc 2.33 and later. Where the path is not empty it tells metadata, which cannot be seen here. */
	CALL_IF(newfstatat, CALL_EQUAL, CALL_LOW(3), AT_EMPTY_PATH),
	CALL(lseek),
	CALL_IF(fcntl, CALL_EQUAL, CALL_LOW(1), F_GETFD), /* is it open? libelf asks */
	/* memory */
	CALL(brk),
	CALL(munmap),
	CALL(mremap),
	CALL(madvise),
	CALL(futex),
	CALL(getrandom),
	CALL(exit_group),
	CALL_IF(mmap, NOT_EXECUTABLE),
	CALL_IF(mprotect, NOT_EXECUTABLE),
};

static const struct call_rule of_parser[] = {
	CALL(clock_gettime), /* of CPU time: how much of it did DWARF take? */
	CALL(rt_sigreturn),  /* from the handler of SIGBUS (base/fileview.h) */
};

/* In both a call has one rule. */
_Static_assert(NR_RULES(of_all) + NR_RULES(of_parser) <= CONFINE_PARSER_CALLS,
	       "the parser has few system calls");

/* qsort(3) asks how much memory there is, and sorts without that answer, too. It was asked before: learn_memory(). */
static const struct call_rule refused_to_parser[] = {CALL(sysinfo)};

static const struct call_rule of_opener[] = {
	CALL_IF(openat, NOT_TO_WRITE),
	CALL(statx),
	CALL(read),
	CALL(readlinkat),
	CALL(process_vm_readv),
	CALL_IF(fcntl, CALL_EQUAL, CALL_LOW(1), F_GETFL), /* fdopen() */
	/* copies of files (process/filecopy.h) */
	CALL(fstatfs),
	CALL(memfd_create),
	CALL(sendfile),
	CALL_IF2(utimensat, CALL_EQUAL, CALL_LOW(1), 0, CALL_EQUAL, CALL_HIGH(1), 0), /* no path */
	CALL_IF(fcntl, CALL_EQUAL, CALL_LOW(1), F_ADD_SEALS),
};

/* As in the kernel's include/uapi/linux/bpf.h and perf_event.h. */
#define BPF_LINK_CREATE	       28
#define PERF_EVENT_IOC_ENABLE  _IO('$', 0)
#define PERF_EVENT_IOC_SET_BPF _IOW('$', 8, uint32_t)

static const struct call_rule of_attacher[] = {
	CALL_IF(bpf, CALL_EQUAL, CALL_LOW(0), BPF_LINK_CREATE),
	CALL(perf_event_open),
	CALL_IF(ioctl, CALL_EQUAL, CALL_LOW(1), PERF_EVENT_IOC_SET_BPF),
	CALL_IF(ioctl, CALL_EQUAL, CALL_LOW(1), PERF_EVENT_IOC_ENABLE),
	CALL(capget), /* CAP_SYS_ADMIN, where it is not needed */
	CALL(capset),
};

/* What libcurl and the libraries that look up hosts need is not a list that anybody knows; what they do not need is. */
static const struct call_rule refused_to_fetcher[] = {
	CALL(execve),
	CALL(execveat),
	CALL_IF(clone, CALL_NONE_OF, CALL_LOW(0), CLONE_THREAD),
#ifdef SYS_fork /* x86 */
	CALL(fork),
	CALL(vfork),
	CALL(modify_ldt),
#endif
	CALL(kill),
	CALL(tkill),
	CALL(pidfd_open),
	CALL(pidfd_getfd),
	CALL(pidfd_send_signal),
	CALL(rt_sigqueueinfo),
	CALL(ptrace),
	CALL(process_vm_readv),
	CALL(process_vm_writev),
	CALL(process_madvise),
	CALL(kcmp),
	CALL(bpf),
	CALL(perf_event_open),
	CALL(listen),
	CALL(accept),
	CALL(accept4),
	CALL(keyctl),
	CALL(add_key),
	CALL(request_key),
	CALL(mount),
	CALL(umount2),
	CALL(unshare),
	CALL(setns),
	CALL(personality),
	CALL(userfaultfd),
	CALL(io_uring_setup),
	CALL(io_uring_enter),
	CALL(io_uring_register),
	CALL(shmget),
	CALL(msgget),
	CALL(semget),
	CALL(mq_open),
};

/* Its flags are in memory, where a filter cannot look; libc then uses clone. */
static const struct call_rule unknown_to_fetcher[] = {CALL(clone3)};

#define ADD(rules) callfilter_add(&filter, rules, NR_RULES(rules))

uint32_t confine_calls(enum confine_role role)
{
	struct callfilter filter;

	if (CONFINE_IS_SANITIZED)
		return 0;
	if (role == CONFINE_FETCHER) {
		callfilter_begin(&filter, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_KILL_PROCESS);
		ADD(refused_to_fetcher);
		filter.matched = SECCOMP_RET_ERRNO | ENOSYS;
		ADD(unknown_to_fetcher);
		return callfilter_install(&filter, SECCOMP_RET_ALLOW, 0) ? CONFINE_NO_SECCOMP : 0;
	}
	callfilter_begin(&filter, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
	ADD(of_all);
	if (role == CONFINE_PARSER) {
		ADD(of_parser);
		filter.matched = SECCOMP_RET_ERRNO | ENOSYS;
		ADD(refused_to_parser);
	} else if (role == CONFINE_OPENER) {
		ADD(of_opener);
	} else {
		ADD(of_attacher);
	}
	return callfilter_install(&filter, SECCOMP_RET_KILL_PROCESS, 0) ? CONFINE_NO_SECCOMP : 0;
}
