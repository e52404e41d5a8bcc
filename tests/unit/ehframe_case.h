/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What test_cfa and test_ehframe share: one section under construction, the table that it makes,
 * and the rules it should have.
 */
#ifndef CPROF_TESTS_EHFRAME_CASE_H
#define CPROF_TESTS_EHFRAME_CASE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "unwind/tablebuild.h"
#include "unit/cfi_asm.h"

#define START 0x1000

static struct cfi_asm as;

static inline void fresh(void)
{
	as = (struct cfi_asm){0};
}

static inline struct ehframe_input input_of(void)
{
	return (struct ehframe_input){
		.arch = &unwind_x86,
		.section = {.bytes = as.bytes,
			    .len_bytes = as.len,
			    .elf_addr = 0x400000,
			    .text_addr = 0x700,
			    .data_addr = 0x900,
			    .debug_frame = as.debug_frame},
		.code_limit = UINT64_MAX,
	};
}

static inline struct unwind_table *table_of(void)
{
	struct ehframe_input input = input_of();
	struct unwind_table *table;

	assert_int_equal(unwind_table_new(&input, &table), 0);
	return table;
}

static inline struct unwind_rule rule_at(const struct unwind_table *table, uint64_t elf_addr)
{
	struct unwind_rule rule;

	if (!unwind_table_find(table, elf_addr, &rule))
		rule = (struct unwind_rule){.kind = UNWIND_GAP};
	return rule;
}

static inline void expect(const struct unwind_table *table, uint64_t elf_addr,
			  struct unwind_rule expected)
{
	struct unwind_rule rule = rule_at(table, elf_addr);

	assert_memory_equal(&rule, &expected, sizeof(rule));
}

#define HOW(fp, ra) (uint8_t)(UNWIND_##fp | UNWIND_##ra << 4)
#define KIND(k)	    ((struct unwind_rule){.kind = UNWIND_##k})
/* CFA = rsp + off, return address below it; fp unchanged, or stored at CFA + fp. */
#define SP(off)	      ((struct unwind_rule){UNWIND_FRAME, 7, HOW(SAME, AT_CFA), 0, off, 0, -8, 0})
#define SP_FP(off, f) ((struct unwind_rule){UNWIND_FRAME, 7, HOW(AT_CFA, AT_CFA), 0, off, f, -8, 0})
#define FP_FP(off, f) ((struct unwind_rule){UNWIND_FRAME, 6, HOW(AT_CFA, AT_CFA), 0, off, f, -8, 0})

#endif
