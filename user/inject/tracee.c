// SPDX-License-Identifier: BSD-2-Clause
/*
 * The frame is the one that the kernel itself pushes for a handler (struct rt_sigframe of arch/x86): return address,
 * ucontext, and below it the state of the floating-point unit, whose layout PTRACE_GETREGSET gives and whose end two magic
 * numbers mark. It goes below the red zone.
 *
 *	sp -> | restorer | ucontext | siginfo |   result, text   | xstate (64-byte aligned) |  128 bytes | sp before
 *
 * A thread that waits in a system call was interrupted by the stop: the call is made again, from its beginning. So it does
 * not end with EINTR, but one with a timeout may wait for that long once more.
 *
 * Rejected: breakpoints, of either kind. One that is there when the tracer dies kills the process.
 */
#include "inject/tracee.h"

#include <cpuid.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "inject/places.h"
#include "inject/safety.h"
#include "process/procfs.h"

#define MAX_XSTATE_BYTES 16384
#define RED_ZONE_BYTES	 128
#define CALL_STACK_BYTES (48u << 10) /* that must be free for the function */
#define MAX_STOPS	 20	     /* of a thread, one after the other */
#define MAX_THREADS	 64	     /* that are tried */
#define SYSCALL_STOP	 (SIGTRAP | 0x80)
#define NT_XSTATE	 0x202
#define STATE_WORDS_AT	 464
#define STATE_HEADER_AT	 512
#define STATE_HEADER_END 576
#define XSTATE_MAGIC1	 0x46505853u
#define XSTATE_MAGIC2	 0x46505845u
#define UC_FLAGS	 (1 | 2 | 4) /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
#define RSEQ_CS_AT	 8	     /* in struct rseq of the kernel */

/* Of an alternative signal stack: the kernel refuses it, and leaves the one that is set. */
#define NO_STACK_MODE 0x10

/* The kernel's errors of calls that it would restart. */
enum {
	RESTARTSYS = 512,
	RESTART_RESTARTBLOCK = 516
};

/* As the kernel has it: glibc's ucontext_t is longer. */
struct frame {
	uint64_t restorer;
	uint64_t flags, link;
	struct {
		uint64_t sp;
		uint32_t flags, pad;
		uint64_t size;
	} stack;
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, di, si, bp, bx, dx, ax, cx, sp, ip, rflags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
	uint64_t mask;
	uint8_t siginfo[128];
	int64_t result;
	char text[4096];
};

_Static_assert(offsetof(struct frame, mask) == 8 + 40 + 256, "struct ucontext of the kernel");

/* Of the software's part of the state: struct _fpx_sw_bytes of the kernel, at byte 464. */
struct state_words {
	uint32_t magic1, extended_bytes;
	uint64_t features;
	uint32_t bytes, padding[7];
};

struct stop {
	struct user_regs_struct regs;
	uint64_t mask;
	_Alignas(64) uint8_t state[MAX_XSTATE_BYTES + 4];
	size_t state_bytes;
	bool is_of_all; /* the whole process is stopped, as by SIGSTOP */
};

/* Stops a thread that is traced, sets *is_of_all. 0, or -ESRCH, -EINTR: it is not traced any more. */
static int stop_thread(pid_t tid, bool *is_of_all)
{
	int status, err;

	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		return -ESRCH;
	if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
		return -ESRCH;
	*is_of_all = WSTOPSIG(status) != SIGTRAP;
	if (status >> 16 == PTRACE_EVENT_STOP)
		return 0;
	/* A signal came first, which it is to have. */
	err = ptrace(PTRACE_DETACH, tid, NULL, status >> 16 ? 0 : WSTOPSIG(status)) ? -errno : 0;
	return err ? -ESRCH : -EINTR;
}

/*
 * The bytes of a state that a thread may have without asking for more: without AMX's tiles, which the kernel would not take
 * back. Clears their bits. Components are where the processor says.
 */
static size_t bytes_of_state(uint8_t (*state)[MAX_XSTATE_BYTES + 4])
{
	const uint64_t tiles = 3ull << 17;
	size_t bytes = STATE_HEADER_END;
	uint64_t features, present;

	memcpy(&features, *state + STATE_WORDS_AT, sizeof(features));
	memcpy(&present, *state + STATE_HEADER_AT, sizeof(present));
	features &= ~tiles;
	present &= ~tiles;
	memcpy(*state + STATE_WORDS_AT, &features, sizeof(features));
	memcpy(*state + STATE_HEADER_AT, &present, sizeof(present));
	for (int i = 2; i < 63; i++) {
		unsigned int size, at, c, d;

		if (!(features & 1ull << i))
			continue;
		__cpuid_count(0xd, i, size, at, c, d);
		if (at + size > bytes)
			bytes = at + size;
	}
	return bytes;
}

static int read_stop(pid_t tid, struct stop *stop)
{
	struct iovec state = {stop->state, MAX_XSTATE_BYTES};

	if (ptrace(PTRACE_GETREGS, tid, NULL, &stop->regs) ||
	    ptrace(PTRACE_GETSIGMASK, tid, sizeof(stop->mask), &stop->mask) ||
	    ptrace(PTRACE_GETREGSET, tid, NT_XSTATE, &state))
		return -errno;
	if (state.iov_len < STATE_HEADER_END)
		return -ENOTSUP;
	stop->state_bytes = bytes_of_state(&stop->state);
	return stop->state_bytes > state.iov_len ? -ENOTSUP : 0;
}

/* Calls that the kernel does not restart: of sockets, those with a timeout. They have done nothing when they return EINTR. */
static bool ends_when_stopped(long call)
{
	static const long calls[] = {SYS_epoll_wait,	  SYS_epoll_pwait, SYS_epoll_pwait2,
				     SYS_rt_sigtimedwait, SYS_semop,	   SYS_semtimedop,
				     SYS_accept,	  SYS_accept4,	   SYS_recvfrom,
				     SYS_recvmsg,	  SYS_io_getevents};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (call == calls[i])
			return true;
	return false;
}

/* A system call that the stop has interrupted is made once more. */
static void restart_call(struct user_regs_struct *regs)
{
	long result = regs->rax;

	if ((long)regs->orig_rax < 0)
		return;
	if ((result <= -RESTARTSYS && result >= -RESTART_RESTARTBLOCK) ||
	    (result == -EINTR && ends_when_stopped(regs->orig_rax))) {
		regs->rax = regs->orig_rax;
		regs->rip -= 2;
	}
	regs->orig_rax = -1;
}

static void save_registers(const struct user_regs_struct *regs, struct frame *frame)
{
	*frame = (struct frame){
		.r8 = regs->r8,
		.r9 = regs->r9,
		.r10 = regs->r10,
		.r11 = regs->r11,
		.r12 = regs->r12,
		.r13 = regs->r13,
		.r14 = regs->r14,
		.r15 = regs->r15,
		.di = regs->rdi,
		.si = regs->rsi,
		.bp = regs->rbp,
		.bx = regs->rbx,
		.dx = regs->rdx,
		.ax = regs->rax,
		.cx = regs->rcx,
		.sp = regs->rsp,
		.ip = regs->rip,
		.rflags = regs->eflags,
		.cs = regs->cs,
		.ss = regs->ss,
		.flags = UC_FLAGS,
		.stack.flags = NO_STACK_MODE,
	};
}

/* As the kernel marks the state that it pushes. */
static void mark_state(struct stop *stop)
{
	struct state_words words = {.magic1 = XSTATE_MAGIC1,
				    .extended_bytes = stop->state_bytes + 4,
				    .bytes = stop->state_bytes};
	uint32_t magic2 = XSTATE_MAGIC2;

	memcpy(&words.features, stop->state + STATE_WORDS_AT, sizeof(words.features));
	memcpy(stop->state + STATE_WORDS_AT, &words, sizeof(words));
	memcpy(stop->state + stop->state_bytes, &magic2, sizeof(magic2));
}

static int write_memory(pid_t tid, uint64_t to, void *from, size_t bytes)
{
	struct iovec local = {from, bytes}, remote = {(void *)to, bytes};

	return process_vm_writev(tid, &local, 1, &remote, 1, 0) == (ssize_t)bytes ? 0 : -EFAULT;
}

static int push_frame(const struct tracee *tracee, pid_t tid, const struct remote_call *call,
		      struct stop *stop, struct user_regs_struct *regs)
{
	struct frame frame;
	uint64_t state_at = (regs->rsp - RED_ZONE_BYTES - stop->state_bytes - 4) & ~63ull, at;
	uint8_t room;
	int err;

	at = (state_at - sizeof(frame)) & ~15ull;
	at -= 8; /* as after a call */
	if (places_read(tid, at - CALL_STACK_BYTES, &room, 1) != 1)
		return -ENOMEM;
	save_registers(regs, &frame);
	frame.restorer = tracee->restorer;
	frame.mask = stop->mask;
	frame.fpstate = state_at;
	frame.result = INT64_MIN;
	if (call->text)
		snprintf(frame.text, sizeof(frame.text), "%s", call->text);
	mark_state(stop);
	err = write_memory(tid, state_at, stop->state, stop->state_bytes + 4);
	err = err ? err : write_memory(tid, at, &frame, sizeof(frame));
	regs->rsp = at;
	regs->rip = call->function;
	regs->rdi = call->text ? at + offsetof(struct frame, text) : call->first;
	regs->rsi = call->has_result ? at + offsetof(struct frame, result) : call->second;
	regs->rax = 0;
	regs->orig_rax = -1;
	regs->eflags &= ~0x400ull; /* the direction flag */
	return err;
}

static void put_back(pid_t tid, const struct stop *stop, struct user_regs_struct *before)
{
	uint64_t mask = stop->mask;
	struct iovec state = {(void *)stop->state, stop->state_bytes};

	ptrace(PTRACE_SETREGS, tid, NULL, before);
	ptrace(PTRACE_SETREGSET, tid, NT_XSTATE, &state);
	ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask);
}

static bool is_of_fault(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE;
}

/*
 * What is held back while the function runs: all but the signals of faults. The kernel would set the handler of one that
 * comes while it is blocked back to the default.
 */
static uint64_t held_signals(void)
{
	uint64_t held = ~0ull;

	for (int signal = 1; signal < 32; signal++)
		if (is_of_fault(signal))
			held &= ~(1ull << (signal - 1));
	return held;
}

/*
 * After a stop: the signal to go on with. -EFAULT: the function crashed. SIGSTOP, which nobody can block, is the process's
 * as at any time; this thread alone runs on for the moment, as far as nobody else keeps it. *late: a signal of a fault that
 * somebody has sent: it waits.
 */
static int signal_after(pid_t tid, int status, int *late)
{
	siginfo_t info = {.si_code = SI_USER};
	int signal = WSTOPSIG(status);

	if (status >> 16 || signal == SYSCALL_STOP)
		return 0;
	if (!is_of_fault(signal))
		return signal;
	ptrace(PTRACE_GETSIGINFO, tid, NULL, &info);
	if (info.si_code > 0)
		return -EFAULT;
	*late = signal;
	return 0;
}

static bool is_returning(pid_t tid, int status, uint64_t frame_at)
{
	struct user_regs_struct regs;

	return WSTOPSIG(status) == SYSCALL_STOP && !ptrace(PTRACE_GETREGS, tid, NULL, &regs) &&
	       regs.orig_rax == SYS_rt_sigreturn && regs.rsp == frame_at + 8;
}

/*
 * Lets the thread run until it is about to return. 0, -EFAULT: it was stopped by a fault, -ESRCH, -ETIMEDOUT. *late: of
 * signal_after().
 */
static int run_to_return(pid_t tid, uint64_t frame_at, uint64_t timeout_ns, int *late)
{
	uint64_t end_ns = clock_monotonic_ns() + timeout_ns;
	const struct timespec pause = {.tv_nsec = 50000};
	long signal = 0;
	int status;

	for (;;) {
		pid_t got;

		if (signal < 0)
			return signal;
		if (ptrace(PTRACE_SYSCALL, tid, NULL, (void *)signal))
			return -errno;
		while (!(got = waitpid(tid, &status, __WALL | WNOHANG))) {
			if (clock_monotonic_ns() >= end_ns)
				return -ETIMEDOUT;
			nanosleep(&pause, NULL);
		}
		if (got < 0 || !WIFSTOPPED(status))
			return -ESRCH;
		if (is_returning(tid, status, frame_at))
			return 0;
		signal = signal_after(tid, status, late);
	}
}

/* A stopped thread makes the call. *late: a signal that it is to have when it is let go. */
static int call_in(const struct tracee *tracee, pid_t tid, const struct remote_call *call,
		   struct stop *stop, uint64_t timeout_ns, int64_t *result, int *late)
{
	struct user_regs_struct before = stop->regs, regs;
	uint64_t held = held_signals();
	int err, status;

	if (!tracee->is_same(tracee))
		return -ESRCH;
	restart_call(&before);
	regs = before;
	err = push_frame(tracee, tid, call, stop, &regs);
	if (err)
		return err;
	/* From here on the thread comes back by itself. */
	if (ptrace(PTRACE_SETREGS, tid, NULL, &regs))
		return -errno;
	ptrace(PTRACE_SETSIGMASK, tid, sizeof(held), &held);
	err = run_to_return(tid, regs.rsp, timeout_ns, late);
	if (err == -EFAULT)
		put_back(tid, stop, &before);
	if (err == -ETIMEDOUT && !ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) &&
	    waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status) && !(status >> 16) &&
	    WSTOPSIG(status) != SYSCALL_STOP)
		*late = WSTOPSIG(status);
	if (!err && call->has_result)
		places_read(tid, regs.rsi, result, sizeof(*result));
	return err;
}

/*
 * Stops a thread some times, at moments that have nothing to do with what it does: a first stop is often at the end of a
 * system call, and so, where memory is asked for all the time, in the allocator. -EAGAIN: it was in no safe place, and is
 * stopped. -EBUSY: as well, and stays there, as the whole process is stopped. -ESRCH, -EINTR: it is not traced any more.
 */
static int stop_where_safe(const struct tracee *tracee, pid_t tid, struct stop *stop)
{
	for (unsigned int i = 0;; i++) {
		const struct timespec pause = {.tv_nsec = 30000 + clock_monotonic_ns() % 700000};
		int err = stop_thread(tid, &stop->is_of_all);

		if (err)
			return err;
		err = read_stop(tid, stop);
		if (err || safety_is_given(tracee, tid, &stop->regs))
			return err;
		if (stop->is_of_all)
			return -EBUSY;
		if (i + 1 == MAX_STOPS || ptrace(PTRACE_CONT, tid, NULL, NULL))
			return -EAGAIN;
		nanosleep(&pause, NULL);
	}
}

/*
 * Is it one that stops at once? In an uninterruptible sleep, such as vfork()'s, which lasts until the child executes a
 * program, it would not, and be waited for.
 */
static bool can_stop(pid_t tid)
{
	struct proc_stat stat;

	return !procfs_stat("/proc", tid, &stat) && !strchr("DZX", stat.state);
}

/* -EAGAIN: not now. -EBUSY: not as long as the process is stopped. */
static int try_thread(const struct tracee *tracee, pid_t tid, const struct remote_call *call,
		      uint64_t timeout_ns, int64_t *result)
{
	static struct stop stop;
	int late = 0, err;

	if (!can_stop(tid))
		return -EAGAIN;
	if (ptrace(PTRACE_SEIZE, tid, NULL, PTRACE_O_TRACESYSGOOD))
		return errno == ESRCH ? -EAGAIN : -errno;
	err = stop_where_safe(tracee, tid, &stop);
	if (err == -ESRCH || err == -EINTR)
		return -EAGAIN;
	if (!err)
		err = call_in(tracee, tid, call, &stop, timeout_ns, result, &late);
	ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)late);
	return err == -ENOMEM ? -EAGAIN : err;
}

/* The threads there are, the first MAX_THREADS of them. */
static size_t list_threads(pid_t pid, pid_t tids[MAX_THREADS])
{
	char path[64];
	struct dirent *entry;
	size_t nr = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	folder = opendir(path);
	while (folder && nr < MAX_THREADS && (entry = readdir(folder)))
		if (*entry->d_name != '.')
			tids[nr++] = strtol(entry->d_name, NULL, 10);
	if (folder)
		closedir(folder);
	return nr;
}

int tracee_call(const struct tracee *tracee, const struct remote_call *call, uint64_t timeout_ns,
		int64_t *result)
{
	uint64_t end_ns = clock_monotonic_ns() + timeout_ns;
	const struct timespec pause = {.tv_nsec = 2000000};
	pid_t tids[MAX_THREADS];
	int why = -ETIME;

	for (;;) {
		size_t nr = list_threads(tracee->pid, tids);
		uint32_t alive;

		if (procfs_live_thread("/proc", tracee->pid, &alive))
			return -ESRCH;
		for (size_t i = 0; i < nr; i++) {
			int err = try_thread(tracee, tids[i], call, timeout_ns, result);

			if (err != -EAGAIN && err != -EBUSY)
				return err;
			why = err == -EBUSY ? -EBUSY : -ETIME;
			if (clock_monotonic_ns() >= end_ns)
				return why;
		}
		nanosleep(&pause, NULL);
	}
}
