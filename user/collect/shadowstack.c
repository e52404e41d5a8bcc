// SPDX-License-Identifier: BSD-2-Clause
/* In the message of a stack that is longer than what is kept, the root's half begins somewhere in the middle. */
#include "collect/shadowstack.h"

static const enum shadow_end ends[] = {
#define X(id) [ABI_SHADOW_END_##id] = SHADOW_END_##id,
	ABI_SHADOW_ENDS(X)
#undef X
};
_Static_assert(SHADOW_MAX_FRAMES == ABI_MAX_SHADOW_FRAMES && SHADOW_PLACED == ABI_FRAME_PLACED &&
		       (int)NR_TEXT_PARTS == (int)ABI_NR_TEXT_PARTS,
	       "stream.h says what shadow_abi.h says");

/* The index of the i-th frame in the message. */
static uint32_t place_of(const struct abi_shadow *message, uint32_t i)
{
	if (i < ABI_SHADOW_HALF || message->nr_walked <= ABI_MAX_SHADOW_FRAMES)
		return i;
	return ABI_SHADOW_HALF + (message->nr_walked + i) % ABI_SHADOW_HALF;
}

void shadowstack_read(const struct abi_shadow *message, size_t len_bytes,
		      struct shadow_frame *frames, struct shadow_stack *stack)
{
	size_t nr = (len_bytes - offsetof(struct abi_shadow, frames)) / sizeof(struct abi_frame);
	uint32_t nr_entries = 0;

	*stack = (struct shadow_stack){
		.frames = frames,
		.nr = nr < SHADOW_MAX_FRAMES ? nr : SHADOW_MAX_FRAMES,
		.end = message->end < ABI_NR_SHADOW_ENDS ? ends[message->end] : SHADOW_END_NO_CODE};
	for (uint32_t i = 0; i < stack->nr; i++) {
		const struct abi_frame *frame = &message->frames[place_of(message, i)];

		frames[i] = (struct shadow_frame){frame->function, frame->place, frame->entries};
		nr_entries += frame->entries & ~ABI_FRAME_PLACED;
	}
	if (stack->nr < SHADOW_MAX_FRAMES || message->nr_walked <= SHADOW_MAX_FRAMES)
		return;
	stack->nr_elided = message->nr_walked - SHADOW_MAX_FRAMES;
	stack->nr_elided_entries = message->nr_entries - nr_entries;
}

bool shadowstack_read_text(const struct abi_text *message, size_t len_bytes,
			   struct runtime_text *text)
{
	if (len_bytes < offsetof(struct abi_text, bytes) ||
	    message->len_bytes > len_bytes - offsetof(struct abi_text, bytes) ||
	    message->part >= ABI_NR_TEXT_PARTS)
		return false;
	*text = (struct runtime_text){.tgid = message->tgid,
				      .start_ns = message->start_ns,
				      .function = message->function,
				      .runtime = message->runtime,
				      .part = (enum text_part)message->part,
				      .bytes = message->bytes,
				      .len_bytes = message->len_bytes};
	return true;
}
