/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What the programs that walk shadow stacks share: where things are, frames as they are met, and the texts of objects that
 * were not seen before.
 *
 * Each of them is an object of its own that is loaded by itself, so this is no file to link but one to include: maps and
 * functions are each object's own. The events go to the ring of the main object.
 *
 * Seen objects are known by 32 bits each in buckets of four, which cost nothing to look up: one that drops out is sent again.
 * They are noted after their texts are sent, which ends in an exchange in the kernel (bpf_ringbuf_commit()), a full barrier:
 * who finds an object noted comes after its texts in the ring.
 */
#ifndef CPROF_SHADOW_BPF_H
#define CPROF_SHADOW_BPF_H

#include "prelude.bpf.h"

#include "arch/runtime.bpf.h"
#include "mix.bpf.h"
#include "runtime.bpf.h"

#define PAGE_BYTES     4096u
#define MAX_CALLS      512
#define CALLS_A_LOOK   32 /* at the clock */
#define STEPS_A_CALL   8
#define FRAMES_AT_ONCE 32 /* of a hash */
#define STR_MAX_BYTES  1024u
#define TAIL_WORDS     16 /* of a text: what counts of its content */
#define TAIL_BYTES     (TAIL_WORDS * 8u)
#define SEEN_WAYS      4
#define SEEN_BUCKETS   16384
#define NR_FIRST_KEYS  32 /* pthread: whose values are in the thread's own block */
#define TEXT_LEN_MASK  (ABI_TEXT_BYTES - 1)
/* Of the ring: all texts that wait in it take half of it, those of one process a quarter of it in so long. The rest is for samples. */
#define TEXTS_PART  2
#define BUDGET_PART 4
#define BUDGET_NS   100000000ull
#define WAKEUP_PART 4 /* as in the main object */

/* Maps of the main object; this one's own definitions are never made. */
struct shadow_map shadows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, ABI_EVENTS_BYTES);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ABI_NR_SLOTS);
	__type(key, u32);
	__type(value, struct abi_text);
} texts SEC(".maps");

/* Where things are in the processes of a runtime: what user space found in the file of each. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ABI_MAX_RUNTIMES);
	__type(key, u32);
	__type(value, union abi_layout);
} layouts SEC(".maps");

struct work; /* what a walk works with; each object has its own */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ABI_NR_SLOTS);
	__type(key, u32);
	__type(value, struct work);
} works SEC(".maps");

struct seen {
	u32 at[SEEN_BUCKETS][SEEN_WAYS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct seen);
} seen_objects SEC(".maps");

/* What the texts of each process took of the ring, by its place in layouts. */
struct budget {
	u64 since_ns;
	u64 nr_bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ABI_MAX_RUNTIMES);
	__type(key, u32);
	__type(value, struct budget);
} budgets SEC(".maps");

/* NULL only for a slot that does not exist, for the verifier's sake, as those below. */
static __always_inline struct work *work_at(u32 slot)
{
	return bpf_map_lookup_elem(&works, &slot);
}

/* The walk of a slot. Returns the runtime's own member of the process's union abi_layout. */
static __always_inline const void *walk_at(u32 slot, struct work **work, struct shadow **shadow)
{
	u32 place;

	*work = work_at(slot);
	*shadow = shadow_at(slot);
	if (!*work || !*shadow)
		return NULL;
	place = (*shadow)->place;
	return bpf_map_lookup_elem(&layouts, &place);
}

static __always_inline struct abi_text *text_at(u32 slot)
{
	return bpf_map_lookup_elem(&texts, &slot);
}

static __always_inline bool read_word(u64 address, u64 *word)
{
	return !bpf_probe_read_user(word, sizeof(*word), (void *)address);
}

/* The value that the thread whose block this is has for a pthread key; 0: none. Where they are is the C library's choice. */
static __always_inline u64 value_of_key(u64 block, u32 values_at, u32 more_values_at, u32 key)
{
	u64 at = block + values_at, word = 0;

	if (key >= NR_FIRST_KEYS) {
		if (!read_word(block + more_values_at + 8 * (u64)(key / NR_FIRST_KEYS), &at) || !at)
			return 0;
		key %= NR_FIRST_KEYS;
	}
	return read_word(at + 16 * (u64)key + 8, &word) ? word : 0;
}

/* Texts ----------------------------------------------------------------------------------------- */

/* Opaque: clang drops a mask where it knows the range, which the verifiers of before 6.12 do not. */
static __always_inline u32 masked(u32 len)
{
	barrier_var(len);
	return len & TEXT_LEN_MASK;
}

static __always_inline bool is_there(u64 address)
{
	u8 byte;

	return !bpf_probe_read_user(&byte, sizeof(byte), (void *)address);
}

/* Is there a text, or none to be read? */
static __always_inline bool can_be_read(u64 address)
{
	return !address || is_there(address);
}

static __always_inline struct budget *budget_of(u32 slot)
{
	struct shadow *shadow = shadow_at(slot);
	u32 place = shadow ? shadow->place : 0;

	return bpf_map_lookup_elem(&budgets, &place);
}

/* Sends the first len bytes of text->bytes; part and len are set here. 0: done. */
static __always_inline int send_bytes_of_text(u32 slot, struct abi_text *text, u32 part, u32 len)
{
	u64 nr_waiting = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA);
	u64 nr_in_ring = bpf_ringbuf_query(&events, BPF_RB_RING_SIZE);
	struct budget *budget = budget_of(slot);

	text->part = part;
	text->len_bytes = len;
	if (budget)
		__sync_fetch_and_add(&budget->nr_bytes, offsetof(struct abi_text, bytes) + len);
	return bpf_ringbuf_output(&events, text, offsetof(struct abi_text, bytes) + len,
				  nr_waiting > nr_in_ring / WAKEUP_PART ? BPF_RB_FORCE_WAKEUP
									: BPF_RB_NO_WAKEUP)
		       ? 1
		       : 0;
}

/* Sends len_bytes at address. 0: done, or there is no text (address 0); else it was lost, or cannot be read now. */
__noinline int shadow_send_text(u32 slot, u64 address, u32 part, u32 len_bytes)
{
	struct abi_text *text = text_at(slot);
	u32 len = len_bytes;

	if (!text || !address)
		return 0;
	if (len > TEXT_LEN_MASK)
		len = TEXT_LEN_MASK;
	if (bpf_probe_read_user(text->bytes, masked(len), (void *)address))
		return 1;
	return send_bytes_of_text(slot, text, part, masked(len));
}

/* The same for what says lines, without which a function has its name all the same. */
static __always_inline int send_lines(u32 slot, u64 address, u32 part, u32 len_bytes)
{
	if (!len_bytes || !is_there(address) || !is_there(address + len_bytes - 1))
		return 0;
	return shadow_send_text(slot, address, part, len_bytes);
}

/*
 * The hash of the length and the last TAIL_BYTES of a text, where most of them differ: of files in particular. Global, to be verified
 * once, and without a branch on what is read. Texts that are sent lie in the same place.
 */
__noinline u64 shadow_hash_text(u32 slot, u64 address, u64 len_bytes)
{
	struct abi_text *text = text_at(slot);
	u32 len = len_bytes < TAIL_BYTES ? (u32)len_bytes : TAIL_BYTES;
	u64 hash = mix(0, len_bytes), *words;

	if (!text || !address)
		return hash;
	words = (u64 *)text->bytes;
	for (int i = 0; i < TAIL_WORDS; i++)
		words[i] = 0;
	barrier_var(len);
	if (len > TAIL_BYTES ||
	    bpf_probe_read_user(words, len, (void *)(address + len_bytes - len)))
		return hash;
	for (int i = 0; i < TAIL_WORDS; i++)
		hash = mix(hash, words[i]);
	return hash;
}

/* The texts that follow are of this function; version is of this kind of runtime. */
static __always_inline bool begin_texts(u32 slot, const struct shadow *shadow, u64 function,
					u32 runtime)
{
	struct abi_text *text = text_at(slot);

	if (!text)
		return false;
	text->event = ABI_EVENT_TEXT;
	text->start_ns = shadow->start_ns;
	text->tgid = shadow->tgid;
	text->function = function;
	text->runtime = runtime;
	return true;
}

/* Where an object with this key is noted once user space knows it; *is_known: it does. NULL is for the verifier. */
static __always_inline u32 *seen_at(u64 key, bool *is_known)
{
	u32 zero = 0, tag = key >> 32 | 1;
	struct seen *seen = bpf_map_lookup_elem(&seen_objects, &zero);
	u32 *ways;

	if (!seen)
		return NULL;
	ways = seen->at[key & (SEEN_BUCKETS - 1)];
	*is_known = ways[0] == tag || ways[1] == tag || ways[2] == tag || ways[3] == tag;
	return &ways[key >> 20 & (SEEN_WAYS - 1)];
}

/*
 * May another function's texts be sent for this process? Functions that come too fast are met again, or have no name: no sample of
 * another process is lost for them.
 */
__noinline int shadow_has_room(u32 slot)
{
	u64 nr_in_ring = bpf_ringbuf_query(&events, BPF_RB_RING_SIZE), now = bpf_ktime_get_ns();
	struct budget *budget = budget_of(slot);

	if (!budget || bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) >= nr_in_ring / TEXTS_PART)
		return 0;
	if (now - budget->since_ns > BUDGET_NS) {
		budget->since_ns = now;
		budget->nr_bytes = 0;
	}
	return budget->nr_bytes < nr_in_ring / BUDGET_PART;
}

/*
 * Sends user space a function that it does not know: describe() sends its texts, and returns 0 if it was all of them. Else it is met
 * again: until what cannot be read can, it has no name, rather than the one that the rest of its texts would make.
 */
static __always_inline void make_known(u32 slot, u64 function,
				       int (*describe)(u32 slot, u64 function))
{
	u64 key = mix(function, function >> 29);
	bool is_known = true;
	u32 *seen = seen_at(key, &is_known);

	if (seen && !is_known && shadow_has_room(slot) && !describe(slot, function))
		*seen = key >> 32 | 1;
}

/* Frames ---------------------------------------------------------------------------------------- */

static __always_inline u32 place_of(u32 nr)
{
	return nr < ABI_SHADOW_HALF ? nr : ABI_SHADOW_HALF + (nr & (ABI_SHADOW_HALF - 1));
}

static __always_inline struct abi_frame *last_frame(struct shadow *shadow)
{
	return &shadow->stack.frames[place_of(shadow->stack.nr_walked - 1) &
				     (ABI_MAX_SHADOW_FRAMES - 1)];
}

/* Native code called the loop for the frame that was met last; or after it, for none. At the leaf there is none yet. */
static __always_inline void mark_entry(struct shadow *shadow)
{
	if (!shadow->stack.nr_walked)
		return;
	last_frame(shadow)->entries++;
	shadow->stack.nr_entries++;
}

/* The next frame. */
static __always_inline void push_frame(struct shadow *shadow, u64 function, u32 place, u32 entries)
{
	u32 at = place_of(shadow->stack.nr_walked++) & (ABI_MAX_SHADOW_FRAMES - 1);

	shadow->stack.frames[at].function = function;
	shadow->stack.frames[at].place = place;
	shadow->stack.frames[at].entries = entries;
}

/* The identity of the function at object in this process, from that of its content. */
static __always_inline u64 identity_of(const struct shadow *shadow, u64 content, u64 object)
{
	return mix(mix(content, object), (u64)shadow->tgid << 32 ^ shadow->start_ns);
}

/*
 * The hash of what hash stands for and then of FRAMES_AT_ONCE of nr frames, from i on, all of one half. Global, to be
 * verified once, and without a branch on what is read.
 */
__noinline u64 shadow_hash_frames(u32 slot, u64 hash, u32 i, u32 nr)
{
	struct shadow *shadow = shadow_at(slot);
	u32 half = i & ABI_SHADOW_HALF, left = nr - i;

	if (!shadow)
		return hash;
	if (half && nr > ABI_MAX_SHADOW_FRAMES)
		i += nr;
#pragma clang loop unroll(disable)
	for (u32 turn = 0; turn < FRAMES_AT_ONCE && turn < left; turn++) {
		u32 at = half | ((i + turn) & (ABI_SHADOW_HALF - 1));
		const struct abi_frame *frame;

		barrier_var(at);
		frame = &shadow->stack.frames[at & (ABI_MAX_SHADOW_FRAMES - 1)];
		hash = mix(hash, frame->function);
		hash = mix(hash, (u64)frame->place << 32 | frame->entries);
	}
	return hash;
}

_Static_assert(2 * ABI_SHADOW_HALF == ABI_MAX_SHADOW_FRAMES &&
		       !(ABI_SHADOW_HALF & (ABI_SHADOW_HALF - 1)) &&
		       ABI_SHADOW_HALF % FRAMES_AT_ONCE == 0,
	       "indices are masked, and a turn is of one half");

/* In the order of the stack: of one that is longer than what is kept, it does not matter how long it is. */
static __always_inline u64 hash_of(const struct shadow *shadow, u32 slot, u32 nr)
{
	u64 hash = mix(shadow->tgid, shadow->stack.end);

	for (u32 i = 0; i < ABI_MAX_SHADOW_FRAMES && i < nr; i += FRAMES_AT_ONCE)
		hash = shadow_hash_frames(slot, hash, i, nr);
	return hash;
}

static __always_inline void begin_stack(struct shadow *shadow)
{
	shadow->stack.nr_walked = shadow->stack.nr_entries = 0;
	shadow->stack.end = ABI_SHADOW_END_ROOT;
}

/* Calls steps, which is not 0 when the walk is over: to the root, or as far as time allows. */
static __always_inline void walk_on(u32 slot, struct shadow *shadow, int (*steps)(u32))
{
	u64 deadline_ns = bpf_ktime_get_ns() + shadow->walk_ns;

	for (int i = 0; i < MAX_CALLS; i++) {
		if (steps(slot))
			return;
		if (i % CALLS_A_LOOK == CALLS_A_LOOK - 1 && bpf_ktime_get_ns() > deadline_ns)
			break;
	}
	shadow->stack.end = ABI_SHADOW_END_TOO_DEEP;
}

static __always_inline void end_stack(struct shadow *shadow, u32 slot)
{
	u32 nr = shadow->stack.nr_walked;

	if (shadow->stack.end == ABI_SHADOW_END_TOO_DEEP && nr > ABI_SHADOW_HALF)
		nr = ABI_SHADOW_HALF; /* only the leaf's side means the same in the next sample */
	shadow->nr = nr < ABI_MAX_SHADOW_FRAMES ? nr : ABI_MAX_SHADOW_FRAMES;
	shadow->hash = hash_of(shadow, slot, nr);
}

/* Programs -------------------------------------------------------------------------------------- */

/* Never has a program: since Linux 6.13 a tail call keeps a program on the kernel's stack (alloc.bpf.c says why). */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(u32));
} no_walks SEC(".maps");

/* The slot of current's walk: a uprobe's program may have been preempted by others on this CPU. 0: there is none. */
static __always_inline u32 find_slot(void)
{
	u64 current = bpf_get_current_pid_tgid();

	for (u32 slot = ABI_SLOT_UPROBE; slot < ABI_NR_SLOTS; slot++) {
		struct shadow *shadow = shadow_at(slot);

		if (shadow && shadow->walker == current)
			return slot;
	}
	return 0;
}

/* What the main object's programs call, where a CPU's clock ticks and at a probe; walk(slot) is the runtime's own. */
#define SHADOW_PROGRAMS(name)                               \
	SEC("uprobe")                                       \
	int name##_at_probe(struct pt_regs *ctx)            \
	{                                                   \
		u32 slot = find_slot();                     \
                                                            \
		if (slot)                                   \
			walk(slot);                         \
		else if (ARCH_HAS_TAIL_CALLS)               \
			bpf_tail_call(ctx, &no_walks, 0);   \
		return 0;                                   \
	}                                                   \
                                                            \
	SEC("perf_event")                                   \
	int name##_at_tick(struct bpf_perf_event_data *ctx) \
	{                                                   \
		walk(ABI_SLOT_TICK);                        \
		return 0;                                   \
	}

#endif
