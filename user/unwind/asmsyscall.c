// SPDX-License-Identifier: BSD-2-Clause
/*
 * musl's, which nothing describes:
 *
 *	xor  %eax,%eax		__clone
 *	mov  $56,%al
 *	...
 *	syscall			here the new thread begins, with another stack ...
 *	test %eax,%eax
 *	jnz  1f			... and the old one goes on
 *	xor  %ebp,%ebp		there is no caller
 *	pop  %rdi
 *	call *%r9
 *	...
 *	hlt
 * 1:	ret
 *
 *	mov  $15,%rax		__restore_rt
 *	syscall
 */
#include "unwind/asmsyscall.h"

#include <string.h>

#include "code_abi.h"
#include "unwind/asmflow.h"

#define MOST_LOOKED_AT 16 /* instructions before a system call, for its number */

/* Numbers of x86-64, wherever this runs. */
enum {
	RT_SIGRETURN = 15,
	CLONE = 56,
	CLONE3 = 435
};

bool asmsyscall_is_sigreturn(const struct asmpath *path, uint32_t offset)
{
	uint64_t bytes;

	if (path->code->len_bytes - offset < ASMSYSCALL_SIGRETURN_BYTES)
		return false;
	memcpy(&bytes, &path->code->bytes[offset], sizeof(bytes));
	return code_is_sigreturn(bytes) && path->code->bytes[offset + 8] == 0x05;
}

/* The kernel's frame is at sp: that is where its ucontext has rsp, rbp, rip and rbx. */
struct unwind_rule asmsyscall_sigreturn_rule(void)
{
	return (struct unwind_rule){.kind = UNWIND_SIGNAL,
				    .cfa_reg = X86_REG_SP,
				    .how = unwind_how_pack(UNWIND_AT_SP, UNWIND_AT_SP),
				    .cfa_off = 160,
				    .fp_off = 120,
				    .ra_off = 168,
				    .deref_off = 128};
}

/* The number that an instruction puts into eax. */
static bool sets_number(const uint8_t *bytes, uint32_t len_bytes, int32_t *number)
{
	bool is_al = len_bytes == 2 && bytes[0] == 0xb0;
	bool is_long = (len_bytes == 5 && bytes[0] == 0xb8) ||
		       (len_bytes == 7 && !memcmp(bytes, "\x48\xc7\xc0", 3));

	if (is_al)
		*number = bytes[1];
	else if (is_long)
		memcpy(number, bytes + len_bytes - sizeof(*number), sizeof(*number));
	return is_al || is_long;
}

/* They leave another number in eax. */
static bool is_call(const uint8_t *bytes, uint32_t len_bytes)
{
	return (len_bytes == 5 && bytes[0] == 0xe8) ||
	       (len_bytes == 2 && bytes[0] == 0x0f && bytes[1] == 0x05);
}

/* -1: not known. */
static int32_t number_of(const struct asmpath *path, uint32_t offset)
{
	size_t nr = path->instructions.nr;
	size_t least = nr > MOST_LOOKED_AT ? nr - MOST_LOOKED_AT : 0;
	bool is_popped = false; /* push $15; pop %rax */
	int32_t number;

	for (size_t i = nr; i-- > least;) {
		const struct asmpath_piece *piece = &path->instructions.at[i];
		const uint8_t *bytes = &path->code->bytes[piece->offset];

		if (piece->offset + piece->len_bytes != offset || is_call(bytes, piece->len_bytes))
			break;
		offset = piece->offset;
		if (piece->len_bytes == 2 && bytes[0] == 0x6a && is_popped)
			return bytes[1];
		is_popped = piece->len_bytes == 1 && bytes[0] == 0x58;
		if (sets_number(bytes, piece->len_bytes, &number))
			return number;
	}
	return -1;
}

bool asmsyscall_changes_stack(const struct asmpath *path, uint32_t offset)
{
	int32_t number = number_of(path, offset);

	return number == RT_SIGRETURN || number == CLONE || number == CLONE3;
}

bool asmsyscall_clone_at(const struct asmpath *path, uint32_t offset,
			 struct asmsyscall_clone *clone)
{
	int32_t number = number_of(path, offset);
	struct instruction in;

	if ((number != CLONE && number != CLONE3) || !stackdecode_at(&path->decode, offset, &in))
		return false;
	clone->test = in.next;
	if (!stackdecode_at(&path->decode, clone->test, &in) ||
	    in.decoded.mnemonic != ZYDIS_MNEMONIC_TEST ||
	    in.operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    (in.operands[0].reg.value != ZYDIS_REGISTER_EAX &&
	     in.operands[0].reg.value != ZYDIS_REGISTER_RAX))
		return false;
	clone->branch = in.next;
	if (!stackdecode_at(&path->decode, clone->branch, &in) ||
	    in.decoded.mnemonic != ZYDIS_MNEMONIC_JNZ || !stackdecode_target(&in, &clone->parent))
		return false;
	clone->child = in.next;
	return true;
}
