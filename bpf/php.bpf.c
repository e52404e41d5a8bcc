// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * PHP's shadow stack. What user space found in the interpreter's file (user/runtime/php.h) says where things are.
 *
 *	executor_globals.current_execute_data --> execute_data --> its caller's --> ... 0
 *	                                               \--> zend_function --> name, class, file
 *	                                               \--> opline --> line
 *
 * A PHP without threads has one of these, which is the main thread's; it is read at a tick of that thread, which cannot
 * change it meanwhile. What a target has there instead can at most be wrong: pointers are only followed.
 *
 * Functions without opcache are freed after each request, and others take their place. So a frame is known by all fields
 * that do not change, too, and by the contents of its names. A closure has a copy of its
 * function in each of its objects: what is executed is known by its opcodes, which all of them share.
 *
 * The loop has the opline of the function that runs in a register (r15, where gcc compiled it), and the frame has it as of
 * its last call. What is not among the function's opcodes is none.
 */
#include "prelude.bpf.h"

#include "shadow.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define NR_DATA_WORDS 7 /* of zend_execute_data */
#define NR_FUNC_WORDS 24
#define FUNC_BYTES    184u /* as much of a zend_op_array as is of use */
#define COMMON_BYTES  48u  /* what any zend_function has */
#define STRING_HEAD   24u  /* of zend_string: what is before its text */
#define HASH_AT	      8
#define LENGTH_AT     16
#define CLASS_NAME_AT 8
#define OP_BYTES      32
#define OP_LINE_AT    24
#define MAX_OPS	      (1u << 24)
#define CALL_TOP      (1u << 17) /* native code called the loop for it */

enum {
	DATA_OPLINE = 0,
	DATA_FUNC = 3,
	DATA_THIS_INFO = 5,
	DATA_PREVIOUS = 6
};
enum {
	FUNC_TYPE,
	FUNC_NAME,
	FUNC_SCOPE,
	FUNC_PROTOTYPE,
	FUNC_NR_ARGS,
	FUNC_ARGS
};
enum {
	TYPE_INTERNAL = 1,
	TYPE_USER = 2,
	TYPE_EVAL = 4
};

struct work {
	u64 frame;	 /* where the walk is; 0: at its root */
	u64 class_name;	 /* of func's class; 0: it has none */
	u64 is_nameless; /* its class's name could not be read */
	u64 data[8];	 /* lengths are for masks; what is read is less */
	u64 func[32];
};

/* The word at an offset in the function that was copied. The barrier keeps the mask, which the verifier needs. */
static __always_inline u64 func_word(const struct work *work, u32 offset)
{
	u32 i = offset / 8;

	barrier_var(i);
	return work->func[i & 31];
}

static __always_inline u8 type_of(const struct work *work)
{
	return work->func[FUNC_TYPE];
}

static __always_inline bool is_internal(const struct work *work)
{
	return type_of(work) == TYPE_INTERNAL;
}

/* Texts ----------------------------------------------------------------------------------------- */

static __always_inline int send_string(u32 slot, u64 address, u32 part)
{
	u64 len = 0;

	if (!address)
		return 0;
	if (!read_word(address + LENGTH_AT, &len))
		return 1;
	return shadow_send_text(slot, address, part,
				STRING_HEAD + (len < STR_MAX_BYTES ? (u32)len : STR_MAX_BYTES));
}

/* All texts of the function in work->func. 0: all of them were sent. */
__noinline int php_describe(u32 slot, u64 function)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_php *php = walk_at(slot, &work, &shadow);

	if (!php || work->is_nameless || !can_be_read(work->class_name) ||
	    (!is_internal(work) && !can_be_read(func_word(work, php->file_at))) ||
	    !begin_texts(slot, shadow, function, ABI_RUNTIME(ABI_RUNTIME_PHP, php->version)))
		return 1;
	if (send_string(slot, work->func[FUNC_NAME], ABI_TEXT_NAME) ||
	    send_string(slot, work->class_name, ABI_TEXT_QUALIFIED))
		return 1;
	if (!is_internal(work) && send_string(slot, func_word(work, php->file_at), ABI_TEXT_FILE))
		return 1;
	/* The last one: with it the function is known. */
	return shadow_send_text(slot, work->data[DATA_FUNC], ABI_TEXT_OBJECT,
				is_internal(work) ? COMMON_BYTES : FUNC_BYTES);
}

/* Frames ---------------------------------------------------------------------------------------- */

/* The hash of a string's content: what it caches, or, where nobody has asked for that yet, of the text itself. Verified once. */
__noinline u64 php_hash_string(u32 slot, u64 address)
{
	u64 head[2]; /* hash, length */

	if (!address || bpf_probe_read_user(head, sizeof(head), (void *)(address + HASH_AT)))
		return 0;
	return head[0] ? head[0] : shadow_hash_text(slot, address + STRING_HEAD, head[1]);
}

/* The identity of the function in work->func, but for its address; finds its class's name as well. Global, and so verified once. */
__noinline u64 php_identify(u32 slot)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_php *php = walk_at(slot, &work, &shadow);
	u64 hash;

	if (!php)
		return 0;
	hash = mix(mix(0, shadow->exec_id), work->func[FUNC_NAME]);
	work->class_name = 0;
	work->is_nameless = work->func[FUNC_SCOPE] &&
			    !read_word(work->func[FUNC_SCOPE] + CLASS_NAME_AT, &work->class_name);
	hash = mix(hash, php_hash_string(slot, work->func[FUNC_NAME]));
	hash = mix(hash, work->class_name);
	hash = mix(hash, php_hash_string(slot, work->class_name));
	if (is_internal(work))
		return hash;
	hash = mix(hash, work->func[FUNC_ARGS]);
	hash = mix(hash, func_word(work, php->last_at));
	hash = mix(hash, func_word(work, php->file_at));
	hash = mix(hash, php_hash_string(slot, func_word(work, php->file_at)));
	return mix(hash, func_word(work, php->file_at + 8));
}

static __always_inline bool is_opline(const struct abi_php *php, const struct work *work, u64 at)
{
	u64 offset = at - func_word(work, php->opcodes_at);
	u32 nr = func_word(work, php->last_at) >> 8 * (php->last_at & 4);

	return nr < MAX_OPS && offset < (u64)nr * OP_BYTES;
}

/* The line that runs; 0: it is not known. */
static __always_inline u32 line_of(const struct abi_php *php, const struct shadow *shadow,
				   const struct work *work)
{
	u64 at = work->data[DATA_OPLINE], word = 0;

	if (is_internal(work))
		return 0;
	if (!shadow->stack.nr_walked && is_opline(php, work, shadow->loop_register))
		at = shadow->loop_register;
	if (!is_opline(php, work, at) || !read_word(at + OP_LINE_AT, &word))
		return 0;
	return word;
}

/* The function at address into work->func. false: it is none. Global, and so verified once. */
__noinline int php_load_function(u32 slot, u64 address)
{
	struct work *work = work_at(slot);

	if (!work || (bpf_probe_read_user(work->func, FUNC_BYTES, (void *)address) &&
		      bpf_probe_read_user(work->func, COMMON_BYTES, (void *)address)))
		return 0;
	return is_internal(work) || type_of(work) == TYPE_USER || type_of(work) == TYPE_EVAL;
}

/* The function of the frame in work->data. 0: it is pushed; else the walk ends before it. */
__noinline int php_push_function(u32 slot)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_php *php = walk_at(slot, &work, &shadow);
	u64 object, identity;

	if (!php)
		return 1;
	shadow->stack.end = ABI_SHADOW_END_NO_CODE;
	if (!php_load_function(slot, work->data[DATA_FUNC]))
		return 1;
	shadow->stack.end = ABI_SHADOW_END_ROOT;
	if (is_internal(work) && !work->func[FUNC_NAME])
		return 1; /* where a fiber begins: its caller is on another native stack */
	object = is_internal(work) ? work->func[FUNC_NAME] : func_word(work, php->opcodes_at);
	identity = identity_of(shadow, php_identify(slot), object);
	push_frame(shadow, identity, line_of(php, shadow, work), 0);
	make_known(slot, identity, php_describe);
	if (!is_internal(work) && (u32)work->data[DATA_THIS_INFO] & CALL_TOP)
		mark_entry(shadow);
	return 0;
}

/* One frame. 0: there may be a caller; else the walk is over. */
__noinline int php_step(u32 slot)
{
	struct work *work = work_at(slot);
	struct shadow *shadow = shadow_at(slot);

	if (!work || !shadow || !work->frame)
		return 1;
	shadow->stack.end = ABI_SHADOW_END_UNREADABLE;
	if (work->frame & 7 ||
	    bpf_probe_read_user(work->data, NR_DATA_WORDS * 8, (void *)work->frame))
		return 1;
	work->frame = work->data[DATA_PREVIOUS];
	/* Without a function it is a placeholder. */
	if (work->data[DATA_FUNC] && php_push_function(slot))
		return 1;
	shadow->stack.end = ABI_SHADOW_END_ROOT;
	return 0;
}

__noinline int php_steps(u32 slot)
{
	for (int i = 0; i < STEPS_A_CALL; i++)
		if (php_step(slot))
			return 1;
	return 0;
}

static __always_inline void walk(u32 slot)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_php *php = walk_at(slot, &work, &shadow);
	u64 id = bpf_get_current_pid_tgid();

	if (!php || (u32)id != id >> 32)
		return;
	begin_stack(shadow);
	if (read_word(php->state, &work->frame))
		walk_on(slot, shadow, php_steps);
	else
		shadow->stack.end = ABI_SHADOW_END_UNREADABLE;
	end_stack(shadow, slot);
}

SHADOW_PROGRAMS(php)
