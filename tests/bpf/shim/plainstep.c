/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads each rule as its definition says, one case after another, without the shortcuts of the BPF code. */
#include "shim/machine.h"

#include "shim/plainstep.h"

struct step {
	const struct unwind_rule *rule;
	const struct unwind_regs *regs;
	unwind_read_fn read;
	void *ctx;
	uint64_t cfa;
};

/* Only where return addresses are in lr can a frame's place be unknown. */
static bool is_sp_lost(const struct unwind_regs *regs)
{
	return HOST_MACHINE->has_link && regs->sp == 0;
}

static enum unwind_status get_reg(const struct step *step, uint32_t reg, uint64_t *value)
{
	const struct unwind_regs *regs = step->regs;

	if (reg >= UNWIND_NR_REGS)
		return UNWIND_NO_RULE;
	if (reg == HOST_MACHINE->sp && is_sp_lost(regs))
		return UNWIND_NO_REG;
	if (reg == HOST_MACHINE->sp)
		*value = regs->sp;
	else if (reg == HOST_MACHINE->fp)
		*value = regs->fp;
	else if (reg == HOST_MACHINE->extra && regs->extra_known)
		*value = regs->extra;
	else if (regs->leaf)
		*value = regs->leaf[reg];
	else
		return UNWIND_NO_REG;
	return reg == HOST_MACHINE->fp && *value == 0 ? UNWIND_NO_REG : UNWIND_STEPPED;
}

static enum unwind_status load(const struct step *step, uint64_t addr, uint64_t *value)
{
	return step->read(step->ctx, addr, value) ? UNWIND_STEPPED : UNWIND_NO_MEMORY;
}

static enum unwind_status load_cfa(struct step *step, uint64_t base)
{
	const struct unwind_rule *rule = step->rule;
	enum unwind_status status;
	uint64_t index = 0;

	if (rule->kind == UNWIND_INDEXED) {
		status = get_reg(step, (uint32_t)rule->ra_off, &index);
		if (status)
			return status;
	}
	status = load(step, base + 8 * index + (uint64_t)rule->cfa_off, &step->cfa);
	if (rule->kind != UNWIND_INTERPRETED)
		step->cfa += (uint64_t)rule->deref_off;
	if (rule->kind == UNWIND_INTERPRETED && HOST_MACHINE->has_link && step->cfa < base + 16)
		step->cfa = base + 16;
	return status;
}

/* A frame that is not made yet. */
static bool may_stay(const struct unwind_regs *regs)
{
	return HOST_MACHINE->has_link ? regs->ip_exact : regs->leaf != NULL;
}

/* Are the caller's x29 and lr side by side? */
static bool has_pair(const struct unwind_rule *rule)
{
	if (unwind_fp_how(rule) != UNWIND_AT_CFA)
		return false;
	if (unwind_ra_how(rule) == UNWIND_AT_CFA)
		return rule->ra_off == rule->fp_off + 8;
	return unwind_ra_how(rule) == UNWIND_BEHIND_FP;
}

static enum unwind_status find_cfa(struct step *step)
{
	const struct unwind_rule *rule = step->rule;
	enum unwind_status status;
	uint64_t base;

	if (rule->kind == UNWIND_PLT) {
		bool pushed = (step->regs->ip & 15) >= (uint64_t)rule->cfa_off;

		step->cfa = step->regs->sp + 8 + 8 * pushed;
		return UNWIND_STEPPED;
	}
	if (is_sp_lost(step->regs) && step->regs->fp && rule->kind == UNWIND_FRAME &&
	    rule->cfa_reg == HOST_MACHINE->sp && has_pair(rule)) {
		step->cfa = step->regs->fp - (uint64_t)(int64_t)rule->fp_off;
		return UNWIND_STEPPED;
	}
	status = get_reg(step, rule->cfa_reg, &base);
	if (status)
		return status;
	if (rule->kind != UNWIND_FRAME)
		return load_cfa(step, base);
	step->cfa = base + (uint64_t)rule->cfa_off;
	if (HOST_MACHINE->has_link && step->cfa < step->regs->sp &&
	    rule->cfa_reg != HOST_MACHINE->sp && rule->cfa_reg != HOST_MACHINE->fp)
		step->cfa = step->regs->sp; /* an interpreted method's, in a register */
	if (step->cfa < step->regs->sp || (step->cfa == step->regs->sp && !may_stay(step->regs)))
		return UNWIND_NO_MOVE;
	return UNWIND_STEPPED;
}

/* old: the register's value in this frame. */
static enum unwind_status find_value(const struct step *step, uint32_t how, int64_t off,
				     uint64_t old, uint64_t *value)
{
	*value = old;
	switch (how) {
	case UNWIND_SAME:
		return UNWIND_STEPPED;
	case UNWIND_AT_CFA:
		return load(step, step->cfa + (uint64_t)off, value);
	case UNWIND_AT_SP:
		return load(step, step->regs->sp + (uint64_t)off, value);
	case UNWIND_AT_FP:
		return load(step, step->regs->fp + (uint64_t)off, value);
	case UNWIND_IN_REG:
		return get_reg(step, (uint32_t)off, value);
	case UNWIND_IS_CFA:
		*value = step->cfa + (uint64_t)off;
		return UNWIND_STEPPED;
	}
	return UNWIND_NO_RULE;
}

static enum unwind_status find_fp(const struct step *step, uint64_t *fp)
{
	uint32_t how = unwind_fp_how(step->rule);
	enum unwind_status status;

	if (how == UNWIND_LOST) {
		*fp = 0;
		return UNWIND_STEPPED;
	}
	status = find_value(step, how, step->rule->fp_off, step->regs->fp, fp);
	if (status != UNWIND_NO_REG)
		return status;
	*fp = 0; /* that register is gone: most callers can do without fp */
	return UNWIND_STEPPED;
}

static enum unwind_status find_ra(const struct step *step, uint64_t *ra)
{
	const struct unwind_rule *rule = step->rule;

	if (rule->kind == UNWIND_INDEXED)
		return load(step, step->cfa - 8, ra);
	if (HOST_MACHINE->has_link && unwind_ra_how(rule) == UNWIND_BEHIND_FP)
		return load(step, step->cfa + (uint64_t)(int64_t)rule->fp_off + 8, ra);
	return find_value(step, unwind_ra_how(rule), rule->ra_off, step->regs->ip, ra);
}

static void find_extra(const struct step *step, struct unwind_regs *caller)
{
	uint32_t slot = step->rule->extra_slot;

	caller->extra_known = false;
	if (slot == 1 && (step->regs->extra_known || step->regs->leaf)) {
		caller->extra = step->regs->extra_known ? step->regs->extra
							: step->regs->leaf[HOST_MACHINE->extra];
		caller->extra_known = true;
	} else if (slot >= 2) {
		caller->extra_known = step->read(
			step->ctx, step->cfa - unwind_extra_slot_bytes(slot), &caller->extra);
	}
}

static enum unwind_status step_frame(struct step *step, struct unwind_regs *caller)
{
	enum unwind_status status = find_cfa(step);

	if (!status)
		status = find_ra(step, &caller->ip);
	if (!status)
		status = find_fp(step, &caller->fp);
	if (status)
		return status;
	caller->sp = step->cfa;
	find_extra(step, caller);
	return UNWIND_STEPPED;
}

static enum unwind_status step_signal(const struct step *step, struct unwind_regs *caller)
{
	const struct unwind_rule *rule = step->rule;
	uint64_t sp = step->regs->sp;
	enum unwind_status status = is_sp_lost(step->regs) ? UNWIND_NO_REG : UNWIND_STEPPED;

	if (!status)
		status = load(step, sp + (uint64_t)rule->ra_off, &caller->ip);
	if (!status)
		status = load(step, sp + (uint64_t)rule->cfa_off, &caller->sp);
	if (!status)
		status = load(step, sp + (uint64_t)rule->fp_off, &caller->fp);
	if (status)
		return status;
	caller->ip_exact = true;
	caller->extra_known = rule->deref_off != 0 &&
			      step->read(step->ctx, sp + (uint64_t)rule->deref_off, &caller->extra);
	return UNWIND_STEPPED;
}

static enum unwind_status step_fp(const struct step *step, struct unwind_regs *caller)
{
	uint64_t fp = step->regs->fp;
	enum unwind_status status;

	if (!fp)
		return UNWIND_AT_ROOT;
	if (fp % 8 != 0)
		return UNWIND_NO_CFI;
	status = load(step, fp, &caller->fp);
	if (!status)
		status = load(step, fp + 8, &caller->ip);
	caller->sp = HOST_MACHINE->has_link ? 0 : fp + 16;
	return status;
}

static enum unwind_status step_clone(const struct step *step, struct unwind_regs *caller)
{
	const struct unwind_regs *regs = step->regs;
	enum unwind_status status;

	if (regs->leaf && !regs->leaf[0])
		return UNWIND_AT_ROOT;
	caller->fp = regs->fp;
	caller->sp = regs->sp;
	if (HOST_MACHINE->has_link) {
		caller->ip = regs->extra;
		return regs->extra_known ? UNWIND_STEPPED : UNWIND_NO_REG;
	}
	status = load(step, regs->sp, &caller->ip);
	caller->sp += 8;
	return status;
}

enum unwind_status plain_step(const struct unwind_rule *rule, struct unwind_regs *regs,
			      unwind_read_fn read, void *ctx)
{
	struct step step = {.rule = rule, .regs = regs, .read = read, .ctx = ctx};
	struct unwind_regs caller = {0};
	enum unwind_status status;

	switch (rule->kind) {
	case UNWIND_GAP:
		return UNWIND_NO_CFI;
	case UNWIND_UNKNOWN:
		return UNWIND_NEW_CODE;
	case UNWIND_ROOT:
		return UNWIND_AT_ROOT;
	case UNWIND_FP:
		status = step_fp(&step, &caller);
		break;
	case UNWIND_FRAME:
	case UNWIND_DEREF:
	case UNWIND_INTERPRETED:
	case UNWIND_INDEXED:
	case UNWIND_PLT:
		status = step_frame(&step, &caller);
		break;
	case UNWIND_SIGNAL:
		status = step_signal(&step, &caller);
		break;
	case UNWIND_CLONE:
		status = step_clone(&step, &caller);
		break;
	default:
		return UNWIND_NO_RULE;
	}
	caller.pac_mask = regs->pac_mask;
	caller.ip &= ~caller.pac_mask;
	if (!status)
		*regs = caller;
	return status;
}

static uint64_t method_word(uint64_t method, bool has_bytecode, uint64_t bytecode)
{
	uint64_t limit = HOST_MACHINE->has_link ? 1ull << 48 : 1ull << 47;

	if (method == 0 || method % 8 != 0 || method >= limit)
		return 0;
	return (1ull << 61) + method % (1ull << 47) / 8 * (1ull << 17) +
	       (has_bytecode ? (1ull << 16) + bytecode % 65536 : 0);
}

uint64_t plain_method(const struct unwind_rule *rule, const struct unwind_regs *regs,
		      unwind_read_fn read, void *ctx)
{
	bool in_frame = rule->deref_off % 2 != 0;
	uint64_t slot = regs->fp + (uint64_t)(int64_t)(rule->deref_off - in_frame), bytecode,
		 method;
	bool is_made = !regs->leaf || slot >= regs->sp;

	if (rule->kind == UNWIND_FRAME)
		return rule->deref_off && regs->leaf
			       ? method_word(regs->leaf[HOST_MACHINE->method], false, 0)
			       : 0;
	if (rule->kind != UNWIND_INTERPRETED)
		return 0;
	if (!is_made)
		return method_word(regs->leaf[HOST_MACHINE->method], false, 0);
	if (!read(ctx, slot, &bytecode) || !read(ctx, regs->fp - 24, &method))
		return 0;
	if (regs->leaf && !in_frame && regs->leaf[HOST_MACHINE->bcp] - regs->sp >= 65536)
		bytecode = regs->leaf[HOST_MACHINE->bcp];
	return method_word(method, true, bytecode);
}
