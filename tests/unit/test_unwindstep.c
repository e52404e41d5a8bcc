/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The step: each kind of rule over a made-up memory, then real walks of this process's own stack,
 * with libgcc's unwinder (backtrace()) as the judge.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unwind.h>
#include <unistd.h>

#include "base/alloc.h"
#include "object/elf.h"
#include "unwind/unwindstep.h"
#include "unwind/tablebuild.h"
#include "unit/ownregs.h"

/* Memory: word i of stack[] is at BASE + 8 * i and holds 0x1000 + i. */
#define BASE  0x7000ull
#define WORDS 64

static bool read_made_up(void *ctx, uint64_t addr, uint64_t *value)
{
	(void)ctx;
	if (addr < BASE || addr >= BASE + 8 * WORDS || addr % 8)
		return false;
	*value = 0x1000 + (addr - BASE) / 8;
	return true;
}

static const uint64_t leaf_regs[UNWIND_NR_REGS] = {100, 101, 102, BASE + 80, 104, 105,
						   106, 107, 8,	  2,	     110, 111};

static struct unwind_regs regs_of(bool leaf)
{
	return (struct unwind_regs){.ip = 0x50000b,
				    .sp = BASE,
				    .fp = BASE + 64,
				    .ip_exact = leaf,
				    .leaf = leaf ? leaf_regs : NULL};
}

#define HOW(fp, ra) (uint8_t)(UNWIND_##fp | UNWIND_##ra << 4)

static void check_step(struct unwind_rule rule, bool leaf, uint64_t ip, uint64_t sp, uint64_t fp)
{
	struct unwind_regs regs = regs_of(leaf);

	assert_int_equal(unwind_step(&unwind_x86, &rule, &regs, read_made_up, NULL),
			 UNWIND_STEPPED);
	assert_int_equal(regs.ip, ip);
	assert_int_equal(regs.sp, sp);
	assert_int_equal(regs.fp, fp);
	assert_int_equal(regs.ip_exact, rule.kind == UNWIND_SIGNAL);
	assert_null(regs.leaf);
}

static void check_stop(struct unwind_rule rule, bool leaf, enum unwind_status status)
{
	struct unwind_regs regs = regs_of(leaf), before = regs;

	assert_int_equal(unwind_step(&unwind_x86, &rule, &regs, read_made_up, NULL), status);
	assert_memory_equal(&regs, &before, sizeof(regs));
}

static void test_frames(void **state)
{
	const uint64_t fp = BASE + 64;

	(void)state;
	check_step((struct unwind_rule){UNWIND_FRAME, 7, HOW(SAME, AT_CFA), 0, 32, 0, -8, 0}, false,
		   0x1003, BASE + 32, fp);
	check_step((struct unwind_rule){UNWIND_FRAME, 6, HOW(AT_CFA, AT_CFA), 0, 16, -16, -8, 0},
		   false, 0x1009, BASE + 80, 0x1008);
	check_step((struct unwind_rule){UNWIND_FRAME, 7, HOW(AT_SP, AT_FP), 0, 32, 8, 16, 0}, false,
		   0x100a, BASE + 32, 0x1001);
	check_step((struct unwind_rule){UNWIND_FRAME, 7, HOW(IS_CFA, AT_CFA), 0, 32, -16, -8, 0},
		   false, 0x1003, BASE + 32, BASE + 16);
	check_step((struct unwind_rule){UNWIND_FRAME, 7, HOW(LOST, AT_CFA), 0, 32, 0, -8, 0}, false,
		   0x1003, BASE + 32, 0);
	check_step((struct unwind_rule){UNWIND_FRAME, 7, HOW(SAME, IN_REG), 0, 8, 0, 5, 0}, true,
		   105, BASE + 8, fp);
	check_step((struct unwind_rule){UNWIND_FRAME, 7, HOW(IN_REG, AT_CFA), 0, 8, 11, -8, 0},
		   true, 0x1000, BASE + 8, 111);
	check_step((struct unwind_rule){UNWIND_FRAME, 7, HOW(IN_REG, AT_CFA), 0, 8, 11, -8, 0},
		   false, 0x1000, BASE + 8, 0); /* r11 is gone */
	check_step((struct unwind_rule){UNWIND_FRAME, 3, HOW(SAME, AT_CFA), 0, 16, 0, -8, 0}, true,
		   0x100b, BASE + 96, fp);
	check_step((struct unwind_rule){UNWIND_FP, 0, 0, 0, 0, 0, 0, 0}, false, 0x1009, BASE + 80,
		   0x1008);
}

static void test_others(void **state)
{
	const uint64_t fp = BASE + 64;

	(void)state;
	check_step((struct unwind_rule){UNWIND_PLT, 0, HOW(SAME, AT_CFA), 0, 11, 0, -8, 0}, true,
		   0x1001, BASE + 16, fp);
	check_step((struct unwind_rule){UNWIND_PLT, 0, HOW(SAME, AT_CFA), 0, 12, 0, -8, 0}, true,
		   0x1000, BASE + 8, fp);
	check_step((struct unwind_rule){UNWIND_SIGNAL, 7, HOW(AT_SP, AT_SP), 0, 160, 120, 168, 0},
		   false, 0x1015, 0x1014, 0x100f);
	/* the CFA is what memory holds, and nothing can be read there but what is not CFA-relative */
	check_step((struct unwind_rule){UNWIND_DEREF, 7, HOW(AT_SP, AT_SP), 0, 40, 8, 16, 8}, false,
		   0x1002, 0x1005 + 8, 0x1001);
	check_stop((struct unwind_rule){UNWIND_DEREF, 7, HOW(SAME, AT_CFA), 0, 40, 0, -8, 0}, false,
		   UNWIND_NO_MEMORY);
	/* r8 is 8: *(rsp + 8 * 8 + 0) = 0x1008, so that cfa - 8 is 0x7008 */
	check_step((struct unwind_rule){UNWIND_INDEXED, 7, HOW(SAME, AT_CFA), 0, 0, 0, 8, 0x6008},
		   true, 0x1001, 0x7010, fp);
	check_stop((struct unwind_rule){UNWIND_INDEXED, 7, HOW(SAME, AT_CFA), 0, 0, 0, 8, 0x6008},
		   false, UNWIND_NO_REG);
}

/* ax is 100: the caller of clone; 0: the thread that it made. */
static void test_clone(void **state)
{
	const struct unwind_rule rule = {.kind = UNWIND_CLONE};
	const uint64_t in_child[UNWIND_NR_REGS] = {0};
	struct unwind_regs regs = regs_of(true);

	(void)state;
	check_step(rule, true, 0x1000, BASE + 8, BASE + 64);
	check_step(rule, false, 0x1000, BASE + 8, BASE + 64);
	regs.leaf = in_child;
	assert_int_equal(unwind_step(&unwind_x86, &rule, &regs, read_made_up, NULL),
			 UNWIND_AT_ROOT);
}

static void test_stops(void **state)
{
	struct unwind_rule frame = {UNWIND_FRAME, 7, HOW(SAME, AT_CFA), 0, 8, 0, -8, 0};
	const struct unwind_rule by_fp = {.kind = UNWIND_FP};
	struct unwind_regs regs = regs_of(false);

	(void)state;
	check_stop((struct unwind_rule){.kind = UNWIND_GAP}, true, UNWIND_NO_CFI);
	check_stop((struct unwind_rule){.kind = UNWIND_UNKNOWN}, true, UNWIND_NEW_CODE);
	check_stop((struct unwind_rule){.kind = UNWIND_ROOT}, true, UNWIND_AT_ROOT);
	check_stop((struct unwind_rule){.kind = UNWIND_UNSUPPORTED}, true, UNWIND_NO_RULE);
	check_stop((struct unwind_rule){.kind = UNWIND_NR_KINDS}, true, UNWIND_NO_RULE);
	frame.cfa_off = 0;
	check_stop(frame, false, UNWIND_NO_MOVE);
	frame.cfa_off = -16;
	check_stop(frame, true, UNWIND_NO_MOVE);
	frame.cfa_off = 8 * WORDS + 16;
	check_stop(frame, false, UNWIND_NO_MEMORY);
	frame.cfa_off = 8;
	frame.cfa_reg = 10;
	check_stop(frame, false, UNWIND_NO_REG);
	frame.cfa_reg = 3;
	check_stop(frame, false, UNWIND_NO_REG);
	frame.cfa_reg = 6;
	regs.fp = 0;
	assert_int_equal(unwind_step(&unwind_x86, &frame, &regs, read_made_up, NULL),
			 UNWIND_NO_REG);
	assert_int_equal(unwind_step(&unwind_x86, &by_fp, &regs, read_made_up, NULL),
			 UNWIND_AT_ROOT);
	regs.fp = BASE + 4; /* a frame pointer that is none */
	assert_int_equal(unwind_step(&unwind_x86, &by_fp, &regs, read_made_up, NULL),
			 UNWIND_NO_CFI);
}

/* rbx through three frames: stored, kept, used. */
static void test_bx(void **state)
{
	struct unwind_rule stored = {UNWIND_FRAME, 7, HOW(SAME, AT_CFA), 2, 32, 0, -8, 0};
	struct unwind_rule kept = {UNWIND_FRAME, 7, HOW(SAME, AT_CFA), 1, 32, 0, -8, 0};
	struct unwind_regs regs = regs_of(true);

	(void)state;
	assert_int_equal(unwind_step(&unwind_x86, &stored, &regs, read_made_up, NULL),
			 UNWIND_STEPPED);
	assert_true(regs.extra_known);
	assert_int_equal(regs.extra, 0x1002);
	assert_int_equal(unwind_step(&unwind_x86, &kept, &regs, read_made_up, NULL),
			 UNWIND_STEPPED);
	assert_true(regs.extra_known);
	assert_int_equal(regs.extra, 0x1002);
	kept.extra_slot = 0;
	assert_int_equal(unwind_step(&unwind_x86, &kept, &regs, read_made_up, NULL),
			 UNWIND_STEPPED);
	assert_false(regs.extra_known);
	regs = regs_of(true);
	kept.extra_slot = 1;
	assert_int_equal(unwind_step(&unwind_x86, &kept, &regs, read_made_up, NULL),
			 UNWIND_STEPPED);
	assert_int_equal(regs.extra, BASE + 80);
}

/* Real walks ---------------------------------------------------------------------------------- */

struct object {
	uint64_t bias, start, limit; /* runtime addresses */
	struct unwind_table *table;
};

/* As many as a sanitizer, or a preloaded library, may add. */
#define MAX_OBJECTS 64

static struct object objects[MAX_OBJECTS];
static size_t nr_objects;

static int add_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const char *path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
	struct object *object = &objects[nr_objects];
	int fd scoped(closep) = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_file *file;

	(void)size;
	(void)ctx;
	if (fd < 0 || nr_objects == MAX_OBJECTS || elf_file_open(fd, &file))
		return 0;
	if (!unwind_table_from_elf(file, &object->table)) {
		object->bias = info->dlpi_addr;
		object->start = object->bias + object->table->start;
		object->limit = object->start + (uint64_t)object->table->nr_pages *
							unwind_arch_page_bytes(unwind_arch_here());
		nr_objects++;
	}
	elf_file_close(file);
	return 0;
}

static bool read_own(void *ctx, uint64_t addr, uint64_t *value)
{
	(void)ctx;
	memcpy(value, (const void *)(uintptr_t)addr, sizeof(*value));
	return true;
}

static struct unwind_rule find_rule(uint64_t ip)
{
	struct unwind_rule rule = {.kind = UNWIND_GAP};

	for (size_t i = 0; i < nr_objects; i++)
		if (ip >= objects[i].start && ip < objects[i].limit)
			unwind_table_find(objects[i].table, ip - objects[i].bias, &rule);
	return rule;
}

#define MAX_FRAMES 128

struct walk {
	void *judged[MAX_FRAMES];
	uint64_t ips[MAX_FRAMES];
	int nr_judged, nr;
	enum unwind_status end;
};

static void walk_from(struct walk *walk, const ucontext_t *context)
{
	const struct unwind_arch *arch = unwind_arch_here();
	uint64_t leaf[UNWIND_NR_REGS] = {0};
	struct unwind_regs regs = {.ip = ownregs(context, leaf), .ip_exact = true, .leaf = leaf};

	regs.sp = leaf[arch->machine->sp];
	regs.fp = leaf[arch->machine->fp];
	regs.extra = leaf[arch->machine->extra];
	regs.extra_known = true;
	for (walk->nr = 0; walk->nr < MAX_FRAMES; walk->nr++) {
		struct unwind_rule rule = find_rule(unwind_lookup_ip(&regs));

		walk->ips[walk->nr] = regs.ip;
		walk->end = unwind_step(arch, &rule, &regs, read_own, NULL);
		if (walk->end) {
			walk->nr++;
			return;
		}
	}
}

static struct walk here, interrupted;

/* What both saw from the frame that holds the two calls upwards must be the same. */
static void check_walk(const struct walk *walk, int skip)
{
	assert_int_equal(walk->end, UNWIND_AT_ROOT);
	assert_int_equal(walk->nr, walk->nr_judged);
	for (int i = skip; i < walk->nr; i++)
		assert_int_equal(walk->ips[i], (uint64_t)(uintptr_t)walk->judged[i]);
}

static _Unwind_Reason_Code judge_frame(struct _Unwind_Context *frame, void *ctx)
{
	struct walk *walk = ctx;

	if (walk->nr_judged == MAX_FRAMES || !_Unwind_GetIP(frame)) /* what called _start */
		return _URC_END_OF_STACK;
	walk->judged[walk->nr_judged++] = (void *)(uintptr_t)_Unwind_GetIP(frame);
	return _URC_NO_REASON;
}

/* Not backtrace(): a sanitizer puts a frame of its own before that. */
static __attribute__((noinline)) void capture(struct walk *walk)
{
	ucontext_t context;

	walk->nr_judged = 0;
	_Unwind_Backtrace(judge_frame, walk);
	getcontext(&context);
	walk_from(walk, &context);
}

static __attribute__((noinline)) int recurse(int depth)
{
	volatile char *frame = __builtin_alloca(64 + 16 * (size_t)(depth % 5));

	frame[0] = 1;
	if (depth == 0)
		capture(&here);
	else
		recurse(depth - 1);
	return frame[0];
}

static void test_own_stack(void **state)
{
	(void)state;
	recurse(40);
	check_walk(&here, 1); /* within capture() the two calls differ */
	assert_true(here.nr > 40);
}

static void on_signal(int signal)
{
	(void)signal;
	capture(&interrupted);
}

static int compare_numbers(const void *a, const void *b)
{
	raise(SIGUSR1);
	return *(const int *)a - *(const int *)b;
}

/* From a handler on a stack of its own, through the kernel's frame, raise() and qsort(). */
static void test_signal_frame(void **state)
{
	static char stack[64 * 1024];
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	int numbers[2] = {2, 1};

	(void)state;
	assert_int_equal(sigaltstack(&alternate, NULL), 0);
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	qsort(numbers, 2, sizeof(*numbers), compare_numbers);
	check_walk(&interrupted, 1);
	assert_true(interrupted.nr > 8);
}

static int load_tables(void **state)
{
	(void)state;
	dl_iterate_phdr(add_object, NULL);
	return nr_objects < 3;
}

static int free_tables(void **state)
{
	(void)state;
	for (size_t i = 0; i < nr_objects; i++)
		unwind_table_free(objects[i].table);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),	     cmocka_unit_test(test_others),
		cmocka_unit_test(test_clone),	     cmocka_unit_test(test_stops),
		cmocka_unit_test(test_bx),	     cmocka_unit_test(test_own_stack),
		cmocka_unit_test(test_signal_frame),
	};

	return cmocka_run_group_tests(tests, load_tables, free_tables);
}
