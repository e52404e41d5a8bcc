// SPDX-License-Identifier: BSD-2-Clause
/*
 * The list of calls is short enough to be an allow-list: a reading command has no library that talks to the kernel
 * but libc, zlib and libelf. What differs between versions of libc (open or openat, clone3 or clone) is in it, or fails in
 * a way that libc knows.
 *
 * The filter says what may be done, landlock where. On a kernel without landlock a command without outputs can open
 * nothing for writing even so, by the flags of openat. The flags of clone distinguish a process from a thread;
 * those of clone3 are in memory, where a filter cannot look, so that it fails and libc uses clone.
 *
 * Landlock grants whole folders: a command with -o can replace other files of that folder. chown could give away any
 * file that can be opened, so that it is allowed for one user alone, and chmod for one mode.
 */
#include "sandbox/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "sandbox/callfilter.h"
#include "sandbox/capset.h"
#include "sandbox/landlock.h"

#define OUTPUT_MODE 0600 /* output/file.h */
#define TCGETS2_NR \
	0x802c542a /* TCGETS2, of isatty() of glibc 2.42; its struct is not in libc's headers */

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static bool is_stream(const char *path)
{
	return !strcmp(path, "-");
}

/* The folder that a file of this path is in. Owned by the caller. */
static char *folder_of(const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	while (len && path[len - 1] != '/')
		len--;
	return len ? xasprintf("%.*s", (int)len, path) : xstrdup(".");
}

/* Capabilities ----------------------------------------------------------------------------------- */

/* May it not be used so by this user as such? Where the kernel does not say (before Linux 5.8): maybe not. */
static bool is_denied(const char *path, int mode)
{
	return syscall(SYS_faccessat2, AT_FDCWD, path, mode, AT_EACCESS) &&
	       (errno == EACCES || errno == EPERM || errno == ENOSYS);
}

static bool needs_to_read(const struct reader_files *files)
{
	bool needs = files->reads_others;

	for (size_t i = 0; !needs && i < files->nr_inputs; i++)
		needs = !is_stream(files->inputs[i]) && is_denied(files->inputs[i], R_OK);
	return needs;
}

static bool needs_to_write(const struct reader_files *files)
{
	bool needs = false;

	for (size_t i = 0; !needs && i < files->nr_outputs; i++) {
		char *folder scoped(freep) = folder_of(files->outputs[i]);

		if (!is_stream(files->outputs[i]))
			needs = files->gives_away || is_denied(folder, W_OK | X_OK) ||
				is_denied(files->outputs[i], W_OK);
	}
	return needs;
}

static uint64_t needed_capabilities(const struct reader_files *files)
{
	uint64_t permitted = capset_permitted(), needed = 0;

	if (!permitted || capset_use(0))
		return 0;
	if (needs_to_read(files))
		needed |= permitted & CAPSET_OF(CAP_DAC_READ_SEARCH)
				  ? CAPSET_OF(CAP_DAC_READ_SEARCH)
				  : CAPSET_OF(CAP_DAC_OVERRIDE);
	if (needs_to_write(files))
		needed |= CAPSET_OF(CAP_DAC_OVERRIDE) | CAPSET_OF(CAP_CHOWN) |
			  CAPSET_OF(CAP_FOWNER);
	capset_use(permitted);
	return needed;
}

/* Files ------------------------------------------------------------------------------------------ */

typedef vec_of(struct landlock_grant) grants_t;

/* Below the output itself where it is a folder, else below the folder that it is in; only a device is itself. */
static void grant_output(grants_t *grants, const char *path)
{
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	unsigned int uses = LANDLOCK_WRITE_BELOW;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && !S_ISDIR(st.st_mode)) {
		if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) {
			closep(&fd);
			fd = -1;
		} else {
			uses = LANDLOCK_WRITE;
		}
	}
	if (fd < 0) {
		char *folder scoped(freep) = folder_of(path);

		fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (fd >= 0)
		vec_push(grants, (struct landlock_grant){fd, uses});
}

static uint32_t restrict_files(const struct reader_files *files)
{
	grants_t grants = {0};
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool done;

	vec_push(&grants, (struct landlock_grant){root, LANDLOCK_READ});
	for (size_t i = 0; i < files->nr_outputs; i++)
		if (!is_stream(files->outputs[i]))
			grant_output(&grants, files->outputs[i]);
	done = root >= 0 && !landlock_restrict(grants.at, grants.nr);
	vec_for_each(&grants, grant)
		close(grant->fd);
	vec_release(&grants);
	return done ? 0 : CONFINE_NO_LANDLOCK;
}

/* System calls ----------------------------------------------------------------------------------- */

#define NOT_EXECUTABLE	    CALL_NONE_OF, CALL_LOW(2), PROT_EXEC
#define IS(argument, value) CALL_EQUAL, CALL_LOW(argument), value
#define WRITING		    (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)

static const struct call_rule always[] = {
	CALL(read),
	CALL(write),
	CALL(close),
	CALL(lseek),
	CALL(fstat),
	CALL(newfstatat),
	CALL(statx),
	CALL(pread64),
	CALL(readv),
	CALL(writev),
	CALL(faccessat),
	CALL(faccessat2),
	CALL(readlinkat),
	CALL(getdents64),
	CALL(getcwd),
	CALL(dup),
#ifdef SYS_open /* x86 */
	CALL(stat),
	CALL(lstat),
	CALL(access),
	CALL(readlink),
	CALL(poll),
	CALL(time),
#endif
	CALL_IF(fcntl, IS(1, F_GETFD)),
	CALL_IF(fcntl, IS(1, F_SETFD)),
	CALL_IF(fcntl, IS(1, F_GETFL)),
	CALL_IF(fcntl, IS(1, F_DUPFD)),
	CALL_IF(fcntl, IS(1, F_DUPFD_CLOEXEC)),
	CALL_IF(ioctl, IS(1, TCGETS)), /* isatty(): not TIOCSTI, which types for the user */
	CALL_IF(ioctl, IS(1, TCGETS2_NR)),
	CALL_IF(ioctl, IS(1, TIOCGWINSZ)),
	CALL(ppoll),
	/* memory */
	CALL(brk),
	CALL(munmap),
	CALL(mremap),
	CALL(madvise),
	CALL_IF(mmap, NOT_EXECUTABLE),
	CALL_IF(mprotect, NOT_EXECUTABLE),
	CALL(getrandom),
	CALL(sysinfo),
	/* threads, and signals to itself (see own_signals()) */
	CALL_IF(clone, CALL_ALL_OF, CALL_LOW(0), CLONE_THREAD),
	CALL(futex),
	CALL(set_robust_list),
	CALL(rseq),
	CALL(sched_yield),
	CALL(sched_getaffinity),
	CALL(gettid),
	CALL(getpid),
	CALL(exit),
	CALL(exit_group),
	CALL(rt_sigaction),
	CALL(rt_sigprocmask),
	CALL(rt_sigreturn),
	CALL(sigaltstack),
	CALL(restart_syscall),
	/* asked, not set */
	CALL_IF2(prlimit64, CALL_EQUAL, CALL_LOW(2), 0, CALL_EQUAL, CALL_HIGH(2), 0),
	CALL(getrlimit),
	CALL(getuid),
	CALL(geteuid),
	CALL(getgid),
	CALL(getegid),
	CALL(uname),
	CALL(clock_gettime),
	CALL(clock_getres),
	CALL(clock_nanosleep),
	CALL(nanosleep),
	CALL(gettimeofday),
};

static const struct call_rule reading[] = {
	CALL_IF(openat, CALL_NONE_OF, CALL_LOW(2), WRITING),
#ifdef SYS_open
	CALL_IF(open, CALL_NONE_OF, CALL_LOW(1), WRITING),
#endif
};

static const struct call_rule writing[] = {
	CALL(openat),
	CALL(mkdirat),
	CALL(renameat),
	CALL(renameat2),
	CALL_IF(unlinkat, IS(2, 0)),
	CALL_IF(fchmod, IS(1, OUTPUT_MODE)),
	CALL(fsync),
	CALL(fdatasync),
	CALL(ftruncate),
	CALL(pwrite64),
#ifdef SYS_open
	CALL(open),
	CALL(mkdir),
	CALL(rename),
	CALL(unlink),
#endif
};

/* No network: sockets but those that there are come in pairs, of which both ends are here. */
static const struct call_rule asking[] = {
	CALL_IF(socketpair, IS(0, AF_UNIX)),
	CALL(sendmsg),
	CALL(recvmsg),
	CALL(wait4),
};

#define ADD(filter, rules) callfilter_add(filter, rules, COUNT_OF(rules))

/* raise(), abort() */
static void add_own_signals(struct callfilter *filter)
{
	uint32_t self = getpid();
	const struct call_rule rules[] = {
		CALL_IF(tgkill, IS(0, self)),
		CALL_IF(tkill, IS(0, self)), /* musl; of the first thread */
	};

	ADD(filter, rules);
}

static void add_gifts(struct callfilter *filter, uid_t uid, gid_t gid)
{
	const struct call_rule rules[] = {
		CALL_IF2(fchown, CALL_EQUAL, CALL_LOW(1), uid, CALL_EQUAL, CALL_LOW(2), gid),
		CALL_IF2(fchownat, CALL_EQUAL, CALL_LOW(2), uid, CALL_EQUAL, CALL_LOW(3), gid),
	};

	ADD(filter, rules);
}

static bool writes_files(const struct reader_files *files)
{
	for (size_t i = 0; i < files->nr_outputs; i++)
		if (!is_stream(files->outputs[i]))
			return true;
	return false;
}

static uint32_t restrict_calls(const struct reader_files *files)
{
	const uint32_t refused = SECCOMP_RET_ERRNO | ENOSYS;
	struct callfilter filter;

	if (CONFINE_IS_SANITIZED)
		return 0;
	callfilter_begin(&filter, SECCOMP_RET_ALLOW, refused);
	ADD(&filter, always);
	if (writes_files(files))
		ADD(&filter, writing);
	else
		ADD(&filter, reading);
	if (files->asks_worker)
		ADD(&filter, asking);
	add_own_signals(&filter);
	if (files->gives_away && writes_files(files))
		add_gifts(&filter, files->uid, files->gid);
	return callfilter_install(&filter, refused, 0) ? CONFINE_NO_SECCOMP : 0;
}

uint32_t confine_reader(const struct reader_files *files)
{
	uint64_t keep = needed_capabilities(files);
	uint32_t missing = 0;

	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	missing |= prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? CONFINE_NO_PRIVS : 0;
	missing |= restrict_files(files);
	capset_bound(keep);
	missing |= capset_keep(keep) ? CONFINE_NO_CAPSET : 0;
	return missing | restrict_calls(files);
}
