// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * CRuby's shadow stack. What user space found in the interpreter's file (user/runtime/ruby.h) says where things are.
 *
 *	fs --> ruby_current_ec, thread-local --> execution context --> frame of the leaf, and where its stack ends
 *	frame --> iseq --> body --> label, path, lines
 *	      \--> environment --> flags
 *
 * Frames lie one behind another, callers above, up to the end of the thread's stack of them; they are read in windows. Those of
 * functions in C have no iseq: their native frames speak for them. All of it belongs to the thread that the tick interrupted,
 * which cannot change it meanwhile. What a target has there instead can at most be wrong: pointers are only followed, and an
 * object counts as an iseq only if its flags say so.
 *
 * Bodies are malloc'ed, and freed with their iseqs. So a frame is known by the body's fields that do not change, too, and by the
 * contents of its label and its path: of their last bytes, in which most of them differ. Addresses of strings are left out, which
 * GC.compact changes.
 */
#include "prelude.bpf.h"

#include "arch/runtime.bpf.h"
#include "shadow.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define WORK_WORDS   256
#define WORK_BYTES   (WORK_WORDS * 8u)
#define FRAME_BYTES  40u /* of a frame: as much as is of use */
#define BODY_WORDS   (ABI_RUBY_BODY_BYTES / 8)
#define OBJECT_TYPE  0x1full
#define TYPE_STRING  5
#define TYPE_ARRAY   7
#define IS_ISEQ_MASK 0xf01full
#define IS_ISEQ	     0x701aull
#define IS_ELSEWHERE (1ull << 13) /* a string's text is not in the object; an array's values are */
#define LONG_HEAD    24		  /* embedded texts follow a length (3.2 and later) */
#define POSITION_MAX (1u << 24)
/* The table of lines has six words for positions up to this one, then 80 bytes for each 512. */
#define NR_IMMEDIATE	54
#define IMMEDIATE_BYTES 48
#define BLOCK_POSITIONS 512
#define BLOCK_BYTES	80

enum {
	FLAG_FINISH = 0x20, /* native code called the loop for it */
	FLAG_NATIVE = 0x80,
	KIND_MASK = 0x7fff0001,
	KIND_DUMMY = 0x79990001 /* at the root of a thread's stack: runs nothing */
};
enum {
	FRAME_PC = 0,
	FRAME_ISEQ = 16,
	FRAME_EP = 32
};
enum {
	BODY_KIND, /* and the number of words of its code */
	BODY_CODE,
	BODY_PATH = 8,
	BODY_BASE_LABEL,
	BODY_LABEL,
	BODY_FIRST_LINE
};

/* A string, as far as it is needed. */
struct text {
	u64 at; /* 0: it is none */
	u64 len_bytes;
};

struct work {
	u64 frame, limit; /* where the walk is, and where it ends */
	u64 window_at;
	u32 window_bytes;
	u32 pad;
	u64 body_at;		/* where the body is that is in body */
	u64 path_at, path_hash; /* of the last frame */
	struct text label, path;
	u64 window[WORK_WORDS];
	u64 body[32]; /* lengths are for masks; what is read is less */
	u64 head[8];  /* of a string */
};

/* The word at an offset in what was copied. The barrier keeps the mask, which the verifier needs. */
#define WORD_AT(words, mask, offset)   \
	({                             \
		u32 i_ = (offset) / 8; \
		barrier_var(i_);       \
		(words)[i_ & (mask)];  \
	})

/* Strings --------------------------------------------------------------------------------------- */

/* The text of the string at address; its head stays in work->head. */
static __always_inline struct text find_text(const struct abi_ruby *ruby, struct work *work,
					     u64 address)
{
	u64 flags;

	if (!address || address & 7 || bpf_probe_read_user(work->head, 40, (void *)address))
		return (struct text){0, 0};
	flags = work->head[0];
	if ((flags & OBJECT_TYPE) != TYPE_STRING)
		return (struct text){0, 0};
	if (flags & IS_ELSEWHERE)
		return (struct text){work->head[3], work->head[2]};
	return (struct text){address + ruby->text_at,
			     ruby->text_at == LONG_HEAD ? work->head[2] : flags >> 14 & 31};
}

/* The path of a body: a string, or an array that begins with it. */
__noinline int ruby_find_path(u32 slot, u64 address)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_ruby *ruby = walk_at(slot, &work, &shadow);
	u64 first;

	if (!ruby)
		return 0;
	work->path = find_text(ruby, work, address);
	if (!work->path.at && (work->head[0] & OBJECT_TYPE) == TYPE_ARRAY) {
		first = work->head[2];
		if (work->head[0] & IS_ELSEWHERE || read_word(work->head[4], &first))
			work->path = find_text(ruby, work, first);
	}
	work->path_at = address;
	work->path_hash = shadow_hash_text(slot, work->path.at, work->path.len_bytes);
	return 0;
}

/* Texts ----------------------------------------------------------------------------------------- */

static __always_inline int send_string(u32 slot, const struct text *text, u32 part)
{
	return shadow_send_text(slot, text->at, part,
				text->len_bytes < STR_MAX_BYTES ? (u32)text->len_bytes
								: STR_MAX_BYTES);
}

static __always_inline u64 body_word(const struct work *work, u32 offset)
{
	return WORD_AT(work->body, 31, offset);
}

static __always_inline u32 limited(u64 bytes)
{
	return bytes < TEXT_LEN_MASK ? (u32)bytes : TEXT_LEN_MASK;
}

/* The lines of the body in work->body, unless it has them in another form. */
__noinline int ruby_send_lines(u32 slot)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_ruby *ruby = walk_at(slot, &work, &shadow);
	u64 nr_words, nr_blocks = 0;

	if (!ruby)
		return 1;
	nr_words = work->body[BODY_KIND] >> 32;
	if (body_word(work, ruby->lines_at + 8))
		return 0;
	if (nr_words > NR_IMMEDIATE)
		nr_blocks = (nr_words - NR_IMMEDIATE + BLOCK_POSITIONS - 1) / BLOCK_POSITIONS;
	return send_lines(slot, body_word(work, ruby->lines_at), ABI_TEXT_LINES,
			  limited((body_word(work, ruby->lines_at + 16) & 0xffffffff) *
				  ruby->entry_bytes)) ||
	       send_lines(slot, body_word(work, ruby->lines_at + 24), ABI_TEXT_QUALIFIED,
			  limited(IMMEDIATE_BYTES + nr_blocks * BLOCK_BYTES));
}

/* All texts of the body in work->body. 0: all of them were sent. */
__noinline int ruby_describe(u32 slot, u64 function)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_ruby *ruby = walk_at(slot, &work, &shadow);

	if (!ruby ||
	    !begin_texts(slot, shadow, function, ABI_RUNTIME(ABI_RUNTIME_RUBY, ruby->version)))
		return 1;
	ruby_find_path(slot, work->body[BODY_PATH]);
	if (!work->label.at || !work->path.at || !is_there(work->path.at))
		return 1;
	if (send_string(slot, &work->label, ABI_TEXT_NAME) ||
	    send_string(slot, &work->path, ABI_TEXT_FILE) || ruby_send_lines(slot))
		return 1;
	/* The last one: with it the function is known. */
	return shadow_send_text(slot, work->body_at, ABI_TEXT_OBJECT, ABI_RUBY_BODY_BYTES);
}

/* Frames ---------------------------------------------------------------------------------------- */

/* Has the window the frame? Else it is read. Global, and so verified once. */
__noinline int ruby_load_frame(u32 slot)
{
	struct work *work = work_at(slot);
	u64 offset;

	if (!work || work->frame & 7)
		return 0;
	offset = work->frame - work->window_at;
	if (work->window_bytes && offset <= work->window_bytes - FRAME_BYTES)
		return 1;
	work->window_at = work->frame;
	work->window_bytes = WORK_BYTES;
	if (!bpf_probe_read_user(work->window, WORK_BYTES, (void *)work->frame))
		return 1;
	work->window_bytes = FRAME_BYTES;
	return !bpf_probe_read_user(work->window, FRAME_BYTES, (void *)work->frame);
}

static __always_inline u64 frame_word(const struct work *work, u32 offset)
{
	return WORD_AT(work->window, WORK_WORDS - 1, (u32)(work->frame - work->window_at) + offset);
}

/* The identity of the body in work->body; finds its label as well. */
__noinline u64 ruby_identify(u32 slot)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_ruby *ruby = walk_at(slot, &work, &shadow);
	u64 hash;

	if (!ruby)
		return 0;
	work->label = find_text(ruby, work, work->body[BODY_LABEL]);
	hash = mix(shadow->exec_id, shadow_hash_text(slot, work->label.at, work->label.len_bytes));
	if (work->path_at != work->body[BODY_PATH])
		ruby_find_path(slot, work->body[BODY_PATH]);
	hash = mix(hash, work->path_hash);
	hash = mix(hash, work->body[BODY_KIND]);
	hash = mix(hash, work->body[BODY_CODE]);
	hash = mix(hash, work->body[BODY_FIRST_LINE]);
	hash = mix(hash, body_word(work, ruby->lines_at));
	return mix(hash, body_word(work, ruby->lines_at + 24));
}

/* The place in the code: of the word before that which comes next, as there is none before a call. */
static __always_inline u32 place_in(const struct work *work)
{
	u64 at = (frame_word(work, FRAME_PC) - work->body[BODY_CODE]) / 8;

	if (at > work->body[BODY_KIND] >> 32 || at > POSITION_MAX)
		return -1;
	return at ? at - 1 : 0;
}

/* The function of the frame in the window, whose iseq is at address. 0: it is pushed; else the walk ends before it. */
__noinline int ruby_push_function(u32 slot, u64 address, u32 flags)
{
	struct work *work = work_at(slot);
	struct shadow *shadow = shadow_at(slot);
	u64 body, identity;

	if (!work || !shadow)
		return 1;
	shadow->stack.end = ABI_SHADOW_END_NO_CODE;
	if (address & 7 || bpf_probe_read_user(work->head, 24, (void *)address) ||
	    (work->head[0] & IS_ISEQ_MASK) != IS_ISEQ)
		return 1;
	body = work->head[2];
	if (!body || bpf_probe_read_user(work->body, ABI_RUBY_BODY_BYTES, (void *)body))
		return 1;
	work->body_at = body;
	identity = identity_of(shadow, ruby_identify(slot), body);
	push_frame(shadow, identity, place_in(work), 0);
	make_known(slot, identity, ruby_describe);
	if (flags & FLAG_FINISH)
		mark_entry(shadow);
	shadow->stack.end = ABI_SHADOW_END_ROOT;
	return 0;
}

/* One frame. 0: there may be a caller; else the walk is over. */
__noinline int ruby_step(u32 slot)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_ruby *ruby = walk_at(slot, &work, &shadow);
	u64 flags, iseq;

	if (!ruby || work->frame >= work->limit)
		return 1;
	shadow->stack.end = ABI_SHADOW_END_UNREADABLE;
	if (!ruby_load_frame(slot) || !read_word(frame_word(work, FRAME_EP), &flags))
		return 1;
	iseq = frame_word(work, FRAME_ISEQ);
	if (iseq && !(flags & FLAG_NATIVE) && (flags & KIND_MASK) != KIND_DUMMY &&
	    ruby_push_function(slot, iseq, flags))
		return 1;
	work->frame += ruby->frame_bytes;
	shadow->stack.end = ABI_SHADOW_END_ROOT;
	return 0;
}

__noinline int ruby_steps(u32 slot)
{
	for (int i = 0; i < STEPS_A_CALL; i++)
		if (ruby_step(slot))
			return 1;
	return 0;
}

/* The execution context of current; 0: it has none. */
__noinline u64 ruby_find_context(u32 slot)
{
	struct work *work;
	struct shadow *shadow;
	const struct abi_ruby *ruby = walk_at(slot, &work, &shadow);
	u64 context = 0;

	if (!ruby || !arch_load_tls(ruby->state, shadow->thread_pointer, &context))
		return 0;
	return context;
}

static __always_inline void walk(u32 slot)
{
	struct work *work = work_at(slot);
	struct shadow *shadow = shadow_at(slot);
	u64 context;

	if (!work || !shadow)
		return;
	context = ruby_find_context(slot);
	/* Its stack, how many words that has, the frame. */
	if (!context || bpf_probe_read_user(work->head, 24, (void *)context))
		return;
	work->limit = work->head[0] + 8 * work->head[1];
	work->frame = work->head[2];
	work->window_bytes = 0;
	work->path_at = 0;
	if (work->frame < work->head[0])
		return;
	begin_stack(shadow);
	walk_on(slot, shadow, ruby_steps);
	end_stack(shadow, slot);
}

SHADOW_PROGRAMS(ruby)
