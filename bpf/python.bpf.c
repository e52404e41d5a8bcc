// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * CPython's shadow stack. What user space found in the interpreter's file (user/runtime/python.h) says where things are.
 *
 *	_PyRuntime --> the state of the thread that holds the GIL, if that is current
 *	fs --> the value of a pthread key: the state of current, with or without the GIL
 *	state --> [cframe -->] frame --> its caller's frame --> ... 0
 *	                         \--> code object --> name, file, lines
 *
 * All of it belongs to the thread that the tick interrupted, which cannot change it meanwhile; its frames keep their code
 * objects alive. So what is read is consistent, and what a target has there instead can at most be wrong: pointers are only
 * followed, and an object counts as a code object only if its type says so.
 *
 * A code object's address says little: 74 to 95 % of those of functions that exec() makes had belonged to another. So a
 * frame is known by all fields that do not change, too, and by the contents of its name (the hash that str caches) and of its file's.
 * The texts of an object that was not seen before are sent at once.
 *
 * Frames of 3.11 and later lie close together, callers below, and are read in windows; those of before are objects.
 */
#include "prelude.bpf.h"

#include "shadow.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define WORK_WORDS	 256
#define WORK_BYTES	 (WORK_WORDS * 8u)
#define FRAME_BYTES	 80u  /* of 3.11 and later */
#define OLD_FRAME_BYTES	 112u /* of before */
#define THREAD_BYTES	 184u /* of PyThreadState */
#define CODE_WORDS	 18   /* of PyCodeObject */
#define TYPE_WORD	 1    /* of any object */
#define LENGTH_AT	 16   /* of a str, bytes or tuple */
#define HASH_AT		 24   /* of a str */
#define OWNER_SHIM	 3    /* FRAME_OWNED_BY_CSTACK */
#define OWNER_SHIM_3_14	 4    /* FRAME_OWNED_BY_INTERPRETER, since 3.14 */
#define STR_HEAD_BYTES	 72u
#define STR_ASCII_BYTES	 48u /* the head of one of only ASCII */
#define STR_ASCII	 (1u << 6)
#define STR_WIDTH_SHIFT	 2
#define NO_HASH		 ~0ull
#define NR_FILES	 8
#define BYTES_HEAD_BYTES 33u

struct file {
	u64 at; /* the str of its name; 0: none */
	u64 hash;
};

struct work {
	u64 frame; /* where the walk is; 0: at its root */
	u64 window_at;
	u32 window_bytes;
	u32 pad;
	u64 window[WORK_WORDS];
	u64 thread[32]; /* lengths are powers of 2, for masks; what is read is less */
	u64 code[32];
	u64 state[4];
	struct file files[NR_FILES]; /* met in this walk */
};

static __always_inline bool has(u8 offset)
{
	return offset != ABI_PYTHON_NONE;
}

/* The word at an offset in what was copied. The barrier keeps the mask, which the verifier needs. */
#define WORD_AT(words, mask, offset)   \
	({                             \
		u32 i_ = (offset) / 8; \
		barrier_var(i_);       \
		(words)[i_ & (mask)];  \
	})

/* Thread states --------------------------------------------------------------------------------- */

static __always_inline bool read_thread(struct work *work, u64 thread)
{
	return thread && !bpf_probe_read_user(work->thread, THREAD_BYTES, (void *)thread);
}

/*
 * The state of the thread with the GIL, if that is current; else the one that current has whether it holds the GIL or
 * not. The first is right in subinterpreters too, where the second is the main one's (3.10, 3.11).
 */
__noinline int python_find_thread(u32 slot)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_python *python = walk_at(slot, &work, &shadow);
	u64 thread = 0, key;

	if (!python || bpf_probe_read_user(work->state, sizeof(work->state), (void *)python->state))
		return 0;
	if (has(python->current_at))
		thread = WORD_AT(work->state, 3, python->current_at);
	if (read_thread(work, thread) &&
	    WORD_AT(work->thread, 31, python->thread_at) == shadow->thread)
		return 1;
	key = WORD_AT(work->state, 3, python->key_at); /* is it made, and which */
	if (!shadow->thread || !(u32)key)
		return 0;
	return read_thread(work, value_of_key(shadow->thread, python->values_at,
					      python->more_values_at, key >> 32));
}

/* Texts ----------------------------------------------------------------------------------------- */

/* A str: it may take 4 bytes a character. */
static __always_inline int send_str(u32 slot, u64 address, u32 part)
{
	u64 nr = 0;

	if (!address || !read_word(address + LENGTH_AT, &nr))
		return 0;
	return shadow_send_text(slot, address, part,
				STR_HEAD_BYTES +
					(nr < STR_MAX_BYTES / 4 ? 4 * (u32)nr : STR_MAX_BYTES));
}

static __always_inline int send_bytes(u32 slot, u64 address, u32 part)
{
	u64 nr = 0;

	if (!address || !read_word(address + LENGTH_AT, &nr))
		return 0;
	return shadow_send_text(slot, address, part,
				nr < ABI_TEXT_BYTES ? BYTES_HEAD_BYTES + (u32)nr : ABI_TEXT_BYTES);
}

static __always_inline u64 code_word(const struct work *work, u32 offset)
{
	return WORD_AT(work->code, 31, offset);
}

/* All texts of the code object in work->code. 0: all of them were sent. */
__noinline int python_describe(u32 slot, u64 object, u64 function)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_python *python = walk_at(slot, &work, &shadow);
	int lost;

	if (!python ||
	    !begin_texts(slot, shadow, function, ABI_RUNTIME(ABI_RUNTIME_PYTHON, python->version)))
		return 1;
	lost = send_str(slot, code_word(work, python->code_name), ABI_TEXT_NAME) ||
	       send_str(slot, code_word(work, python->code_file), ABI_TEXT_FILE) ||
	       send_bytes(slot, code_word(work, python->code_lines), ABI_TEXT_LINES);
	if (!lost && has(python->code_qualified))
		lost = send_str(slot, code_word(work, python->code_qualified), ABI_TEXT_QUALIFIED);
	/* The last one: with it the object is known. */
	return lost || shadow_send_text(slot, object, ABI_TEXT_OBJECT, CODE_WORDS * 8);
}

/* Frames ---------------------------------------------------------------------------------------- */

/* Has the window the frame? Else it is read. Global, and so verified once. */
__noinline int python_load_frame(u32 slot, u32 is_object)
{
	struct work *work = work_at(slot);
	u64 offset;

	if (!work || work->frame & 7)
		return 0;
	offset = work->frame - work->window_at;
	if (is_object) {
		work->window_at = work->frame;
		work->window_bytes = OLD_FRAME_BYTES;
		return !bpf_probe_read_user(work->window, OLD_FRAME_BYTES, (void *)work->frame);
	}
	if (work->window_bytes && offset <= work->window_bytes - FRAME_BYTES)
		return 1;
	work->window_at = work->frame + FRAME_BYTES - WORK_BYTES;
	work->window_bytes = WORK_BYTES;
	if (!bpf_probe_read_user(work->window, WORK_BYTES, (void *)work->window_at))
		return 1;
	work->window_at = work->frame;
	work->window_bytes = FRAME_BYTES;
	return !bpf_probe_read_user(work->window, FRAME_BYTES, (void *)work->frame);
}

static __always_inline u64 frame_word(const struct work *work, u32 offset)
{
	return WORD_AT(work->window, WORK_WORDS - 1, (u32)(work->frame - work->window_at) + offset);
}

static __always_inline u8 frame_byte(const struct work *work, u32 offset)
{
	return frame_word(work, offset) >> 8 * (offset & 7);
}

static __always_inline bool is_shim(const struct abi_python *python, const struct work *work)
{
	u8 owner = frame_byte(work, python->frame_entry);

	return python->entries == ABI_PYTHON_SHIM &&
	       (owner == OWNER_SHIM || (owner == OWNER_SHIM_3_14 && python->version >= 0x030e));
}

/*
 * The hash of the content of the str at address, a file's name: what str caches, or, as it is computed when it is first asked for,
 * that of the text itself. Global, and so verified once.
 */
__noinline u64 python_hash_str(u32 slot, u64 address)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_python *python = walk_at(slot, &work, &shadow);
	u64 head[3]; /* length, hash, how it lies in memory */
	u32 first;

	if (!python || !address ||
	    bpf_probe_read_user(head, sizeof(head), (void *)(address + LENGTH_AT)))
		return 0;
	if (head[1] != NO_HASH)
		return head[1];
	first = head[2] & STR_ASCII ? STR_ASCII_BYTES : STR_HEAD_BYTES;
	if (python->version >= 0x030c)
		first -= 16;
	return shadow_hash_text(slot, address + first, head[0] * (head[2] >> STR_WIDTH_SHIFT & 7));
}

/* The same; a file of this walk is looked at once. */
static __always_inline u64 hash_file(u32 slot, struct work *work, u64 address)
{
	u32 at = (address >> 4 ^ address >> 9) & (NR_FILES - 1);

	barrier_var(at);
	if (work->files[at & (NR_FILES - 1)].at != address) {
		u64 hash = python_hash_str(slot, address);

		work->files[at & (NR_FILES - 1)] = (struct file){address, hash};
	}
	return work->files[at & (NR_FILES - 1)].hash;
}

/*
 * The identity of the code object in work->code, but for its address: its fields, its first line among them, and the contents
 * of its name and the name of its file. Global, and so verified once.
 */
__noinline u64 python_identify(u32 slot)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_python *python = walk_at(slot, &work, &shadow);
	u64 hash, name_hash = 0;

	if (!python)
		return 0;
	hash = mix(0, shadow->exec_id);
#pragma clang loop unroll(disable)
	for (u32 i = 2; i < CODE_WORDS; i++) {
		if (8 * i >= python->code_from && 8 * i < python->code_limit)
			hash = mix(hash, work->code[i]);
		barrier_var(i);
	}
	read_word(code_word(work, python->code_name) + HASH_AT, &name_hash);
	hash = mix(hash, name_hash);
	return mix(hash, hash_file(slot, work, code_word(work, python->code_file)));
}

static __always_inline u32 place_in(const struct abi_python *python, const struct work *work,
				    u64 code)
{
	u64 instr = frame_word(work, python->frame_instr);

	return python->entries == ABI_PYTHON_ALL ? instr : instr - code - python->bytecode_at;
}

/* One frame. 0: there may be a caller; else the walk is over. */
__noinline int python_step(u32 slot)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_python *python = walk_at(slot, &work, &shadow);
	u64 code, identity;

	if (!python || !work->frame)
		return 1;
	shadow->stack.end = ABI_SHADOW_END_UNREADABLE;
	if (!python_load_frame(slot, python->entries == ABI_PYTHON_ALL))
		return 1;
	if (is_shim(python, work)) {
		mark_entry(shadow);
		work->frame = frame_word(work, python->frame_previous);
		shadow->stack.end = ABI_SHADOW_END_ROOT;
		return 0;
	}
	code = frame_word(work, python->frame_code) & ~1ull;
	if (bpf_probe_read_user(work->code, CODE_WORDS * 8, (void *)code))
		return 1;
	shadow->stack.end = ABI_SHADOW_END_NO_CODE;
	if (work->code[TYPE_WORD] != python->code_type)
		return 1;
	identity = identity_of(shadow, python_identify(slot), code);
	push_frame(shadow, identity, place_in(python, work, code), 0);
	make_known(slot, identity, code, python_describe);
	if (python->entries == ABI_PYTHON_ALL ||
	    (python->entries == ABI_PYTHON_FLAG && frame_byte(work, python->frame_entry)))
		mark_entry(shadow);
	work->frame = frame_word(work, python->frame_previous);
	shadow->stack.end = ABI_SHADOW_END_ROOT;
	return 0;
}

__noinline int python_steps(u32 slot)
{
	for (int i = 0; i < STEPS_A_CALL; i++)
		if (python_step(slot))
			return 1;
	return 0;
}

static __always_inline void walk(u32 slot)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_python *python = walk_at(slot, &work, &shadow);

	if (!python || !python_find_thread(slot))
		return;
	work->window_bytes = 0;
	for (int i = 0; i < NR_FILES; i++)
		work->files[i].at = 0;
	begin_stack(shadow);
	work->frame = WORD_AT(work->thread, 31, python->frame_at);
	if (has(python->hop_at) && !read_word(work->frame + python->hop_at, &work->frame))
		return;
	walk_on(slot, shadow, python_steps);
	end_stack(shadow, slot);
}

SHADOW_PROGRAMS(python)
