// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Perl's shadow stack. What user space found in the interpreter's file (user/runtime/perl.h) says where things are.
 *
 *	fs --> the value of the key PL_thr_key: the interpreter of current --> statement that runs (a COP), operation (an OP)
 *	interpreter --> stack of contexts --> the one before it (a comparison of sort, a tied variable) --> ... 0
 *	context of a call --> code (a CV) --> its name, package and first statement
 *	        \--> statement that made the call
 *
 * Contexts lie one behind another, callers below; they are read in windows. Most are of blocks and loops. A call, an eval
 * of a text and a file that is required have one each, and the statement in one says file and line of the next. All of it belongs to
 * the thread that the tick interrupted, which cannot change it meanwhile. What a target has there instead can at most be
 * wrong: pointers are only followed.
 *
 * A call fills its context in step by step, after the context has become the top one, and what a place has is often of a call
 * that was there before. So the top one is left out while the operation that calls is still at work: its caller calls, which is
 * true. Perl notes the top one of calls (si_cxsubix) before it says whose it is.
 */
#include "prelude.bpf.h"

#include "perlcode.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define CONTEXT_BYTES	 104u
#define WINDOW_CONTEXTS	 8u /* the rest of the window is for the verifier */
#define STATEMENT_BEHIND 16 /* from PL_curcop on: PL_curstackinfo */
#define OPERATION_AT	 8  /* PL_op, in the interpreter */
#define INTERP_BYTES	 8192
#define CALL_BYTES	 8192 /* of the function that makes a call: 2.5 to 5 KB */
#define TYPE_MASK	 0xf
#define SORT		 3 /* a stack for its comparisons */

enum {
	CONTEXT_SUB = 9,
	CONTEXT_FORMAT = 10,
	CONTEXT_EVAL = 11,
	EVAL_BLOCK = 0x40,
	SUB_REGEX = 0x40,
	SUB_REGEX_BLOCK = 0x80 /* its code is the function that it stands in */
};
/* Offsets in a context. */
enum {
	AT_TYPE = 0,
	AT_STATEMENT = 16,
	AT_RETURN = 48,
	AT_CODE = 72
};

/* Frames ----------------------------------------------------------------------------------------- */

/*
 * A function that is at the statement at hand: of the code, or (0) of what runs without being called, whose name is its file's.
 * 0: it is pushed; else the walk ends before it.
 */
__noinline int perl_push_function(u32 slot, u64 code)
{
	struct work *work = work_at(slot);
	struct shadow *shadow = shadow_at(slot);
	u64 object, identity;

	if (!work || !shadow)
		return 1;
	/* at the beginning and end of a call, the current statement is the caller's, unless the function called itself there */
	if (shadow->stack.nr_walked == 1 && work->maybe_callers && work->maybe_callers != code)
		shadow->stack.frames[0].place = 0;
	shadow->stack.end = ABI_SHADOW_END_NO_CODE;
	work->start = work->name_at = 0;
	work->code = code;
	if (code && !perl_load_code(slot, code))
		return 1;
	if (code)
		perl_find_start(slot);
	/* It has only just begun: what runs is its caller's statement. */
	if (work->start && !shadow->stack.nr_walked &&
	    (work->operation_at == work->start || work->operation_at == work->body[BODY_START]))
		work->statement_at = work->start;
	if (!perl_load_statement(slot))
		return 1;
	work->file_at = work->start ? work->start_op[OP_FILE] : work->statement[OP_FILE];
	object = work->start ? work->start : work->statement_at;
	identity = identity_of(shadow, identify(work, shadow, slot), object);
	push_frame(shadow, identity, work->statement[OP_TYPE] >> 32, 0);
	make_known(slot, identity, perl_describe);
	shadow->stack.end = ABI_SHADOW_END_ROOT;
	return 0;
}

/* Contexts -------------------------------------------------------------------------------------- */

static __always_inline u64 context_word(const struct work *work, u32 offset)
{
	u32 i = ((u32)(work->contexts + work->context * CONTEXT_BYTES - work->window_at) + offset) /
		8;

	barrier_var(i);
	return work->window[i & (WINDOW_WORDS - 1)];
}

/* Has the window the context? Else it is read, with those below it. */
__noinline int perl_load_context(u32 slot)
{
	struct work *work = work_at(slot);
	u64 at, offset;
	u32 first;

	if (!work)
		return 0;
	at = work->contexts + (u64)work->context * CONTEXT_BYTES;
	offset = at - work->window_at;
	if (work->window_bytes && offset <= work->window_bytes - CONTEXT_BYTES)
		return 1;
	first = (u32)work->context < WINDOW_CONTEXTS ? (u32)work->context : WINDOW_CONTEXTS - 1;
	work->window_at = at - first * CONTEXT_BYTES;
	work->window_bytes = WINDOW_CONTEXTS * CONTEXT_BYTES;
	if (!bpf_probe_read_user(work->window, WINDOW_CONTEXTS * CONTEXT_BYTES,
				 (void *)work->window_at))
		return 1;
	work->window_at = at;
	work->window_bytes = CONTEXT_BYTES;
	return !bpf_probe_read_user(work->window, CONTEXT_BYTES, (void *)at);
}

/*
 * Is the top call's context still being made, or made but not begun? While an operation that calls is the one that runs, the caller's
 * statement is. Calls by native code have one without a type, and nothing to return to.
 */
static __always_inline bool is_half_made(const struct abi_perl *perl, const struct work *work,
					 const struct shadow *shadow)
{
	u32 type = type_of_op(work->operation);

	if (!work->operation_at || (type && type != perl->call_type))
		return false;
	if (work->call < work->context)
		return true;
	if (context_word(work, AT_STATEMENT) != work->statement_at)
		return false;
	/* Or it has called itself there, and does so again: then one call of many is not shown. */
	return shadow->leaf_ip - work->operation[OP_FUNCTION] < CALL_BYTES ||
	       context_word(work, AT_RETURN) == work->operation[OP_NEXT];
}

/* Is it left by the operation that runs? */
static __always_inline bool is_left(const struct abi_perl *perl, const struct work *work,
				    bool is_eval)
{
	u32 type = type_of_op(work->operation);

	return is_eval || type == perl->call_type + 1u || type == perl->call_type + 2u ||
	       type == perl->return_type;
}

/*
 * Has the context in the window a frame, being the top one? What native code calls again and again keeps its context when it does not
 * run: a regex, with its statement. Of an eval that ends, the statement is its caller's.
 */
static __always_inline bool has_frame(const struct work *work, u32 type)
{
	bool is_callers = context_word(work, AT_STATEMENT) == work->statement_at;
	bool is_eval = (type & TYPE_MASK) == CONTEXT_EVAL;

	if (!context_word(work, AT_RETURN) &&
	    (work->is_between || (!is_eval && type & SUB_REGEX && is_callers)))
		return false;
	return !is_eval || !is_callers;
}

/*
 * The last function without anything to return to was called by native code, in a loop of its own; or it is what a block (work->block)
 * that is met next does last.
 */
static __always_inline void settle_entry(struct work *work, struct shadow *shadow)
{
	if (work->entered && !work->block)
		mark_entry(shadow);
	work->entered = 0;
}

/* The context in the window is of something that has a frame. 0: go on; else the walk is over. */
__noinline int perl_meet(u32 slot, u32 type)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_perl *perl = walk_at(slot, &work, &shadow);
	u64 code, caller, returns;
	bool is_eval, is_top;

	if (!perl)
		return 1;
	is_eval = (type & TYPE_MASK) == CONTEXT_EVAL;
	is_top = !shadow->stack.nr_walked;
	code = is_eval ? 0 : context_word(work, AT_CODE);
	caller = context_word(work, AT_STATEMENT);
	if (work->context == work->top && is_half_made(perl, work, shadow))
		return 0;
	if (work->context == work->top && work->call < work->context) {
		/* It has ended; or it is what is left of one where something else, as a loop, begins. */
		if (is_left(perl, work, is_eval))
			work->statement_at = caller;
		return 0;
	}
	returns = context_word(work, AT_RETURN);
	if (!(is_eval || code) || (is_top && !has_frame(work, type))) {
		work->is_between = work->is_between && returns;
		work->statement_at = caller;
		return 0;
	}
	if (is_top && caller == work->statement_at)
		work->maybe_callers = code;
	if (!is_eval && type & SUB_REGEX_BLOCK) {
		work->block = ABI_PERL_REGEX;
		code = 0;
	}
	settle_entry(work, shadow);
	if (perl_push_function(slot, code))
		return 1;
	work->block = ABI_PERL_NO_BLOCK;
	work->statement_at = caller;
	work->entered = !returns;
	return 0;
}

static __always_inline bool is_in_interpreter(const struct work *work, u64 address)
{
	return address - work->interp < INTERP_BYTES;
}

/* The stack of contexts at an address. 0: it cannot be read. */
__noinline int perl_begin_stack(u32 slot, u64 address)
{
	struct work *work = work_at(slot);
	u64 words[6];

	if (!work || bpf_probe_read_user(words, sizeof(words), (void *)address))
		return 0;
	work->contexts = words[1];
	work->stack = words[2];
	work->context = (s32)words[4];
	work->call = (s32)words[5];
	work->type = (s32)(words[5] >> 32);
	work->entered = work->begins_in_sub = 0;
	return 1;
}

/* Does native code run the program below all contexts? A thread that Perl started calls a function instead. */
static __always_inline bool runs_program(const struct work *work)
{
	return !work->entered || !is_other_thread();
}

/*
 * The end of a stack of contexts: what is below it entered the loop. A block that sort compares with has no context of a call. At
 * the end of all is the program itself, unless it is still being read: then what runs is a statement of the interpreter's own.
 */
__noinline int perl_leave_stack(u32 slot)
{
	struct work *work = work_at(slot);
	struct shadow *shadow = shadow_at(slot);
	bool is_last, runs;

	if (!work || !shadow)
		return 1;
	is_last = !work->stack;
	runs = is_last && runs_program(work);
	if (!is_last && work->type == SORT && !work->begins_in_sub && !work->is_between)
		work->block = ABI_PERL_SORT;
	settle_entry(work, shadow);
	if ((runs || work->block) && !is_in_interpreter(work, work->statement_at)) {
		if (perl_push_function(slot, 0))
			return 1;
		mark_entry(shadow);
	}
	work->block = ABI_PERL_NO_BLOCK;
	work->is_between = 0;
	if (is_last)
		return 1;
	work->top = -1;
	shadow->stack.end = ABI_SHADOW_END_UNREADABLE;
	if (!perl_begin_stack(slot, work->stack))
		return 1;
	shadow->stack.end = ABI_SHADOW_END_ROOT;
	return 0;
}

/* One context. 0: there may be another; else the walk is over. */
__noinline int perl_step(u32 slot)
{
	struct work *work = work_at(slot);
	struct shadow *shadow = shadow_at(slot);
	u32 type;

	if (!work || !shadow)
		return 1;
	if (work->context < 0)
		return perl_leave_stack(slot);
	shadow->stack.end = ABI_SHADOW_END_UNREADABLE;
	if (!perl_load_context(slot))
		return 1;
	shadow->stack.end = ABI_SHADOW_END_ROOT;
	type = (u8)context_word(work, AT_TYPE);
	if (!work->context)
		work->begins_in_sub = (type & TYPE_MASK) == CONTEXT_SUB;
	if (((type & TYPE_MASK) == CONTEXT_SUB || (type & TYPE_MASK) == CONTEXT_FORMAT ||
	     ((type & TYPE_MASK) == CONTEXT_EVAL && !(type & EVAL_BLOCK))) &&
	    perl_meet(slot, type))
		return 1;
	work->context--;
	return 0;
}

__noinline int perl_steps(u32 slot)
{
	for (int i = 0; i < STEPS_A_CALL; i++)
		if (perl_step(slot))
			return 1;
	return 0;
}

/* The interpreter of current, the statement and the operation that it is at, and its stack. 0: it has none. */
__noinline int perl_find_interpreter(u32 slot)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_perl *perl = walk_at(slot, &work, &shadow);
	u64 stack, statement, key = 0;

	if (!perl || !shadow->thread || bpf_probe_read_user(&key, sizeof(u32), (void *)perl->state))
		return 0;
	work->interp = value_of_key(shadow->thread, perl->values_at, perl->more_values_at, key);
	if (!work->interp || !read_word(work->interp + OPERATION_AT, &work->operation_at) ||
	    !read_word(work->interp + perl->statement_at, &work->statement_at) ||
	    !read_word(work->interp + perl->statement_at + STATEMENT_BEHIND, &stack))
		return 0;
	if (!work->operation_at ||
	    bpf_probe_read_user(work->operation, ABI_PERL_OP_BYTES, (void *)work->operation_at))
		for (int i = 0; i < OP_WORDS; i++)
			work->operation[i] = 0; /* at the beginning and the end */
	if (!stack || !perl_begin_stack(slot, stack))
		return 0;
	work->top = work->context;
	/* A comparison may sort, too: at another statement than that of the sort which it is for. */
	work->is_between = !work->operation_at;
	if (work->type == SORT && type_of_op(work->operation) == perl->sort_type)
		work->is_between = work->context < 0 ||
				   !read_word(work->contexts + AT_STATEMENT, &statement) ||
				   statement == work->statement_at;
	return 1;
}

static __always_inline void walk(u32 slot)
{
	struct work *work = work_at(slot);
	struct shadow *shadow = shadow_at(slot);

	if (!work || !shadow || !perl_find_interpreter(slot))
		return;
	work->window_bytes = 0;
	work->block = ABI_PERL_NO_BLOCK;
	work->maybe_callers = 0;
	begin_stack(shadow);
	walk_on(slot, shadow, perl_steps);
	end_stack(shadow, slot);
}

SHADOW_PROGRAMS(perl)
