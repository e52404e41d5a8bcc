// SPDX-License-Identifier: BSD-2-Clause
/*
 * Hand-assembled functions, and those of the allocators that are installed here, on which objdump
 * judges: what does the instruction at the chosen place, and what do those before it?
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "object/elf.h"
#include "probes/probesite.h"
#include "object/symtab.h"
#include "unit/arm64_judge.h"
#include "unit/judge.h"

#define FREE	(PROBESITE_FIRST | PROBESITE_FIRST_OR_0)
#define MALLOC	(PROBESITE_FIRST | PROBESITE_STACK)
#define CALLOC	(MALLOC | PROBESITE_SECOND)
#define ADDRESS 0x401000

#define CODE(...)                                                                        \
	(&(const struct probesite_code){(const uint8_t[]){__VA_ARGS__},                  \
					sizeof((const uint8_t[]){__VA_ARGS__}), ADDRESS, \
					&arch_x86_64})
#define RET   0xc3
#define TEST  0x48, 0x85, 0xff	     /* test %rdi,%rdi */
#define ENDBR 0xf3, 0x0f, 0x1e, 0xfa /* endbr64 */
#define SUB   0x48, 0x83, 0xec, 0x18 /* sub $24,%rsp */

static void test_entry_is_emulated(void **state)
{
	(void)state;
	assert_int_equal(probesite_choose(CODE(0x55, RET), MALLOC), 0);	      /* push %rbp */
	assert_int_equal(probesite_choose(CODE(0x41, 0x54, RET), MALLOC), 0); /* push %r12 */
	assert_int_equal(probesite_choose(CODE(0xe9, 0, 1, 0, 0), MALLOC), 0);
}

static void test_moved_behind_what_does_no_harm(void **state)
{
	(void)state;
	assert_int_equal(probesite_choose(CODE(ENDBR, 0x55, RET), MALLOC), 4);
	/* cmp $0x1000,%rdi; ja */
	assert_int_equal(probesite_choose(CODE(0x48, 0x81, 0xff, 0, 0x10, 0, 0, 0x0f, 0x87, 1, 0, 0,
					       0, RET, RET),
					  MALLOC),
			 7);
	/* mov %rdi,%rax; mov %rax,-8(%rsp); jmp */
	assert_int_equal(probesite_choose(CODE(0x48, 0x89, 0xf8, 0x48, 0x89, 0x44, 0x24, 0xf8, 0xe9,
					       0, 1, 0, 0),
					  MALLOC),
			 8);
	/* a two-byte nop is stepped over before Linux 6.18: xchg %ax,%ax; nopl (%rax); push */
	assert_int_equal(probesite_choose(CODE(0x66, 0x90, 0x0f, 0x1f, 0, 0x53, RET), MALLOC), 5);
}

static void test_free_of_null_does_not_come_by(void **state)
{
	(void)state;
	assert_int_equal(probesite_choose(CODE(TEST, 0x74, 2, 0x55, RET, RET), FREE), 5);
	assert_int_equal(probesite_choose(CODE(TEST, 0x0f, 0x84, 2, 0, 0, 0, 0x55, RET, RET), FREE),
			 9);
	assert_int_equal(probesite_choose(CODE(ENDBR, TEST, 0x74, 2, 0x55, RET, RET), FREE), 9);
	/* lea -1(%rdi),%rdi behind the jump: the jump itself */
	assert_int_equal(
		probesite_choose(CODE(TEST, 0x74, 6, 0x48, 0x8d, 0x7f, 0xff, 0x55, RET, RET), FREE),
		3);
	/* not when 0 is of interest, nor behind jne, nor when something else was tested */
	assert_int_equal(probesite_choose(CODE(TEST, 0x74, 2, 0x55, RET, RET), MALLOC), 3);
	assert_int_equal(probesite_choose(CODE(TEST, 0x75, 2, 0x55, RET, RET), FREE), 3);
	assert_int_equal(probesite_choose(CODE(0x48, 0x85, 0xf6, 0x74, 2, 0x55, RET, RET), FREE),
			 3);
	/* test; an instruction that sets other flags; je */
	assert_int_equal(
		probesite_choose(CODE(TEST, 0x48, 0xff, 0xc0, 0x74, 2, 0x55, RET, RET), FREE), 6);
	/* the calls with 0 come back to behind the jump */
	assert_int_equal(probesite_choose(CODE(TEST, 0x74, 0, 0x55, RET), FREE), 3);
}

static void test_a_jump_is_better_than_a_push(void **state)
{
	(void)state;
	/* push; test %rax,%rax; jne */
	assert_int_equal(probesite_choose(CODE(0x55, 0x48, 0x85, 0xc0, 0x75, 1, RET, RET), FREE),
			 4);
	assert_int_equal(probesite_choose(CODE(0x55, 0x48, 0x85, 0xc0, 0x75, 1, RET, RET), MALLOC),
			 0);
	/* test %rdi,%rdi; je; push; sub; jmp */
	assert_int_equal(probesite_choose(CODE(TEST, 0x74, 7, 0x55, SUB, 0xeb, 0, RET, RET), FREE),
			 10);
	/* push; call: both write to the stack */
	assert_int_equal(probesite_choose(CODE(SUB, 0x55, 0xe8, 0, 1, 0, 0, RET), FREE), 4);
	/* push; xor %edi,%edi; jmp */
	assert_int_equal(probesite_choose(CODE(0x55, 0x31, 0xff, 0xeb, 0, RET), FREE), 0);
	/* push; push; jmp to the second push */
	assert_int_equal(probesite_choose(CODE(0x90, 0x55, 0x55, 0xeb, 0xfd, RET), FREE), 0);
	assert_int_equal(probesite_choose(CODE(SUB, 0x55, 0x55, 0xeb, 0xfd, RET), FREE), 4);
}

static void test_stays_where_something_is_spoilt(void **state)
{
	(void)state;
	assert_int_equal(probesite_choose(CODE(SUB, 0x55, RET), MALLOC), 0);
	assert_int_equal(probesite_choose(CODE(SUB, 0x55, RET), FREE), 4); /* needs no stack */
	/* mov %rsi,%rdi; push: di is gone */
	assert_int_equal(probesite_choose(CODE(0x48, 0x89, 0xf7, 0x55, RET), MALLOC), 0);
	/* mov %fs:(%rax),%edi; push: and so is its upper half */
	assert_int_equal(probesite_choose(CODE(0x64, 0x8b, 0x38, 0x55, RET), MALLOC), 0);
	/* xor %esi,%esi; push */
	assert_int_equal(probesite_choose(CODE(0x31, 0xf6, 0x55, RET), CALLOC), 0);
	assert_int_equal(probesite_choose(CODE(0x31, 0xf6, 0x55, RET), MALLOC), 2);
	/* mul %rsi writes dx, without saying so; push */
	assert_int_equal(
		probesite_choose(CODE(0x48, 0xf7, 0xe6, 0x55, RET), CALLOC | PROBESITE_THIRD), 0);
	assert_int_equal(probesite_choose(CODE(0x48, 0xf7, 0xe6, 0x55, RET), CALLOC), 3);
	/* rep movsb writes si and di; push */
	assert_int_equal(probesite_choose(CODE(0xf3, 0xa4, 0x55, RET), MALLOC), 0);
	/* behind a return, an indirect jump, a system call */
	assert_int_equal(probesite_choose(CODE(RET, 0x55), MALLOC), 0);
	assert_int_equal(probesite_choose(CODE(0xff, 0xe0, 0x55, RET), MALLOC), 0);
	assert_int_equal(probesite_choose(CODE(0x0f, 0x05, 0x55, RET), MALLOC), 0);
}

static void test_no_call_comes_by_twice(void **state)
{
	(void)state;
	/* +0 mov %rdi,%rax; +3 push; ... jmp +3 */
	assert_int_equal(probesite_choose(CODE(0x48, 0x89, 0xf8, 0x55, 0xeb, 0xfd, RET), MALLOC),
			 0);
	/* jmp +4, behind the site: fine */
	assert_int_equal(probesite_choose(CODE(0x48, 0x89, 0xf8, 0x55, 0x90, 0xeb, 0xfd), MALLOC),
			 3);
}

static void test_unreadable(void **state)
{
	(void)state;
	assert_int_equal(
		probesite_choose(&(struct probesite_code){NULL, 0, 0, &arch_x86_64}, MALLOC), 0);
	assert_int_equal(probesite_choose(CODE(0x48), MALLOC), 0);
	assert_int_equal(probesite_choose(CODE(0x48, 0x89, 0xf8, 0x55, 0x06), MALLOC),
			 0); /* push es */
	for (int seed = 0; seed < 20000; seed++) {
		uint8_t bytes[40];
		struct probesite_code code = {bytes, sizeof(bytes),
					      UINT64_MAX - (uint64_t)seed % 50, &arch_x86_64};

		srand((unsigned int)seed);
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)rand();
		assert_true(probesite_choose(&code, FREE) < sizeof(bytes));
	}
}

static bool is_502000(void *ctx, uint64_t elf_addr)
{
	(void)ctx;
	return elf_addr == 0x502000;
}

static void test_calls(void **state)
{
	(void)state;
	assert_false(probesite_calls(CODE(0x55, 0x5d, RET), true, is_502000, NULL));
	assert_false(probesite_calls(CODE(0xe8, 0, 0, 0, 0, RET), true, is_502000, NULL));
	/* call, jmp, jne 502000 */
	assert_true(probesite_calls(CODE(0xe8, 0xfb, 0x0f, 0x10, 0, RET), true, is_502000, NULL));
	assert_true(probesite_calls(CODE(0x90, 0xe9, 0xfa, 0x0f, 0x10, 0), true, is_502000, NULL));
	assert_true(
		probesite_calls(CODE(0x0f, 0x85, 0xfa, 0x0f, 0x10, 0, RET), true, is_502000, NULL));
	/* call *%rax; jmp *(%rip) */
	assert_true(probesite_calls(CODE(0xff, 0xd0, RET), true, is_502000, NULL));
	assert_true(probesite_calls(CODE(0xff, 0x25, 0, 0, 0, 0), true, is_502000, NULL));
	/* not in doubt */
	assert_false(probesite_calls(CODE(0xff, 0xd0, RET), false, is_502000, NULL));
	assert_false(probesite_calls(CODE(0x55, 0x06, RET), false, is_502000, NULL));
	assert_true(probesite_calls(CODE(0xff, 0xd0, 0xe8, 0xf9, 0x0f, 0x10, 0, RET), false,
				    is_502000, NULL));
	/* cannot be read to its end */
	assert_true(probesite_calls(CODE(0x55, 0x06, RET), true, is_502000, NULL));
}

/* objdump's lines of [elf_addr, + 64), as "ADDRESS: INSTRUCTION". Owned by the caller. */
static char *disassemble(const char *path, uint64_t elf_addr)
{
	char *command scoped(freep) = xasprintf(
		"objdump -d --no-show-raw-insn --start-address=%#lx --stop-address=%#lx %s | "
		"sed -nE 's/^ *([0-9a-f]+):[[:space:]]+/\\1: /p'",
		elf_addr, elf_addr + 64, path);
	int status;

	return judge_run(command, &status);
}

static bool ends_in(const char *s, const char *suffix)
{
	size_t len = strlen(s), suffix_len = strlen(suffix);

	return len >= suffix_len && !strcmp(s + len - suffix_len, suffix);
}

/* In AT&T syntax the destination comes last. */
static bool spoils(const char *instruction, bool needs_stack)
{
	static const char *const written[] = {",%rdi", ",%edi", ",%di", ",%dil"};

	for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++)
		if (ends_in(instruction, written[i]) && strncmp(instruction, "cmp", 3) &&
		    strncmp(instruction, "test", 4))
			return true;
	return needs_stack && (ends_in(instruction, ",%rsp") || !strncmp(instruction, "pop", 3));
}

static void judge_site(const char *path, const char *name, const struct symbol *symbol, size_t site,
		       bool is_free)
{
	char *text scoped(freep) = disassemble(path, symbol->elf_addr), *rest = text, *line;
	bool found = false;

	while (!found && (line = strsep(&rest, "\n"))) {
		char *instruction;
		uint64_t at = strtoul(line, &instruction, 16);

		if (at < symbol->elf_addr || instruction[0] != ':')
			continue;
		instruction += 2;
		instruction[strcspn(instruction, "<#")] = '\0';
		while (*instruction && instruction[strlen(instruction) - 1] == ' ')
			instruction[strlen(instruction) - 1] = '\0';
		found = at == symbol->elf_addr + site;
		if (found && site)
			assert_true(!strncmp(instruction, "push ", 5) || instruction[0] == 'j' ||
				    !strncmp(instruction, "call ", 5) ||
				    !strcmp(instruction, "nop"));
		if (found)
			break;
		if (spoils(instruction, !is_free) ||
		    (instruction[0] == 'j' && !(is_free && !strncmp(instruction, "je ", 3))) ||
		    !strncmp(instruction, "call", 4) || !strncmp(instruction, "ret", 3))
			fail_msg("%s: %s+%zu comes after '%s'", path, name, site, instruction);
	}
	assert_true(found);
}

/* What objdump says is at the site: nothing that takes no probe, and what the kernel simulates, unless it is the entry. */
static void judge_arm64_site(const char *path, const char *name, uint64_t elf_addr, size_t site)
{
	static const char *const simulated[] = {"b\t",	  "bl\t",  "b.",     "cbz\t",
						"cbnz\t", "tbz\t", "tbnz\t", "adrp\t",
						"adr\t",  "br\t",  "blr\t",  "ret"};
	char *command scoped(freep) = xasprintf(ARM64_OBJDUMP
						" -d --no-show-raw-insn "
						"--start-address=%#lx --stop-address=%#lx %s | "
						"sed -nE 's/^ *([0-9a-f]+):[[:space:]]+/\\1: /p'",
						elf_addr, elf_addr + site + 4, path);
	int status;
	char *text scoped(freep) = judge_run(command, &status), *rest = text, *line, *at = NULL,
		   *written = NULL;
	bool is_simulated = false;

	while ((line = strsep(&rest, "\n")) && *line) {
		if (written)
			assert_null(strstr(written, "\tx0,"));
		at = strstr(line, ": ");
		assert_non_null(at);
		at += 2;
		written = !strncmp(at, "st", 2) || !strncmp(at, "cmp", 3) || !strncmp(at, "tst", 3)
				  ? NULL
				  : at;
	}
	assert_non_null(at);
	print_message("%s: %s+%zu: %s\n", path, name, site, at);
	for (size_t i = 0; i < sizeof(simulated) / sizeof(simulated[0]); i++)
		is_simulated |= !strncmp(at, simulated[i], strlen(simulated[i]));
	assert_true(!site || is_simulated);
	assert_true(strncmp(at, "aut", 3) && strncmp(at, "svc", 3) && strncmp(at, "msr", 3) &&
		    !strstr(at, "xr\t"));
}

/* false: there is no such file. */
static bool judge_functions(const char *path)
{
	static const struct {
		const char *name;
		unsigned int keeps;
	} functions[] = {{"malloc", MALLOC},
			 {"free", FREE},
			 {"calloc", CALLOC},
			 {"realloc", CALLOC},
			 {"posix_memalign", MALLOC | PROBESITE_THIRD},
			 {"valloc", MALLOC}};
	int fd scoped(closep) = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_file *elf;
	struct symtab *symtab;

	if (fd < 0) {
		print_message("no %s here: not judged\n", path);
		return false;
	}
	assert_int_equal(elf_file_open(fd, &elf), 0);
	symtab = symtab_new(elf);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		uint8_t bytes[PROBESITE_MAX_BYTES];
		struct symbol symbol;
		uint64_t file_off;
		bool is_ifunc;
		size_t site;

		if (!symtab_lookup(symtab, functions[i].name, &symbol, &is_ifunc) ||
		    elf_file_offset(elf, symbol.elf_addr, &file_off) || !symbol.len_bytes)
			continue;
		assert_true(symbol.len_bytes <= sizeof(bytes));
		assert_int_equal(pread(fd, bytes, symbol.len_bytes, (off_t)file_off),
				 symbol.len_bytes);
		site = probesite_choose(&(struct probesite_code){bytes, symbol.len_bytes,
								 symbol.elf_addr,
								 elf_file_arch(elf)},
					functions[i].keeps);
		print_message("%s: %s+%zu\n", path, functions[i].name, site);
		if (elf_file_arch(elf) == &arch_arm64)
			judge_arm64_site(path, functions[i].name, symbol.elf_addr, site);
		else
			judge_site(path, functions[i].name, &symbol, site,
				   !strcmp(functions[i].name, "free"));
	}
	symtab_free(symtab);
	elf_file_close(elf);
	return true;
}

/* arm64 ------------------------------------------------------------------------------------------ */

#define WORDS(...)                                                                        \
	(&(const struct probesite_code){(const uint8_t *)(const uint32_t[]){__VA_ARGS__}, \
					sizeof((const uint32_t[]){__VA_ARGS__}), ADDRESS, \
					&arch_arm64})
#define A_STP	  0xa9bc7bfd /* stp x29, x30, [sp, #-64]! */
#define A_PACIASP 0xd503233f
#define A_BTI	  0xd503245f
#define A_CBZ	  0xb4000060 /* cbz x0, +12 */
#define A_RET	  0xd65f03c0
#define A_NOP	  0xd503201f
#define A_MOV	  0xaa0003f3 /* mov x19, x0 */

static void test_arm64_moves_frees_alone(void **state)
{
	(void)state;
	assert_int_equal(probesite_choose(WORDS(A_STP, A_CBZ, A_RET), MALLOC), 0);
	assert_int_equal(probesite_choose(WORDS(A_PACIASP, A_STP, A_CBZ, A_RET), MALLOC), 0);
	assert_int_equal(probesite_choose(WORDS(A_BTI, A_CBZ, A_RET), CALLOC), 0);
	assert_int_equal(probesite_choose(WORDS(A_CBZ, A_RET), FREE), 0);
	assert_int_equal(probesite_choose(WORDS(A_BTI, A_CBZ, A_RET), FREE), 4);
	assert_int_equal(probesite_choose(WORDS(A_PACIASP, A_STP, A_MOV, A_CBZ, A_RET), FREE), 12);
	/* adrp x0: itself, since it is not yet done; mov x0, x19; ldr x0, [x1]; svc */
	assert_int_equal(probesite_choose(WORDS(A_NOP, 0x90000000, A_RET), FREE), 4);
	assert_int_equal(probesite_choose(WORDS(0xaa1303e0, A_CBZ, A_RET), FREE), 0);
	assert_int_equal(probesite_choose(WORDS(0xf9400020, A_CBZ, A_RET), FREE), 0);
	assert_int_equal(probesite_choose(WORDS(A_NOP, 0xd4000001, A_CBZ, A_RET), FREE), 0);
	/* b -4, to the site; b to the entry, which is another call */
	assert_int_equal(probesite_choose(WORDS(A_NOP, A_CBZ, 0x17ffffff, A_RET), FREE), 0);
	assert_int_equal(probesite_choose(WORDS(A_NOP, A_CBZ, 0x17fffffe, A_RET), FREE), 4);
}

static void test_arm64_entries_that_take_no_probe(void **state)
{
	static const uint32_t never[] = {
		0x58000040, /* ldr x0, literal */
		0x1c000040, /* ldr s0, literal */
		0x98000040, /* ldrsw x0, literal */
		0xd8000040, /* prfm literal */
		0xc85f7c00, /* ldxr x0, [x0] */
		0x885ffc01, /* ldaxr w1, [x0] */
		0xc8007c41, /* stxr w0, x1, [x2] */
		0xd4000001, /* svc #0 */
		0xd4200000, /* brk #0 */
		0xd51bd041, /* msr tpidr_el0, x1 */
		0xd5033bbf, /* dmb ish */
		0xd503205f, /* wfe */
		0xd50323bf, /* autiasp */
		0xd71f0801, /* braa x0, x1 */
		0xd65f0bff, /* retaa */
		0x00000000, /* udf */
	};
	static const uint32_t fine[] = {
		A_STP,	    A_PACIASP, A_BTI, A_NOP,
		A_MOV,	    A_CBZ,     A_RET, 0xd53bd040, /* mrs x0, tpidr_el0 */
		0xc8dffc00,				  /* ldar x0, [x0] */
		0xd61f0220,				  /* br x17 */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		assert_true(probesite_choose(WORDS(never[i], A_RET), MALLOC) == PROBESITE_NONE);
		assert_true(probesite_choose(WORDS(never[i], A_CBZ, A_RET), FREE) ==
			    PROBESITE_NONE);
	}
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		assert_int_equal(probesite_choose(WORDS(fine[i], A_RET), MALLOC), 0);
	/* not aligned, or nothing there */
	assert_true(probesite_choose(&(struct probesite_code){(const uint8_t *)fine, 40, 0x401002,
							      &arch_arm64},
				     MALLOC) == PROBESITE_NONE);
	assert_true(probesite_choose(&(struct probesite_code){(const uint8_t *)fine, 3, ADDRESS,
							      &arch_arm64},
				     MALLOC) == PROBESITE_NONE);
	assert_true(probesite_choose(&(struct probesite_code){NULL, 0, ADDRESS, &arch_arm64},
				     MALLOC) == PROBESITE_NONE);
}

static void test_arm64_calls(void **state)
{
	(void)state;
	assert_false(probesite_calls(WORDS(A_STP, A_RET), true, is_502000, NULL));
	assert_false(probesite_calls(WORDS(0x94000001, 0xd65f0bff), true, is_502000, NULL));
	/* bl, b, b.eq 502000 */
	assert_true(probesite_calls(WORDS(0x94040400, A_RET), true, is_502000, NULL));
	assert_true(probesite_calls(WORDS(A_NOP, 0x140403ff), true, is_502000, NULL));
	assert_true(probesite_calls(
		&(struct probesite_code){(const uint8_t *)&(const uint32_t){0x54008000}, 4,
					 0x501000, &arch_arm64},
		true, is_502000, NULL));
	/* blr x1, br x17, udf: doubt */
	assert_true(probesite_calls(WORDS(0xd63f0020, A_RET), true, is_502000, NULL));
	assert_true(probesite_calls(WORDS(0xd61f0220), true, is_502000, NULL));
	assert_true(probesite_calls(WORDS(0, A_RET), true, is_502000, NULL));
	assert_false(probesite_calls(WORDS(0xd63f0020, 0, A_RET), false, is_502000, NULL));
}

static void test_allocators_of_this_machine(void **state)
{
	(void)state;
	if (!judge_has("objdump"))
		skip();
	judge_functions("/lib/x86_64-linux-gnu/libc.so.6");
	judge_functions("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2");
	judge_functions("/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4");
	judge_functions("/usr/lib/x86_64-linux-gnu/libmimalloc.so.2");
	judge_functions("/lib/ld-musl-x86_64.so.1");
}

/* Those of Debian, of the cross compiler or unpacked by `make setup-arm64`; and what $ARM64_ALLOCATORS names, with colons. */
static void test_arm64_allocators(void **state)
{
	static const char *const names[] = {"libc.so.6", "libjemalloc.so.2",
					    "libtcmalloc_minimal.so.4", "libmimalloc.so.2"};
	const char *given = getenv("ARM64_ALLOCATORS");
	char *more scoped(freep) = xstrdup(given ? given : ""), *rest = more, *path;

	bool is_judged;

	(void)state;
	if (!arm64_judge_is_here())
		skip();
	is_judged = judge_functions(ARM64_LIBS "libc.so.6");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *unpacked scoped(freep) = xasprintf(
			"%s/../build/arm64/root/usr/lib/aarch64-linux-gnu/%s", TESTS_DIR, names[i]);

		is_judged |= judge_functions(unpacked);
	}
	while ((path = strsep(&rest, ":")) && *path)
		is_judged |= judge_functions(path);
	if (!is_judged)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entry_is_emulated),
		cmocka_unit_test(test_moved_behind_what_does_no_harm),
		cmocka_unit_test(test_free_of_null_does_not_come_by),
		cmocka_unit_test(test_stays_where_something_is_spoilt),
		cmocka_unit_test(test_a_jump_is_better_than_a_push),
		cmocka_unit_test(test_no_call_comes_by_twice),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_allocators_of_this_machine),
		cmocka_unit_test(test_arm64_moves_frees_alone),
		cmocka_unit_test(test_arm64_entries_that_take_no_probe),
		cmocka_unit_test(test_arm64_calls),
		cmocka_unit_test(test_arm64_allocators),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
