/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Perl's code, in programs that walk its stacks: what a function is called, where it begins, what it is known by.
 *
 * Code that is freed makes room for other code. But Perl's numbers of statements rise as it reads them, so that address and number of
 * a function's first statement are those of one function, in one interpreter. Closures share it; they may be given names, so of these
 * the hash counts that Perl has of a name. What has no name is known by that of its file, too.
 */
#ifndef CPROF_PERLCODE_BPF_H
#define CPROF_PERLCODE_BPF_H

#include "prelude.bpf.h"

#include "shadow.bpf.h"

#define WINDOW_WORDS	128
#define OP_TYPE_MASK	0x1ff
#define HAS_NAME	(1u << 25) /* a package */
#define CODE_IS_NAMED	0x8000	   /* without a GV */
#define CODE_IS_LEXICAL 0x10000
#define CODE_IS_CLOSURE 0x4e0 /* without a name once, a closure, or what closures are made from */
#define FILE_WORDS	32
#define NAME_AROUND	6 /* bytes: a name's length before it, NUL and flags behind it */

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
	u32 entered;	   /* the last function that was met has nothing to return to */
	u32 begins_in_sub; /* the first context of the stack is of a call */
	u64 window_at;
	u32 window_bytes;
	u32 block; /* enum abi_perl_block: it is what runs, instead of a function */
	u64 maybe_callers; /* the function at the leaf, whose statement may be its caller's; 0: it is its own */
	u64 name_at, package_at; /* of the function; 0: it has none */
	u64 code, package;	 /* of the function; 0: it has none */
	u64 name_hash;
	u64 start, file_at; /* its first operation, the name of its file */
	u32 name_len, package_len;
	u64 is_nameless; /* its name, or its package's, cannot be read */
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
	if (!work->package)
		return 0;
	work->is_nameless = 1; /* unless all that follows can be read */
	if (bpf_probe_read_user(head, sizeof(head), (void *)work->package))
		return 0;
	if (!(head[1] >> 32 & HAS_NAME)) {
		work->is_nameless = 0;
		return 0;
	}
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
	work->is_nameless = !can_be_read(aux[0]);
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
	work->is_nameless = 0;
	glob = work->body[BODY_GLOB];
	if (flags_of_code(work) & CODE_IS_NAMED) {
		work->name_at = glob;
		work->package = work->body[BODY_PACKAGE];
	} else if (glob) {
		work->is_nameless =
			!read_word(glob, &glob_body) ||
			bpf_probe_read_user(words, sizeof(words), (void *)(glob_body + 32));
		work->name_at = work->is_nameless ? 0 : words[0];
		work->package = work->is_nameless ? 0 : words[1];
	}
	work->is_nameless |= !can_be_read(work->name_at);
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
				NAME_AROUND +
					(len_bytes < STR_MAX_BYTES ? len_bytes : STR_MAX_BYTES));
}

/* All texts of the function at hand. 0: all of them were sent. */
__noinline int perl_describe(u32 slot, u64 function)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_perl *perl = walk_at(slot, &work, &shadow);
	u32 file_len = STR_MAX_BYTES;

	if (!perl ||
	    !begin_texts(slot, shadow, function, ABI_RUNTIME(ABI_RUNTIME_PERL, perl->version)))
		return 1;
	if (work->code) {
		perl_find_name(slot);
		if (!work->is_nameless)
			perl_find_package(slot);
		if (work->is_nameless)
			return 1;
	}
	/* How long the file's name is nobody says. */
	if (!can_be_read(work->file_at))
		return 1;
	if (!is_there(work->file_at + STR_MAX_BYTES - 1))
		file_len = PAGE_BYTES - (work->file_at & (PAGE_BYTES - 1));
	if (send_name(slot, work->name_at, work->name_len, ABI_TEXT_NAME) ||
	    send_name(slot, work->name_at ? work->package_at : 0, work->package_len,
		      ABI_TEXT_QUALIFIED) ||
	    shadow_send_text(slot, work->file_at, ABI_TEXT_FILE, file_len) ||
	    (work->block &&
	     shadow_send_text(slot, work->statement_at, ABI_TEXT_LINES, 8 * work->block)))
		return 1;
	/* The last one: with it the function is known. Without a beginning, the statement says the file alone. */
	return shadow_send_text(slot, work->start ? work->start : work->statement_at,
				ABI_TEXT_OBJECT, work->start ? ABI_PERL_OP_BYTES : 8);
}

/* Beginnings ------------------------------------------------------------------------------------ */

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

/* The identity of the current function, whose first statement, or else the current one, is at object. */
static __always_inline u64 identify(struct work *work, const struct shadow *shadow, u32 slot)
{
	const u64 *statement = work->start ? work->start_op : work->statement;
	u64 hash = mix(mix(0, shadow->exec_id), work->block);

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

#endif
