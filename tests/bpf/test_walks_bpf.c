/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hundred thousand random walks through real unwind tables (libc, libstdc++, python3, this program)
 * and through two that are made up of every rule there can be: the BPF unwinder and the plain walker
 * must agree on every frame and on the end.
 *
 * Random words end a walk at once, so half of the stacks are cultivated: the plain walker goes ahead,
 * and where a return address or a saved rbp that it read leads nowhere, one that does is written there.
 */
#include "shim/walker.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "object/elf.h"

#define NR_WALKS    100000
#define STACK	    0x7ffc00000000ull
#define STACK_PAGES 4
#define STACK_WORDS (STACK_PAGES * 512)
#define MAX_FILES   8

struct file {
	struct unwind_table *table;
	u64 bias;
	u32 id;
	vec_of(u64) extended; /* ips of rows with extended rules */
};

struct fixture {
	struct walker walker;
	struct file files[MAX_FILES];
	u32 nr_files;
	u64 next_base;
	u64 jit_at; /* code that no table describes, but it can be read */
	u8 jit[4096];
	u64 words[STACK_WORDS];
};

static u64 random_u64(void)
{
	u64 high = bpf_get_prandom_u32();

	return high << 32 | bpf_get_prandom_u32();
}

static u32 below(u32 limit)
{
	return bpf_get_prandom_u32() % limit;
}

/* Tables ----------------------------------------------------------------------------------------- */

static void note_extended(struct file *file)
{
	const struct unwind_table *table = file->table;

	for (u32 page = 0; page < table->nr_pages; page++)
		for (u32 row = table->pages[page]; row < table->pages[page + 1]; row++)
			if (unwind_row_rule(table->rows[row]) & UNWIND_RULE_EXTENDED)
				vec_push(&file->extended, table->start + page * HOST_PAGE_BYTES +
								  (unwind_row_pc(table->rows[row])
								   << HOST_MACHINE->pc_shift) +
								  file->bias);
}

static void add_table(struct fixture *f, struct unwind_table *table, bool gap_by_fp)
{
	struct file *file = &f->files[f->nr_files++];
	u64 start = f->next_base, limit = start + table->nr_pages * HOST_PAGE_BYTES;

	assert_true(f->nr_files <= MAX_FILES);
	*file = (struct file){.table = table, .bias = start - table->start};
	file->id = walker_upload(&f->walker, table);
	note_extended(file);
	walker_add_vma(&f->walker, start, limit, file->bias, table, file->id);
	f->walker.vmas.at[f->walker.vmas.nr - 1].gap_by_fp = gap_by_fp;
	f->next_base = limit + below(3) * HOST_PAGE_BYTES;
}

static void add_file(struct fixture *f, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct unwind_table *table;
	struct elf_file *elf;

	if (fd < 0) {
		print_message("no %s here: walks go without it\n", path);
		return;
	}
	assert_int_equal(elf_file_open(fd, &elf), 0);
	assert_int_equal(unwind_table_from_elf(elf, &table), 0);
	elf_file_close(elf);
	close(fd);
	print_message("%s: %u pages, %u rows, %u extended rules\n", path, table->nr_pages,
		      table->nr_rows, table->nr_extended);
	add_table(f, table, false);
}

static s32 random_offset(void)
{
	s32 off = (s32)below(64) * 8 - 64;

	return below(10) ? off : off + (s32)below(8);
}

static struct unwind_rule random_rule(void)
{
	const u8 registers[] = {HOST_MACHINE->sp, HOST_MACHINE->sp, HOST_MACHINE->fp,
				HOST_MACHINE->extra};
	struct unwind_rule rule = {
		.kind = below(3) ? UNWIND_FRAME : below(UNWIND_NR_KINDS + 1),
		.cfa_reg = below(4) ? registers[below(4)] : below(UNWIND_NR_REGS),
		.how = unwind_how_pack(below(UNWIND_NR_HOWS + 1),
				       below(4) ? UNWIND_AT_CFA : below(UNWIND_NR_HOWS + 1)),
		.extra_slot = below(6),
		.cfa_off = random_offset(),
		.fp_off = random_offset(),
		.ra_off = below(2) ? -8 : random_offset(),
		.deref_off = random_offset(),
	};

	/* What the packer never makes: gaps but the first of extended[], registers that there are not. */
	if (rule.kind == UNWIND_GAP)
		rule.kind = UNWIND_ROOT;
	if (rule.kind == UNWIND_INDEXED || unwind_ra_how(&rule) == UNWIND_IN_REG)
		rule.ra_off = below(UNWIND_NR_REGS);
	if (unwind_fp_how(&rule) == UNWIND_IN_REG)
		rule.fp_off = below(UNWIND_NR_REGS);
	return rule;
}

/* A run that goes below 0 is what the packer never makes. */
static u32 random_inline(void)
{
	u32 packed = bpf_get_prandom_u32() & (UNWIND_RULE_EXTENDED - 1);

	if (HOST_MACHINE->has_link) /* it has none */
		return packed;
	return x86_rule_cfa_off(packed) < 24 ? packed & ~X86_RULE_RUN_DOWN : packed;
}

/* One that has rules of every kind, in pages of 1 to 4096 rows. */
static struct unwind_table *random_table(u32 nr_pages)
{
	struct unwind_table *table = unwind_table_uniform(
		HOST_ARCH, 0x10000, 0x10000 + nr_pages * HOST_PAGE_BYTES, UNWIND_FP);
	vec_of(u32) rows = {0};
	const u32 nr_extended = 2000;

	free(table->pages);
	table->pages = xcalloc(nr_pages + 1, sizeof(u32));
	table->nr_pages = nr_pages;
	for (u32 page = 0; page < nr_pages; page++) {
		u32 sparse = 1 + (1u << below(13)), pc = 0;

		table->pages[page] = rows.nr;
		for (; pc < 4096; pc += 1 + below(sparse))
			vec_push(&rows, unwind_row_pack(pc, below(3) ? random_inline()
								     : UNWIND_RULE_EXTENDED |
									       below(nr_extended)));
	}
	table->pages[nr_pages] = rows.nr;
	free(table->rows);
	table->rows = rows.at;
	table->nr_rows = rows.nr;
	table->extended = xreallocarray(table->extended, nr_extended, sizeof(struct unwind_rule));
	for (u32 i = UNWIND_NR_FIXED_EXTENDED; i < nr_extended; i++)
		table->extended[i] = random_rule();
	table->nr_extended = nr_extended;
	return table;
}

struct piece {
	const char *bytes;
	size_t len;
};

#define PIECE(string)                      \
	{                                  \
		string, sizeof(string) - 1 \
	}

#ifdef __TARGET_ARCH_arm64
static const struct piece pieces[] = {
	PIECE("\x1f\x20\x03\xd5"), /* nop */
	PIECE("\xc0\x03\x5f\xd6"), /* ret */
	PIECE("\xfd\x7b\xbe\xa9"), /* stp x29,x30,[sp,#-32]! */
	PIECE("\xfd\x7b\x01\xa9"), /* stp x29,x30,[sp,#16] */
	PIECE("\xfd\x7b\xc2\xa8"), /* ldp x29,x30,[sp],#32 */
	PIECE("\xfd\x7b\x41\xa9"), /* ldp x29,x30,[sp,#16] */
	PIECE("\xfe\x07\x41\xf8"), /* ldr x30,[sp],#16 */
	PIECE("\xf3\x53\xc2\xa8"), /* ldp x19,x20,[sp],#32 */
	PIECE("\xfd\x03\x00\x91"), /* mov x29,sp */
	PIECE("\xbf\x03\x00\x91"), /* mov sp,x29 */
	PIECE("\xff\x83\x00\x91"), /* add sp,sp,#32 */
	PIECE("\xff\x83\x00\xd1"), /* sub sp,sp,#32 */
	PIECE("\x3f\x23\x03\xd5"), /* paciasp */
	PIECE("\x03\x00\x00\x14"), /* b */
	PIECE("\x03\x00\x00\x94"), /* bl */
	PIECE("\x20\x00\x3f\xd6"), /* blr x1 */
	PIECE("\x20\x02\x1f\xd6"), /* br x17 */
	PIECE("\x00\x00\x1f\xd6"), /* br x0 */
};
#else
static const struct piece pieces[] = {
	PIECE("\x55"),
	PIECE("\x48\x89\xe5"),
	PIECE("\x55\x48\x8b\xec"),
	PIECE("\x5d"),
	PIECE("\xc3"),
	PIECE("\xc9"),
	PIECE("\x41\x5c"),
	PIECE("\x5b"),
	PIECE("\x5c"),
	PIECE("\x48\x83\xc4\x08"),
	PIECE("\x48\x83\xec\x28"),
	PIECE("\x48\x83\xc4\xf8"),
	PIECE("\xff\xd1"),
	PIECE("\xff\x54\x24\x18"),
	PIECE("\xe8\x01\x02\x03\x04"),
	PIECE("\xf3\x0f\x1e\xfa"),
	PIECE("\xf3\xc3"),
};
#endif

/* Mostly what a straight line is made of, and calls. */
static void make_code(struct fixture *f)
{
	const u32 nr = sizeof(pieces) / sizeof(pieces[0]), unit = 1u << HOST_MACHINE->pc_shift;

	for (u32 at = 0; at < sizeof(f->jit);) {
		const struct piece *piece = &pieces[below(nr)];

		if (!below(20) || at + piece->len > sizeof(f->jit)) {
			for (u32 i = 0; i < unit; i++)
				f->jit[at++] = below(256);
			continue;
		}
		memcpy(f->jit + at, piece->bytes, piece->len);
		at += piece->len;
	}
}

static int set_up(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	host_open();
	walker_open(&f->walker);
	f->next_base = 0x400000;
	add_table(f, random_table(100), false);
	if (HOST_ARCH == unwind_arch_here()) {
		add_file(f, "/usr/bin/python3");
		add_file(f, "/proc/self/exe");
	}
	f->jit_at = f->next_base;
	make_code(f);
	walker_add_vma(&f->walker, f->jit_at, f->jit_at + 4096, 0, NULL, ABI_TABLE_NO_CFI);
	f->next_base = 0x7f0000000000;
	add_file(f, HOST_LIBRARIES "libc.so.6");
	add_file(f, HOST_LOADER);
	add_file(f, HOST_LIBRARIES "libstdc++.so.6");
	add_table(f, random_table(10), true);
	walker_add_vma(&f->walker, f->next_base, f->next_base + 4096, 0, NULL, ABI_TABLE_UNBUILT);
	walker_publish(&f->walker);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	for (u32 i = 0; i < f->nr_files; i++) {
		unwind_table_free(f->files[i].table);
		vec_release(&f->files[i].extended);
	}
	walker_release(&f->walker);
	free(f);
	host_close();
	return 0;
}

/* Stacks ----------------------------------------------------------------------------------------- */

static u64 random_ip(const struct fixture *f)
{
	const struct file *file = &f->files[below(f->nr_files)];

	if (!below(20))
		return f->jit_at + below(4096);
	if (!below(50)) /* any vma, those without tables too */
		return f->walker.vmas.at[below(f->walker.vmas.nr)].start + below(4096);
	if (file->extended.nr && !below(5))
		return file->extended.at[below(file->extended.nr)] + 1;
	return file->table->start + file->bias +
	       random_u64() % (file->table->nr_pages * HOST_PAGE_BYTES);
}

static u64 random_stack_address(void)
{
	u64 address = STACK + 8ull * below(STACK_WORDS);

	return below(50) ? address : address + below(8);
}

static u64 random_word(const struct fixture *f)
{
	switch (below(8)) {
	case 0:
		return below(1000);
	case 1:
	case 2:
		return random_stack_address();
	case 3:
		return random_u64() >> below(64);
	default:
		return random_ip(f);
	}
}

/* Sometimes a page of it is not there. */
static void map_stack(struct fixture *f)
{
	u32 missing = below(2 * STACK_PAGES);

	host.nr_ranges = 0;
	host_add_range(f->jit_at, f->jit, sizeof(f->jit));
	for (u32 i = 0; i < STACK_PAGES; i++)
		if (i != missing || i == 0)
			host_add_range(STACK + 4096ull * i, f->words + 512 * i, 4096);
}

static struct pt_regs random_registers(const struct fixture *f)
{
	struct pt_regs regs;
	unsigned long *all = (unsigned long *)&regs;

	for (size_t i = 0; i < sizeof(regs) / sizeof(*all); i++)
		all[i] = random_word(f);
	HOST_IP(&regs) = below(50) ? random_ip(f) : random_u64();
	regs.sp = STACK + 8 * below(256);
	if (!below(20))
		regs.sp = below(2) ? regs.sp + below(8) : random_u64();
	if (below(2))
		HOST_FP(&regs) = regs.sp + 8 * below(64);
	return regs;
}

static bool is_code(const struct fixture *f, u64 ip)
{
	for (size_t i = 0; i < f->walker.vmas.nr; i++)
		if (ip - f->walker.vmas.at[i].start <
		    f->walker.vmas.at[i].limit - f->walker.vmas.at[i].start)
			return true;
	return false;
}

/* Replaces the words between two stack pointers that hold `old`. */
static bool replace(struct fixture *f, u64 from, u64 limit, u64 old, u64 new)
{
	bool replaced = false;

	for (u32 i = 0; i < STACK_WORDS; i++)
		if (STACK + 8ull * i >= from && STACK + 8ull * i < limit && f->words[i] == old) {
			f->words[i] = new;
			replaced = true;
		}
	return replaced;
}

/* Goes ahead, and makes the stack lead on. */
static void cultivate(struct fixture *f, const struct pt_regs *regs)
{
	u64 leaf[UNWIND_NR_REGS], guessed;
	struct unwind_regs at = walker_begin(regs, leaf), before;

	for (u32 tries = 0; tries < 200; tries++) {
		before = at;
		if (walker_step(&f->walker, &at, &guessed))
			return;
		if (!is_code(f, at.ip - 1) && below(20) &&
		    replace(f, at.sp - 64, at.sp + 64, at.ip, random_ip(f)))
			at = before;
		else if (at.fp != before.fp && at.fp - at.sp > 4096 && below(20) &&
			 replace(f, before.sp, at.sp, at.fp, at.sp + 8 * below(64)))
			at = before;
	}
}

static void test_random_walks(void **state)
{
	struct fixture *f = *state;
	u32 ends[ABI_NR_STACK_ENDS] = {0}, most = 0;
	u64 nr_frames = 0;
	struct walked walked;

	for (u32 i = 0; i < NR_WALKS; i++) {
		struct pt_regs regs;

		/* Most of a new stack is like the last one: new words are what takes time. */
		for (u32 j = 0; j < (i ? 200 : STACK_WORDS); j++)
			f->words[i ? below(STACK_WORDS) : j] = random_word(f);
		map_stack(f);
		regs = random_registers(f);
		if (below(2))
			cultivate(f, &regs);
		if (!walker_agree(&f->walker, &regs, &walked))
			fail_msg("walk %u differs", i);
		ends[walked.end]++;
		nr_frames += walked.nr;
		most = walked.nr > most ? walked.nr : most;
	}
	print_message("%u walks, %.1f frames each, %u at most; ends:", NR_WALKS,
		      (double)nr_frames / NR_WALKS, most);
	for (u32 i = 0; i < ABI_NR_STACK_ENDS; i++)
		print_message(" %u", ends[i]);
	print_message("\n");
	for (u32 end = 0; end < ABI_NR_STACK_ENDS; end++)
		if (end != ABI_END_NO_USER && end != ABI_END_NO_REGISTERS &&
		    end != ABI_END_FOREIGN && end != ABI_END_TOO_DEEP)
			assert_true(ends[end] > 0);
}

/* Each row of the real tables, and the byte before it: all of the look-up, one step each. */
static void test_every_row(void **state)
{
	struct fixture *f = *state;
	struct walked walked;
	u64 nr = 0;

	for (u32 i = 0; i < STACK_WORDS; i++)
		f->words[i] = 0;
	host.nr_ranges = 0;
	host_add_range(STACK, f->words, sizeof(f->words));
	for (u32 i = 0; i < f->nr_files; i++) {
		const struct file *file = &f->files[i];
		const struct unwind_table *table = file->table;

		for (u32 page = 0; page < table->nr_pages; page++)
			for (u32 row = table->pages[page]; row < table->pages[page + 1]; row++) {
				u64 addr =
					table->start + page * HOST_PAGE_BYTES +
					(unwind_row_pc(table->rows[row]) << HOST_MACHINE->pc_shift);
				struct pt_regs regs = {.sp = STACK + 512};

				HOST_FP(&regs) = STACK + 1024;
				HOST_IP(&regs) = addr + file->bias - nr++ % 2;
				assert_true(walker_agree(&f->walker, &regs, &walked));
			}
	}
	print_message("%llu rows\n", nr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_walks),
		cmocka_unit_test(test_every_row),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
