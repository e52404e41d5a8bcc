/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * How a Perl's memory is read: what user space finds in the interpreter's file (user/runtime/perl.h), and bpf/perl.bpf.c goes
 * by. Each number may be any: what is read by it is bounded, whatever it is.
 */
#ifndef CPROF_PERL_ABI_H
#define CPROF_PERL_ABI_H

#ifndef __bpf__ /* there vmlinux.h has the types */
#include <linux/types.h>
#endif

#define ABI_PERL_OP_BYTES 64 /* as much of a COP (the op that begins a statement) as is of use */

/* Blocks of code that native code runs, without a function of their own. As many words of ABI_TEXT_LINES are sent, of any content. */
enum abi_perl_block {
	ABI_PERL_NO_BLOCK,
	ABI_PERL_SORT,	/* sort compares with it */
	ABI_PERL_REGEX, /* (?{ }) */
	ABI_NR_PERL_BLOCKS
};

/* Offsets are in bytes. */
struct abi_perl {
	__u64 state;	      /* ip of PL_thr_key: the pthread key of each thread's interpreter */
	__u16 version;	      /* 0x0524 is 5.36 */
	__u16 values_at;      /* of the values of pthread keys in struct pthread: the first 32, */
	__u16 more_values_at; /* and pointers to 32 more each */
	__u16 call_type;      /* op_type of entersub; those of leavesub and leavesublv follow */
	__u16 return_type;    /* of return */
	__u8 statement_at; /* in the interpreter: PL_curcop; PL_curstackinfo is 16 bytes behind it */
	__u8 has_long_classes; /* what a package is called stands in its body, not behind its array */
	__u16 sort_type;       /* of sort */
	__u16 pad;
};

_Static_assert(sizeof(struct abi_perl) == 24, "struct abi_perl changed size");

#endif
