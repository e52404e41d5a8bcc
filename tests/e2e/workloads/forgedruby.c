// SPDX-License-Identifier: BSD-2-Clause
/*
 * LDLIBS: -rdynamic
 *
 * No Ruby, but it exports what Ruby 3.1 does (forged.h), and has a thread-local variable where a library of that name would have
 * one: in the first block of those that the loader made for the thread.
 */
#include "forged.h"

#define NR_WORDS    64
#define NR_OBJECTS  64
#define NR_FRAMES   4096
#define FRAME_WORDS 8

/* Which object is what. */
enum {
	CONTEXT,
	ISEQ,
	BODY,
	LABEL,
	PATH,
	FLAGS,
	LINES,
	INDEX
};

const int ruby_api_version[3] = {3, 1, 0};
static __thread volatile uint64_t current;
volatile uint64_t ruby_index[2]; /* the block, and where current is in it */
static volatile uint64_t frames[NR_FRAMES * FRAME_WORDS];
static volatile uint64_t objects[NR_OBJECTS][NR_WORDS];
volatile uint64_t sink;

void *rb_thread_current(void);
int ruby_run_node(void *node);
void vm_exec_core(void);
void rb_vm_exec(void);

void *get_variable(const volatile uint64_t *index);

void *get_variable(const volatile uint64_t *index)
{
	return (void *)(uintptr_t)(index ? &current : NULL);
}

__asm__(".globl rb_thread_current\n"
	".type rb_thread_current, @function\n"
	"rb_thread_current:\n"
	"	sub $8, %rsp\n"
	"	lea ruby_index(%rip), %rdi\n"
	"	call get_variable\n"
	"	mov (%rax), %rax\n"
	"	add $8, %rsp\n"
	"	ret\n"
	".size rb_thread_current, . - rb_thread_current\n");

int ruby_run_node(void *node)
{
	return !node;
}

/* The loop, as far as jumps are one: none of them is taken. */
__attribute__((noinline)) void vm_exec_core(void)
{
	__asm__ volatile("jmp 1f\n"
			 ".rept 128\n"
			 "jmp *(%%rax)\n"
			 ".fill 64, 1, 0x90\n"
			 ".endr\n"
			 "1:\n" ::
				 : "memory");
	for (;;)
		sink += sink * sink + 1;
}

__attribute__((noinline)) void rb_vm_exec(void)
{
	vm_exec_core();
	sink++;
}

static void fill_string(volatile uint64_t *string, const char *text, uint64_t length)
{
	string[0] = 5 | 1 << 13;
	string[2] = length;
	string[3] = (uintptr_t)&string[8];
	memcpy((void *)&string[8], text, strlen(text) + 1);
}

static void fill_frames(uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++) {
		volatile uint64_t *frame = &frames[i * FRAME_WORDS];

		frame[0] = (uintptr_t)objects[INDEX] + 8;
		frame[2] = (uintptr_t)objects[ISEQ];
		frame[4] = (uintptr_t)objects[FLAGS];
	}
}

/* Frames without end are as many as there is memory for, and a stack that says it goes on for ever. */
static void build(bool is_endless, uint64_t length)
{
	volatile uint64_t *body = objects[BODY];
	const uint64_t *vector;

	fill_string(objects[LABEL], "made_up", length);
	fill_string(objects[PATH], "/made/up.rb", length + 4);
	fill_frames(is_endless ? NR_FRAMES : 8);
	objects[FLAGS][0] = 0x11110021;
	objects[ISEQ][0] = 0x701a;
	objects[ISEQ][2] = (uintptr_t)body;
	body[0] = 4ull << 32 | 1;
	body[1] = (uintptr_t)objects[INDEX];
	body[8] = (uintptr_t)objects[PATH];
	body[10] = (uintptr_t)objects[LABEL];
	body[11] = 11;
	objects[CONTEXT][0] = (uintptr_t)frames;
	objects[CONTEXT][1] = is_endless ? 1ull << 56 : 8 * FRAME_WORDS;
	objects[CONTEXT][2] = (uintptr_t)frames;
	current = (uintptr_t)objects[CONTEXT];
	__asm__("mov %%fs:8, %0" : "=r"(vector));
	ruby_index[0] = 1;
	ruby_index[1] = (uintptr_t)&current - vector[2];
}

static uint64_t object(uint64_t i)
{
	return (uintptr_t)objects[i];
}

/* The thread stays who it is, so that all of the rest is read. */
static void change(bool is_text)
{
	for (int i = 0; !is_text && i < 2048; i++) {
		int which = ISEQ + rand() % (NR_OBJECTS - ISEQ);

		objects[which][rand() % NR_WORDS] = forged_word(object, NR_OBJECTS);
		frames[rand() % (8 * FRAME_WORDS)] = forged_word(object, NR_OBJECTS);
	}
	objects[LABEL][2 + is_text * (rand() % 2)] = forged_word(object, NR_OBJECTS);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	build(!strcmp(what, "circle"), 7);
	forged_begin(what, change);
	sink = (uint64_t)ruby_api_version[rand() % 3];
	sink += (uintptr_t)rb_thread_current();
	rb_vm_exec();
	return 0;
}
