// SPDX-License-Identifier: BSD-2-Clause
/*
 * The order matters: the network namespace, the bounding set and the user need capabilities, so these go last; a
 * change of user clears the signal of the parent's death, so the process that forks afterwards sets it (keeper.c).
 *
 * The filter is classic BPF over struct seccomp_data, written by hand since it is a list: load the number, compare it with
 * each call that is allowed. mmap and mprotect may not make memory executable. Whatever else kills the process, and
 * a call of another architecture (x32, i386) too.
 */
#include "sandbox/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534 /* also the kernel's overflow user: owns nothing */

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCH AUDIT_ARCH_AARCH64
#else
#error "which AUDIT_ARCH is this machine?"
#endif

/* The sanitizers' run-time uses other system calls, and terabytes of address space. */
#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

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

/* Ctrl-C goes to every process of a terminal's group: it is for main alone. */
static void ignore_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
}

/* Powers ----------------------------------------------------------------------------------------- */

/* <linux/landlock.h> of an older system lacks fields; a kernel takes a shorter struct than its own. */
struct landlock_rules {
	uint64_t handled_access_fs, handled_access_net, scoped;
};

/* Access to files, by name, of any kind, and to ports: with no rule that allows some. */
static uint32_t forbid_files(void)
{
	static const struct {
		uint64_t files, net, scoped;
		size_t bytes;
	} by_abi[] = {
		{},
		{(1 << 13) - 1, 0, 0, 8},
		{(1 << 14) - 1, 0, 0, 8},
		{(1 << 15) - 1, 0, 0, 8},
		{(1 << 15) - 1, 3, 0, 16},
		{(1 << 16) - 1, 3, 0, 16},
		{(1 << 16) - 1, 3, 3, 24},
	};
	const long newest = sizeof(by_abi) / sizeof(by_abi[0]) - 1;
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1 /* which version? */);
	struct landlock_rules rules;
	long fd;
	bool done;

	if (abi < 1)
		return CONFINE_NO_LANDLOCK;
	abi = abi > newest ? newest : abi;
	rules = (struct landlock_rules){by_abi[abi].files, by_abi[abi].net, by_abi[abi].scoped};
	fd = syscall(SYS_landlock_create_ruleset, &rules, by_abi[abi].bytes, 0);
	if (fd < 0)
		return CONFINE_NO_LANDLOCK;
	done = !syscall(SYS_landlock_restrict_self, fd, 0);
	close(fd);
	return done ? 0 : CONFINE_NO_LANDLOCK;
}

static uint32_t become_nobody(void)
{
	/* Who is not root and may not change its user has no more to lose by it. */
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		return CONFINE_NO_USER;
	return 0;
}

static void drop_bounding_set(void)
{
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0,
		      0); /* fails without CAP_SETPCAP: no_new_privs is enough */
}

static uint32_t drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, none) ? CONFINE_NO_CAPSET : 0;
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

static uint32_t limit_resources(void)
{
	bool done = limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, 0) &&
		    limit(RLIMIT_NOFILE, CONFINE_MAX_FILES) && limit(RLIMIT_MEMLOCK, 0) &&
		    limit(RLIMIT_MSGQUEUE, 0) && limit(RLIMIT_CPU, CONFINE_CPU_S);

	/* deep recursion is bounded by the process's own stack, since there are no threads */
	setrlimit(RLIMIT_STACK, &(struct rlimit){CONFINE_STACK_BYTES, RLIM_INFINITY});
	if (!IS_SANITIZED)
		done = limit(RLIMIT_AS, CONFINE_MEMORY_BYTES) && done;
	return done ? 0 : CONFINE_NO_LIMITS;
}

uint32_t confine_process(int fd)
{
	uint32_t missing = 0;

	keep_one_descriptor(fd);
	ignore_signals();
	missing |= unshare(CLONE_NEWNET) ? CONFINE_NO_NETNS : 0;
	drop_bounding_set();
	missing |= prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? CONFINE_NO_PRIVS : 0;
	missing |= limit_resources();
	missing |= become_nobody();
	missing |= forbid_files();
	missing |= drop_capabilities();
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return missing;
}

/* System calls ----------------------------------------------------------------------------------- */

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(how) BPF_STMT(BPF_RET | BPF_K, how)
/* The next statement is executed only if what is loaded is k, or has a bit of k. */
#define IF_EQUAL(k)	      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, 0, 1)
#define IF_ANY(k)	      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, k, 0, 1)
#define SKIP(nr)	      BPF_STMT(BPF_JMP | BPF_JA, nr)
#define ALLOW(name)	      IF_EQUAL(SYS_##name), RETURN(SECCOMP_RET_ALLOW)
#define ALLOW_ARGUMENT(value) IF_EQUAL(value), RETURN(SECCOMP_RET_ALLOW)

/* The low halves of arguments (little endian): fcntl's command, the protection of mmap and mprotect. */
#define COMMAND	   args[1]
#define PROTECTION args[2]

uint32_t confine_calls(void)
{
	struct sock_filter filter[] = {
		LOAD(arch),
		IF_EQUAL(THIS_ARCH),
		SKIP(1),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
		/* the sockets, and the files that it is sent */
		ALLOW(recvmsg),
		ALLOW(sendmsg),
		ALLOW(ppoll),
		ALLOW(close),
		ALLOW(pread64),
		ALLOW(fstat),
		ALLOW(newfstatat), /* fstat() of glibc 2.33 and later; of a path it tells metadata */
		ALLOW(lseek),
		/* memory */
		ALLOW(brk),
		ALLOW(munmap),
		ALLOW(mremap),
		ALLOW(madvise),
		ALLOW(futex),
		ALLOW(getrandom),
		ALLOW(sysinfo), /* qsort(): how much memory is there? */
		ALLOW(exit_group),
		/* memory that cannot be executed */
		IF_EQUAL(SYS_mmap),
		SKIP(9),
		IF_EQUAL(SYS_mprotect),
		SKIP(7),
		/* is a descriptor open? libelf asks */
		IF_EQUAL(SYS_fcntl),
		SKIP(1),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(COMMAND),
		ALLOW_ARGUMENT(F_GETFD),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(PROTECTION),
		IF_ANY(PROT_EXEC),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		RETURN(SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (IS_SANITIZED)
		return 0;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? CONFINE_NO_SECCOMP : 0;
}
