/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The shape of an unwind table: what user space packs and the BPF unwinder reads.
 *
 * An unwind rule says, for one stretch of code, where the caller's registers are. Three values make
 * a frame: the CFA (canonical frame address: what sp is once the function has returned), the return address and the
 * caller's fp. Text is cut into pages of 4,096 places where an instruction may begin:
 *
 *	pages[]   u32 per page: index of the page's first row; one more at the end, so that a page
 *	          has pages[i+1] - pages[i] rows: 1 to 4096, never 0
 *	rows[]    u32 per row, sorted by pc within a page; the first has pc 0 and repeats the rule in
 *	          force, so that a look-up never has to go back a page
 *	extended[]   16 bytes per rule that does not fit into 20 bits
 *
 *	 31          20 19  18                        0
 *	+--------------+---+---------------------------+
 *	| pc in page   | 0 |  what the machine needs   |   inline rule (over 99 %): bpf/arch/
 *	+--------------+---+-------------+-------------+
 *	| pc in page   | 1 |     0       |    index    |   extended rule: 14 bits of index in extended[]
 *	+--------------+---+-------------+-------------+
 *
 * Between two functions lie up to 15 bytes of padding, which nobody executes. They get the rule of
 * the function that follows, which saves a row for each; longer gaps are rows of their own. (One that
 * lies between a leaf and an outermost function may be a clone system call: UNWIND_CLONE.)
 *
 * Each executable has its own extended[], the first few of which are the same in all (UNWIND_EXTENDED_*):
 * a hostile executable can fill its own and no other's. The words fp, sp and ra are those of every
 * ABI; register numbers are DWARF's for the machine.
 */
#ifndef CPROF_UNWIND_ABI_H
#define CPROF_UNWIND_ABI_H

#ifndef __bpf__ /* there vmlinux.h has the types, and the two do not go together */
#include <linux/types.h>
#endif

#define UNWIND_PAGE_MAX_ROWS 4096 /* 12 steps of a binary search */

#define UNWIND_PC_SHIFT	     20
#define UNWIND_RULE_MASK     ((1u << UNWIND_PC_SHIFT) - 1)
#define UNWIND_RULE_EXTENDED (1u << 19)
#define UNWIND_PADDING_BYTES 16 /* a gap of fewer has no row */
#define UNWIND_EXTENDED_MASK 0x3fffu
#define UNWIND_MAX_EXTENDED  (UNWIND_EXTENDED_MASK + 1)

#define UNWIND_NR_REGS \
	32 /* a rule names no other, on no machine: DWARF's numbers of general registers and sp */

/*
 * What machines differ in. Besides sp and fp a walk knows one more register of some frames, the extra one: its value is valid where
 * it is known to be.
 */
struct unwind_machine {
	__u8 nr_regs; /* from 0 on; by DWARF's numbers, as all that follow: */
	__u8 fp, sp, extra;
	__u8 method,
		bcp; /* of a Java method: the Method when it is entered, and its bytecode's address */
	__u8 page_shift; /* of the bytes of a page of text */
	__u8 pc_shift;	 /* of the bytes that a row's pc counts */
	__u8 has_link; /* a call leaves the return address in the extra register, which is called lr */
};

/* What stands at the same place in every table's extended[]. */
enum {
	UNWIND_EXTENDED_GAP = 0, /* kind UNWIND_GAP, and so on */
	UNWIND_EXTENDED_ROOT = 1,
	UNWIND_EXTENDED_UNSUPPORTED = 2,
	UNWIND_EXTENDED_FP = 3,
	UNWIND_NR_FIXED_EXTENDED = 4,
};

enum unwind_kind {
	UNWIND_GAP = 0,		/* no unwind information here: code without CFI, or no code */
	UNWIND_ROOT = 1,	/* return address undefined: the outermost frame */
	UNWIND_UNSUPPORTED = 2, /* there is CFI, but damaged or beyond this table */
	UNWIND_FP = 3,		/* a frame pointer: the caller's is at fp, ra at fp + 8 */
	/* CFA = cfa_reg + cfa_off; deref_off not 0: a Java method is entered, its Method is in a register */
	UNWIND_FRAME = 4,
	UNWIND_DEREF = 5, /* CFA = *(cfa_reg + cfa_off) + deref_off */
	/* CFA = *(cfa_reg + 8 * register number ra_off + cfa_off) + deref_off; ra at CFA-8 */
	UNWIND_INDEXED = 6,
	/* CFA = sp + 8 + 8 * ((ip & 15) >= cfa_off): a PLT stub, before and after its push */
	UNWIND_PLT = 7,
	/*
	 * The frame that returns from a signal handler: the interrupted registers are in memory,
	 * ip at sp + ra_off, sp at sp + cfa_off, fp at sp + fp_off, extra at sp + deref_off (if
	 * not 0). That ip is exact, not a return address.
	 */
	UNWIND_SIGNAL = 8,
	/*
	 * Behind a clone system call, which both return from: in the new thread (ax is 0) the
	 * outermost frame, else a frame of nothing but its return address.
	 */
	UNWIND_CLONE = 9,
	/* JIT code may be here since the table was built: user space finishes the walk. */
	UNWIND_UNKNOWN = 10,
	/*
	 * The frame of a Java method that is interpreted: CFA = *(fp + cfa_off). Its Method is at fp + UNWIND_METHOD_OFF,
	 * the address of its bytecode at fp + deref_off (a multiple of 8). The leaf frame has it in a register (bcp), unless deref_off has
	 * UNWIND_BCP_IN_FRAME, or that has the sp for a callee already. While the frame is being made, its Method is in one.
	 */
	UNWIND_INTERPRETED = 11,
	UNWIND_NR_KINDS,
};

#define UNWIND_METHOD_OFF      (-24)
#define UNWIND_BCP_IN_FRAME    1
#define UNWIND_BCP_STACK_BYTES 65536 /* so close to sp is no bytecode */

/*
 * What stands for such a frame in a stack, in place of its ip, which would be the interpreter's:
 *
 *	 63  62  61  60           17  16  15         0
 *	+---+---+---+---------------+---+------------+
 *	| 0 | 0 | 1 | Method / 8    | K | bytecode   |
 *	+---+---+---+---------------+---+------------+
 *
 * An address of arm64 has a bit more, of which there is no room: it is set in all that are above 2^39, because 48-bit processes have
 * nothing between a low part and the upper half (unwind_method_addr()).
 *
 * K says that the bytecode is known: the lower half of its address, of which there is one in a method's 64 KB of code. It is not
 * while the frame is being made; then the first one is next.
 */
#define UNWIND_METHOD_MARK    (1ull << 61)
#define UNWIND_METHOD_SHIFT   17
#define UNWIND_METHOD_HAS_BCP (1ull << 16)
#define UNWIND_METHOD_BCP     0xffffull
#define UNWIND_METHOD_LIMIT   (1ull << 47)

/*
 * How many classes a JVM had unloaded when a sample of it was taken: what is at a Method's address is the same as long as this
 * is. 0: it is not known.
 */
#define UNWIND_UNLOADS(count) (1ull << 32 | (__u32)(count))

static inline __u64 unwind_method_addr(__u64 word, int is_arm64)
{
	__u64 addr = (word & (UNWIND_METHOD_MARK - 1)) >> UNWIND_METHOD_SHIFT << 3;

	return is_arm64 && addr >> 39 ? addr | UNWIND_METHOD_LIMIT : addr;
}

/* Where the caller's fp or ra is; off is fp_off or ra_off. */
enum unwind_how {
	UNWIND_SAME = 0,      /* unchanged (fp only) */
	UNWIND_AT_CFA = 1,    /* at CFA + off */
	UNWIND_AT_SP = 2,     /* at sp + off */
	UNWIND_AT_FP = 3,     /* at fp + off */
	UNWIND_IN_REG = 4,    /* in the register of DWARF number off */
	UNWIND_IS_CFA = 5,    /* it is CFA + off itself (fp only) */
	UNWIND_LOST = 6,      /* not known (fp only) */
	UNWIND_BEHIND_FP = 7, /* 8 above where the caller's fp is stored (ra only) */
	UNWIND_NR_HOWS,
};

/*
 * A rule in full: what the extended table holds and what user space computes with. Fields that a kind
 * does not use are 0, so that equal rules are equal bytes.
 *
 * The extra register (struct unwind_machine) is tracked in tables only that need it; everywhere else extra_slot is 0.
 */
struct unwind_rule {
	__u8 kind;	 /* enum unwind_kind */
	__u8 cfa_reg;	 /* DWARF number, below UNWIND_NR_REGS */
	__u8 how;	 /* fp: low half, ra: high half; enum unwind_how */
	__u8 extra_slot; /* extra: 0 not tracked, so lost; 1 unchanged; n >= 2 stored at CFA - 8*n */
	__s32 cfa_off;
	__s32 fp_off;
	__s16 ra_off;
	__s16 deref_off;
};

_Static_assert(sizeof(struct unwind_rule) == 16, "extended rules are 16 bytes");
_Static_assert(UNWIND_EXTENDED_MASK < UNWIND_RULE_EXTENDED, "index and escape do not overlap");

/* How a step ended. */
enum unwind_status {
	UNWIND_STEPPED = 0, /* the registers are now the caller's */
	UNWIND_AT_ROOT = 1, /* complete: this was the outermost frame */
	UNWIND_NO_CFI =
		2, /* nothing says where the caller is, or a promised frame pointer is none */
	UNWIND_NO_RULE = 3,   /* UNWIND_UNSUPPORTED */
	UNWIND_NO_REG = 4,    /* the rule needs a register that only a leaf frame still has */
	UNWIND_NO_MEMORY = 5, /* a word of the stack cannot be read */
	UNWIND_NO_MOVE = 6,   /* the caller's sp is not above ours: damaged, or not our stack */
	UNWIND_NEW_CODE = 7,  /* UNWIND_UNKNOWN: the table may be older than the code */
};

static inline __u32 unwind_row_pc(__u32 row)
{
	return row >> UNWIND_PC_SHIFT;
}

static inline __u32 unwind_row_rule(__u32 row)
{
	return row & UNWIND_RULE_MASK;
}

static inline __u32 unwind_row_pack(__u32 pc_in_page, __u32 rule)
{
	return pc_in_page << UNWIND_PC_SHIFT | rule;
}

/* Keeps the compiler from seeing where a number comes from, and making a branch of arithmetic again. */
#define UNWIND_OPAQUE(variable) __asm__ volatile("" : "+r"(variable))

/* How far below the CFA a slot is: at least 2. */
static inline __u32 unwind_extra_slot_bytes(__u32 extra_slot)
{
	return extra_slot * 8;
}

static inline __u8 unwind_how_pack(__u32 fp_how, __u32 ra_how)
{
	return fp_how | ra_how << 4;
}

static inline __u32 unwind_fp_how(const struct unwind_rule *rule)
{
	return rule->how & 15;
}

static inline __u32 unwind_ra_how(const struct unwind_rule *rule)
{
	return rule->how >> 4;
}

#include "arch/arm64_rule.h"
#include "arch/x86_rule.h"

#endif
