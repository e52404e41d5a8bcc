/* SPDX-License-Identifier: BSD-2-Clause */
/* Shadow stacks and texts as BPF sends them (bpf/shadow_abi.h), put into the plain records of stream.h. */
#ifndef CPROF_COLLECT_SHADOWSTACK_H
#define CPROF_COLLECT_SHADOWSTACK_H

#include <stdbool.h>
#include <stddef.h>

#include "cprof_abi.h"
#include "stream.h"

/* The stack of a message of len_bytes, in *stack; frames (room for SHADOW_MAX_FRAMES) are what it points to. */
void shadowstack_read(const struct abi_shadow *message, size_t len_bytes,
		      struct shadow_frame *frames, struct shadow_stack *stack);
/* The text of a message of len_bytes; borrowed from it. false: it is none. */
bool shadowstack_read_text(const struct abi_text *message, size_t len_bytes,
			   struct runtime_text *text);

#endif
