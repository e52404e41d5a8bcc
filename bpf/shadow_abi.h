/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Shadow stacks and texts: what the programs that walk runtimes (runtime_abi.h) send over the ring.
 *
 * Some languages' functions have no frames on the machine stack, but on one that the runtime keeps itself: the shadow
 * stack. A program for each kind of them walks it in the same tick, after the native one; user space joins
 * the two (user/record/join.h). It is called through a slot of the map `runtime_walks`, which is empty until a process
 * of that kind appears, and is loaded by itself: a kernel that refuses it loses that runtime and nothing else.
 */
#ifndef CPROF_SHADOW_ABI_H
#define CPROF_SHADOW_ABI_H

#ifndef __bpf__ /* there vmlinux.h has the types, and the two do not go together */
#include <linux/types.h>
#endif

#define ABI_MAX_RUNTIMES 1024 /* processes of all kinds at one time */

/*
 * Shadow stacks keep both ends, as native ones do. What came last goes round in the upper half, so that of a longer
 * stack of nr frames the one at place ABI_SHADOW_HALF + nr % ABI_SHADOW_HALF is the oldest there.
 */
#define ABI_SHADOW_HALF	      256
#define ABI_MAX_SHADOW_FRAMES (2 * ABI_SHADOW_HALF)

/* Why a shadow stack ends; user/stream.h says it in words, under the same names. */
#define ABI_SHADOW_ENDS(X) \
	X(ROOT)            \
	X(UNREADABLE)      \
	X(NO_CODE)         \
	X(TOO_DEEP)

enum abi_shadow_end {
#define X(id) ABI_SHADOW_END_##id,
	ABI_SHADOW_ENDS(X)
#undef X
	ABI_NR_SHADOW_ENDS
};

/* In a frame's entries: it has a native frame of its own, and its place is the number of that frame, from the leaf on. */
#define ABI_FRAME_PLACED (1u << 31)

struct abi_frame {
	__u64 function; /* its identity: of its name, file and first line, its address and its process */
	__u32 place;   /* in it; Python: bytes of bytecode */
	__u32 entries; /* how many loops native code called for it, of which all but one run nothing; or ABI_FRAME_PLACED */
};

/* Over the ring, before the record of the same id: as many frames as there are. Leaf first. */
struct abi_shadow {
	__u32 event;	  /* ABI_EVENT_SHADOW */
	__u32 nr_walked;  /* may be more than are here */
	__u64 id;	  /* of the record */
	__u32 end;	  /* enum abi_shadow_end */
	__u32 nr_entries; /* of all nr_walked */
	struct abi_frame frames[ABI_MAX_SHADOW_FRAMES];
};

/*
 * Over the ring, when a frame of this function is met for the first time: what names it, as it is in the target's
 * memory, in several messages. So what a target frees or writes over later still has its name.
 */
enum abi_text_part {
	ABI_TEXT_OBJECT, /* the beginning of the object itself */
	ABI_TEXT_NAME,
	ABI_TEXT_QUALIFIED, /* the name with those of what it is in */
	ABI_TEXT_FILE,
	ABI_TEXT_LINES,
	ABI_NR_TEXT_PARTS,
};

#define ABI_TEXT_BYTES 16384 /* what is longer is cut */

struct abi_text {
	__u32 event; /* ABI_EVENT_TEXT */
	__u32 part;  /* enum abi_text_part */
	__u64 start_ns;
	__u64 function; /* as in its frames */
	__u32 tgid;
	__u32 runtime; /* ABI_RUNTIME(): its kind and version */
	__u32 len_bytes;
	__u32 pad;
	__u8 bytes[ABI_TEXT_BYTES]; /* only the first len_bytes are sent */
};

_Static_assert(sizeof(struct abi_frame) == 16, "abi_frame changed size");
_Static_assert(sizeof(struct abi_shadow) == 24 + 16 * ABI_MAX_SHADOW_FRAMES,
	       "abi_shadow changed size");
_Static_assert(sizeof(struct abi_text) == 40 + ABI_TEXT_BYTES, "abi_text changed size");

#endif
