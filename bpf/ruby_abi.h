/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * How a CRuby's memory is read: what user space finds in the interpreter's file (user/runtime/ruby.h), and bpf/ruby.bpf.c
 * goes by. Each number may be any: what is read by it is bounded, whatever it is.
 */
#ifndef CPROF_RUBY_ABI_H
#define CPROF_RUBY_ABI_H

#ifndef __bpf__ /* there vmlinux.h has the types */
#include <linux/types.h>
#endif

#define ABI_RUBY_BODY_BYTES 160 /* as much of a rb_iseq_constant_body as is of use */

/* Offsets are in bytes. */
struct abi_ruby {
	__u64 state; /* ip of what a library asks for ruby_current_ec by: a tls_index, or on arm64 a TLSDESC pair */
	__u16 version; /* 0x0301 is 3.1 */
	__u8 frame_bytes;
	__u8 lines_at; /* in rb_iseq_constant_body: the table of lines */
	__u8 entry_bytes;
	__u8 text_at; /* in RString, if it is embedded; the length is in a word before it, or (16) among the flags */
	__u8 pad[2];
};

_Static_assert(sizeof(struct abi_ruby) == 16, "struct abi_ruby changed size");

#endif
