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
	u64 frame;   /* where the walk is; 0: at its root */
	u64 code_at; /* where the code object is that is in code */
	u64 outer; /* another state of this thread's, whose frames called those of the first; 0: none */
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
 * not. In a subinterpreter the first is its own, and the second the main one's, which called it (before 3.12).
 */
__noinline int python_find_thread(u32 slot)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_python *python = walk_at(slot, &work, &shadow);
	u64 thread = 0, own = 0, key;

	if (!python || bpf_probe_read_user(work->state, sizeof(work->state), (void *)python->state))
		return 0;
	work->outer = 0;
	if (has(python->current_at))
		thread = WORD_AT(work->state, 3, python->current_at);
	key = WORD_AT(work->state, 3, python->key_at); /* is it made, and which */
	if (shadow->thread && (u32)key)
		own = value_of_key(shadow->thread, python->values_at, python->more_values_at,
				   key >> 32);
	if (read_thread(work, thread) &&
	    WORD_AT(work->thread, 31, python->thread_at) == shadow->thread) {
		work->outer = own == thread ? 0 : own;
		return 1;
	}
	return read_thread(work, own);
}

/* Texts ----------------------------------------------------------------------------------------- */

/* How a str lies in memory: its length, its hash, and a word that says the rest. */
struct str {
	u64 nr, hash, state;
};

static __always_inline u32 width_of(const struct str *str)
{
	return str->state >> STR_WIDTH_SHIFT & 7;
}

/* Where its first character is. */
static __always_inline u32 first_of(const struct abi_python *python, const struct str *str)
{
	bool is_ascii = str->state & STR_ASCII;

	if (python->version < 0x030c)
		return is_ascii ? 48 : 72;
	return is_ascii ? 40 : 56;
}

static __always_inline bool read_str(u64 address, struct str *str)
{
	return !bpf_probe_read_user(str, sizeof(*str), (void *)(address + LENGTH_AT));
}

static __always_inline int send_str(u32 slot, const struct abi_python *python, u64 address,
				    u32 part)
{
	struct str str;
	u64 len;

	if (!address)
		return 0;
	if (!read_str(address, &str))
		return 1;
	len = str.nr < STR_MAX_BYTES ? str.nr * width_of(&str) : STR_MAX_BYTES;
	return shadow_send_text(slot, address, part,
				first_of(python, &str) +
					(len < STR_MAX_BYTES ? (u32)len : STR_MAX_BYTES));
}

/* Of a bytes object. */
static __always_inline int send_lines_of(u32 slot, u64 address)
{
	u64 nr = 0;

	if (!address || !read_word(address + LENGTH_AT, &nr))
		return 0;
	return send_lines(slot, address, ABI_TEXT_LINES,
			  nr < TEXT_LEN_MASK - BYTES_HEAD_BYTES ? BYTES_HEAD_BYTES + (u32)nr
								: TEXT_LEN_MASK);
}

static __always_inline u64 code_word(const struct work *work, u32 offset)
{
	return WORD_AT(work->code, 31, offset);
}

/* All texts of the code object in work->code. 0: all of them were sent. */
__noinline int python_describe(u32 slot, u64 function)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_python *python = walk_at(slot, &work, &shadow);
	u64 qualified;
	int lost;

	if (!python ||
	    !begin_texts(slot, shadow, function, ABI_RUNTIME(ABI_RUNTIME_PYTHON, python->version)))
		return 1;
	qualified = has(python->code_qualified) ? code_word(work, python->code_qualified) : 0;
	if (!can_be_read(code_word(work, python->code_file)) || !can_be_read(qualified))
		return 1;
	lost = send_str(slot, python, code_word(work, python->code_name), ABI_TEXT_NAME) ||
	       send_str(slot, python, code_word(work, python->code_file), ABI_TEXT_FILE) ||
	       send_str(slot, python, qualified, ABI_TEXT_QUALIFIED) ||
	       send_lines_of(slot, code_word(work, python->code_lines));
	/* The last one: with it the object is known. */
	return lost || shadow_send_text(slot, work->code_at, ABI_TEXT_OBJECT, CODE_WORDS * 8);
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
	struct str str;

	if (!python || !address || !read_str(address, &str))
		return 0;
	if (str.hash != NO_HASH)
		return str.hash;
	return shadow_hash_text(slot, address + first_of(python, &str), str.nr * width_of(&str));
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

/* The frame that the state in work->thread begins with. 0: it cannot be read. */
__noinline int python_first_frame(u32 slot)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_python *python = walk_at(slot, &work, &shadow);

	if (!python)
		return 0;
	work->frame = WORD_AT(work->thread, 31, python->frame_at);
	return !has(python->hop_at) || read_word(work->frame + python->hop_at, &work->frame);
}

/* Goes on where the frames of this state were called, if that is in another. 0: it is in none. */
__noinline int python_leave_state(u32 slot)
{
	struct work *work = work_at(slot);
	u64 outer;

	if (!work || !work->outer)
		return 0;
	outer = work->outer;
	work->outer = 0;
	return read_thread(work, outer) && python_first_frame(slot);
}

/* One frame. 0: there may be a caller; else the walk is over. */
__noinline int python_step(u32 slot)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_python *python = walk_at(slot, &work, &shadow);
	u64 code, identity;

	if (!python)
		return 1;
	if (!work->frame)
		return !python_leave_state(slot);
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
	work->code_at = code;
	identity = identity_of(shadow, python_identify(slot), code);
	push_frame(shadow, identity, place_in(python, work, code), 0);
	make_known(slot, identity, python_describe);
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
	if (python_first_frame(slot))
		walk_on(slot, shadow, python_steps);
	else
		shadow->stack.end = ABI_SHADOW_END_UNREADABLE;
	end_stack(shadow, slot);
}

SHADOW_PROGRAMS(python)
