/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What has no place in a rule is dropped in the order of what it costs: an fp that cannot be
 * expressed is lost (most callers do not need it), a CFA or return address that cannot be makes the
 * whole rule unsupported, since a wrong caller is worse than none.
 */
#include "unwind/cfarule.h"

static const struct unwind_rule unsupported = {.kind = UNWIND_UNSUPPORTED};

static bool fits_s16(int64_t value)
{
	return value == (int16_t)value;
}

static bool fits_s32(int64_t value)
{
	return value == (int32_t)value;
}

/* UNWIND_LOST where value is not a stored, kept or known one. *off is the rule's operand. */
static enum unwind_how how_of(const struct unwind_machine *machine, const struct cfa_value *value,
			      int64_t *off)
{
	*off = value->off;
	switch (value->how) {
	case VALUE_SAME:
		return UNWIND_SAME;
	case VALUE_AT_CFA:
		return UNWIND_AT_CFA;
	case VALUE_IS_CFA:
		return UNWIND_IS_CFA;
	case VALUE_IN_REG:
		*off = value->reg;
		return UNWIND_IN_REG;
	case VALUE_AT_REG:
		if (value->reg == machine->sp)
			return UNWIND_AT_SP;
		if (value->reg == machine->fp)
			return UNWIND_AT_FP;
		break;
	default:
		break;
	}
	*off = 0;
	return UNWIND_LOST;
}

static void set_fp(const struct unwind_machine *machine, struct unwind_rule *rule,
		   const struct cfa_value *fp)
{
	int64_t off;
	enum unwind_how how = how_of(machine, fp, &off);

	if (!fits_s32(off))
		how = UNWIND_LOST;
	if (how == UNWIND_IN_REG && off == machine->fp)
		how = UNWIND_SAME;
	if (how == UNWIND_LOST || how == UNWIND_SAME)
		off = 0;
	rule->how |= unwind_how_pack(how, 0);
	rule->fp_off = (int32_t)off;
}

static bool set_ra(const struct unwind_machine *machine, struct unwind_rule *rule,
		   const struct cfa_value *ra)
{
	int64_t off;
	enum unwind_how how = how_of(machine, ra, &off);

	if (machine->has_link && how == UNWIND_SAME) {
		how = UNWIND_IN_REG;
		off = machine->extra;
	}
	if (machine->has_link && how == UNWIND_AT_CFA && unwind_fp_how(rule) == UNWIND_AT_CFA &&
	    off == (int64_t)rule->fp_off + 8 && !fits_s16(off)) {
		how = UNWIND_BEHIND_FP; /* a large frame's */
		off = 0;
	}
	if (how == UNWIND_SAME || how == UNWIND_IS_CFA || how == UNWIND_LOST || !fits_s16(off))
		return false;
	rule->how |= unwind_how_pack(0, how);
	rule->ra_off = (int16_t)off;
	return true;
}

static bool set_cfa(const struct unwind_machine *machine, struct unwind_rule *rule,
		    const struct cfa *cfa)
{
	if (!fits_s32(cfa->off) || !fits_s16(cfa->deref_off) || cfa->reg >= machine->nr_regs)
		return false;
	rule->cfa_reg = (uint8_t)cfa->reg;
	rule->cfa_off = (int32_t)cfa->off;
	rule->deref_off = (int16_t)cfa->deref_off;
	switch (cfa->how) {
	case CFA_REG:
		rule->kind = UNWIND_FRAME;
		return true;
	case CFA_DEREF:
		rule->kind = UNWIND_DEREF;
		return true;
	case CFA_PLT:
		rule->kind = UNWIND_PLT;
		return true;
	case CFA_INDEXED: /* the index register takes the return address's place, which is usual */
		rule->kind = UNWIND_INDEXED;
		if (unwind_ra_how(rule) != UNWIND_AT_CFA || rule->ra_off != -8 ||
		    cfa->index_reg >= machine->nr_regs)
			return false;
		rule->ra_off = (int16_t)cfa->index_reg;
		return true;
	default:
		return false;
	}
}

/*
 * The caller's sp is the CFA, unless a rule for sp says otherwise: longjmp's last instructions have
 * it in a register. That can be said where nothing else is counted from the CFA.
 */
static bool set_sp(struct unwind_rule *rule, const struct cfa_value *sp)
{
	if (sp->how == VALUE_SAME || (sp->how == VALUE_IS_CFA && sp->off == 0))
		return true;
	if (sp->how != VALUE_IN_REG || unwind_ra_how(rule) == UNWIND_AT_CFA ||
	    unwind_fp_how(rule) == UNWIND_AT_CFA || unwind_fp_how(rule) == UNWIND_IS_CFA)
		return false;
	rule->kind = UNWIND_FRAME;
	rule->cfa_reg = (uint8_t)sp->reg;
	rule->cfa_off = rule->deref_off = 0;
	return true;
}

/* 0: lost. */
static uint8_t extra_slot(const struct cfa_value *extra)
{
	if (extra->how == VALUE_SAME)
		return 1;
	if (extra->how == VALUE_AT_CFA && extra->off % 8 == 0 && extra->off <= -16 &&
	    extra->off >= -255 * 8)
		return (uint8_t)(-extra->off / 8);
	return 0;
}

static bool at_sp(const struct unwind_machine *machine, const struct cfa_value *value)
{
	return value->how == VALUE_AT_REG && value->reg == machine->sp && fits_s16(value->off);
}

/* The kernel's ucontext lies above sp: everything is found from there, the CFA is the stored sp. */
static struct unwind_rule signal_rule(const struct unwind_machine *machine,
				      const struct cfa_state *state)
{
	const struct cfa *cfa = &state->cfa;
	bool sp_is_cfa = state->sp.how == VALUE_SAME ||
			 (at_sp(machine, &state->sp) && state->sp.off == cfa->off);

	if (cfa->how != CFA_DEREF || cfa->reg != machine->sp || cfa->deref_off != 0 ||
	    !fits_s32(cfa->off) || !sp_is_cfa || !at_sp(machine, &state->ra) ||
	    !at_sp(machine, &state->fp))
		return unsupported;
	return (struct unwind_rule){
		.kind = UNWIND_SIGNAL,
		.cfa_reg = machine->sp,
		.how = unwind_how_pack(UNWIND_AT_SP, UNWIND_AT_SP),
		.cfa_off = (int32_t)cfa->off,
		.fp_off = (int32_t)state->fp.off,
		.ra_off = (int16_t)state->ra.off,
		.deref_off = at_sp(machine, &state->extra) ? (int16_t)state->extra.off : 0,
	};
}

struct unwind_rule cfarule_of(const struct unwind_arch *arch, const struct cfa_state *state,
			      bool signal, bool track_extra)
{
	struct unwind_rule rule = {0};

	if (state->ra.how == VALUE_UNDEFINED)
		return (struct unwind_rule){.kind = UNWIND_ROOT};
	if (signal && arch->signal)
		return arch->signal();
	if (signal)
		return signal_rule(arch->machine, state);
	set_fp(arch->machine, &rule, &state->fp);
	if (!set_ra(arch->machine, &rule, &state->ra) ||
	    !set_cfa(arch->machine, &rule, &state->cfa) || !set_sp(&rule, &state->sp))
		return unsupported;
	if (track_extra)
		rule.extra_slot = extra_slot(&state->extra);
	return rule;
}
