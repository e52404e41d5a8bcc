/* CFLAGS: -O2 -fomit-frame-pointer */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *	trampoline SHAPE [SECONDS]
 *
 * What CPython does under -X perf: each call of a function goes through a trampoline that was copied to
 * anonymous memory, byte for byte those of Objects/asm_trampoline.S. Around it is C that keeps no frame
 * pointer and has rbp for other things.
 */
#include <sys/mman.h>

#include "stacks.h"

#define DEPTH 6

typedef int (*evaluate_fn)(void *state, void *frame, int depth);
typedef int (*trampoline_fn)(void *state, void *frame, int depth, evaluate_fn evaluate);

static const struct shape {
	const char *name;
	size_t len;
	uint8_t code[24];
} shapes[] = {
	/* sub $8,%rsp; call *%rcx; add $8,%rsp; ret */
	{"3.12", 11, {0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3}},
	{"3.12-cet",
	 15,
	 {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3}},
	/* push %rbp; mov %rsp,%rbp; call *%rcx; pop %rbp; ret */
	{"3.13", 8, {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1, 0x5d, 0xc3}},
};

static trampoline_fn trampoline;

FRAME static int evaluate(void *state, void *frame, int depth);

/* rbp is whatever the last one left, and a new number while the callee runs. */
FRAME static int call(int depth)
{
	uint64_t number = (uint64_t)depth * 0x123456789abcu;
	int result;

	__asm__ volatile("mov %0, %%rbp" : : "r"(number) : "rbp");
	result = trampoline(&number, &result, depth, evaluate);
	NOT_LAST();
	return result;
}

FRAME static int bottom(void)
{
	WORK(5);
	return 1;
}

FRAME static int evaluate(void *state, void *frame, int depth)
{
	int result = depth ? call(depth - 1) : bottom();

	(void)state;
	(void)frame;
	NOT_LAST();
	return result + 1;
}

int main(int argc, char **argv)
{
	double seconds = number_arg(argc, argv, 2, 2);
	uint8_t *code =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (argc > 1 && !strcmp(argv[1], shapes[i].name))
			memcpy(code + 64, shapes[i].code, shapes[i].len);
	mprotect(code, 4096, PROT_READ | PROT_EXEC);
	trampoline = (trampoline_fn)(code + 64);
	while (cpu_seconds() < seconds)
		call(DEPTH);
	return 0;
}
