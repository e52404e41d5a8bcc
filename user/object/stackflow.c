// SPDX-License-Identifier: BSD-2-Clause
/*
 * Of each instruction is known, once a path has led to it, where the CFA is counted from and where
 * the return address and the caller's rbp are. Most instructions change nothing of that; those that
 * do are few: push, pop, add, sub, lea, mov, leave, and what overwrites a register that counts.
 *
 *	offset		instruction		CFA		return address	caller's rbp
 *	 0		push %rbp		sp + 8		CFA - 8		rbp
 *	 1		sub  $0x20,%rsp		sp + 16		CFA - 8		CFA - 16
 *	 5		...			sp + 48		CFA - 8		CFA - 16
 *	40		add  $0x20,%rsp		sp + 48		CFA - 8		CFA - 16
 *	44		pop  %rbp		sp + 16		CFA - 8		CFA - 16
 *	45		cmp  0x340(%r15),%rsp	sp + 8		CFA - 8		rbp
 *	4c		ja   60			sp + 8: so it is at 60, where there is no frame any more
 *	52		ret
 *
 * Each path is followed once; where two meet, the first to come is right (code that can run has one
 * answer, and damaged code needs none). What no path leads to is the target of jumps from elsewhere:
 * in compiled code that is the body of the frame (handlers of exceptions), in stubs the next function.
 *
 * Beyond what compilers make, stubs and the interpreter of HotSpot ask for:
 *	- a return address that is popped into a register, and pushed again (adapters between
 *	  compiled and interpreted code, which make room for arguments below it);
 *	- an aligned sp (and $-16,%rsp), where a register or a word of the stack remembers the old one;
 *	- the interpreter's frame, whose caller's sp is stored at rbp - 8 because an adapter may have
 *	  put arguments between it and the return address.
 *
 * Rejected: rows for the size of a frame alone, with prologue and epilogue found by patterns of
 * bytes. They differ between compilers and versions, and code after an epilogue (the slow path of
 * the safepoint poll at a return) is not told from the body by its bytes.
 */
#include "object/stackflow.h"

#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "base/alloc.h"
#include "base/vec.h"

#define NO_REG	     UNWIND_NR_REGS
#define UNSEEN	     UINT32_MAX
#define INSIDE	     (UINT32_MAX - 1) /* not the first byte of an instruction */
#define MAX_OFF	     (1 << 24)	      /* of anything from sp: beyond, nothing is known */
#define SENDER_REG   13
#define WORD	     8
#define CALLER_SAVED 0xf07u /* rax, rdx, rcx, r8 to r11 by DWARF number; and rsi, rdi below */

/* What is known before an instruction. Offsets count up from the register to the CFA. */
struct state {
	bool sp_known, fp_known;
	bool interpreted; /* the interpreter's frame: all of it by rbp */
	bool home_known;
	uint8_t alias;	   /* a register that holds CFA - alias_off; NO_REG: none */
	uint8_t ra_reg;	   /* the return address is in that register; NO_REG: in memory */
	bool ra_by_sp;	   /* in memory at sp + ra_off; else at CFA - 8 */
	uint8_t fp_how;	   /* UNWIND_SAME, UNWIND_AT_CFA, UNWIND_AT_SP */
	int32_t sp_off;	   /* CFA = sp + sp_off */
	int32_t frame_off; /* CFA = rbp + frame_off */
	int32_t alias_off; /* CFA = alias + alias_off */
	int32_t home_off, home_deref; /* CFA = *(sp + home_off) + home_deref */
	int32_t ra_off, fp_off;
};

/* States are compared as bytes. */
_Static_assert(sizeof(struct state) == 8 + 7 * 4, "no padding");

struct path {
	uint32_t offset, state;
};

struct flow {
	const struct stackflow_code *code;
	ZydisDecoder decoder, quick_decoder;
	uint32_t *seen; /* for each byte: the number of its state, UNSEEN or INSIDE */
	vec_of(struct state) states;
	vec_of(struct path) paths; /* still to be followed */
};

struct instruction {
	ZydisDecodedInstruction decoded;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	uint32_t offset, next;
};

static void flow_release(struct flow *flow)
{
	free(flow->seen);
	vec_release(&flow->states);
	vec_release(&flow->paths);
}

/* States ----------------------------------------------------------------------------------------- */

static const struct state at_entry = {
	.sp_known = true,
	.sp_off = WORD,
	.alias = NO_REG,
	.ra_reg = NO_REG,
	.fp_how = UNWIND_SAME,
};

static const struct state at_method_entry = {
	.alias = SENDER_REG,
	.ra_reg = NO_REG,
	.ra_by_sp = true,
	.fp_how = UNWIND_SAME,
};

static const struct state in_interpreter = {
	.interpreted = true,
	.alias = NO_REG,
	.ra_reg = NO_REG,
};

static struct state in_body(const struct stackflow_code *code)
{
	struct state state = at_entry;

	if (code->kind == STACKFLOW_INTERPRETER)
		return in_interpreter;
	if (!code->frame_bytes)
		return state;
	state.sp_off = (int32_t)code->frame_bytes;
	state.fp_how = UNWIND_AT_CFA;
	state.fp_off = -2 * WORD;
	return state;
}

/* The stack grew by that much; negative: it shrank. */
static void grow(struct state *state, int64_t len_bytes)
{
	if (len_bytes > MAX_OFF || len_bytes < -MAX_OFF ||
	    llabs(state->sp_off + len_bytes) > MAX_OFF ||
	    llabs(state->ra_off + len_bytes) > MAX_OFF ||
	    llabs(state->home_off + len_bytes) > MAX_OFF ||
	    llabs(state->fp_off + len_bytes) > MAX_OFF) {
		state->sp_known = state->home_known = state->ra_by_sp = false;
		return;
	}
	state->sp_off += len_bytes;
	state->home_off += len_bytes;
	if (state->ra_by_sp)
		state->ra_off += len_bytes;
	if (state->fp_how == UNWIND_AT_SP)
		state->fp_off += len_bytes;
}

/* sp is set to where the CFA is CFA = sp + off. */
static void place_sp(struct state *state, int64_t off)
{
	if (state->fp_how == UNWIND_AT_SP)
		state->fp_how = UNWIND_LOST;
	state->home_known = state->ra_by_sp = false;
	state->sp_known = llabs(off) <= MAX_OFF;
	state->sp_off = (int32_t)off;
}

/* sp is what nobody knows. What was found by it is found by the CFA, if that is. */
static void lose_sp(struct state *state)
{
	place_sp(state, 0);
	state->sp_known = false;
}

/* Registers -------------------------------------------------------------------------------------- */

/* The DWARF number of the general register that reg is, or is a part of; else NO_REG. */
static uint8_t number_of(ZydisRegister reg)
{
	/* In the order of the machine's numbers: ax cx dx bx sp bp si di r8 to r15. */
	static const uint8_t numbers[UNWIND_NR_REGS] = {0, 2, 1,  3,  7,  6,  4,  5,
							8, 9, 10, 11, 12, 13, 14, 15};
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
		return NO_REG;
	return numbers[whole - ZYDIS_REGISTER_RAX];
}

static uint8_t register_of(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER && operand->size == 64
		       ? number_of(operand->reg.value)
		       : NO_REG;
}

/* base + disp of a plain memory operand of 8 bytes, or of a lea. */
static bool place_of(const ZydisDecodedOperand *operand, uint8_t *base, int64_t *disp)
{
	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    operand->mem.index != ZYDIS_REGISTER_NONE || operand->mem.base == ZYDIS_REGISTER_RIP ||
	    operand->mem.segment == ZYDIS_REGISTER_FS || operand->mem.segment == ZYDIS_REGISTER_GS)
		return false;
	*base = number_of(operand->mem.base);
	*disp = operand->mem.disp.has_displacement ? operand->mem.disp.value : 0;
	return *base != NO_REG && llabs(*disp) <= MAX_OFF;
}

/* A register has another value from now on. */
static void overwrite(struct state *state, uint8_t reg)
{
	if (reg == UNWIND_REG_SP)
		lose_sp(state);
	if (reg == UNWIND_REG_FP) {
		state->fp_known = state->interpreted = false;
		if (state->fp_how == UNWIND_SAME)
			state->fp_how = UNWIND_LOST;
	}
	if (reg == state->alias)
		state->alias = NO_REG;
	/* What is popped into a register stays where it was popped from, for a while. */
	if (reg == state->ra_reg)
		state->ra_reg = NO_REG;
}

static void overwrite_all_written(struct state *state, const struct instruction *in)
{
	for (uint8_t i = 0; i < in->decoded.operand_count; i++)
		if (in->operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    in->operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			overwrite(state, number_of(in->operands[i].reg.value));
}

/* Instructions ----------------------------------------------------------------------------------- */

/* What is pushed, popped or moved to: NO_REG for memory, and for flags, which no operand names. */
static uint8_t first_register(const struct instruction *in)
{
	return in->decoded.operand_count_visible ? register_of(&in->operands[0]) : NO_REG;
}

static void push(struct state *state, const struct instruction *in)
{
	uint8_t reg = first_register(in);

	if (state->interpreted)
		return;
	/* The stack is lost (deoptimization replaces frames), and here a frame is begun as usual. */
	if (reg == UNWIND_REG_FP && !state->sp_known && state->alias == NO_REG)
		*state = at_entry;
	grow(state, WORD);
	if (reg == NO_REG)
		return;
	if (reg == UNWIND_REG_FP && state->fp_how == UNWIND_SAME) {
		state->fp_how = state->sp_known ? UNWIND_AT_CFA : UNWIND_AT_SP;
		state->fp_off = state->sp_known ? -state->sp_off : 0;
	}
	if (reg == state->ra_reg) {
		state->ra_reg = NO_REG;
		state->ra_by_sp = !state->sp_known || state->sp_off != WORD;
		state->ra_off = 0;
	}
	/* mov %rsp,%rbp; push %r13: the interpreter's frame is complete. */
	if (reg == SENDER_REG && reg == state->alias && !state->sp_known &&
	    state->fp_how == UNWIND_AT_SP && state->fp_off == WORD)
		*state = in_interpreter;
}

static void pop(struct state *state, const struct instruction *in)
{
	uint8_t reg = first_register(in);
	bool is_ra = state->ra_by_sp ? state->ra_off == 0
				     : state->sp_known && state->sp_off == WORD;

	if (state->interpreted)
		return;
	is_ra = is_ra && state->ra_reg == NO_REG;
	if (reg == UNWIND_REG_SP)
		return lose_sp(state);
	overwrite(state, reg);
	grow(state, -WORD);
	if (is_ra && reg != NO_REG) {
		state->ra_reg = reg;
		state->ra_by_sp = false;
	}
	if (reg == UNWIND_REG_FP)
		state->fp_how = UNWIND_SAME;
}

static void leave(struct state *state)
{
	struct state left = at_entry;

	/* Not the interpreter's caller's sp, unless an alias still knows it. */
	if (state->interpreted && state->alias != NO_REG) {
		left = at_method_entry;
		left.alias = state->alias;
		left.alias_off = state->alias_off;
	} else if (state->fp_known && !state->interpreted) {
		left.sp_off = state->frame_off - WORD;
	}
	*state = left;
}

static void add_to_sp(struct state *state, const struct instruction *in, int sign)
{
	const ZydisDecodedOperand *by = &in->operands[1];

	if (state->interpreted)
		return;
	if (by->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		grow(state, sign * by->imm.value.s);
	else
		lose_sp(state);
}

/* from holds CFA - off. */
static void set_register(struct state *state, uint8_t reg, bool known, int64_t off)
{
	if (reg == UNWIND_REG_SP) {
		if (known)
			place_sp(state, off);
		else
			lose_sp(state);
		return;
	}
	overwrite(state, reg);
	if (!known || llabs(off) > MAX_OFF)
		return;
	if (reg == UNWIND_REG_FP) {
		state->fp_known = true;
		state->frame_off = (int32_t)off;
	} else {
		state->alias = reg;
		state->alias_off = (int32_t)off;
	}
}

/* Is CFA = reg + *off? */
static bool counts_from(const struct state *state, uint8_t reg, int64_t *off)
{
	if (reg == UNWIND_REG_SP && state->sp_known)
		*off = state->sp_off;
	else if (reg == UNWIND_REG_FP && state->fp_known)
		*off = state->frame_off;
	else if (reg != NO_REG && reg == state->alias)
		*off = state->alias_off;
	else
		return false;
	return true;
}

static void load_address(struct state *state, const struct instruction *in)
{
	uint8_t reg = register_of(&in->operands[0]), base;
	int64_t disp, off;
	bool known;

	if (reg == NO_REG)
		return overwrite_all_written(state, in);
	known = place_of(&in->operands[1], &base, &disp);
	if (known && reg == UNWIND_REG_SP && base == UNWIND_REG_SP && !state->interpreted)
		return grow(state, -disp);
	known = known && counts_from(state, base, &off);
	set_register(state, reg, known, known ? off - disp : 0);
}

static void store(struct state *state, const struct instruction *in)
{
	uint8_t reg = register_of(&in->operands[1]), base;
	int64_t disp;

	if (reg == NO_REG || !place_of(&in->operands[0], &base, &disp) || base != UNWIND_REG_SP ||
	    state->interpreted)
		return;
	if (reg == state->alias) {
		state->home_known = true;
		state->home_off = (int32_t)disp;
		state->home_deref = state->alias_off;
	}
	if (reg == state->ra_reg) {
		state->ra_reg = NO_REG;
		state->ra_by_sp = !state->sp_known || disp != state->sp_off - WORD;
		state->ra_off = (int32_t)disp;
	}
	if (reg == UNWIND_REG_FP && state->fp_how == UNWIND_SAME && state->sp_known) {
		state->fp_how = UNWIND_AT_CFA;
		state->fp_off = (int32_t)(disp - state->sp_off);
	}
}

static void load(struct state *state, const struct instruction *in, uint8_t reg)
{
	bool at_home, at_fp, at_sender;
	uint8_t base = NO_REG;
	int64_t disp = 0;
	bool plain = place_of(&in->operands[1], &base, &disp);

	at_home = plain && base == UNWIND_REG_SP && state->home_known && disp == state->home_off;
	at_sender = plain && base == UNWIND_REG_FP && disp == -WORD && state->interpreted;
	at_fp = plain && base == UNWIND_REG_SP && state->fp_how == UNWIND_AT_CFA &&
		state->sp_known && disp == state->sp_off + state->fp_off;
	if (reg == UNWIND_REG_FP && at_fp) {
		overwrite(state, reg);
		state->fp_how = UNWIND_SAME;
		return;
	}
	set_register(state, reg, at_home || at_sender, at_home ? state->home_deref : 0);
}

static void move(struct state *state, const struct instruction *in)
{
	uint8_t to = register_of(&in->operands[0]), from = register_of(&in->operands[1]);
	int64_t off = 0;
	bool known;

	if (in->operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY)
		return store(state, in);
	if (to == NO_REG)
		return overwrite_all_written(state, in);
	if (from == NO_REG)
		return load(state, in, to);
	/* The frame of an entry whose caller's sp is in a register goes on as it is. */
	if (to == UNWIND_REG_FP && from == UNWIND_REG_SP && !state->sp_known)
		return;
	known = counts_from(state, from, &off);
	if (to == UNWIND_REG_SP && known && state->ra_by_sp)
		return; /* what is found by sp would be lost: it is above, whatever sp is now */
	set_register(state, to, known, off);
}

/* Which of its callee's registers a call leaves alone is the ABI's affair. */
static void call(struct state *state)
{
	for (uint8_t reg = 0; reg < UNWIND_NR_REGS; reg++)
		if (CALLER_SAVED >> reg & 1 || reg == 4 || reg == 5)
			overwrite(state, reg);
}

static void apply(struct state *state, const struct instruction *in)
{
	bool on_sp = register_of(&in->operands[0]) == UNWIND_REG_SP;

	switch (in->decoded.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHFQ:
		return push(state, in);
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPFQ:
		return pop(state, in);
	case ZYDIS_MNEMONIC_LEAVE:
		return leave(state);
	case ZYDIS_MNEMONIC_ADD:
		return on_sp ? add_to_sp(state, in, -1) : overwrite_all_written(state, in);
	case ZYDIS_MNEMONIC_SUB:
		return on_sp ? add_to_sp(state, in, 1) : overwrite_all_written(state, in);
	case ZYDIS_MNEMONIC_LEA:
		return load_address(state, in);
	case ZYDIS_MNEMONIC_MOV:
		return move(state, in);
	case ZYDIS_MNEMONIC_CALL:
		return call(state);
	default:
		return overwrite_all_written(state, in);
	}
}

/* Paths ------------------------------------------------------------------------------------------ */

static bool is_end(const struct instruction *in)
{
	switch (in->decoded.mnemonic) {
	case ZYDIS_MNEMONIC_JMP:
	case ZYDIS_MNEMONIC_RET:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_INT3:
		return true;
	default:
		return false;
	}
}

static uint32_t add_state(struct flow *flow, const struct state *state)
{
	vec_push(&flow->states, *state);
	return (uint32_t)flow->states.nr - 1;
}

/* A relative branch that stays inside is a path. */
static void add_branch(struct flow *flow, const struct instruction *in, uint32_t state)
{
	const ZydisDecodedOperand *target = &in->operands[0];
	bool is_call = in->decoded.mnemonic == ZYDIS_MNEMONIC_CALL;
	int64_t offset;

	if (!in->decoded.operand_count_visible || target->type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
	    !target->imm.is_relative)
		return;
	offset = in->next + target->imm.value.s;
	if (offset < 0 || offset >= (int64_t)flow->code->len_bytes || flow->seen[offset] != UNSEEN)
		return;
	/* The interpreter calls parts of itself, within one frame. */
	if (is_call && !flow->states.at[state].interpreted)
		state = add_state(flow, &at_entry);
	vec_push(&flow->paths, (struct path){(uint32_t)offset, state});
}

/* Could an instruction with such operands write sp or rbp, or store or copy them? */
static bool names_frame_register(const ZydisDecodedInstruction *in)
{
	bool is_stack_base = in->raw.modrm.rm == 4 && in->raw.sib.base == 4;

	if (!(in->attributes & ZYDIS_ATTRIB_HAS_MODRM))
		return in->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY || (in->opcode & 7) == 4 ||
		       (in->opcode & 7) == 5;
	if ((in->raw.modrm.reg & 6) == 4 || (in->raw.modrm.mod == 3 && (in->raw.modrm.rm & 6) == 4))
		return true;
	return in->opcode == 0x8d && (is_stack_base || in->raw.modrm.rm == 5); /* lea */
}

/*
 * Compiled code is long, most of it does nothing to the stack, and to decode operands takes most of the
 * time. So what is harmless by its opcode is not decoded further. In doubt: it is not.
 */
static bool is_harmless(const ZydisDecodedInstruction *in)
{
	uint8_t opcode = in->opcode;

	if (in->opcode_map == ZYDIS_OPCODE_MAP_0F) {
		if ((opcode & 0xf0) == 0x80 || opcode == 0x0b || opcode == 0x05) /* jcc, ud2 */
			return false;
	} else if (in->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT) {
		if ((opcode & 0xf0) == 0x50 || (opcode & 0xf0) == 0x70 || (opcode & 0xfd) == 0x68 ||
		    opcode == 0x8f || opcode == 0x9c || opcode == 0x9d || opcode >= 0xe0 ||
		    (opcode & 0xfe) == 0xc2 || (opcode & 0xf8) == 0xc8)
			return false;
	}
	return !names_frame_register(in);
}

/* Only the length: for instructions that change nothing. false: look closer. */
static bool decode_quickly(const struct flow *flow, uint32_t offset, const struct state *state,
			   uint32_t *next)
{
	ZydisDecodedInstruction in;

	if (flow->code->kind != STACKFLOW_COMPILED || state->alias != NO_REG ||
	    state->ra_reg != NO_REG ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&flow->quick_decoder, NULL,
							flow->code->bytes + offset,
							flow->code->len_bytes - offset, &in)) ||
	    !is_harmless(&in))
		return false;
	*next = offset + in.length;
	return true;
}

static bool decode(const struct flow *flow, uint32_t offset, struct instruction *in)
{
	in->offset = offset;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&flow->decoder, flow->code->bytes + offset,
						 flow->code->len_bytes - offset, &in->decoded,
						 in->operands)))
		return false;
	in->next = offset + in->decoded.length;
	return true;
}

/*
 * A call keeps no register that the caller's frame could be found by. The interpreter's intrinsic
 * methods make some before they have a frame: then the caller's sp is taken to be next to the return
 * address, which is so but for callers that are compiled, and found by their callers' sp anyway.
 */
static uint32_t settle(struct flow *flow, const struct instruction *in, uint32_t number)
{
	struct state state = flow->states.at[number];

	if (in->decoded.mnemonic != ZYDIS_MNEMONIC_CALL || state.sp_known || !state.ra_by_sp ||
	    state.alias == NO_REG)
		return number;
	state.sp_known = true;
	state.sp_off = state.ra_off + WORD;
	return add_state(flow, &state);
}

static void mark(struct flow *flow, struct path path, uint32_t next)
{
	flow->seen[path.offset] = path.state;
	for (uint32_t i = path.offset + 1; i < next; i++)
		if (flow->seen[i] == UNSEEN)
			flow->seen[i] = INSIDE;
}

/* Past one instruction. false: the path ends with it. */
static bool pass(struct flow *flow, struct path *path)
{
	struct state state = flow->states.at[path->state];
	struct instruction in;
	uint32_t next;

	if (decode_quickly(flow, path->offset, &state, &next)) {
		mark(flow, *path, next);
		path->offset = next;
		return true;
	}
	if (!decode(flow, path->offset, &in)) {
		mark(flow, *path, path->offset + 1);
		return false;
	}
	path->state = settle(flow, &in, path->state);
	mark(flow, *path, in.next);
	add_branch(flow, &in, path->state);
	if (is_end(&in))
		return false;
	state = flow->states.at[path->state];
	apply(&state, &in);
	if (memcmp(&state, &flow->states.at[path->state], sizeof(state)) != 0)
		path->state = add_state(flow, &state);
	path->offset = in.next;
	return true;
}

static void follow(struct flow *flow, struct path path)
{
	while (path.offset < flow->code->len_bytes && flow->seen[path.offset] == UNSEEN)
		if (!pass(flow, &path))
			return;
}

static void follow_all(struct flow *flow, size_t offset, const struct state *state)
{
	vec_push(&flow->paths, (struct path){(uint32_t)offset, add_state(flow, state)});
	while (flow->paths.nr)
		follow(flow, flow->paths.at[--flow->paths.nr]);
}

static void follow_entries(struct flow *flow)
{
	for (size_t i = 0; i < flow->code->nr_entries; i++) {
		const struct stackflow_entry *entry = &flow->code->entries[i];

		if (entry->offset < flow->code->len_bytes)
			follow_all(flow, entry->offset,
				   entry->sender_in_r13 ? &at_method_entry : &at_entry);
	}
}

/* Then what no path has led to. */
static void follow_rest(struct flow *flow)
{
	struct state body = in_body(flow->code);

	for (size_t i = 0; i < flow->code->len_bytes; i++)
		if (flow->seen[i] == UNSEEN)
			follow_all(flow, i, &body);
}

/* Rules ------------------------------------------------------------------------------------------ */

static struct unwind_rule interpreted_rule(void)
{
	return (struct unwind_rule){
		.kind = UNWIND_DEREF,
		.cfa_reg = UNWIND_REG_FP,
		.cfa_off = -WORD,
		.how = unwind_how_pack(UNWIND_AT_FP, UNWIND_AT_FP),
		.ra_off = WORD,
	};
}

/* Where the CFA is counted from: the most lasting of what is known. false: nothing is. */
static bool choose_base(const struct state *state, bool prefer_fp, struct unwind_rule *rule)
{
	if (state->fp_known && (prefer_fp || !state->sp_known)) {
		rule->kind = UNWIND_FRAME;
		rule->cfa_reg = UNWIND_REG_FP;
		rule->cfa_off = state->frame_off;
	} else if (state->sp_known) {
		rule->kind = UNWIND_FRAME;
		rule->cfa_reg = UNWIND_REG_SP;
		rule->cfa_off = state->sp_off;
	} else if (state->home_known && state->home_deref == (int16_t)state->home_deref) {
		rule->kind = UNWIND_DEREF;
		rule->cfa_reg = UNWIND_REG_SP;
		rule->cfa_off = state->home_off;
		rule->deref_off = (int16_t)state->home_deref;
	} else if (state->alias != NO_REG) {
		rule->kind = UNWIND_FRAME;
		rule->cfa_reg = state->alias;
		rule->cfa_off = state->alias_off;
	} else {
		return false;
	}
	return true;
}

/* Where the return address is. false: farther than a rule can say. */
static bool choose_ra(const struct state *state, uint32_t *how, struct unwind_rule *rule)
{
	int32_t off = -WORD;

	*how = UNWIND_AT_CFA;
	if (state->ra_reg != NO_REG) {
		*how = UNWIND_IN_REG;
		off = state->ra_reg;
	} else if (state->ra_by_sp) {
		*how = UNWIND_AT_SP;
		off = state->ra_off;
	}
	rule->ra_off = (int16_t)off;
	return rule->ra_off == off;
}

static struct unwind_rule rule_of(const struct flow *flow, const struct state *state)
{
	bool prefer_fp = flow->code->kind != STACKFLOW_COMPILED;
	struct unwind_rule rule = {.kind = UNWIND_GAP};
	struct state body;
	uint32_t ra_how;

	if (state->interpreted)
		return interpreted_rule();
	if (!choose_base(state, prefer_fp, &rule)) {
		/* Lost, most likely in bytes that are no code; or a gap, if there is no usual frame. */
		body = in_body(flow->code);
		if (!flow->code->frame_bytes)
			return rule;
		state = &body;
		choose_base(state, false, &rule);
	}
	if (!choose_ra(state, &ra_how, &rule))
		return (struct unwind_rule){.kind = UNWIND_GAP};
	rule.how = unwind_how_pack(state->fp_how, ra_how);
	if (state->fp_how == UNWIND_AT_CFA || state->fp_how == UNWIND_AT_SP)
		rule.fp_off = state->fp_off;
	return rule;
}

static void emit_rows(const struct flow *flow, cfa_row_fn emit, void *ctx)
{
	struct unwind_row row = {.elf_addr = 0};
	uint32_t last_state = UNSEEN;

	for (size_t i = 0; i < flow->code->len_bytes; i++) {
		struct unwind_rule rule;

		if (flow->seen[i] >= INSIDE || flow->seen[i] == last_state)
			continue;
		last_state = flow->seen[i];
		rule = rule_of(flow, &flow->states.at[last_state]);
		if (i != 0 && !memcmp(&rule, &row.rule, sizeof(rule)))
			continue;
		row.elf_addr = flow->code->addr + i;
		row.rule = rule;
		emit(ctx, &row);
	}
}

void stackflow_rows(const struct stackflow_code *code, cfa_row_fn emit, void *ctx)
{
	struct flow flow scoped(flow_release) = {.code = code};

	if (code->len_bytes > STACKFLOW_MAX_BYTES || !code->len_bytes) {
		emit(ctx, &(struct unwind_row){code->addr, {.kind = UNWIND_GAP}});
		return;
	}
	ZydisDecoderInit(&flow.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	flow.quick_decoder = flow.decoder;
	ZydisDecoderEnableMode(&flow.quick_decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
	flow.seen = xreallocarray(NULL, code->len_bytes, sizeof(*flow.seen));
	memset(flow.seen, 0xff, code->len_bytes * sizeof(*flow.seen));
	follow_entries(&flow);
	follow_rest(&flow);
	emit_rows(&flow, emit, ctx);
}
