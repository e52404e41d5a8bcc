// SPDX-License-Identifier: BSD-2-Clause
/*
 * The frame is that of struct rt_sigframe of arch/x86: return address, ucontext, and below it the state of the floating-point
 * unit. It goes below the red zone.
 *
 *	sp -> | restorer | ucontext | siginfo |  results, text   | xstate (64-byte aligned) |  128 bytes | sp before
 */
#include "inject/sigframe.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/uio.h>

#include "inject/places.h"

#define RED_ZONE_BYTES	 128
#define CALL_STACK_BYTES (48u << 10) /* that must be free for the function */
#define SCAN_BYTES	 (64u << 10)
#define USER_CODE	 0x33	     /* cs of 64-bit code */
#define UC_FLAGS	 (1 | 2 | 4) /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */

/* An invalid mode of an alternative signal stack: the kernel refuses it, and keeps the stack that is set. */
#define NO_STACK_MODE 0x10

/* The kernel's layout: glibc's ucontext_t is longer. */
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
	int64_t results[TRACEE_MAX_RESULTS];
	char text[4096];
};

_Static_assert(RED_ZONE_BYTES + CALL_STACK_BYTES + sizeof(struct frame) + sizeof(struct xstate) <=
		       SIGFRAME_ROOM_BYTES,
	       "room for all of it");
_Static_assert(offsetof(struct frame, mask) == 8 + 40 + 256, "struct ucontext of the kernel");

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

static int write_memory(pid_t tid, uint64_t to, void *from, size_t bytes)
{
	struct iovec local = {from, bytes}, remote = {(void *)to, bytes};

	return process_vm_writev(tid, &local, 1, &remote, 1, 0) == (ssize_t)bytes ? 0 : -EFAULT;
}

int sigframe_push(pid_t tid, uint64_t restorer, const struct remote_call *call,
		  struct thread_stop *stop, struct user_regs_struct *regs)
{
	struct frame frame;
	size_t state_bytes = xstate_mark(&stop->state);
	uint64_t state_at = (stop->regs.rsp - RED_ZONE_BYTES - state_bytes) & ~63ull, at;
	uint8_t room;
	int err;

	at = (state_at - sizeof(frame)) & ~15ull;
	at -= 8; /* as after a call */
	if (places_read(tid, at - CALL_STACK_BYTES, &room, 1) != 1)
		return -ENOMEM;
	save_registers(&stop->regs, &frame);
	frame.restorer = restorer;
	frame.mask = stop->mask;
	frame.fpstate = state_at;
	frame.results[0] = INT64_MIN;
	if (call->text)
		snprintf(frame.text, sizeof(frame.text), "%s", call->text);
	err = write_memory(tid, state_at, stop->state.bytes, state_bytes);
	err = err ? err : write_memory(tid, at, &frame, sizeof(frame));
	*regs = stop->regs;
	regs->rsp = at;
	regs->rip = call->function;
	regs->rdi = call->text ? at + offsetof(struct frame, text) : call->first;
	regs->rsi = call->nr_results ? at + offsetof(struct frame, results) : call->second;
	regs->rax = 0;
	regs->orig_rax = -1;
	regs->eflags &= ~0x400ull; /* the direction flag */
	return err;
}

void sigframe_forget(pid_t tid, uint64_t frame_at)
{
	uint64_t nothing = 0;

	write_memory(tid, frame_at + offsetof(struct frame, restorer), &nothing, sizeof(nothing));
}

/* The state of the floating-point unit is above the frame; a handler's frame returns somewhere. */
static bool is_frame(const struct frame *frame, uint64_t at)
{
	return frame->restorer && frame->flags && frame->flags <= UC_FLAGS && !frame->link &&
	       frame->cs == USER_CODE && frame->ip && frame->fpstate > at &&
	       frame->fpstate - at < SIGFRAME_ROOM_BYTES;
}

bool sigframe_is_above(pid_t tid, uint64_t sp, uint64_t limit)
{
	static _Alignas(8) char stack[SCAN_BYTES];
	uint64_t from = sp & ~7ull;
	size_t head = offsetof(struct frame, mask);
	ssize_t nr = places_read(tid, from, stack,
				 limit - from < sizeof(stack) ? limit - from : sizeof(stack));

	for (ssize_t at = 0; at + (ssize_t)head <= nr; at += 8)
		if (is_frame((const void *)(stack + at), from + at))
			return true;
	return false;
}
