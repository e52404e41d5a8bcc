/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The instructions (DWARF 5, section 6.4.2) describe a table with a row per code address and a
 * column per register, as differences from row to row: advance the location, change a column.
 * DW_CFA_remember_state and _restore_state push and pop a whole row, because the code after an
 * early return continues as before it.
 *
 * What is emitted is not every row, only those in which a column that we follow changed: most
 * changes are pushes of r12 to r15, which only a debugger wants.
 *
 * Everything here is linear in the length of the instructions: a CIE's are run once (cfa_initial),
 * not once for each of its FDEs, and an expression is looked at once, when it is met.
 */
#include "unwind/cfa.h"

#include <errno.h>

#include "unwind/cfaexpr.h"
#include "unwind/cfarule.h"

enum {
	CFA_ADVANCE_LOC = 0x40, /* the high two bits; the low six are the operand */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* Compilers nest these once, hand-written code a few times. */
#define MAX_REMEMBERED 16

struct run {
	const struct unwind_arch *arch;
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	const struct cfa_state *initial; /* NULL while the CIE's own instructions run */
	struct cfi_cursor at;
	struct cfa_state state;
	struct cfa_state remembered[MAX_REMEMBERED];
	unsigned nr_remembered;
	uint64_t loc, limit;
	bool changed; /* since the last row was emitted */
	bool track_extra;
	cfa_row_fn emit;
	void *ctx;
};

static void emit_row(struct run *run)
{
	struct unwind_row row;

	if (!run->changed)
		return;
	row.elf_addr = run->loc;
	row.rule = cfarule_of(run->arch, &run->state, run->cie->signal, run->track_extra);
	run->emit(run->ctx, &row);
	run->changed = false;
}

/* 1: the FDE's end is reached. An operand that was cut off must not move anything. */
static int advance_to(struct run *run, uint64_t loc)
{
	if (run->at.bad || !run->initial || loc < run->loc)
		return -EBADMSG;
	if (loc == run->loc)
		return 0;
	emit_row(run);
	if (loc >= run->limit)
		return 1;
	run->loc = loc;
	return 0;
}

static int advance(struct run *run, uint64_t delta)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(delta, run->cie->code_align, &bytes) ||
	    bytes > UINT64_MAX - run->loc)
		return -EBADMSG;
	return advance_to(run, run->loc + bytes);
}

static int set_value(struct run *run, uint64_t reg, struct cfa_value value)
{
	struct cfa_state *state = &run->state;

	if (reg == run->cie->ra_reg) {
		state->ra = value;
		run->changed = true;
	}
	if (reg == run->arch->machine->fp) {
		state->fp = value;
		run->changed = true;
	} else if (reg == run->arch->machine->sp) {
		state->sp = value;
		run->changed = true;
	} else if (reg == run->arch->machine->extra) {
		state->extra = value;
		run->changed |= run->track_extra;
	}
	return 0;
}

static int set_simple(struct run *run, uint64_t reg, int how)
{
	return set_value(run, reg, (struct cfa_value){.how = how});
}

static int64_t factored(const struct run *run, uint64_t factor)
{
	return (int64_t)(factor * (uint64_t)run->cie->data_align);
}

static int set_offset(struct run *run, uint64_t reg, int how, uint64_t factor)
{
	return set_value(run, reg, (struct cfa_value){.how = how, .off = factored(run, factor)});
}

static int restore(struct run *run, uint64_t reg)
{
	const struct cfa_state *initial = run->initial;

	if (!initial)
		return -EBADMSG;
	/* One register may have two roles; each is restored from its own. */
	if (reg == run->arch->machine->fp)
		set_value(run, reg, initial->fp);
	else if (reg == run->arch->machine->sp)
		set_value(run, reg, initial->sp);
	else if (reg == run->arch->machine->extra)
		set_value(run, reg, initial->extra);
	if (reg == run->cie->ra_reg) {
		run->state.ra = initial->ra;
		run->changed = true;
	}
	return 0;
}

static int remember(struct run *run)
{
	if (run->nr_remembered == MAX_REMEMBERED)
		return -EBADMSG;
	run->remembered[run->nr_remembered++] = run->state;
	return 0;
}

static int recall(struct run *run)
{
	if (run->nr_remembered == 0)
		return -EBADMSG;
	run->state = run->remembered[--run->nr_remembered];
	run->changed = true;
	return 0;
}

static int define_cfa(struct run *run, struct cfa cfa)
{
	run->state.cfa = cfa;
	run->changed = true;
	return 0;
}

static int define_cfa_reg(struct run *run, uint64_t reg, int64_t off)
{
	/* A register that no rule can name must not come out as one that it can. */
	uint32_t known = reg < run->arch->machine->nr_regs ? (uint32_t)reg : UINT32_MAX;

	return define_cfa(run, (struct cfa){.how = CFA_REG, .reg = known, .off = off});
}

static int move_cfa(struct run *run, int64_t off)
{
	if (run->state.cfa.how != CFA_REG)
		return -EBADMSG;
	run->state.cfa.off = off;
	run->changed = true;
	return 0;
}

static int rebase_cfa(struct run *run, uint64_t reg)
{
	if (run->state.cfa.how != CFA_REG)
		return -EBADMSG;
	return define_cfa_reg(run, reg, run->state.cfa.off);
}

/* is_value: the expression is the register's value, not where it is stored. */
static int set_expression(struct run *run, uint64_t reg, bool is_value)
{
	struct cfi_cursor block = cfi_block(&run->at, cfi_uleb(&run->at));
	struct cfa cfa = cfaexpr_read(&block);
	struct cfa_value value = {.how = VALUE_OPAQUE};

	if (cfa.how == CFA_REG && !is_value)
		value = (struct cfa_value){VALUE_AT_REG, cfa.reg, cfa.off};
	else if (cfa.how == CFA_REG && cfa.off == 0)
		value = (struct cfa_value){VALUE_IN_REG, cfa.reg, 0};
	else if (cfa.how == CFA_DEREF && is_value && cfa.deref_off == 0)
		value = (struct cfa_value){VALUE_AT_REG, cfa.reg, cfa.off};
	return set_value(run, reg, value);
}

static int define_cfa_expression(struct run *run)
{
	struct cfi_cursor block = cfi_block(&run->at, cfi_uleb(&run->at));

	return define_cfa(run, cfaexpr_read(&block));
}

static int set_register(struct run *run, uint64_t reg)
{
	uint64_t from = cfi_uleb(&run->at);

	if (from >= run->arch->machine->nr_regs)
		return set_simple(run, reg, VALUE_OPAQUE);
	return set_value(run, reg, (struct cfa_value){VALUE_IN_REG, (uint32_t)from, 0});
}

/* Instructions on the register whose number comes first. */
static int execute_register(struct run *run, uint8_t op)
{
	uint64_t reg = cfi_uleb(&run->at);

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		return set_offset(run, reg, VALUE_AT_CFA, cfi_uleb(&run->at));
	case CFA_OFFSET_EXTENDED_SF:
		return set_offset(run, reg, VALUE_AT_CFA, (uint64_t)cfi_sleb(&run->at));
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		return set_offset(run, reg, VALUE_AT_CFA, -cfi_uleb(&run->at));
	case CFA_VAL_OFFSET:
		return set_offset(run, reg, VALUE_IS_CFA, cfi_uleb(&run->at));
	case CFA_VAL_OFFSET_SF:
		return set_offset(run, reg, VALUE_IS_CFA, (uint64_t)cfi_sleb(&run->at));
	case CFA_RESTORE_EXTENDED:
		return restore(run, reg);
	case CFA_UNDEFINED:
		return set_simple(run, reg, VALUE_UNDEFINED);
	case CFA_SAME_VALUE:
		return set_simple(run, reg, VALUE_SAME);
	case CFA_REGISTER:
		return set_register(run, reg);
	case CFA_EXPRESSION:
		return set_expression(run, reg, false);
	case CFA_VAL_EXPRESSION:
		return set_expression(run, reg, true);
	case CFA_DEF_CFA:
		return define_cfa_reg(run, reg, (int64_t)cfi_uleb(&run->at));
	case CFA_DEF_CFA_SF:
		return define_cfa_reg(run, reg, factored(run, (uint64_t)cfi_sleb(&run->at)));
	case CFA_DEF_CFA_REGISTER:
		return rebase_cfa(run, reg);
	}
	return -EBADMSG; /* no such instruction: its length is unknown too */
}

static int execute(struct run *run, uint8_t op)
{
	switch (op & 0xc0) {
	case CFA_ADVANCE_LOC:
		return advance(run, op & 0x3f);
	case CFA_OFFSET:
		return set_offset(run, op & 0x3f, VALUE_AT_CFA, cfi_uleb(&run->at));
	case CFA_RESTORE:
		return restore(run, op & 0x3f);
	}
	switch (op) {
	case CFA_NOP:
		return 0;
	case CFA_SET_LOC:
		return advance_to(run, cfi_pointer(&run->at, run->section, run->cie->encoding));
	case CFA_ADVANCE_LOC1:
		return advance(run, cfi_u8(&run->at));
	case CFA_ADVANCE_LOC2:
		return advance(run, cfi_u16(&run->at));
	case CFA_ADVANCE_LOC4:
		return advance(run, cfi_u32(&run->at));
	case CFA_REMEMBER_STATE:
		return remember(run);
	case CFA_RESTORE_STATE:
		return recall(run);
	case CFA_DEF_CFA_OFFSET:
		return move_cfa(run, (int64_t)cfi_uleb(&run->at));
	case CFA_DEF_CFA_OFFSET_SF:
		return move_cfa(run, factored(run, (uint64_t)cfi_sleb(&run->at)));
	case CFA_DEF_CFA_EXPRESSION:
		return define_cfa_expression(run);
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC: /* from here on it is signed, or not: walks strip all */
	case CFA_AARCH64_NEGATE_RA_STATE:
		return run->arch->machine->has_link ? 0 : -EBADMSG;
	case CFA_GNU_ARGS_SIZE: /* for landing pads; what is pushed is in the CFA already */
		cfi_uleb(&run->at);
		return 0;
	}
	return execute_register(run, op);
}

/* 0 at the end of the instructions or of the FDE, -EBADMSG. */
static int execute_all(struct run *run)
{
	int err = 0;

	while (run->at.at < run->at.end && !err) {
		err = execute(run, *run->at.at++);
		if (run->at.bad)
			err = -EBADMSG;
	}
	return err < 0 ? err : 0;
}

int cfa_initial(const struct unwind_arch *arch, const struct cfi_section *section,
		const struct cfi_cie *cie, struct cfa_state *initial)
{
	struct run run;
	int err;

	run.arch = arch;
	run.section = section;
	run.cie = cie;
	run.initial = NULL;
	run.at = cie->instructions;
	run.state = (struct cfa_state){0};
	run.nr_remembered = 0;
	run.loc = run.limit = 0;
	run.changed = run.track_extra = false;
	/* A return address column that is a register holds it until an instruction says otherwise. */
	if (cie->ra_reg < arch->machine->nr_regs)
		run.state.ra = (struct cfa_value){VALUE_IN_REG, (uint32_t)cie->ra_reg, 0};
	err = execute_all(&run);
	if (err)
		return err;
	*initial = run.state;
	return 0;
}

int cfa_run(const struct unwind_arch *arch, const struct cfi_section *section,
	    const struct cfi_cie *cie, const struct cfa_state *initial, const struct cfi_fde *fde,
	    bool track_extra, cfa_row_fn emit, void *ctx)
{
	struct run run;
	int err;

	/* Field by field: zeroing the remembered states would cost more than running most FDEs. */
	run.arch = arch;
	run.section = section;
	run.cie = cie;
	run.initial = initial;
	run.at = fde->instructions;
	run.state = *initial;
	run.nr_remembered = 0;
	run.loc = fde->start;
	run.limit = fde->limit;
	run.changed = true;
	run.track_extra = track_extra;
	run.emit = emit;
	run.ctx = ctx;
	err = execute_all(&run);
	if (err)
		emit(ctx, &(struct unwind_row){run.loc, {.kind = UNWIND_UNSUPPORTED}});
	else
		emit_row(&run);
	return err;
}
