/* CFLAGS: -O2 -fomit-frame-pointer */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes code that nothing describes, but that keeps a frame pointer, as JIT compilers do: two
 * functions, the outer of which calls the inner, which calls callback(), which is C again.
 */
#include <sys/mman.h>

#include "stacks.h"

FRAME static void callback(void)
{
	WORK(5);
}

/*
 * push rbp; mov rbp, rsp; sub rsp, ROOM; movabs rax, TARGET; call rax; xor eax, eax; leave; ret
 *
 * Behind the call is no straight line to the ret that a walk would recognize.
 */
static uint8_t *emit(uint8_t *at, uint32_t room, const void *target)
{
	static const uint8_t begin[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x81, 0xec};
	static const uint8_t end[] = {0xff, 0xd0, 0x31, 0xc0, 0xc9, 0xc3};

	memcpy(at, begin, sizeof(begin));
	at += sizeof(begin);
	memcpy(at, &room, sizeof(room));
	at += sizeof(room);
	*at++ = 0x48;
	*at++ = 0xb8;
	memcpy(at, &target, sizeof(target));
	at += sizeof(target);
	memcpy(at, end, sizeof(end));
	return at + sizeof(end);
}

FRAME static void run_jit(void (*code)(void))
{
	volatile char room[96];

	room[1] = 0;
	code();
	room[2] = 0;
}

int main(int argc, char **argv)
{
	double seconds = number_arg(argc, argv, 1, 2);
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *outer = emit(code, 32, (const void *)callback);

	emit(outer, 256, code);
	while (cpu_seconds() < seconds)
		run_jit((void (*)(void))outer);
	return 0;
}
