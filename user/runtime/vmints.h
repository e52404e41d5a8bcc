/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The compressed integers of HotSpot: what compilers note of a method's code, and line number tables, consist of them.
 *
 * Each version of the VM writes one of three codings (see enum). The bytes are a target's and not trusted.
 */
#ifndef CPROF_RUNTIME_VMINTS_H
#define CPROF_RUNTIME_VMINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vm_coding {
	VM_CODING_PACK200, /* UNSIGNED5, until Java 19 */
	VM_CODING_NO_NUL,  /* the same without the byte 0, since Java 20 */
	VM_CODING_SPARSE,  /* one bit for 0: of compilers' notes in some builds of Java 20 and 21 */
	NR_VM_CODINGS
};

/* Bytes, and what of them was read. bytes is borrowed. */
struct vm_ints {
	const uint8_t *bytes;
	size_t nr;
	enum vm_coding coding;
	size_t at;    /* the next byte; 0 in the beginning */
	uint32_t bit; /* of it: VM_CODING_SPARSE */
};

#define VM_INT_MAX_BYTES 6 /* that one takes */

/* The next integer. false: the bytes end before it does, or hold none. */
bool vm_ints_next(struct vm_ints *ints, uint32_t *value);
/* The next one with a sign; not of VM_CODING_SPARSE. */
bool vm_ints_next_signed(struct vm_ints *ints, int32_t *value);
/* The next byte as it is; not of VM_CODING_SPARSE. */
bool vm_ints_next_byte(struct vm_ints *ints, uint8_t *value);

#endif
