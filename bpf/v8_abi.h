/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * How a V8's memory is read: what user space finds in the file that it is in (user/runtime/v8.h), and bpf/v8.bpf.c goes by.
 * Each number may be any: what is read by it is bounded, whatever it is.
 */
#ifndef CPROF_V8_ABI_H
#define CPROF_V8_ABI_H

#ifndef __bpf__ /* there vmlinux.h has the types */
#include <linux/types.h>
#endif

/* Types are those of objects' maps; offsets are in bytes, from where an object begins. */
struct abi_v8 {
	__u16 version; /* 0x0b03 is 11.3 */
	__u16 shared_type, script_type, scope_type;
	__u8 shared_at; /* in JSFunction */
	__u8 name_at, shared_script_at,
		literal_at; /* in SharedFunctionInfo; literal: its number in the script */
	__u8 script_name_at, script_id_at; /* in Script */
	__u8 first_vars_at;		   /* in ScopeInfo */
	__u8 pad;
};

_Static_assert(sizeof(struct abi_v8) == 16, "struct abi_v8 changed size");

#define ABI_V8_CUT 0x8000

/* What ABI_TEXT_OBJECT of a function is: of its strings NAME, QUALIFIED and LINES (the name goes on) and FILE only bytes are sent. */
struct abi_v8_function {
	__u16 types[4]; /* of the strings' maps, in this order; ABI_V8_CUT: more follows */
	__u64 script, script_id;
	__s64 line; /* where it begins; 0: not known */
};

#endif
