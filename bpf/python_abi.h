/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * How a CPython's memory is read: what user space finds in the interpreter's file (user/runtime/python.h), and
 * bpf/python.bpf.c goes by. Each number may be any: what is read by it is bounded, whatever it is.
 */
#ifndef CPROF_PYTHON_ABI_H
#define CPROF_PYTHON_ABI_H

#ifndef __bpf__ /* there vmlinux.h has the types */
#include <linux/types.h>
#endif

#define ABI_PYTHON_NONE 0xff /* of an offset: there is no such field */

enum abi_python_entries {
	ABI_PYTHON_ALL,	 /* native code called the loop for each frame (3.8 to 3.10) */
	ABI_PYTHON_FLAG, /* for those that have a flag (3.11) */
	ABI_PYTHON_SHIM, /* and pushed a frame of its own before, which tells it (3.12 and later) */
};

/* Offsets are in bytes. */
struct abi_python {
	__u64 state;		   /* ip, in _PyRuntime: of 4 words, among them current and key */
	__u64 code_type;	   /* ip of PyCode_Type */
	__u16 version;		   /* 0x030b is 3.11 */
	__u16 thread_at, frame_at; /* in PyThreadState: its thread, its frame */
	__u16 bytecode_at;	   /* in PyCodeObject */
	__u16 values_at;      /* of the values of pthread keys in struct pthread: the first 32, */
	__u16 more_values_at; /* and pointers to the others, 32 each */
	__u8 current_at;      /* in state: the thread state that holds the GIL */
	__u8 key_at;	      /* in state: Py_tss_t, the pthread key of each thread's own state */
	__u8 hop_at;	      /* frame_at leads to a pointer, at this offset */
	__u8 frame_code, frame_previous, frame_instr, frame_entry;
	__u8 entries;		    /* enum abi_python_entries: what frame_entry says */
	__u8 code_from, code_limit; /* in PyCodeObject: what does not change, and identifies it */
	__u8 code_name, code_qualified, code_file, code_lines;
	__u8 pad[6];
};

_Static_assert(sizeof(struct abi_python) == 48, "struct abi_python changed size");

#endif
