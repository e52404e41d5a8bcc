// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The JavaScript functions on a native stack. V8 keeps frame pointers, and puts what is executed next to them:
 *
 *	rbp ->  [ caller's rbp ][ return address ]
 *	    -8  [ context ]	or a small integer: the frame is of another kind
 *	   -16  [ JSFunction ]
 *
 *	JSFunction --> SharedFunctionInfo --> names, Script (v8function.bpf.h)
 *
 * All of its code does, interpreted or compiled. So the native walk (unwind.bpf.c) has found the frames already: those whose
 * caller it found by rbp are looked at here, and each function says which of them it is (ABI_FRAME_PLACED). Rejected: a walk of
 * its own from the isolate's variables, which would have to find them, and their offsets, in each version.
 *
 * What is read belongs to the thread that the tick interrupted. A frame at the leaf has its function only once it is
 * pushed: below the stack pointer is what others left there.
 *
 * The garbage collector moves objects, and others take their place. A script has a number that its isolate never
 * uses again, and a function has one within its script: by these a frame is known, with the addresses of both.
 */
#include "prelude.bpf.h"
#include "arch/arch.bpf.h"

#include "scratch.bpf.h"
#include "shadow.bpf.h"
#include "v8function.bpf.h"
#include "v8objects.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* A map of the main object. */
struct scratch_map scratch_slots SEC(".maps");

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
	u64 shared, identity;

	if (!v8)
		return 0;
	shared = word_in(function, v8->shared_at);
	if (!load_shared(work, v8, shared) || !load_script(work, v8))
		return 0;
	identity = mix(mix(shadow->exec_id, work->script_id), work->script);
	identity = mix(identity, work->shared[v8->literal_at / 8 & 7] >> 8 * (v8->literal_at & 4));
	identity = identity_of(shadow, identity, shared);
	push_frame(shadow, identity, i, ABI_FRAME_PLACED);
	make_known(slot, identity, v8_describe);
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
	if (!i && scratch->walk.leaf[ARCH_MACHINE.sp] > fp - sizeof(words))
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
	end_stack(shadow, slot);
}

SHADOW_PROGRAMS(v8)
