// SPDX-License-Identifier: BSD-2-Clause
/*
 * Every instruction of arm64's C library, and 300,000 random words, as objdump reads them: what a decoded instruction says is
 * written as objdump would write it, and must be the same text; and what it may write has the register that objdump names first.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <inttypes.h>

#include "elf_judge.h"
#include "object/a64.h"
#include "unit/arm64_judge.h"

#define ARM64_LIBC  ARM64_LIBS "libc.so.6"
#define NR_RANDOM   300000
#define MAX_REPORTS 20

/* A line of objdump: words of it are borrowed from text. */
struct line {
	char text[512];
	uint64_t addr;
	uint32_t word;
	const char *mnemonic, *operands;
	bool is_undefined;
};

/* As objdump writes it ---------------------------------------------------------------------------- */

struct said {
	char text[160];
	size_t len;
};

static void __attribute__((format(printf, 2, 3))) say(struct said *said, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	said->len += (size_t)vsnprintf(said->text + said->len, sizeof(said->text) - said->len,
				       format, args);
	va_end(args);
}

static void say_general(struct said *said, uint8_t reg, bool is_64)
{
	if (reg == A64_SP)
		say(said, is_64 ? "sp" : "wsp");
	else if (reg == A64_ZR)
		say(said, is_64 ? "xzr" : "wzr");
	else
		say(said, "%c%u", is_64 ? 'x' : 'w', reg);
}

static void say_register(struct said *said, const struct a64 *in, uint8_t reg)
{
	if (in->is_vector)
		say(said, "%c%u", "bhsdq"[__builtin_ctz(in->size_bytes)], reg);
	else
		say_general(said, reg, in->is_64);
}

/* ", uxtw #2" behind a register; nothing where all its bits count, as they are. */
static void say_extend(struct said *said, const struct a64 *in, bool is_memory)
{
	static const char *const names[] = {"uxtb", "uxth", "uxtw", "lsl",
					    "sxtb", "sxth", "sxtw", "sxtx"};
	const char *name = names[in->extend];
	bool by_word = in->extend != A64_LSL && in->extend != A64_SXTX;

	say_general(said, in->rm, is_memory ? !by_word : in->is_64 && !by_word);
	if (in->extend == A64_LSL && !in->shift)
		return;
	say(said, ", %s", name);
	if (in->shift)
		say(said, " #%u", in->shift);
}

static void say_memory(struct said *said, const struct a64 *in)
{
	say(said, ", [");
	say_general(said, in->rn, true);
	if (in->mode == A64_POST)
		say(said, "], #%" PRId64, in->imm);
	else if (in->imm || in->mode == A64_PRE)
		say(said, ", #%" PRId64 "]%s", in->imm, in->mode == A64_PRE ? "!" : "");
	else
		say(said, "]");
}

static void say_target(struct said *said, const struct a64 *in, uint64_t addr)
{
	if (in->class == A64_ADRP)
		addr &= ~4095ull;
	say(said, "%" PRIx64, addr + (uint64_t)in->imm);
}

static void say_immediate(struct said *said, const struct a64 *in, bool is_add)
{
	uint64_t imm = (uint64_t)(is_add && in->imm < 0 ? -in->imm : in->imm);

	say_general(said, in->rd, in->is_64);
	say(said, ", ");
	say_general(said, in->rn, in->is_64);
	if (is_add && imm > 4095)
		say(said, ", #0x%" PRIx64 ", lsl #12", imm >> 12);
	else
		say(said, ", #0x%" PRIx64, imm);
}

/* The operands, but for those classes that objdump writes in more ways than one. */
static void say_operands(struct said *said, const struct a64 *in, uint64_t addr)
{
	switch (in->class) {
	case A64_TBZ:
	case A64_CBZ:
		say_general(said, in->rn, in->is_64);
		if (in->class == A64_TBZ)
			say(said, ", #%u", in->shift);
		say(said, ", ");
		/* fallthrough */
	case A64_B:
	case A64_BL:
	case A64_B_COND:
		return say_target(said, in, addr);
	case A64_ADR:
	case A64_ADRP:
		say_general(said, in->rd, true);
		say(said, ", ");
		return say_target(said, in, addr);
	case A64_MOVK:
		say_general(said, in->rd, in->is_64);
		return say(said, ", #0x%" PRIx64, (uint64_t)in->imm);
	case A64_ADD_IMM:
	case A64_AND_IMM:
		return say_immediate(said, in, in->class == A64_ADD_IMM);
	case A64_ADD_REG:
		say_general(said, in->rd, in->is_64);
		say(said, ", ");
		say_general(said, in->rn, in->is_64);
		say(said, ", ");
		return say_extend(said, in, false);
	case A64_LOAD_LITERAL:
		say_register(said, in, in->rd);
		say(said, ", ");
		return say_target(said, in, addr);
	case A64_LOAD_PAIR:
	case A64_STORE_PAIR:
		say_register(said, in, in->rd);
		say(said, ", ");
		say_register(said, in, in->rd2);
		return say_memory(said, in);
	case A64_LOAD:
	case A64_STORE:
		say_register(said, in, in->rd);
		return say_memory(said, in);
	case A64_LOAD_REG:
	case A64_STORE_REG:
		say_register(said, in, in->rd);
		say(said, ", [");
		say_general(said, in->rn, true);
		say(said, ", ");
		say_extend(said, in, true);
		return say(said, "]");
	case A64_SVC:
	case A64_BRK:
	case A64_HINT:
		return say(said, "#0x%" PRIx64, (uint64_t)in->imm);
	default:
		return;
	}
}

/* Names ------------------------------------------------------------------------------------------- */

/* Names are a list with spaces around each. */
static bool is_named(const char *names, const char *mnemonic)
{
	char *one scoped(freep) = xasprintf(" %s ", mnemonic);

	return strstr(names, one) != NULL;
}

static const char *const class_names[] = {
	[A64_B] = " b ",
	[A64_BL] = " bl ",
	[A64_CBZ] = " cbz cbnz ",
	[A64_TBZ] = " tbz tbnz ",
	[A64_BR] = " br braa brab braaz brabz ",
	[A64_BLR] = " blr blraa blrab blraaz blrabz ",
	[A64_RET] = " ret retaa retab ",
	[A64_SVC] = " svc ",
	[A64_BRK] = " brk hlt ",
	[A64_ERET] = " eret eretaa eretab drps ",
	[A64_ADR] = " adr ",
	[A64_ADRP] = " adrp ",
	[A64_MOV_IMM] = " movz movn orr ",
	[A64_MOVK] = " movk ",
	[A64_MOV_REG] = " orr ",
	[A64_ADD_IMM] = " add adds sub subs ",
	[A64_ADD_REG] = " add adds sub subs ",
	[A64_AND_IMM] = " and ands ",
	[A64_LOAD_PAIR] = " ldp ldnp ldpsw ",
	[A64_STORE_PAIR] = " stp stnp ",
	[A64_LOAD_LITERAL] = " ldr ldrsw ",
	[A64_PREFETCH] = " prfm prfum ",
	[A64_SIGN] = " pacia pacib pacda pacdb paciza pacizb pacdza pacdzb hint ",
	[A64_AUTH] = " autia autib autda autdb autiza autizb autdza autdzb xpaci xpacd hint ",
	[A64_BTI] = " hint ",
	[A64_HINT] = " hint ",
};

/* ld or st, an inner part, and the end that its size and sign have. */
static bool is_access_named(const struct a64 *in, const char *mnemonic)
{
	static const char *const middles[] = {"r",    "ur",  "tr", "ar",  "apr",
					      "apur", "lar", "lr", "lur", "llr"};
	bool is_load = in->class == A64_LOAD || in->class == A64_LOAD_REG;
	const char *end = "";

	if (!in->is_vector && in->size_bytes < 4)
		end = in->size_bytes == 1 ? (in->is_signed_load ? "sb" : "b")
					  : (in->is_signed_load ? "sh" : "h");
	else if (in->is_signed_load)
		end = "sw";
	for (size_t i = 0; i < sizeof(middles) / sizeof(*middles); i++) {
		char name[16];

		snprintf(name, sizeof(name), "%s%s%s", is_load ? "ld" : "st", middles[i], end);
		if (!strcmp(name, mnemonic))
			return true;
	}
	return false;
}

static bool is_atomic(const char *mnemonic)
{
	return !strncmp(mnemonic, "cas", 3) || !strncmp(mnemonic, "swp", 3) ||
	       !strncmp(mnemonic, "ldadd", 5) || !strncmp(mnemonic, "ldclr", 5) ||
	       !strncmp(mnemonic, "ldeor", 5) || !strncmp(mnemonic, "ldset", 5) ||
	       !strncmp(mnemonic, "ldsmax", 6) || !strncmp(mnemonic, "ldsmin", 6) ||
	       !strncmp(mnemonic, "ldumax", 6) || !strncmp(mnemonic, "ldumin", 6) ||
	       !strncmp(mnemonic, "ld64b", 5) || !strncmp(mnemonic, "st64b", 5);
}

static bool is_exclusive(const char *mnemonic)
{
	const char *x = strchr(mnemonic, 'x');

	return x && (!strncmp(mnemonic, "ld", 2) || !strncmp(mnemonic, "st", 2)) &&
	       (x[1] == 'r' || x[1] == 'p');
}

static bool is_access(const char *mnemonic)
{
	struct a64 in = {.class = *mnemonic == 'l' ? A64_LOAD : A64_STORE, .size_bytes = 1};

	for (int i = 0; i < 6; i++) {
		in.size_bytes = (uint8_t)(1 << i / 2);
		in.is_signed_load = i % 2;
		if (is_access_named(&in, mnemonic))
			return true;
	}
	return false;
}

/* Whether objdump's name is one of the class. */
static bool is_name_right(const struct a64 *in, const char *mnemonic)
{
	switch (in->class) {
	case A64_B_COND:
		return !strncmp(mnemonic, "b.", 2) || !strncmp(mnemonic, "bc.", 3);
	case A64_LOAD:
	case A64_STORE:
	case A64_LOAD_REG:
	case A64_STORE_REG:
		return is_access_named(in, mnemonic);
	case A64_EXCLUSIVE:
		return is_exclusive(mnemonic);
	case A64_ATOMIC:
		return is_atomic(mnemonic);
	case A64_OTHER:
		/* of these, what has no class: shifted to the right, or a part of another group */
		if (is_named(" add adds sub subs ", mnemonic))
			return true;
		for (size_t i = 0; i < sizeof(class_names) / sizeof(*class_names); i++)
			if (class_names[i] && i != A64_MOV_IMM && i != A64_AND_IMM &&
			    i != A64_MOV_REG && is_named(class_names[i], mnemonic))
				return false;
		return !is_access(mnemonic) && !is_exclusive(mnemonic);
	default:
		return class_names[in->class] && is_named(class_names[in->class], mnemonic);
	}
}

/* The judgement ----------------------------------------------------------------------------------- */

/* The number of the general register that a text begins with; A64_NONE. */
static uint8_t register_at(const char *text)
{
	if (!strncmp(text, "sp", 2) || !strncmp(text, "wsp", 3))
		return A64_SP;
	if ((*text == 'x' || *text == 'w') && isdigit((unsigned char)text[1]))
		return (uint8_t)atoi(text + 1);
	return A64_NONE;
}

/* Whether an instruction of class A64_OTHER writes the register that objdump names first. */
static bool is_first_written(const char *mnemonic)
{
	return !is_named(" ccmp ccmn msr rmif setf8 setf16 ctermeq ctermne sys sysp st2g stg stzg "
			 "stz2g stgm "
			 "stzgm stgp wfet wfit ldgm ",
			 mnemonic) &&
	       strncmp(mnemonic, "st", 2) != 0 && strncmp(mnemonic, "prf", 3) != 0;
}

/* What is written back is written: "[x0], #16", "[sp, #-16]!". */
static uint32_t written_back(const char *operands)
{
	const char *open = strchr(operands, '['), *end = open ? strchr(open, ']') : NULL;

	return end && (end[1] == '!' || end[1] == ',') && register_at(open + 1) != A64_NONE
		       ? 1u << register_at(open + 1)
		       : 0;
}

static bool is_written_right(const struct a64 *in, const struct line *line)
{
	uint32_t least = written_back(line->operands);
	uint8_t first = register_at(line->operands);

	if (in->class == A64_OTHER && first != A64_NONE && is_first_written(line->mnemonic))
		least |= 1u << first;
	if (in->class == A64_OTHER && strstr(line->operands, "sp") && first != A64_SP)
		return (in->written & least) == least;
	if ((in->class == A64_EXCLUSIVE || in->class == A64_ATOMIC) && first != A64_NONE)
		return !strncmp(line->mnemonic, "st64b", 5) || !strncmp(line->mnemonic, "cas", 3) ||
		       !strncmp(line->mnemonic, "swp", 3) ||
		       *line->mnemonic == 'l' /* its second is what it loads */ ||
		       in->written & 1u << first;
	return (in->written & least) == least;
}

/* Whether it is written in the words of objdump. */
static bool is_text_right(const struct a64 *in, const struct line *line)
{
	struct said said = {.len = 0};
	const char *text = line->operands, *at, *other;

	say_operands(&said, in, line->addr);
	if (in->class == A64_MOV_IMM || in->class == A64_MOV_REG || !said.len)
		return true;
	if (in->class == A64_MOVK && in->shift)
		say(&said, ", lsl #%u", in->shift);
	/* the two names of one extension */
	if (!in->is_64 && (at = strstr(said.text, ", uxtw")) && !strstr(text, ", uxtw"))
		return !strncmp(said.text, text, (size_t)(at - said.text)) &&
		       (!at[6] || !strcmp(at + 8, strchr(text, '#') + 1));
	if (in->class == A64_ADD_IMM && in->imm == 0 && strstr(text, ", lsl #12"))
		return !strncmp(said.text, text, said.len);
	if ((at = strstr(said.text, ", lsl #")) && (other = strstr(text, ", uxtx #")))
		return !strncmp(said.text, text, (size_t)(at - said.text)) &&
		       !strcmp(at + 7, other + 8);
	if ((other = strstr(text, ", uxtx")) && !other[6])
		return !strncmp(said.text, text, said.len) && text + said.len == other;
	/* bytes are shifted by 0, which it says if the bit is set */
	if (in->size_bytes == 1 && (other = strstr(text, " #0]")))
		return !strncmp(said.text, text, said.len - 1);
	return !strcmp(said.text, text);
}

/* The constant of a move, as its text has it. */
static bool is_constant_right(const struct a64 *in, const struct line *line)
{
	const char *hash = strchr(line->operands, '#'), *lsl = strstr(line->operands, "lsl #");
	uint64_t value = hash ? strtoull(hash + 1, NULL, 0) : 0;

	if (in->class != A64_MOV_IMM)
		return true;
	if (lsl)
		value <<= atoi(lsl + 5);
	if (!strcmp(line->mnemonic, "movn"))
		value = ~value;
	if (!in->is_64)
		value = (uint32_t)value;
	return register_at(line->operands) == (in->rd == A64_ZR ? A64_NONE : in->rd) &&
	       value == (uint64_t)in->imm;
}

/* Matrices, and vectors of any length: of these only what they write is known. */
static bool is_scalable(uint32_t word)
{
	return (word >> 25 & 15) == 2 || ((word >> 25 & 15) == 0 && word >> 31);
}

/* Newer than this objdump: retaasppc, autiasppc. */
static bool is_newer(uint32_t word)
{
	return (word & 0xffc0001f) == 0x5500001f || (word & 0xffc0001f) == 0xf380001f;
}

/* ldar and its like whose fields that should be ones are not: objdump takes some of them. */
static bool is_loose(uint32_t word)
{
	return (word & 0x3fa00000) == 0x08800000 && (word & 0x1f7c00) != 0x1f7c00;
}

static bool is_right(const struct a64 *in, const struct line *line)
{
	if (is_scalable(line->word))
		return in->class == A64_UNKNOWN ||
		       (in->class == A64_OTHER && is_written_right(in, line));
	/* debuggers' and transactions': unknown */
	if (is_newer(line->word) || (line->word >> 24 == 0xd4 && in->class == A64_UNKNOWN) ||
	    (is_loose(line->word) && in->class == A64_UNKNOWN))
		return true;
	/* which it takes for undefined where the two are the same, or the base: unpredictable */
	if (line->is_undefined && in->class == A64_LOAD_PAIR && in->is_signed_load)
		return true;
	if (line->is_undefined)
		return in->class == A64_UNKNOWN || in->class == A64_OTHER ||
		       in->class == A64_ATOMIC;
	return in->class != A64_UNKNOWN && is_name_right(in, line->mnemonic) &&
	       is_written_right(in, line) && is_text_right(in, line) && is_constant_right(in, line);
}

/* objdump ----------------------------------------------------------------------------------------- */

/* "  27240:\ta9bf7bf0 \tstp\tx16, x30, [sp, #-16]!\t// ..." */
static bool read_line(FILE *in, struct line *line)
{
	char *at, *end;

	while (fgets(line->text, sizeof(line->text), in)) {
		line->addr = strtoull(line->text, &at, 16);
		if (at == line->text || *at++ != ':' || *at++ != '\t')
			continue;
		line->word = (uint32_t)strtoul(at, &end, 16);
		at = strchr(at, '\t');
		if (!at || end == at)
			continue;
		line->mnemonic = ++at;
		at += strcspn(at, "\t\n");
		line->operands = *at == '\t' ? at + 1 : at;
		*at = '\0';
		at = (char *)line->operands;
		at[strcspn(at, "<\t\n")] = '\0';
		if ((end = strstr(at, " //")))
			*end = '\0';
		while (*at && isspace((unsigned char)at[strlen(at) - 1]))
			at[strlen(at) - 1] = '\0';
		line->is_undefined = *line->mnemonic == '.' || !strcmp(line->mnemonic, "udf");
		return true;
	}
	return false;
}

static void judge(const char *path)
{
	FILE *in = judge_ask(ARM64_OBJDUMP " -d -M no-aliases -z %s", path);
	unsigned int nr = 0, nr_wrong = 0;
	struct line line;

	while (read_line(in, &line)) {
		struct a64 decoded = a64_decode(line.word);

		nr++;
		if (is_right(&decoded, &line))
			continue;
		if (nr_wrong++ < MAX_REPORTS)
			print_error("%08x class %u, writes %08x: %s %s\n", line.word, decoded.class,
				    decoded.written, line.mnemonic, line.operands);
	}
	pclose(in);
	print_message("%s: %u instructions, %u wrong\n", path, nr, nr_wrong);
	assert_in_range(nr, 1000, 10000000);
	assert_int_equal(nr_wrong, 0);
}

static void test_c_library(void **state)
{
	(void)state;
	if (!arm64_judge_is_here() || access(ARM64_LIBC, R_OK))
		skip();
	judge(ARM64_LIBC);
}

static void test_random_words(void **state)
{
	char *path scoped(freep) = xasprintf("%s/random.s", judge_dir);
	FILE *out;

	(void)state;
	if (!arm64_judge_is_here())
		skip();
	out = fopen(path, "w");
	assert_non_null(out);
	for (uint64_t i = 0; i < NR_RANDOM; i++) {
		uint64_t number = i * 0x9e3779b97f4a7c15ull;

		number = (number ^ number >> 29) * 0xbf58476d1ce4e5b9ull;
		fprintf(out, ".inst 0x%08x\n", (uint32_t)(number >> 32));
	}
	fclose(out);
	judge_run(ARM64_CC " -c -o random.o random.s");
	judge("random.o");
}

/* What both C libraries' compilers write, and no objdump is needed for. */
static void test_known_words(void **state)
{
	struct a64 in = a64_decode(0xa9bd7bfd); /* stp x29, x30, [sp, #-48]! */

	(void)state;
	assert_int_equal(in.class, A64_STORE_PAIR);
	assert_int_equal(in.rd, A64_FP);
	assert_int_equal(in.rd2, A64_LR);
	assert_int_equal(in.rn, A64_SP);
	assert_int_equal(in.mode, A64_PRE);
	assert_int_equal(in.imm, -48);
	assert_int_equal(in.written, 1u << A64_SP);
	in = a64_decode(0x910003fd); /* mov x29, sp */
	assert_int_equal(in.class, A64_ADD_IMM);
	assert_int_equal(in.rn, A64_SP);
	assert_int_equal(in.imm, 0);
	in = a64_decode(0xd503233f); /* paciasp */
	assert_int_equal(in.class, A64_SIGN);
	assert_int_equal(in.rd, A64_LR);
	assert_int_equal(in.written, 1u << A64_LR);
	in = a64_decode(0xd65f0bff); /* retaa */
	assert_true(in.class == A64_RET && in.is_signed && in.rn == A64_LR && a64_is_end(&in));
	in = a64_decode(0xd4000001); /* svc #0 */
	assert_int_equal(in.class, A64_SVC);
	assert_int_equal(a64_decode(0).class, A64_UNKNOWN);
	assert_int_equal(a64_word((const uint8_t[]){1, 0, 0, 0xd4}), 0xd4000001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_words),
		cmocka_unit_test(test_c_library),
		cmocka_unit_test(test_random_words),
	};
	judge_dir = temp_folder();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
