// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A step through code without unwind information, most of it made at run time. Often it keeps frame
 * pointers instead:
 *
 *	rbp -> [ caller's rbp ][ return address ]	higher addresses ->
 *
 * There the walk goes on by rbp and marks what it finds as guessed, until it is back in code that is
 * described. Where the code itself shows where its caller is (code_abi.h), that is better, and exact.
 * What is found either way has to be a return address: rbp may be used for anything. The same in user
 * space is user/unwind/codestep.c, which the tests compare this with.
 */
#include "step.bpf.h"

#include "code_abi.h"
#include "tables.bpf.h"

/* For the verifier: of what these return it knows nothing, so that no path has to be followed twice. */
__noinline int unwind_instruction(u64 bytes)
{
	return code_instruction(bytes);
}

__noinline int unwind_is_behind_call(u64 before)
{
	return code_is_behind_call(before);
}

/*
 * Is ip, found in code without unwind information, a return address? In code that cannot be read it
 * passes for one, if it is known to be code. Code that looks right and is in no vma may be new.
 */
static __always_inline int check_return(struct walk *walk, u64 ip)
{
	bool is_known = tables_knows(walk, ip - 1);
	u64 code[2] = {}; /* before ip, and from there on */

	if (bpf_probe_read_user(code, sizeof(code), (void *)(ip - 8)) &&
	    bpf_probe_read_user(code, sizeof(code[0]), (void *)(ip - 8)))
		return is_known ? 0 : END(NO_CFI);
	if (!unwind_is_behind_call(code[0]) && !code_is_sigreturn(code[1]))
		return END(NO_CFI);
	return is_known ? 0 : END(UNKNOWN_CODE);
}

/* Where a straight line of code leads: the registers behind its ret; fp_at: where fp is, 0 in a register. */
struct line {
	u64 ra_at, fp_at, fp;
};

/* False: there is none from ip on. code: the bytes there. */
static __always_inline bool follow_line(const struct walk *walk, const u64 code[2],
					struct line *line)
{
	u64 sp = walk->sp, fp = walk->fp, fp_at = 0, low = code[0], high = code[1];

	for (u32 i = 0; i < CODE_LINE_STEPS; i++) {
		u32 instruction = unwind_instruction(low), effect = code_effect(instruction);
		u32 shift = code_len(instruction) * 8;

		if (!shift || (effect == CODE_LEAVES && fp_at))
			return false;
		if (effect == CODE_RETURNS) {
			*line = (struct line){sp, fp_at, fp};
			return true;
		}
		if (effect == CODE_LEAVES)
			sp = fp;
		if (effect == CODE_LEAVES || effect == CODE_POPS_FP)
			fp_at = sp;
		if (effect == CODE_SETS_FP) {
			fp = sp;
			fp_at = 0;
		}
		sp += effect == CODE_LEAVES ? 8 : (s64)code_delta(instruction);
		low = low >> shift | high << (64 - shift);
		high >>= shift;
	}
	return false;
}

/* A function that is about to make its frame, or in the midst of it. */
static __always_inline bool follow_prologue(const struct walk *walk, u64 code, struct line *line)
{
	enum code_prologue at = code_prologue(code);
	u8 before = 0;

	if (at == CODE_PROLOGUE_NONE)
		return false;
	*line = (struct line){walk->sp, 0, walk->fp};
	if (at == CODE_PROLOGUE_AT_PUSH)
		return true;
	if (bpf_probe_read_user(&before, sizeof(before), (void *)(walk->ip - 1)) ||
	    before != CODE_PUSH_FP)
		return false;
	*line = (struct line){walk->sp + 8, walk->sp, 0};
	return true;
}

/* By what the code at ip shows. Below sp is what the line itself has yet to push: it is fp. */
static __always_inline bool step_by_code(struct scratch *scratch, u32 slot, struct caller *caller)
{
	struct walk *walk = &scratch->walk;
	u64 code[2] = {};
	struct line line;

	if (bpf_probe_read_user(code, sizeof(code), (void *)walk->ip) ||
	    !(follow_line(walk, code, &line) ||
	      (walk->ip_exact && follow_prologue(walk, code[0], &line))))
		return false;
	if (line.ra_at < walk->sp)
		return false;
	caller->fp = line.fp_at ? walk->fp : line.fp;
	if (line.fp_at >= walk->sp && !stackmem_load(scratch, slot, line.fp_at, &caller->fp))
		return false;
	caller->sp = line.ra_at + 8;
	return stackmem_load(scratch, slot, line.ra_at, &caller->ip);
}

/* Through code without unwind information. */
__noinline int unwind_step_gap(u32 slot)
{
	struct scratch *scratch = scratch_at(slot);
	struct caller caller = {};
	struct walk *walk;
	int end = 0;

	if (!scratch)
		return 1;
	walk = &scratch->walk;
	if (walk->at.gap_by_fp) {
		end = step_by_fp(scratch, slot, &caller, true);
	} else {
		if (!step_by_code(scratch, slot, &caller))
			end = step_by_fp(scratch, slot, &caller, false);
		if (!end && caller.ip)
			end = check_return(walk, caller.ip);
	}
	return go_to_caller(scratch, &caller, end);
}
