/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * How a PHP's memory is read: what user space finds in the interpreter's file (user/runtime/php.h), and bpf/php.bpf.c goes
 * by. Each number may be any: what is read by it is bounded, whatever it is.
 */
#ifndef CPROF_PHP_ABI_H
#define CPROF_PHP_ABI_H

#ifndef __bpf__ /* there vmlinux.h has the types */
#include <linux/types.h>
#endif

/* Offsets are in bytes, in zend_op_array. */
struct abi_php {
	__u64 state;		  /* ip of executor_globals.current_execute_data */
	__u16 version;		  /* 0x0802 is 8.2 */
	__u8 opcodes_at, last_at; /* the opcodes, and how many there are */
	__u8 file_at;		  /* its name; the first line follows */
	__u8 pad[3];
};

_Static_assert(sizeof(struct abi_php) == 16, "struct abi_php changed size");

#endif
