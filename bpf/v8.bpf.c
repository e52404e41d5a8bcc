// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The JavaScript functions on a native stack. V8 keeps frame pointers, and puts what is executed next to them:
 *
 *	rbp ->  [ caller's rbp ][ return address ]
 *	    -8  [ context ]	or a small integer: the frame is of another kind
 *	   -16  [ JSFunction ]
 *
 *	JSFunction --> SharedFunctionInfo --> Script --> name
 *				 \--> ScopeInfo --> name of the function
 *
 * All of its code does, interpreted or compiled. So the native walk (unwind.bpf.c) has found the frames already: those whose
 * caller it found by rbp are looked at here, and each function says which of them it is (ABI_FRAME_PLACED). Rejected: a walk of
 * its own from the isolate's variables, which would have to find them, and their offsets, in each version.
 *
 * What is read belongs to the thread that the tick interrupted. A frame at the leaf has its function only once it is
 * pushed: below the stack pointer is what others left there.
 *
 * The garbage collector moves objects, and others take their place. A script has a number that its isolate never
 * uses again, and a function has one within its script: these are the check of a frame, with the address of the script.
 *
 * Pointers to objects have 1 in their lowest bits; numbers are in the upper half of a word. An object begins with its map, which
 * says its type.
 */
#include "prelude.bpf.h"

#include "newlines.bpf.h"
#include "scratch.bpf.h"
#include "shadow.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define TYPE_AT		12   /* in a map */
#define FIRST_NONSTRING 0x80 /* of types */
#define STRING_SHAPE	7    /* bits of a string's type */
#define SHAPE_CONS	1
#define SHAPE_THIN	5
#define ONE_BYTE	8  /* bit of a string's type */
#define LENGTH_AT	12 /* in a string */
#define STRING_HEAD	16
#define NR_SHARED_WORDS 8
#define NR_SCOPE_WORDS	4  /* map, flags, parameters, local names */
#define MAX_INLINED	75 /* names of locals that are in a ScopeInfo itself */
#define NR_NAME_WORDS	5
#define OLD_FIRST_VARS	32 /* there is no position in front of the names */
#define NO_TYPE		0xffff
#define SHAPE_EXTERNAL	2
#define UNCACHED \
	0x10 /* bit of a string's type: where an external one's characters are is not in it */
#define EXTERNAL_AT 24 /* where they are */
#define MAX_PIECES  64

/* Bits of a ScopeInfo's flags. */
#define HAS_CLASS_VARIABLE (1u << 10)
#define HAS_NAME	   (3u << 12)
#define HAS_INFERRED	   (1u << 14)

/* A map of the main object. */
struct scratch_map scratch_slots SEC(".maps");

enum string {
	STRING_NAME,
	STRING_REST,
	STRING_LAST,
	STRING_FILE,
	NR_STRINGS
};

struct work {
	u64 shared_map; /* met in this walk, and known to be that of SharedFunctionInfo; 0: none */
	u64 script, script_id; /* met last in this walk; 0: none */
	u64 scope, scope_start;
	u64 shared[NR_SHARED_WORDS];
	u64 words[8];
	u64 strings[4]; /* by enum string; 0: there is none */
	u16 types[4];
	s64 line;	  /* 0: not known */
	u64 deadline_ns;  /* of this walk */
	u32 nr_described; /* in it */
};

static __always_inline bool is_object(u64 word)
{
	return (word & 3) == 1;
}

/* A word of an object, 0: it cannot be read. */
static __always_inline u64 word_in(u64 object, u32 offset)
{
	u64 word = 0;

	if (is_object(object))
		read_word(object - 1 + offset, &word);
	return word;
}

/* NO_TYPE: it is no object that can be read. Global, and so verified once. */
__noinline int v8_type(u64 object)
{
	u64 map = word_in(object, 0);
	u16 type = NO_TYPE;

	if (!is_object(map) ||
	    bpf_probe_read_user(&type, sizeof(type), (void *)(map - 1 + TYPE_AT)))
		return NO_TYPE;
	return type;
}

static __always_inline bool is_string(u64 object)
{
	return is_object(object) && v8_type(object) < FIRST_NONSTRING;
}

static __always_inline u32 length_of(u64 string)
{
	u64 word = word_in(string, LENGTH_AT & ~7u);

	return word >> 32;
}

/* Texts ----------------------------------------------------------------------------------------- */

/* Puts a string, or what it stands for, in its place. Of one that consists of two it is the first. */
__noinline int v8_set_string(u32 slot, u32 which, u64 string)
{
	struct work *work = work_at(slot);
	u32 type = NO_TYPE, shape, cut = 0;

	if (!work)
		return 0;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < 3; i++) {
		type = v8_type(string);
		shape = type & STRING_SHAPE;
		if (type >= FIRST_NONSTRING || (shape != SHAPE_THIN && shape != SHAPE_CONS))
			break;
		if (shape == SHAPE_CONS && length_of(word_in(string, STRING_HEAD + 8)))
			cut = ABI_V8_CUT;
		string = word_in(string, STRING_HEAD);
	}
	work->strings[which & 3] = type < FIRST_NONSTRING ? string : 0;
	work->types[which & 3] = type | cut;
	return 0;
}

/*
 * The name of a function. Names that V8 infers ("Module.prototype.load") are mostly made of strings that are made of two each, of which
 * the second goes on.
 */
static __always_inline void set_name(u32 slot, u64 string)
{
#pragma clang loop unroll(disable)
	for (u32 i = STRING_NAME; i <= STRING_LAST; i++) {
		bool is_cons = (v8_type(string) & STRING_SHAPE) == SHAPE_CONS;

		v8_set_string(slot, i,
			      is_cons && i < STRING_LAST ? word_in(string, STRING_HEAD) : string);
		string = is_cons ? word_in(string, STRING_HEAD + 8) : 0;
	}
}

/*
 * What a ScopeInfo says: behind the names of locals, the function's name and the one that V8 inferred from where it was
 * assigned, if it has none; then where it begins. 0: it cannot be read.
 */
__noinline int v8_read_scope(u32 slot, u64 scope)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_v8 *v8 = walk_at(slot, &work, &shadow);
	u32 flags, nr, at, i = 0;

	if (!v8 || bpf_probe_read_user(work->words, NR_SCOPE_WORDS * 8, (void *)(scope - 1)))
		return 0;
	flags = work->words[1]; /* in new versions it is all of a word */
	if (!flags)
		flags = work->words[1] >> 32;
	nr = work->words[3] >> 32;
	at = v8->first_vars_at + 8 * (nr < MAX_INLINED ? 2 * nr : nr + 1);
	if (flags & HAS_CLASS_VARIABLE)
		at += 8;
	if (nr > 1u << 20 ||
	    bpf_probe_read_user(work->words, NR_NAME_WORDS * 8, (void *)(scope - 1 + at)))
		return 0;
	if (flags & HAS_NAME) {
		if (length_of(work->words[0]))
			set_name(slot, work->words[0]);
		i = 2;
	}
	if (flags & HAS_INFERRED) {
		if (!work->strings[STRING_NAME] && length_of(work->words[i & 7]))
			set_name(slot, work->words[i & 7]);
		i++;
	}
	work->scope_start = v8->first_vars_at == OLD_FIRST_VARS
				    ? work->words[i & 7]
				    : word_in(scope, v8->first_vars_at - 16);
	return 1;
}

/* Where a string's characters are, and how wide. 0: in several places, or it cannot be read. */
static __always_inline u64 characters_of(u64 string, u32 *is_wide)
{
	u32 type = v8_type(string), shape = type & STRING_SHAPE;

	if (shape == SHAPE_THIN || shape == SHAPE_CONS) {
		string = word_in(string, STRING_HEAD);
		type = v8_type(string);
		shape = type & STRING_SHAPE;
	}
	*is_wide = !(type & ONE_BYTE);
	if (type >= FIRST_NONSTRING)
		return 0;
	if (shape == SHAPE_EXTERNAL && !(type & UNCACHED))
		return word_in(string, EXTERNAL_AT);
	return shape ? 0 : string - 1 + STRING_HEAD;
}

/*
 * The line of the position in work->scope_start: ends of lines before it are counted, in so much of the source. This is
 * done once for a function. (V8 has a table of them, but only after a stack was printed.) 1: there is no time left.
 */
__noinline int v8_find_line(u32 slot, u32 script_name_at)
{
	struct work *work = work_at(slot);
	u64 at, left;
	u32 is_wide = 0;
	s64 line;
	int nr = 0;

	if (!work || work->scope_start & 1)
		return 0;
	at = characters_of(word_in(work->script, script_name_at - 8), &is_wide);
	left = work->scope_start >> 32 << is_wide;
	if (!at || left > MAX_PIECES * NEWLINES_BYTES)
		return 0;
	line = 1 + ((s64)word_in(work->script, script_name_at + 8) >> 32);
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < MAX_PIECES && left; i++) {
		u32 len = left < NEWLINES_BYTES ? left : NEWLINES_BYTES;

		if (bpf_ktime_get_ns() > work->deadline_ns)
			return 1;
		nr = newlines_count(slot, at, len, is_wide, nr);
		if (nr < 0)
			return 0;
		line += nr & (NEWLINES_AFTER_CR - 1);
		at += len;
		left -= len;
	}
	work->line = line;
	return 0;
}

/* As many bytes of a string as are of use; its type says how wide its characters are. */
static __always_inline int send_string(u32 slot, const struct work *work, u32 which, u32 part)
{
	u64 string = work->strings[which];
	u32 len = length_of(string);

	if (!string)
		return 0;
	if (len > STR_MAX_BYTES)
		len = STR_MAX_BYTES;
	if (!(work->types[which] & ONE_BYTE))
		len *= 2;
	return shadow_send_text(slot, string - 1, part, STRING_HEAD + len);
}

/* The last text: with it the function is known. */
static __always_inline int send_function(u32 slot, const struct work *work)
{
	struct abi_text *text = text_at(slot);
	struct abi_v8_function *function;

	if (!text)
		return 1;
	function = (struct abi_v8_function *)text->bytes;
	for (u32 i = 0; i < NR_STRINGS; i++)
		function->types[i] = work->types[i];
	function->script = work->script;
	function->script_id = work->script_id;
	function->line = work->line;
	text->part = ABI_TEXT_OBJECT;
	text->len_bytes = sizeof(*function);
	return bpf_ringbuf_output(&events, text,
				  offsetof(struct abi_text, bytes) + sizeof(*function),
				  BPF_RB_NO_WAKEUP)
		       ? 1
		       : 0;
}

/* All texts of the function in work->shared. 0: all of them were sent. */
__noinline int v8_describe(u32 slot, u64 object, u32 check)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_v8 *v8 = walk_at(slot, &work, &shadow);
	u64 name;

	if (!v8)
		return 1;
	name = work->shared[v8->name_at / 8 & 7];
	work->strings[STRING_NAME] = work->strings[STRING_REST] = work->strings[STRING_LAST] = 0;
	work->scope_start = 1;
	if (v8_type(name) == v8->scope_type)
		v8_read_scope(slot, name);
	else if (is_string(name))
		set_name(slot, name);
	work->line = 0;
	/* The first function of a walk has had all of its time: then it has no line. Others are asked for again. */
	if (v8_find_line(slot, v8->script_name_at) && work->nr_described)
		return 1;
	work->nr_described++;
	v8_set_string(slot, STRING_FILE, word_in(work->script, v8->script_name_at));
	if (!begin_texts(slot, shadow, object, check, ABI_RUNTIME(ABI_RUNTIME_V8, v8->version)) ||
	    send_string(slot, work, STRING_NAME, ABI_TEXT_NAME) ||
	    send_string(slot, work, STRING_REST, ABI_TEXT_QUALIFIED) ||
	    send_string(slot, work, STRING_LAST, ABI_TEXT_LINES) ||
	    send_string(slot, work, STRING_FILE, ABI_TEXT_FILE))
		return 1;
	return send_function(slot, work);
}

/* Frames ---------------------------------------------------------------------------------------- */

/* The SharedFunctionInfo of a JSFunction into work->shared. */
static __always_inline bool load_shared(struct work *work, const struct abi_v8 *v8, u64 shared)
{
	if (!is_object(shared) ||
	    bpf_probe_read_user(work->shared, sizeof(work->shared), (void *)(shared - 1)))
		return false;
	if (work->shared[0] == work->shared_map)
		return true;
	if (v8_type(shared) != v8->shared_type)
		return false;
	work->shared_map = work->shared[0];
	return true;
}

/* The script of work->shared. V8's own functions have none. */
static __always_inline bool load_script(struct work *work, const struct abi_v8 *v8)
{
	u64 script = work->shared[v8->shared_script_at / 8 & 7];

	if (script == work->script)
		return true;
	if (v8_type(script) != v8->script_type)
		return false;
	work->script = script;
	work->script_id = word_in(script, v8->script_id_at);
	return true;
}

/* The function of native frame number i, if it has one. */
__noinline int v8_push_function(u32 slot, u64 function, u32 i)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_v8 *v8 = walk_at(slot, &work, &shadow);
	u64 shared, object, identity;

	if (!v8)
		return 0;
	shared = word_in(function, v8->shared_at);
	if (!load_shared(work, v8, shared) || !load_script(work, v8))
		return 0;
	object = shared & (ABI_FRAME_ENTRY - 1);
	identity = mix(mix(shadow->exec_id, work->script_id), work->script);
	identity = mix(identity, work->shared[v8->literal_at / 8 & 7] >> 8 * (v8->literal_at & 4));
	identity = identity_of(shadow, identity, object);
	push_frame(shadow, object | ABI_FRAME_PLACED, i, identity);
	make_known(slot, identity, object, v8_describe);
	return 0;
}

/* The frames that went round are in their order (elide()), but their frame pointers are not. */
static __always_inline u64 frame_pointer(const struct scratch *scratch, const struct shadow *shadow,
					 u32 i)
{
	if (i >= ABI_LEAF_FRAMES && scratch->walk.nr_walked > ABI_MAX_USER_FRAMES)
		i = ABI_LEAF_FRAMES | ((i + scratch->walk.nr_walked) & (ABI_RING_FRAMES - 1));
	barrier_var(i);
	return shadow->fps[i & (ABI_MAX_USER_FRAMES - 1)];
}

/* Native frame number i. Where its caller was not found by rbp, it has none, or not any more. */
__noinline int v8_step(u32 slot, u32 i)
{
	struct scratch *scratch = scratch_at(slot);
	struct shadow *shadow = shadow_at(slot);
	u64 words[2] = {0}, fp;
	u32 next;

	if (!scratch || !shadow || i >= ABI_MAX_USER_FRAMES || i + 1 >= scratch->walk.nr)
		return 0;
	next = (scratch->record.nr_kernel & ABI_MAX_KERNEL_FRAMES) + i + 1;
	if (!(scratch->record.ips[next & 1023] & ABI_IP_GUESSED))
		return 0;
	fp = frame_pointer(scratch, shadow, i);
	if (!i && scratch->walk.leaf[UNWIND_REG_SP] > fp - sizeof(words))
		return 0;
	if (bpf_probe_read_user(words, sizeof(words), (void *)(fp - sizeof(words))) ||
	    !is_object(words[0]) || !is_object(words[1]))
		return 0;
	return v8_push_function(slot, words[0], i);
}

__noinline int v8_steps(u32 slot, u32 first)
{
	for (u32 i = 0; i < STEPS_A_CALL; i++)
		v8_step(slot, first + i);
	return 0;
}

static __always_inline void walk(u32 slot)
{
	struct work *work = work_at(slot);
	struct shadow *shadow = shadow_at(slot);
	struct scratch *scratch = scratch_at(slot);

	if (!work || !shadow || !scratch)
		return;
	work->shared_map = work->script = 0;
	work->nr_described = 0;
	work->deadline_ns = bpf_ktime_get_ns() + shadow->walk_ns;
	begin_stack(shadow);
	for (u32 i = 0; i < ABI_MAX_USER_FRAMES; i += STEPS_A_CALL) {
		if (i >= scratch->walk.nr)
			break;
		if (bpf_ktime_get_ns() > work->deadline_ns) {
			shadow->stack.end = ABI_SHADOW_END_TOO_DEEP;
			break;
		}
		v8_steps(slot, i);
	}
	end_stack(shadow);
}

SEC("perf_event")
int v8_at_tick(struct bpf_perf_event_data *ctx)
{
	walk(ABI_SLOT_TICK);
	return 0;
}
