// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A step through code without unwind information, most of it JIT code. Often it keeps frame pointers instead:
 *
 *	rbp -> [ caller's rbp ][ return address ]	higher addresses ->
 *
 * There the walk goes on by rbp and marks what it finds as guessed, until it is back in code that is
 * described. Where the code itself shows where its caller is, that is better, and exact: gapstep_abi.h, which
 * user space does the same with.
 */
#include "step.bpf.h"

#include "arch/arch.bpf.h"
#include "code_abi.h"
#include "lookup.bpf.h"
#include "runtime.bpf.h"
#include "tables.bpf.h"
#include "uprobes.bpf.h"

/* Not inlined for the verifier: it knows nothing of what these return, so that it follows no path twice. */
__noinline int unwind_follow(u32 slot)
{
	struct scratch *scratch = scratch_at(slot);

	return scratch ? arch_follow(scratch) : CODE_LINE_ENDS;
}

__noinline int unwind_is_behind_call(u64 before)
{
	return code_is_behind_call(before);
}

static __always_inline bool read_code(u64 address, void *to, u32 len_bytes)
{
	return !bpf_probe_read_user(to, len_bytes, (void *)address);
}

#define gapstep_code(target, addr, to, len) read_code(addr, to, len)
#define gapstep_knows(target, ip)	    lookup_knows(&(target)->scratch->walk, ip)
#define gapstep_line(target)		    (&(target)->scratch->line)
#define gapstep_arm64_line(target)	    (&(target)->scratch->arm64_line)
#define gapstep_strip(target, regs, ip)	    arch_strip(ip)
#define gapstep_follow(target)		    unwind_follow((target)->slot)
#define gapstep_behind_call(before)	    unwind_is_behind_call(before)
#include "gapstep_abi.h"

/* For runtimes that keep what they execute next to it (v8.bpf.c). */
static __always_inline void note_fp(const struct walk *walk, u32 slot)
{
	struct shadow *shadow = shadow_at(slot);

	if (shadow)
		shadow->fps[unwind_place(walk->nr - 1) & (ABI_MAX_USER_FRAMES - 1)] = walk->fp;
}

static __always_inline int step_by_guess(const struct target *target, struct caller *caller)
{
	enum gapstep step = gapstep(target, &target->scratch->walk, caller);

	if (step == GAPSTEP_NO_FP)
		return END(NO_ROOT);
	if (step == GAPSTEP_NO_WAY)
		return END(NO_CFI);
	if (step == GAPSTEP_NEW)
		return END(UNKNOWN_CODE);
	caller->guessed = step == GAPSTEP_GUESSED ? ABI_IP_GUESSED : 0;
	if (caller->guessed)
		note_fp(&target->scratch->walk, target->slot);
	return 0;
}

/* Through code without unwind information. Leaving the page of uprobes is no step yet. */
__noinline int unwind_step_gap(u32 slot)
{
	struct scratch *scratch = scratch_at(slot);
	struct target target = {scratch, slot};
	struct caller caller = {};
	bool is_unknown;
	int end;

	if (!scratch)
		return 1;
	is_unknown = scratch->walk.at.table == ABI_TABLE_UNBUILT;
	/* A return address there is the page's first, so that the call would be in the page before, where no code is. */
	if ((scratch->walk.ip_exact || is_unknown) && uprobes_leave(slot))
		return 0;
	if (is_unknown)
		end = END(UNKNOWN_CODE);
	else if (scratch->walk.at.gap_by_fp)
		end = end_of_status(rulestep_by_fp(&target, &scratch->walk, &caller));
	else
		end = step_by_guess(&target, &caller);
	return go_to_caller(scratch, &caller, end);
}
