/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The shape of an unwind table: what user space packs and the BPF unwinder reads.
 *
 * An unwind rule says, for one stretch of code, where the caller's registers are. Three values make
 * a frame on x86-64: the CFA (canonical frame address: what sp is once the function has returned),
 * the return address (nearly always at CFA-8) and the caller's rbp. Text is cut into pages of 4 KB:
 *
 *	pages[]   u32 per page: index of the page's first row; one more at the end, so that a page
 *	          has pages[i+1] - pages[i] rows: 1 to 4096, never 0
 *	rows[]    u32 per row, sorted by pc within a page; the first has pc 0 and repeats the rule in
 *	          force, so that a look-up never has to go back a page
 *	extended[]   16 bytes per rule that does not fit into 20 bits
 *
 *	 31          20 19  18  17          9 8        4  3   2  1   0
 *	+--------------+---+---+-------------+----------+---+---+-----+
 *	| pc in page   | 0 | B |  CFA off/8  | fp slot  | D | W |  N  |   inline rule (over 99 %)
 *	+--------------+---+---+-------------+----------+---+---+-----+
 *	| pc in page   | 1 |     0           |  index in extended[]      |   extended rule (14 bits of index)
 *	+--------------+---+-----------------+------------------------+
 *
 *	B        0: CFA = sp + off, 1: CFA = fp + off
 *	fp slot  0: the caller's rbp is this frame's; n: it is stored at CFA - 8*(n+1)
 *	N, W, D  a run: N more rows (0 to 3) in this one, 1 << W bytes apart, each with a CFA offset
 *	         that is 8 more than the one before, or (D) 8 less
 *
 * Runs are what pushes and pops of registers leave, one or two bytes of code each. They are exact:
 * at pc, min((pc - row's pc) >> W, N) steps have been made. They save nearly half of libLLVM's
 * rows.
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

#define UNWIND_PAGE_SHIFT    12
#define UNWIND_PAGE_BYTES    (1u << UNWIND_PAGE_SHIFT)
#define UNWIND_PAGE_MAX_ROWS UNWIND_PAGE_BYTES /* 12 steps of a binary search */

#define UNWIND_PC_SHIFT		 20
#define UNWIND_RULE_MASK	 ((1u << UNWIND_PC_SHIFT) - 1)
#define UNWIND_RULE_EXTENDED	 (1u << 19)
#define UNWIND_RULE_BASE_FP	 (1u << 18)
#define UNWIND_RULE_CFA_SHIFT	 9
#define UNWIND_RULE_CFA_MASK	 0x1ffu
#define UNWIND_RULE_FP_SHIFT	 4
#define UNWIND_RULE_FP_MASK	 0x1fu
#define UNWIND_RULE_RUN_DOWN	 8u
#define UNWIND_RULE_RUN_EXTENDED 4u
#define UNWIND_RULE_RUN_MASK	 3u
#define UNWIND_PADDING_BYTES	 16 /* a gap of fewer has no row */
#define UNWIND_EXTENDED_MASK	 0x3fffu
#define UNWIND_MAX_EXTENDED	 (UNWIND_EXTENDED_MASK + 1)

/* DWARF's register numbers on x86-64 (psABI figure 3.36). */
#define UNWIND_REG_AX  0
#define UNWIND_REG_BX  3
#define UNWIND_REG_FP  6
#define UNWIND_REG_SP  7
#define UNWIND_NR_REGS 16 /* general registers; a rule names no other */

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
	UNWIND_FP = 3,		/* a frame pointer: CFA = fp + 16, fp at CFA-16, ra at CFA-8 */
	/* CFA = cfa_reg + cfa_off; deref_off not 0: a Java method is entered, its Method is in bx */
	UNWIND_FRAME = 4,
	UNWIND_DEREF = 5, /* CFA = *(cfa_reg + cfa_off) + deref_off */
	/* CFA = *(cfa_reg + 8 * register number ra_off + cfa_off) + deref_off; ra at CFA-8 */
	UNWIND_INDEXED = 6,
	/* CFA = sp + 8 + 8 * ((ip & 15) >= cfa_off): a PLT stub, before and after its push */
	UNWIND_PLT = 7,
	/*
	 * The frame that returns from a signal handler: the interrupted registers are in memory,
	 * ip at sp + ra_off, sp at sp + cfa_off, fp at sp + fp_off, bx at sp + deref_off (if not
	 * 0). That ip is exact, not a return address.
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
	 * the address of its bytecode at fp + deref_off (a multiple of 8). The leaf frame has it in r13, unless deref_off has
	 * UNWIND_BCP_IN_FRAME, or r13 has the sp for a callee already. While the frame is being made, its Method is in bx.
	 */
	UNWIND_INTERPRETED = 11,
	UNWIND_NR_KINDS,
};

#define UNWIND_METHOD_OFF      (-24)
#define UNWIND_REG_BCP	       13
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

static inline __u64 unwind_method_addr(__u64 word)
{
	return (word & (UNWIND_METHOD_MARK - 1)) >> UNWIND_METHOD_SHIFT << 3;
}

/* Where the caller's fp or ra is; off is fp_off or ra_off. */
enum unwind_how {
	UNWIND_SAME = 0,   /* unchanged (fp only) */
	UNWIND_AT_CFA = 1, /* at CFA + off */
	UNWIND_AT_SP = 2,  /* at sp + off */
	UNWIND_AT_FP = 3,  /* at fp + off */
	UNWIND_IN_REG = 4, /* in the register of DWARF number off */
	UNWIND_IS_CFA = 5, /* it is CFA + off itself (fp only) */
	UNWIND_LOST = 6,   /* not known (fp only) */
	UNWIND_NR_HOWS,
};

/*
 * A rule in full: what the extended table holds and what user space computes with. Fields that a kind
 * does not use are 0, so that equal rules are equal bytes.
 *
 * rbx is tracked only in tables that have a CFA counted from rbx, which is ld.so's lazy binding
 * (_dl_runtime_resolve): there nearly all rules are extended, everywhere else bx_slot is 0.
 */
struct unwind_rule {
	__u8 kind;    /* enum unwind_kind */
	__u8 cfa_reg; /* DWARF number, below UNWIND_NR_REGS */
	__u8 how;     /* fp: low half, ra: high half; enum unwind_how */
	__u8 bx_slot; /* rbx: 0 not tracked, so lost; 1 unchanged; n >= 2 stored at CFA - 8*n */
	__s32 cfa_off;
	__s32 fp_off;
	__s16 ra_off;
	__s16 deref_off;
};

_Static_assert(sizeof(struct unwind_rule) == 16, "extended rules are 16 bytes");
_Static_assert(UNWIND_PC_SHIFT + UNWIND_PAGE_SHIFT == 32, "a row is 32 bits");
_Static_assert(UNWIND_EXTENDED_MASK < UNWIND_RULE_EXTENDED, "index and escape do not overlap");
_Static_assert((UNWIND_RULE_CFA_MASK << UNWIND_RULE_CFA_SHIFT) == (UNWIND_RULE_BASE_FP - 1) - 0x1ff,
	       "the CFA field ends below the base bit");

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

/* The fields of an inline rule, in bytes and ready to use. */
static inline __u32 unwind_rule_cfa_off(__u32 rule)
{
	return (rule >> UNWIND_RULE_CFA_SHIFT & UNWIND_RULE_CFA_MASK) * 8;
}

/* Keeps the compiler from seeing where a number comes from, and making a branch of arithmetic again. */
#define UNWIND_OPAQUE(variable) __asm__ volatile("" : "+r"(variable))

/*
 * The same at a pc that is pc_delta bytes after the row's. Without branches: the verifier would have to
 * follow each both ways through all that is computed from the offset.
 */
static inline __u64 unwind_rule_cfa_off_at(__u32 rule, __u32 pc_delta)
{
	__u64 nr = rule & UNWIND_RULE_RUN_MASK, down = rule / UNWIND_RULE_RUN_DOWN & 1;
	__u64 steps = pc_delta >> (rule / UNWIND_RULE_RUN_EXTENDED & 1), is_beyond = nr - steps;

	UNWIND_OPAQUE(is_beyond);
	is_beyond >>= 63;
	UNWIND_OPAQUE(is_beyond);
	UNWIND_OPAQUE(down);
	steps -= is_beyond * (steps - nr);
	return unwind_rule_cfa_off(rule) + 8 * steps - 16 * steps * down;
}

static inline __u32 unwind_rule_fp_slot(__u32 rule)
{
	return rule >> UNWIND_RULE_FP_SHIFT & UNWIND_RULE_FP_MASK;
}

/* How far below the CFA a slot is. fp_slot != 0, bx_slot >= 2. */
static inline __u32 unwind_fp_slot_bytes(__u32 fp_slot)
{
	return (fp_slot + 1) * 8;
}

static inline __u32 unwind_bx_slot_bytes(__u32 bx_slot)
{
	return bx_slot * 8;
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

/* The 20 bits of a rule that fits (without a run), UNWIND_RULE_EXTENDED for one that does not. */
static inline __u32 unwind_rule_pack(const struct unwind_rule *rule)
{
	__u32 base = rule->cfa_reg == UNWIND_REG_FP ? UNWIND_RULE_BASE_FP : 0;
	__u32 cfa = (__u32)rule->cfa_off / 8, slot = 0;

	if (rule->kind != UNWIND_FRAME || unwind_ra_how(rule) != UNWIND_AT_CFA ||
	    rule->ra_off != -8 || (!base && rule->cfa_reg != UNWIND_REG_SP) ||
	    rule->cfa_off % 8 != 0 || cfa > UNWIND_RULE_CFA_MASK || rule->bx_slot != 0)
		return UNWIND_RULE_EXTENDED;
	if (unwind_fp_how(rule) == UNWIND_AT_CFA) {
		slot = (0u - (__u32)rule->fp_off) / 8 - 1; /* wraps for what is out of range */
		if (rule->fp_off % 8 != 0 || slot == 0 || slot > UNWIND_RULE_FP_MASK)
			return UNWIND_RULE_EXTENDED;
	} else if (unwind_fp_how(rule) != UNWIND_SAME) {
		return UNWIND_RULE_EXTENDED;
	}
	return base | cfa << UNWIND_RULE_CFA_SHIFT | slot << UNWIND_RULE_FP_SHIFT;
}

/* An inline rule in full, at a pc that is pc_delta bytes after its row's. */
static inline struct unwind_rule unwind_rule_unpack(__u32 packed, __u32 pc_delta)
{
	__u32 slot = unwind_rule_fp_slot(packed);
	struct unwind_rule rule = {
		.kind = UNWIND_FRAME,
		.cfa_reg = packed & UNWIND_RULE_BASE_FP ? UNWIND_REG_FP : UNWIND_REG_SP,
		.how = unwind_how_pack(slot ? UNWIND_AT_CFA : UNWIND_SAME, UNWIND_AT_CFA),
		.cfa_off = (__s32)unwind_rule_cfa_off_at(packed, pc_delta),
		.fp_off = slot ? -(__s32)unwind_fp_slot_bytes(slot) : 0,
		.ra_off = -8,
	};

	return rule;
}

#endif
