/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who writes which (DWARF 5, section 2.5, for the operations):
 *
 *	breg N OFF                                   signal frames: where a register is stored
 *	breg N OFF; deref [; plus_uconst OFF2]       realigned stacks (GCC's DRAP: rbp-8), OpenSSL
 *	breg N OFF; breg I 0; lit8; mul; plus;
 *		deref; plus_uconst OFF2              OpenSSL's Montgomery multiplication
 *	breg7 8; breg16 0; lit15; and; lit K; ge; lit3; shl; plus
 *	                                             linkers: a PLT stub, CFA = sp + 8 before its push
 *	                                             and sp + 16 after it; K is 11, with IBT 10
 *
 * The PLT's is compared byte by byte; the others are computed with symbols in place of numbers, so
 * that equal values written differently come out equal.
 */
#include "unwind/cfaexpr.h"

#include <string.h>

enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_MINUS = 0x1c,
	OP_MUL = 0x1e,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_NOP = 0x96,
};

/*
 * A symbolic value: cfa.how CFA_NONE is the number cfa.off; `scaled` is 8 * register reg;
 * CFA_INDEXED is reg + 8 * index_reg + off until `loaded`, what is stored there after.
 */
struct symbol_value {
	struct cfa cfa;
	bool scaled, loaded;
};

#define STACK_DEPTH 4

struct machine {
	struct symbol_value stack[STACK_DEPTH];
	unsigned depth;
	bool opaque;
};

static void push(struct machine *machine, struct symbol_value value)
{
	if (machine->depth == STACK_DEPTH)
		machine->opaque = true;
	else
		machine->stack[machine->depth++] = value;
}

static void push_number(struct machine *machine, int64_t number)
{
	push(machine, (struct symbol_value){.cfa = {.off = number}});
}

static void push_register(struct machine *machine, uint64_t reg, int64_t off)
{
	if (reg >= UNWIND_NR_REGS)
		machine->opaque = true;
	push(machine, (struct symbol_value){.cfa = {CFA_REG, (uint32_t)reg, 0, off, 0}});
}

static struct symbol_value pop(struct machine *machine)
{
	if (machine->depth == 0) {
		machine->opaque = true;
		return machine->stack[0]; /* whatever: it does not count */
	}
	return machine->stack[--machine->depth];
}

static bool is_number(const struct symbol_value *value)
{
	return value->cfa.how == CFA_NONE;
}

/* Offsets wrap, as addresses do. */
static int64_t sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void add_number(struct machine *machine, struct symbol_value value, int64_t number)
{
	bool loaded = value.cfa.how == CFA_DEREF || value.loaded;

	if (value.scaled)
		machine->opaque = true;
	if (loaded)
		value.cfa.deref_off = sum(value.cfa.deref_off, number);
	else
		value.cfa.off = sum(value.cfa.off, number);
	push(machine, value);
}

static void plus(struct machine *machine)
{
	struct symbol_value b = pop(machine), a = pop(machine);

	if (is_number(&b)) {
		add_number(machine, a, b.cfa.off);
	} else if (is_number(&a)) {
		add_number(machine, b, a.cfa.off);
	} else if (a.cfa.how == CFA_REG && !a.scaled && b.scaled) {
		a.cfa.how = CFA_INDEXED;
		a.cfa.index_reg = b.cfa.reg;
		push(machine, a);
	} else {
		machine->opaque = true;
	}
}

static void times(struct machine *machine)
{
	struct symbol_value b = pop(machine), a = pop(machine);

	if (a.cfa.how != CFA_REG || a.scaled || a.cfa.off != 0 || !is_number(&b) || b.cfa.off != 8)
		machine->opaque = true;
	push(machine, (struct symbol_value){.cfa = a.cfa, .scaled = true});
}

static void dereference(struct machine *machine)
{
	struct symbol_value value = pop(machine);

	if (value.cfa.how == CFA_REG && !value.scaled)
		value.cfa.how = CFA_DEREF;
	else if (value.cfa.how == CFA_INDEXED && !value.loaded)
		value.loaded = true;
	else
		machine->opaque = true;
	push(machine, value);
}

static void push_constant(struct machine *machine, uint8_t op, struct cfi_cursor *expression)
{
	switch (op) {
	case OP_CONST1U:
		return push_number(machine, cfi_u8(expression));
	case OP_CONST1S:
		return push_number(machine, (int8_t)cfi_u8(expression));
	case OP_CONST2U:
		return push_number(machine, cfi_u16(expression));
	case OP_CONST2S:
		return push_number(machine, (int16_t)cfi_u16(expression));
	case OP_CONST4U:
		return push_number(machine, cfi_u32(expression));
	case OP_CONST4S:
		return push_number(machine, (int32_t)cfi_u32(expression));
	case OP_CONSTU:
		return push_number(machine, (int64_t)cfi_uleb(expression));
	case OP_CONSTS:
		return push_number(machine, cfi_sleb(expression));
	default:
		machine->opaque = true;
	}
}

static void execute(struct machine *machine, uint8_t op, struct cfi_cursor *expression)
{
	if (op >= OP_LIT0 && op <= OP_LIT31)
		return push_number(machine, op - OP_LIT0);
	if (op >= OP_BREG0 && op <= OP_BREG31)
		return push_register(machine, op - OP_BREG0, cfi_sleb(expression));
	switch (op) {
	case OP_BREGX: {
		uint64_t reg = cfi_uleb(expression);

		return push_register(machine, reg, cfi_sleb(expression));
	}
	case OP_DEREF:
		return dereference(machine);
	case OP_PLUS:
		return plus(machine);
	case OP_MINUS: {
		struct symbol_value number = pop(machine);

		machine->opaque |= !is_number(&number);
		return add_number(machine, pop(machine), sum(0, -(uint64_t)number.cfa.off));
	}
	case OP_MUL:
		return times(machine);
	case OP_PLUS_UCONST:
		return add_number(machine, pop(machine), (int64_t)cfi_uleb(expression));
	case OP_NOP:
		return;
	default:
		return push_constant(machine, op, expression);
	}
}

static bool is_plt(const struct cfi_cursor *expression, int64_t *push_end)
{
	/* breg7 8; breg16 0; lit15; and; lit K; ge; lit3; shl; plus */
	static const uint8_t plt[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22};
	const uint8_t *at = expression->at;

	if ((size_t)(expression->end - at) != sizeof(plt) || memcmp(at, plt, 6) != 0 ||
	    memcmp(at + 7, plt + 7, sizeof(plt) - 7) != 0 || at[6] < OP_LIT0 ||
	    at[6] > OP_LIT0 + 15)
		return false;
	*push_end = at[6] - OP_LIT0;
	return true;
}

struct cfa cfaexpr_read(struct cfi_cursor *expression)
{
	struct machine machine = {0};
	struct symbol_value *top = &machine.stack[0];
	struct cfa opaque = {.how = CFA_OPAQUE}, plt = {.how = CFA_PLT};

	if (is_plt(expression, &plt.off)) {
		expression->at = expression->end;
		return plt;
	}
	while (expression->at < expression->end && !machine.opaque)
		execute(&machine, cfi_u8(expression), expression);
	if (machine.opaque || expression->bad || machine.depth != 1 || is_number(top) ||
	    top->scaled || (top->cfa.how == CFA_INDEXED && !top->loaded))
		return opaque;
	return top->cfa;
}
