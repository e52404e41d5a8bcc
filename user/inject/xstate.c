// SPDX-License-Identifier: BSD-2-Clause
/* What a thread has of it is in its header, and where each component is the processor says. */
#include "inject/xstate.h"

#include <cpuid.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#define NT_XSTATE	 0x202
#define TILES		 (3ull << 17)
#define STATE_WORDS_AT	 464
#define STATE_HEADER_AT	 512
#define STATE_HEADER_END 576
#define XSTATE_MAGIC1	 0x46505853u
#define XSTATE_MAGIC2	 0x46505845u

/* The kernel's struct _fpx_sw_bytes, at byte 464 of the state. */
struct state_words {
	uint32_t magic1, extended_bytes;
	uint64_t features;
	uint32_t bytes, padding[7];
};

/*
 * How long the state is that a thread may have without asking for more: without AMX's tiles, which the kernel would not take
 * back from a frame. Clears their bits. Components are where the processor says.
 */
static size_t length_of(struct xstate *state)
{
	size_t bytes = STATE_HEADER_END;
	uint64_t features;

	memcpy(&features, state->bytes + STATE_WORDS_AT, sizeof(features));
	features &= ~TILES;
	memcpy(state->bytes + STATE_WORDS_AT, &features, sizeof(features));
	for (int i = 2; i < 63; i++) {
		unsigned int size, at, c, d;

		if (!(features & 1ull << i))
			continue;
		__cpuid_count(0xd, i, size, at, c, d);
		if (at + size > bytes)
			bytes = at + size;
	}
	return bytes;
}

static bool has_tiles(const struct xstate *state)
{
	uint64_t present;

	memcpy(&present, state->bytes + STATE_HEADER_AT, sizeof(present));
	return present & TILES;
}

int xstate_read(pid_t tid, struct xstate *state)
{
	struct iovec room = {state->bytes, XSTATE_MAX_BYTES};

	if (ptrace(PTRACE_GETREGSET, tid, NT_XSTATE, &room))
		return -errno;
	if (room.iov_len < STATE_HEADER_END)
		return -ENOTSUP;
	if (has_tiles(state))
		return -EAGAIN;
	state->given_bytes = room.iov_len;
	state->len_bytes = length_of(state);
	if (state->len_bytes > room.iov_len)
		return -ENOTSUP;
	/* Whether the kernel takes it is found out while it changes nothing. */
	return xstate_write(tid, state) ? -ENOTSUP : 0;
}

/* The kernel takes no other length than the one that it gives. */
int xstate_write(pid_t tid, const struct xstate *state)
{
	struct iovec bytes = {(void *)state->bytes, state->given_bytes};

	return ptrace(PTRACE_SETREGSET, tid, NT_XSTATE, &bytes) ? -errno : 0;
}

size_t xstate_mark(struct xstate *state)
{
	struct state_words words = {.magic1 = XSTATE_MAGIC1,
				    .extended_bytes = state->len_bytes + 4,
				    .bytes = state->len_bytes};
	uint32_t magic2 = XSTATE_MAGIC2;

	memcpy(&words.features, state->bytes + STATE_WORDS_AT, sizeof(words.features));
	memcpy(state->bytes + STATE_WORDS_AT, &words, sizeof(words));
	memcpy(state->bytes + state->len_bytes, &magic2, sizeof(magic2));
	return state->len_bytes + sizeof(magic2);
}
