// SPDX-License-Identifier: BSD-2-Clause
/*
 * Jumps of both machines, in code that stands here; and interpreters of arm64, which a cross compiler makes: what a file must have to be
 * taken for one, where its state is, and which function is its loop.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "elf_judge.h"
#include "object/dynsym.h"
#include "runtime/jumps.h"
#include "runtime/perl.h"
#include "runtime/python.h"
#include "runtime/ruby.h"
#include "unit/arm64_judge.h"

#define ADDR 0x10000u

/* What the last instruction of code is. */
static struct jump last_of(const struct arch *arch, const void *code, size_t len_bytes)
{
	struct jump jump = {0};
	struct jumps jumps;

	assert_true(jumps_init(&jumps, arch));
	for (size_t at = 0; at < len_bytes; at += jump.len_bytes)
		assert_true(jumps_next(&jumps, (const uint8_t *)code + at, len_bytes - at,
				       ADDR + at, &jump));
	return jump;
}

static void check(const struct arch *arch, const void *code, size_t len_bytes, enum jump_kind kind,
		  uint64_t target)
{
	struct jump jump = last_of(arch, code, len_bytes);

	assert_int_equal(jump.kind, kind);
	if (kind == JUMP_TO || kind == JUMP_CALL)
		assert_int_equal(jump.target, target);
}

#define ARM64(kind, target, ...)                                                               \
	check(&arch_arm64, (uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}), kind, \
	      target)
#define X86(kind, target, ...)                                                                \
	check(&arch_x86_64, (uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), kind, \
	      target)

#define BR_X1  0xd61f0020u
#define LDR_X1 0xf9400281u /* ldr x1, [x20] */

static void test_arm64(void **state)
{
	(void)state;
	ARM64(JUMP_TO, ADDR + 8, 0x14000002);	/* b */
	ARM64(JUMP_TO, ADDR - 4, 0x17ffffff);	/* b, back */
	ARM64(JUMP_CALL, ADDR + 8, 0x94000002); /* bl */
	ARM64(JUMP_TO, ADDR + 8, 0x54000040);	/* b.eq */
	ARM64(JUMP_TO, ADDR - 4, 0x54ffffe1);	/* b.ne, back */
	ARM64(JUMP_TO, ADDR + 8, 0xb4000040);	/* cbz x0 */
	ARM64(JUMP_TO, ADDR + 8, 0x35000040);	/* cbnz w0 */
	ARM64(JUMP_TO, ADDR + 8, 0x36000040);	/* tbz */
	ARM64(JUMP_TO, ADDR - 4, 0xb707ffe0);	/* tbnz x0, #32 */
	ARM64(JUMP_NONE, 0, 0xd65f03c0);	/* ret */
	ARM64(JUMP_NONE, 0, BR_X1);
	ARM64(JUMP_LOADED, 0, LDR_X1, BR_X1);
	ARM64(JUMP_LOADED, 0, 0xf8408681, BR_X1);	      /* ldr x1, [x20], #8 */
	ARM64(JUMP_LOADED, 0, 0xf8627801, BR_X1);	      /* ldr x1, [x0, x2, lsl #3] */
	ARM64(JUMP_LOADED, 0, 0xa9400680, 0xf9000020, BR_X1); /* ldp x0, x1, [x20]; str x0, [x1] */
	ARM64(JUMP_NONE, 0, LDR_X1, 0x8b000021, BR_X1);	      /* add x1, x1, x0 */
	ARM64(JUMP_NONE, 0, LDR_X1, 0xb9400281, BR_X1);	      /* ldr w1, [x20] */
	ARM64(JUMP_LOADED, 0, LDR_X1, 0xd503201f, 0xb9000281, BR_X1); /* nop; str w1, [x20] */
}

static void test_x86(void **state)
{
	(void)state;
	X86(JUMP_TO, ADDR + 7, 0xe9, 2, 0, 0, 0);
	X86(JUMP_TO, ADDR, 0xeb, 0xfe);
	X86(JUMP_TO, ADDR + 4, 0x74, 2);
	X86(JUMP_CALL, ADDR + 7, 0xe8, 2, 0, 0, 0);
	X86(JUMP_LOADED, 0, 0xff, 0xe0);	   /* jmp *rax */
	X86(JUMP_LOADED, 0, 0xff, 0x24, 0xc2);	   /* jmp *(rdx,rax,8) */
	X86(JUMP_NONE, 0, 0xff, 0x25, 0, 0, 0, 0); /* jmp *0(rip) */
	X86(JUMP_NONE, 0, 0xff, 0xd0);		   /* call *rax */
}

static void test_calls(void **state)
{
	static const uint8_t x86[] = {0xe8, 2, 0, 0, 0}, arm64[] = {2, 0, 0, 0x94};
	struct jumps jumps;

	(void)state;
	assert_false(jumps_init(&jumps, NULL));
	assert_true(jumps_init(&jumps, &arch_x86_64));
	assert_int_equal(jumps_call(&jumps, x86, sizeof(x86), ADDR), ADDR + 7);
	assert_int_equal(jumps_call(&jumps, x86, sizeof(x86) - 1, ADDR), 0);
	assert_int_equal(jumps_call(&jumps, arm64, sizeof(arm64), ADDR), 0);
	assert_true(jumps_init(&jumps, &arch_arm64));
	assert_int_equal(jumps_call(&jumps, arm64, sizeof(arm64), ADDR), ADDR + 8);
	assert_int_equal(jumps_call(&jumps, arm64, sizeof(arm64) - 1, ADDR), 0);
	assert_int_equal(jumps_call(&jumps, x86, sizeof(x86), ADDR), 0);
}

/* Interpreters ----------------------------------------------------------------------------------- */

static bool has_compiler;

/* Compiles a shared library of arm64 and gives it to find(). */
static void with_library(const char *code, const char *flags, void (*find)(struct object *object))
{
	char *source scoped(freep) = xasprintf("%s/a.c", judge_dir);
	char *command scoped(freep) =
		xasprintf(ARM64_CC " -O2 -shared -fPIC -nostdlib %s -o a.so a.c", flags);
	struct objects *objects = objects_new();
	int fd;

	if (!has_compiler) {
		objects_free(objects);
		skip();
	}
	fd = open(source, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, code, strlen(code)), (ssize_t)strlen(code));
	close(fd);
	judge_run(command);
	find(objects_get(objects, 1, judge_fd("a.so")));
	objects_free(objects);
}

#define PYTHON                                                                   \
	"char _PyRuntime[8192] = {1}; char PyCode_Type[408] = {1};"              \
	"void outside(void); int _PyEval_EvalFrameDefault(int n)"                \
	"{ while (n--) outside(); return 1; } const unsigned long Py_Version = " \
	"VERSION;"

static uint64_t python_state, python_values_at, python_loop_bytes;

static void find_python(struct object *object)
{
	struct python_file python;
	uint64_t runtime, loop;

	assert_true(python_find(object, &python));
	assert_true(dynsym_variable(object_elf(object), "_PyRuntime", &runtime));
	assert_true(dynsym_function(object_elf(object), "_PyEval_EvalFrameDefault", &loop));
	assert_int_equal(python.loops[0].start, loop);
	assert_int_equal(python.loops[1].limit, 0);
	python_state = python.layout.state - runtime;
	python_values_at = python.layout.values_at;
	python_loop_bytes = python.loops[0].limit - loop;
}

/* Before 3.12 two locks lie before the state, which are larger than on x86-64. */
static void test_python(void **state)
{
	(void)state;
	with_library(PYTHON, "-DVERSION=0x030b07f0", find_python);
	assert_int_equal(python_state, 592);
	assert_int_equal(python_values_at, 0x110);
	assert_true(python_loop_bytes >= 16 && python_loop_bytes % 4 == 0);
	with_library(PYTHON, "-DVERSION=0x030c01f0", find_python);
	assert_int_equal(python_state, 1544);
	with_library(PYTHON, "-DVERSION=0x030d00f0", find_python);
	assert_int_equal(python_state, 2160);
}

/* As gcc makes it: 140 labels, each with a jump of its own. */
static char *ruby_source(void)
{
	char *cases = xstrdup(""), *code = xstrdup(""), *whole;

	for (int i = 0; i < 140; i++) {
		char *more = xasprintf("%s&&l%d,", cases, i);
		char *body =
			xasprintf("%s l%d: outside(%d); outside(%d); outside(%d); outside(%d); "
				  "outside(%d); outside(%d); outside(%d); goto **pc++;",
				  code, i, 8 * i, 8 * i + 1, 8 * i + 2, 8 * i + 3, 8 * i + 4,
				  8 * i + 5, 8 * i + 6);

		free(cases);
		free(code);
		cases = more;
		code = body;
	}
	whole = xasprintf("const int ruby_api_version[3] = {3, 1, 0};\n"
			  "__thread long *ec; void outside(long);\n"
			  "__attribute__((noinline, noclone)) static long *current(void)\n"
			  "{ __asm__(\"\"); return ec; }\n"
			  "long rb_thread_current(void)\n"
			  "{ return (INDIRECT ? current() : ec)[3]; }\n"
			  "__attribute__((noinline)) static long core(void **pc) {\n"
			  "static const void *const all[] = {%s};\n"
			  "if (!*pc) return (long)all; goto **pc++; %s }\n"
			  "long rb_vm_exec(void **pc)\n"
			  "{ long sum = 0; while (*pc) sum += core(pc) + 1; return sum; }\n",
			  cases, code);
	free(cases);
	free(code);
	return whole;
}

static void find_ruby(struct object *object)
{
	const struct elf_file *elf = object_elf(object);
	FILE *in = judge_ask("readelf -rW %s | sed -n 's/ .*R_AARCH64_TLSDESC.*//p'", "a.so");
	unsigned long pair = 0;
	struct ruby_file ruby;
	uint64_t exec;

	assert_int_equal(fscanf(in, "%lx", &pair), 1);
	pclose(in);

	assert_true(ruby_find(object, &ruby));
	assert_int_equal(ruby.layout.version, 0x0301);
	assert_int_equal(ruby.layout.state, pair);
	assert_true(dynsym_function(elf, "rb_vm_exec", &exec));
	assert_int_equal(ruby.loops.exec[0].start, exec);
	assert_true(ruby.loops.core[0].limit - ruby.loops.core[0].start > 8192);
}

static void test_ruby(void **state)
{
	char *source = ruby_source();

	(void)state;
	with_library(source, "-fno-gcse -fno-crossjumping -DINDIRECT=0", find_ruby);
	with_library(source, "-fno-gcse -fno-crossjumping -DINDIRECT=1", find_ruby);
	free(source);
}

static void find_perl(struct object *object)
{
	struct abi_perl layout;

	assert_true(perl_find(object, &layout));
	assert_int_equal(layout.version, 0x0524);
	assert_int_equal(layout.values_at, 0x110);
	assert_int_equal(layout.more_values_at, 0x310);
}

static void test_perl(void **state)
{
	(void)state;
	with_library(
		"int PL_thr_key = 1; void Perl_runops_standard(void) { }"
		"const char version[] = \"\\0v5.36.0\"; const char *of(void) { return version; }",
		"", find_perl);
}

static int begin(void **state)
{
	(void)state;
	has_compiler = arm64_judge_is_here();
	judge_dir = temp_folder();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arm64), cmocka_unit_test(test_x86),
		cmocka_unit_test(test_calls), cmocka_unit_test(test_python),
		cmocka_unit_test(test_ruby),  cmocka_unit_test(test_perl),
	};

	return cmocka_run_group_tests_name("jumps", tests, begin, NULL);
}
