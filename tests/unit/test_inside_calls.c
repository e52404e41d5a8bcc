// SPDX-License-Identifier: BSD-2-Clause
/*
 * The functions of the library that targets load, called as a target calls them: through its slots. What a profiler would see
 * at the library's probes is seen here by breakpoints in their place, and who calls sees what the allocator promises. No
 * kernel is asked, so that this runs under an emulator, too.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "inside/redirect.h"
#include "object/elf.h"
#include "probes/usdt.h"

/* Machines: a breakpoint, what it finds, and a call that looks after the registers which it must not change -------------- */

#if defined(__x86_64__)

static const uint8_t breakpoint[] = {0xcc};

static uint64_t argument(const ucontext_t *context, int i)
{
	static const int regs[] = {REG_RDI, REG_RSI, REG_RDX};

	return (uint64_t)context->uc_mcontext.gregs[regs[i]];
}

static uint64_t returns_to(const ucontext_t *context)
{
	return *(const uint64_t *)context->uc_mcontext.gregs[REG_RSP];
}

static uint64_t go_on(ucontext_t *context)
{
	return (uint64_t)context->uc_mcontext.gregs[REG_RIP] - sizeof(breakpoint);
}

__asm__(".text\n.globl call_kept\n.type call_kept,@function\ncall_kept:\n"
	"push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; push %rsi\n"
	"mov $3, %ebx; mov $5, %ebp; mov $12, %r12d; mov $13, %r13d; mov $14, %r14d; mov $15, "
	"%r15d\n"
	"mov %rdi, %rax; mov (%rsi), %rdi; mov 16(%rsi), %rdx; mov 8(%rsi), %rsi\n"
	"call *%rax\n.globl after_call\nafter_call:\n"
	"sub $3, %rbx; sub $5, %rbp; sub $12, %r12; sub $13, %r13; sub $14, %r14; sub $15, %r15\n"
	"or %rbp, %rbx; or %r12, %rbx; or %r13, %rbx; or %r14, %rbx; or %r15, %rbx\n"
	"pop %rsi; mov %rbx, 24(%rsi)\n"
	"pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n"
	".size call_kept, .-call_kept\n");

#else

static const uint32_t breakpoint[] = {0xd4200000}; /* brk #0 */

static uint64_t argument(const ucontext_t *context, int i)
{
	return context->uc_mcontext.regs[i];
}

static uint64_t returns_to(const ucontext_t *context)
{
	return context->uc_mcontext.regs[30];
}

static uint64_t go_on(ucontext_t *context)
{
	uint64_t at = context->uc_mcontext.pc;

	context->uc_mcontext.pc += sizeof(breakpoint);
	return at;
}

__asm__(".text\n.globl call_kept\n.type call_kept,%function\ncall_kept:\n"
	"stp x29, x30, [sp, #-192]!; stp x19, x20, [sp, #16]; stp x21, x22, [sp, #32]\n"
	"stp x23, x24, [sp, #48]; stp x25, x26, [sp, #64]; stp x27, x28, [sp, #80]\n"
	"stp d8, d9, [sp, #96]; stp d10, d11, [sp, #112]; stp d12, d13, [sp, #128]\n"
	"stp d14, d15, [sp, #144]; str x1, [sp, #160]\n"
	"mov x19, #19; mov x20, #20; mov x21, #21; mov x22, #22; mov x23, #23\n"
	"mov x24, #24; mov x25, #25; mov x26, #26; mov x27, #27; mov x28, #28; mov x29, #29\n"
	"fmov d8, x20; fmov d9, x21; fmov d10, x22; fmov d11, x23\n"
	"fmov d12, x24; fmov d13, x25; fmov d14, x26; fmov d15, x27\n"
	"mov x9, x0; mov x10, x1; ldp x0, x1, [x10]; ldr x2, [x10, #16]\n"
	"blr x9\n.globl after_call\nafter_call:\n"
	"fmov x9, d8; sub x10, x9, x20; fmov x9, d9; sub x9, x9, x21; orr x10, x10, x9\n"
	"fmov x9, d10; sub x9, x9, x22; orr x10, x10, x9; fmov x9, d11; sub x9, x9, x23; orr x10, "
	"x10, x9\n"
	"fmov x9, d12; sub x9, x9, x24; orr x10, x10, x9; fmov x9, d13; sub x9, x9, x25; orr x10, "
	"x10, x9\n"
	"fmov x9, d14; sub x9, x9, x26; orr x10, x10, x9; fmov x9, d15; sub x9, x9, x27; orr x10, "
	"x10, x9\n"
	"sub x19, x19, #19; orr x10, x10, x19; sub x20, x20, #20; orr x10, x10, x20\n"
	"sub x21, x21, #21; orr x10, x10, x21; sub x22, x22, #22; orr x10, x10, x22\n"
	"sub x23, x23, #23; orr x10, x10, x23; sub x24, x24, #24; orr x10, x10, x24\n"
	"sub x25, x25, #25; orr x10, x10, x25; sub x26, x26, #26; orr x10, x10, x26\n"
	"sub x27, x27, #27; orr x10, x10, x27; sub x28, x28, #28; orr x10, x10, x28\n"
	"sub x29, x29, #29; orr x10, x10, x29; ldr x9, [sp, #160]; str x10, [x9, #24]\n"
	"ldp x19, x20, [sp, #16]; ldp x21, x22, [sp, #32]; ldp x23, x24, [sp, #48]\n"
	"ldp x25, x26, [sp, #64]; ldp x27, x28, [sp, #80]; ldp d8, d9, [sp, #96]\n"
	"ldp d10, d11, [sp, #112]; ldp d12, d13, [sp, #128]; ldp d14, d15, [sp, #144]\n"
	"ldp x29, x30, [sp], #192; ret\n"
	".size call_kept, .-call_kept\n");

#endif

struct arguments {
	uint64_t at[3];
	uint64_t changed; /* 0: all registers that a function keeps were kept */
};

uint64_t call_kept(void *function, struct arguments *arguments);
extern char after_call[];

/* Probes ----------------------------------------------------------------------------------------- */

/* What a sanitizer's allocator is asked for here may be wrong: it is to answer, as the C library does, and not to end the test. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

#define MAX_EVENTS 16384
#define NR_PROBES  3

struct event {
	uint32_t shape;
	uint64_t arguments[3], returns_to;
};

static uint64_t places[NR_PROBES];
static volatile uint16_t *semaphores[NR_PROBES];
static struct event events[MAX_EVENTS];
static volatile size_t nr_events;
static volatile bool records;
static int64_t (*redirect)(uint64_t rate_bytes, volatile struct redirect_result *result);
static void *library;

static void on_breakpoint(int signal, siginfo_t *info, void *raw)
{
	ucontext_t *context = raw;
	uint64_t at = go_on(context);
	struct event *event = &events[nr_events];

	(void)signal;
	(void)info;
	for (uint32_t i = 0; records && i < NR_PROBES && nr_events < MAX_EVENTS; i++) {
		if (places[i] != at)
			continue;
		*event = (struct event){
			i + SHAPE_SAMPLED,
			{argument(context, 0), argument(context, 1), argument(context, 2)},
			returns_to(context)};
		nr_events++;
	}
}

static void place_breakpoint(uint64_t at)
{
	uintptr_t page_bytes = (uintptr_t)getpagesize(), page = at & -page_bytes;

	assert_int_equal(mprotect((void *)page, page_bytes, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	memcpy((void *)at, breakpoint, sizeof(breakpoint));
	__builtin___clear_cache((char *)at, (char *)at + sizeof(breakpoint));
}

static void find_probes(uint64_t base)
{
	int fd = open(LIBRARY, O_RDONLY | O_CLOEXEC);
	struct allocator allocator = {0};
	struct elf_file *elf;
	uint64_t semaphore;

	assert_int_equal(elf_file_open(fd, &elf), 0);
	assert_true(usdt_find(elf, &allocator));
	assert_int_equal(allocator.nr, NR_PROBES);
	for (size_t i = 0; i < NR_PROBES; i++) {
		size_t which = allocator.sites[i].shape - SHAPE_SAMPLED;

		assert_int_equal(elf_file_addr(elf, allocator.sites[i].file_off, &places[which]),
				 0);
		assert_int_equal(elf_file_addr(elf, allocator.sites[i].semaphore_off, &semaphore),
				 0);
		places[which] += base;
		semaphores[which] = (uint16_t *)(base + semaphore);
		place_breakpoint(places[which]);
	}
	elf_file_close(elf);
	close(fd);
}

static int begin(void **state)
{
	struct sigaction action = {.sa_sigaction = on_breakpoint, .sa_flags = SA_SIGINFO};
	volatile struct redirect_result result;
	struct link_map *map;

	(void)state;
	library = dlopen(LIBRARY, RTLD_NOW);
	assert_non_null(library);
	assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
	find_probes(map->l_addr);
	redirect = (void *)(map->l_addr + ((const ElfW(Ehdr) *)map->l_addr)->e_entry);
	assert_true(redirect(1, &result) > 0);
	return 0;
}

static void listen(bool begins)
{
	if (begins)
		nr_events = 0;
	for (size_t i = 0; i < NR_PROBES; i++)
		*semaphores[i] = begins;
	records = begins;
}

/* What a function returns, called while somebody listens. It keeps errno and registers. */
static uint64_t call(const char *name, uint64_t a, uint64_t b, uint64_t c)
{
	struct arguments arguments = {.at = {a, b, c}, .changed = 1};
	void *function = dlsym(library, name);
	uint64_t result;

	assert_non_null(function);
	errno = 77;
	listen(true);
	result = call_kept(function, &arguments);
	listen(false);
	assert_int_equal(arguments.changed, 0);
	return result;
}

static void expect_block(size_t i, uint64_t block, uint64_t size)
{
	assert_true(nr_events > i);
	assert_int_equal(events[i].shape, SHAPE_SAMPLED);
	assert_int_equal(events[i].arguments[0], block);
	assert_int_equal(events[i].arguments[1], size);
	assert_int_equal(events[i].arguments[2], size);
	assert_int_equal(events[i].returns_to, (uintptr_t)after_call);
	assert_int_equal(errno, 77);
}

static void expect_freed(size_t i, uint64_t block, uint64_t will_tell)
{
	assert_true(nr_events > i);
	assert_int_equal(events[i].shape, SHAPE_SAMPLED_FREE);
	assert_int_equal(events[i].arguments[0], block);
	assert_int_equal(events[i].arguments[1], will_tell);
}

static void drop(uint64_t block)
{
	call("free", block, 0, 0);
	assert_int_equal(nr_events, 1);
	expect_freed(0, block, 0);
	assert_int_equal(errno, 77);
}

static void test_each_allocation(void **state)
{
	static const struct {
		const char *name;
		uint64_t a, b, size, alignment;
	} calls[] = {
		{"malloc", 100, 0, 100, 16},	     {"malloc", 1, 0, 1, 16},
		{"malloc", 1 << 20, 0, 1 << 20, 16}, {"valloc", 100, 0, 100, 4096},
		{"aligned_alloc", 64, 640, 640, 64}, {"memalign", 1 << 16, 10, 10, 1 << 16},
		{"calloc", 7, 11, 77, 16},	     {"calloc", 1, 11, 11, 16},
		{"realloc", 0, 123, 123, 16},	     {"", 0, 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; calls[i].alignment; i++) {
		uint64_t block = call(calls[i].name, calls[i].a, calls[i].b, 0);

		assert_true(block && block % calls[i].alignment == 0);
		assert_int_equal(nr_events, 1);
		expect_block(0, block, calls[i].size);
		drop(block);
	}
}

static void test_out_parameter(void **state)
{
	uint64_t block = 1, result = call("posix_memalign", (uintptr_t)&block, 256, 1000);

	(void)state;
	assert_int_equal((int)result, 0);
	assert_int_equal(block % 256, 0);
	assert_int_equal(nr_events, 1);
	expect_block(0, block, 1000);
	drop(block);
	block = 1;
	assert_int_equal((int)call("posix_memalign", (uintptr_t)&block, 3, 1000), EINVAL);
	assert_int_equal(block, 1);
	assert_int_equal(nr_events, 0);
}

static void test_what_moves(void **state)
{
	uint64_t block = call("malloc", 100, 0, 0), moved;

	(void)state;
	memset((void *)block, 42, 100);
	moved = call("realloc", block, 1 << 20, 0);
	assert_int_equal(((char *)moved)[99], 42);
	assert_int_equal(nr_events, 3);
	expect_freed(0, block, 1);
	assert_int_equal(events[1].shape, SHAPE_MOVED);
	assert_int_equal(events[1].arguments[0], 1);
	expect_block(2, moved, 1 << 20);
	/* it fails, and the block is the one that it was */
	assert_int_equal(call("realloc", moved, 1ull << 60, 0), 0);
	assert_int_equal(nr_events, 2);
	expect_freed(0, moved, 1);
	assert_int_equal(events[1].shape, SHAPE_MOVED);
	assert_int_equal(events[1].arguments[0], 0);
	assert_int_equal(errno, ENOMEM);
	block = call("reallocarray", moved, 3, 50);
	assert_int_equal(nr_events, 3);
	expect_block(2, block, 150);
	drop(block);
}

static void test_what_fails(void **state)
{
	(void)state;
	assert_int_equal(call("malloc", 1ull << 60, 0, 0), 0);
	assert_int_equal(nr_events, 0);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(call("calloc", 1ull << 33, 1ull << 33, 0), 0);
	assert_int_equal(nr_events, 0);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(call("reallocarray", 0, 1ull << 33, 1ull << 33), 0);
	assert_int_equal(nr_events, 0);
	assert_int_equal(errno, ENOMEM);
	call("free", 0, 0, 0);
	assert_int_equal(nr_events, 0);
}

static void test_zeros(void **state)
{
	uint64_t block = call("calloc", 100, 100, 0);

	(void)state;
	for (size_t i = 0; i < 10000; i++)
		assert_int_equal(((char *)block)[i], 0);
	drop(block);
}

/* This program's own calls come by its slots, all of them, and blocks of another rate do so by their weight. */
static void test_own_calls(void **state)
{
	static void *blocks[1000];
	volatile struct redirect_result result;
	uint64_t total = 0, weighted = 0;

	(void)state;
	listen(true);
	for (size_t i = 0; i < 1000; i++)
		blocks[i] = malloc(i + 1);
	for (size_t i = 0; i < 1000; i++)
		free(blocks[i]);
	listen(false);
	assert_int_equal(nr_events, 2000);
	for (size_t i = 0; i < 1000; i++) {
		assert_int_equal(events[i].arguments[0], (uintptr_t)blocks[i]);
		assert_int_equal(events[i].arguments[1], i + 1);
		assert_int_equal(events[i + 1000].arguments[0], (uintptr_t)blocks[i]);
	}
	assert_true(redirect(1000, &result) > 0);
	listen(true);
	for (size_t i = 0; i < 100000; i++) {
		void *volatile block = malloc(20);

		free(block);
		total += 20;
	}
	listen(false);
	assert_true(nr_events < MAX_EVENTS);
	for (size_t i = 0; i < nr_events; i++)
		weighted += events[i].shape == SHAPE_SAMPLED ? events[i].arguments[2] : 0;
	/* 2,000 samples, so within 5 standard deviations of 1 in 44 */
	assert_in_range(weighted, total - total / 9, total + total / 9);
	assert_true(redirect(1, &result) > 0);
}

/* Without a listener nothing is told, and all is as it was. */
static void test_nobody_listens(void **state)
{
	struct arguments arguments = {.at = {100}, .changed = 1};
	uint64_t block;

	(void)state;
	nr_events = 0;
	records = true;
	block = call_kept(dlsym(library, "malloc"), &arguments);
	assert_int_equal(arguments.changed, 0);
	arguments = (struct arguments){.at = {block}, .changed = 1};
	call_kept(dlsym(library, "free"), &arguments);
	records = false;
	assert_int_equal(arguments.changed, 0);
	assert_int_equal(nr_events, 0);
}

static void *allocate_much(void *failed)
{
	for (size_t i = 0; i < 20000; i++) {
		char *block = malloc(i % 500 + 1);

		if (!block || (uintptr_t)block % 16)
			*(volatile bool *)failed = true;
		memset(block, 1, i % 500 + 1);
		free(block);
	}
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t threads[4];
	bool failed = false;

	(void)state;
	for (size_t i = 0; i < NR_PROBES; i++)
		*semaphores[i] = 1;
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, allocate_much, &failed), 0);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	listen(false);
	assert_false(failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_allocation), cmocka_unit_test(test_out_parameter),
		cmocka_unit_test(test_what_moves),	cmocka_unit_test(test_what_fails),
		cmocka_unit_test(test_zeros),		cmocka_unit_test(test_own_calls),
		cmocka_unit_test(test_nobody_listens),	cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
