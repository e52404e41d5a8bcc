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
 *
 * Code that is freed makes room for other code. But Perl's numbers of statements rise as it reads them, so that address and number of
 * a function's first statement are those of one function, in one interpreter. Closures share it; they may be given names, so of these
 * the hash counts that Perl has of a name. What has no name is known by that of its file, too.
 */
#include "prelude.bpf.h"

#include "shadow.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define CONTEXT_BYTES	 104u
#define WINDOW_WORDS	 128
#define WINDOW_CONTEXTS	 8u /* the rest of the window is for the verifier */
#define STATEMENT_BEHIND 16 /* from PL_curcop on: PL_curstackinfo */
#define OPERATION_AT	 8  /* PL_op, in the interpreter */
#define INTERP_BYTES	 8192
#define CALL_BYTES	 8192 /* of the function that makes a call: 2.5 to 5 KB */
#define TYPE_MASK	 0xf
#define OP_TYPE_MASK	 0x1ff
#define HAS_NAME	 (1u << 25) /* a package */
#define CODE_IS_NAMED	 0x8000	    /* without a GV */
#define CODE_IS_LEXICAL	 0x10000
#define CODE_IS_CLOSURE	 0x4e0 /* without a name once, a closure, or what closures are made from */
#define FILE_WORDS	 32
#define SORT		 3 /* a stack for its comparisons */

enum {
	CONTEXT_SUB = 9,
	CONTEXT_FORMAT = 10,
	CONTEXT_EVAL = 11,
	EVAL_BLOCK = 0x40
};
/* Of a context. */
enum {
	AT_TYPE = 0,
	AT_STATEMENT = 16,
	AT_RETURN = 48,
	AT_CODE = 72
};
/* Words of an operation, or a statement. */
enum {
	OP_NEXT,
	OP_FUNCTION = 2,
	OP_TYPE = 4, /* and the line of a statement */
	OP_FILE = 6,
	OP_NUMBER, /* of a statement: a flag word, the number */
	OP_WORDS = ABI_PERL_OP_BYTES / 8
};

/* Words of the body of code. */
enum {
	BODY_PACKAGE = 4,
	BODY_START,
	BODY_GLOB = 7,
	BODY_FLAGS = 11
};

struct work {
	u64 interp;
	u64 stack;	  /* of contexts; 0: none is left */
	u64 contexts;	  /* of it */
	u64 operation[8]; /* that runs; lengths are for masks */
	u64 operation_at;
	u64 statement_at; /* where the function that is met next is */
	u64 statement[8];
	s32 context, call; /* indices: where the walk is, and the top one of calls */
	s32 type;	   /* of the stack */
	s32 top;	   /* index of the context that may be half made; -1: none */
	u32 is_between;	   /* nothing is met yet, and no operation of what is on top runs */
	u32 entered; /* the last function of this stack that was met was called by native code */
	u64 window_at;
	u32 window_bytes;
	u32 is_block; /* the function is the block of a sort */
	u64 maybe_callers; /* the function at the leaf, whose statement may be its caller's; 0: it is its own */
	u64 name_at, package_at; /* of the function; 0: it has none */
	u64 code, package;	 /* of the function; 0: it has none */
	u64 name_hash;
	u64 start, file_at; /* its first operation, the name of its file */
	u32 name_len, package_len;
	u64 body[13];
	u64 start_op[8];
	u64 file[FILE_WORDS];
	u64 window[WINDOW_WORDS];
};

/* Names ----------------------------------------------------------------------------------------- */

/* The hash of a name's head; *len_bytes: of its text. A name is a hash, a length, the text. */
static __always_inline u64 name_hash(u64 address, u32 *len_bytes)
{
	u64 head = 0;

	*len_bytes = 0;
	if (!address || !read_word(address, &head))
		return 0;
	*len_bytes = head >> 32;
	return mix(address, head);
}

/* What the package (a stash) of the function is called. Global, and so verified once. */
__noinline int perl_find_package(u32 slot)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_perl *perl = walk_at(slot, &work, &shadow);
	u64 head[3], aux[4], at, nr = 0;

	if (!perl)
		return 0;
	work->package_at = 0;
	work->package_len = 0;
	if (!work->package || bpf_probe_read_user(head, sizeof(head), (void *)work->package) ||
	    !(head[1] >> 32 & HAS_NAME))
		return 0;
	at = head[0] + 32;
	if (!perl->has_long_classes) {
		if (!read_word(head[0] + 24, &nr)) /* of its array, less one */
			return 0;
		at = head[2] + 8 * (nr + 1);
	}
	if (bpf_probe_read_user(aux, sizeof(aux), (void *)at))
		return 0;
	if (aux[3] >> 32 && !read_word(aux[0], &aux[0])) /* it has several */
		return 0;
	work->package_at = aux[0];
	name_hash(aux[0], &work->package_len);
	return 0;
}

/* The code at address. 0: it is none. */
__noinline int perl_load_code(u32 slot, u64 address)
{
	struct work *work = work_at(slot);
	u64 body;

	if (!work || !read_word(address, &body) ||
	    bpf_probe_read_user(work->body, sizeof(work->body), (void *)body))
		return 0;
	return 1;
}

static __always_inline u32 flags_of_code(const struct work *work)
{
	return work->body[BODY_FLAGS] >> 32;
}

/* The name of the code in work->body, and its package. Global, and so verified once. */
__noinline int perl_find_name(u32 slot)
{
	struct work *work = work_at(slot);
	u64 glob, glob_body, words[2];

	if (!work)
		return 0;
	work->name_at = work->package = 0;
	glob = work->body[BODY_GLOB];
	if (flags_of_code(work) & CODE_IS_NAMED) {
		work->name_at = glob;
		work->package = work->body[BODY_PACKAGE];
	} else if (glob && read_word(glob, &glob_body) &&
		   !bpf_probe_read_user(words, sizeof(words), (void *)(glob_body + 32))) {
		work->name_at = words[0];
		work->package = words[1];
	}
	if (flags_of_code(work) & CODE_IS_LEXICAL)
		work->package = 0; /* as caller() has it */
	work->name_hash = name_hash(work->name_at, &work->name_len);
	return 0;
}

/* The hash of the name of the file at hand. While Perl reads a file the statement is PL_compiling, which all files share. */
__noinline u64 perl_hash_file(u32 slot)
{
	struct work *work = work_at(slot);
	u64 hash = 0;

	if (!work)
		return 0;
	for (u32 i = 0; i < FILE_WORDS; i++)
		work->file[i] = 0;
	bpf_probe_read_user_str(work->file, sizeof(work->file), (void *)work->file_at);
	for (u32 i = 0; i < FILE_WORDS; i++)
		hash = mix(hash, work->file[i]);
	return hash;
}

/* Texts ----------------------------------------------------------------------------------------- */

static __always_inline int send_name(u32 slot, u64 address, u32 len_bytes, u32 part)
{
	return shadow_send_text(slot, address ? address + 4 : 0, part,
				4 + (len_bytes < STR_MAX_BYTES ? len_bytes : STR_MAX_BYTES));
}

/* All texts of the function at hand. 0: all of them were sent. */
__noinline int perl_describe(u32 slot, u64 object, u32 check)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_perl *perl = walk_at(slot, &work, &shadow);

	if (!perl ||
	    !begin_texts(slot, shadow, object, check, ABI_RUNTIME(ABI_RUNTIME_PERL, perl->version)))
		return 1;
	if (work->code) {
		perl_find_name(slot);
		perl_find_package(slot);
	}
	if (send_name(slot, work->name_at, work->name_len, ABI_TEXT_NAME) ||
	    send_name(slot, work->name_at ? work->package_at : 0, work->package_len,
		      ABI_TEXT_QUALIFIED) ||
	    shadow_send_text(slot, work->file_at, ABI_TEXT_FILE, STR_MAX_BYTES) ||
	    (work->is_block && shadow_send_text(slot, work->statement_at, ABI_TEXT_LINES, 8)))
		return 1;
	/* The last one: with it the function is known. Without a beginning, the statement says the file alone. */
	return shadow_send_text(slot, work->start ? work->start : work->statement_at,
				ABI_TEXT_OBJECT, work->start ? ABI_PERL_OP_BYTES : 8);
}

/* Frames ---------------------------------------------------------------------------------------- */

static __always_inline u32 type_of_op(const u64 *op)
{
	return op[OP_TYPE] & OP_TYPE_MASK;
}

/* These have the same distance in all versions. */
static __always_inline bool is_statement(const struct abi_perl *perl, const u64 *op)
{
	u32 type = type_of_op(op);

	return type == perl->call_type + 11u ||
	       type == perl->call_type + 12u; /* nextstate, dbstate */
}

/* The first statement of the code in work->body: its first operation, or the next (a method of a class). 0: there is none. */
__noinline int perl_find_start(u32 slot)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_perl *perl = walk_at(slot, &work, &shadow);

	if (!perl)
		return 0;
	work->start = work->body[BODY_START];
	for (int i = 0; i < 2; i++) {
		if (!work->start ||
		    bpf_probe_read_user(work->start_op, ABI_PERL_OP_BYTES, (void *)work->start))
			break;
		if (is_statement(perl, work->start_op))
			return 1;
		work->start = work->start_op[OP_NEXT];
	}
	work->start = 0;
	return 0;
}

/* The statement at hand, which is where the function that is met next runs. */
__noinline int perl_load_statement(u32 slot)
{
	struct work *work = work_at(slot);

	return work &&
	       !bpf_probe_read_user(work->statement, ABI_PERL_OP_BYTES, (void *)work->statement_at);
}

/* Is current none that a program begins in? */
static __always_inline bool is_other_thread(void)
{
	u64 id = bpf_get_current_pid_tgid();

	return (u32)id != id >> 32;
}

/* Of the function at hand, whose first statement, or else that at hand, is at object. */
static __always_inline u64 identify(struct work *work, const struct shadow *shadow, u32 slot)
{
	const u64 *statement = work->start ? work->start_op : work->statement;
	u64 hash = mix(mix(0, shadow->exec_id), work->is_block);

	hash = mix(mix(hash, statement[OP_TYPE]), statement[OP_NUMBER]);
	if (!work->code)
		return mix(hash, perl_hash_file(slot));
	hash = mix(hash, work->body[BODY_GLOB]);
	if (is_other_thread()) /* interpreters that were cloned go on with the same numbers */
		hash = mix(hash, perl_hash_file(slot));
	if (!(flags_of_code(work) & CODE_IS_CLOSURE))
		return hash;
	perl_find_name(slot);
	return mix(hash, work->name_hash);
}

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
	/* Where a call begins or ends, the statement that runs is its caller's, unless it called itself there. */
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
	object = (work->start ? work->start : work->statement_at) & (ABI_FRAME_ENTRY - 1);
	identity = identity_of(shadow, identify(work, shadow, slot), object);
	push_frame(shadow, object, work->statement[OP_TYPE] >> 32, identity);
	make_known(slot, identity, object, perl_describe);
	shadow->stack.end = ABI_SHADOW_END_ROOT;
	return 0;
}

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

/* Has the context in the window a frame, being the top one? Of an eval that ends, the statement is its caller's. */
static __always_inline bool has_frame(const struct work *work, bool is_eval)
{
	if (work->is_between && !context_word(work, AT_RETURN))
		return false; /* what it is called for again and again does not run just now */
	return !is_eval || context_word(work, AT_STATEMENT) != work->statement_at;
}

/* The context in the window is of something that has a frame. 0: go on; else the walk is over. */
__noinline int perl_meet(u32 slot, u32 type)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_perl *perl = walk_at(slot, &work, &shadow);
	u64 code, caller;
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
	work->entered = !context_word(work, AT_RETURN);
	if (!(is_eval || code) || (is_top && !has_frame(work, is_eval))) {
		work->is_between = work->is_between && !work->entered;
		work->statement_at = caller;
		return 0;
	}
	if (is_top && caller == work->statement_at)
		work->maybe_callers = code;
	if (perl_push_function(slot, code))
		return 1;
	work->statement_at = caller;
	if (work->entered)
		mark_entry(shadow); /* native code called the loop for it */
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
	work->entered = 0;
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
	bool is_last, is_block;

	if (!work || !shadow)
		return 1;
	is_last = !work->stack;
	is_block = !is_last && work->type == SORT && !work->entered && !work->is_between;
	if (((is_last && runs_program(work)) || is_block) &&
	    !is_in_interpreter(work, work->statement_at)) {
		work->is_block = is_block;
		if (perl_push_function(slot, 0))
			return 1;
		mark_entry(shadow);
	}
	work->is_block = work->is_between = 0;
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
	work->is_block = 0;
	work->maybe_callers = 0;
	begin_stack(shadow);
	walk_on(slot, shadow, perl_steps);
	end_stack(shadow, slot);
}

SHADOW_PROGRAMS(perl)
