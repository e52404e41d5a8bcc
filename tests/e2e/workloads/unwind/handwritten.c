/* CFLAGS: -O2 -fomit-frame-pointer */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *	handwritten [SECONDS]
 *
 * Functions as assembler programmers write them for codecs, without call frame information, and here without symbols too:
 * one that has rbp for something else, one that aligns its frame, one with a jump table, one that another calls. Each
 * calls bottom(), which burns, or burns itself.
 *
 *	main -> saves -> bottom
 *	main -> aligned -> bottom
 *	main -> switches -> (its case) bottom
 *	main -> outer -> inner, which burns
 */
#include "stacks.h"

static FRAME void bottom(void)
{
	WORK(1);
}

__asm__(".text\n"
	"before:\n ret\n.type before,@function\n.size before,.-before\n" /* has no code behind it */
	".balign 16\n"
	".Lsaves:\n push %rbx\n push %rbp\n sub $0x18,%rsp\n xor %ebp,%ebp\n mov %rdi,%rbx\n"
	" call *%rbx\n add $0x18,%rsp\n pop %rbp\n pop %rbx\n ret\n"
	".balign 16\n"
	".Laligned:\n push %r12\n mov %rsp,%rax\n sub $0x60,%rsp\n and $-32,%rsp\n mov "
	"%rax,0x48(%rsp)\n"
	" call *%rdi\n mov 0x48(%rsp),%rsp\n pop %r12\n ret\n"
	".balign 16\n"
	".Lswitches:\n sub $0x28,%rsp\n lea .Ltable(%rip),%r11\n and $1,%esi\n movslq "
	"(%r11,%rsi,4),%rax\n"
	" add %r11,%rax\n jmp *%rax\n"
	".Lone:\n call *%rdi\n add $0x28,%rsp\n ret\n"
	".Ltwo:\n push %r12\n call *%rdi\n pop %r12\n add $0x28,%rsp\n ret\n"
	".balign 16\n"
	".Louter:\n push %rbx\n mov $100000,%ebx\n call .Linner\n pop %rbx\n ret\n"
	" .byte 0x90\n"
	".Linner:\n push %rbp\n mov %rbx,%rbp\n1: dec %rbp\n jnz 1b\n pop %rbp\n ret\n"
	".balign 16\n"
	".section .rodata\n.balign 4\n.Ltable: .long .Lone - .Ltable, .Ltwo - .Ltable\n.text\n"
	".section .data.rel.ro,\"aw\"\n.balign 8\n"
	"entries: .quad .Lsaves, .Laligned, .Lswitches, .Louter\n.text\n");

typedef void (*entry_fn)(void (*)(void), unsigned long);
extern const entry_fn entries[4] __attribute__((visibility("hidden")));

int main(int argc, char **argv)
{
	double seconds = number_arg(argc, argv, 1, 2);

	for (unsigned long turn = 0; cpu_seconds() < seconds; turn++)
		entries[turn % 4](bottom, turn / 4);
	return 0;
}
