// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where functions begin in stripped files, against readelf's list of FDEs; and that the list has the
 * functions that nm knows in the file before it was stripped.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <malloc.h>

#include "base/clock.h"
#include "base/vec.h"
#include "elf_judge.h"
#include "object/functab.h"

struct judged {
	uint64_t start, limit;
};

struct judgement {
	vec_of(struct judged) fdes;  /* in the order of the file */
	vec_of(struct judged) stubs; /* sections */
};

static void judgement_release(struct judgement *judgement)
{
	vec_release(&judgement->fdes);
	vec_release(&judgement->stubs);
}

/* Lines "00000018 0000000000000014 0000001c FDE cie=00000000 pc=0000000000001060..0000000000001081". */
static void judge(struct judgement *judgement, const char *path)
{
	FILE *in = judge_ask("readelf -wN --debug-dump=frames %s 2>/dev/null", path);
	char line[4096];

	while (fgets(line, sizeof(line), in)) {
		const char *pc = strstr(line, " FDE cie=") ? strstr(line, " pc=") : NULL;
		struct judged fde;

		if (pc && sscanf(pc, " pc=%" SCNx64 "..%" SCNx64, &fde.start, &fde.limit) == 2)
			vec_push(&judgement->fdes, fde);
	}
	pclose(in);
	in = judge_ask("readelf -SW %s 2>/dev/null", path);
	while (fgets(line, sizeof(line), in)) {
		struct judged section;
		char name[32];
		uint64_t len;

		if (sscanf(line, " [%*[ 0-9]] %31s %*s %" SCNx64 " %*x %" SCNx64, name,
			   &section.start, &len) != 3 ||
		    strncmp(name, ".plt", 4) != 0)
			continue;
		section.limit = section.start + len;
		vec_push(&judgement->stubs, section);
	}
	pclose(in);
}

static bool is_stub(const struct judgement *judgement, uint64_t addr)
{
	vec_for_each(&judgement->stubs, stub)
		if (addr >= stub->start && addr < stub->limit)
			return true;
	return false;
}

/* The FDE that starts last up to addr, if it reaches so far. */
static bool expect(const struct judgement *judgement, uint64_t addr, uint64_t *start)
{
	const struct judged *best = NULL;

	vec_for_each(&judgement->fdes, fde)
		if (fde->start <= addr && (!best || fde->start > best->start))
			best = fde;
	if (!best || addr >= best->limit || is_stub(judgement, best->start))
		return false;
	*start = best->start;
	return true;
}

static void check_at(const struct judgement *judgement, const struct functab *functab,
		     uint64_t addr)
{
	uint64_t start = 0, expected = 0;
	bool is_there = expect(judgement, addr, &expected);

	if (functab_find(functab, addr, &start) != is_there || start != expected)
		fail_msg("%" PRIx64 ": %" PRIx64 ", not %" PRIx64, addr, start, expected);
}

static void check_file(const char *path, size_t at_least)
{
	struct judgement judgement scoped(judgement_release) = {0};
	struct elf_file *file = judge_open(path);
	struct functab *functab = functab_new(file);

	elf_file_close(file);
	judge(&judgement, path);
	assert_true(judgement.fdes.nr >= at_least);
	vec_for_each(&judgement.fdes, fde) {
		check_at(&judgement, functab, fde->start - 1);
		check_at(&judgement, functab, fde->start);
		check_at(&judgement, functab, fde->start + (fde->limit - fde->start) / 2);
		check_at(&judgement, functab, fde->limit - 1);
		check_at(&judgement, functab, fde->limit);
	}
	vec_for_each(&judgement.stubs, stub)
		check_at(&judgement, functab, stub->start + 16);
	check_at(&judgement, functab, 0);
	check_at(&judgement, functab, UINT64_MAX);
	functab_free(functab);
}

static void test_against_readelf(void **state)
{
	(void)state;
	check_file("pie", 4);
	check_file("fixed", 4);
	check_file("ibt", 4);
	check_file("stripped", 4);
	check_file("static", 100);
	check_file(LIBC, 1000);
}

/* What nm knows in a file is where a function begins in the same file without its symbols. */
static void test_stripped_functions(void **state)
{
	static const char *const names[] = {"main", "outer", "one", "pick"};
	struct elf_file *file = judge_open("stripped");
	struct functab *functab = functab_new(file);

	(void)state;
	elf_file_close(file);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *ask scoped(freep) = xasprintf("nm %%s | grep ' %s$'", names[i]);
		FILE *in = judge_ask(ask, "pie");
		uint64_t addr, start = 0;

		assert_int_equal(fscanf(in, "%" SCNx64, &addr), 1);
		pclose(in);
		assert_true(functab_find(functab, addr, &start));
		assert_int_equal(start, addr);
		start = 0;
		assert_true(functab_find(functab, addr + 3, &start));
		assert_int_equal(start, addr);
	}
	functab_free(functab);
}

static void check_empty(const struct elf_file *file)
{
	struct functab *functab = functab_new(file);
	uint64_t start = 1;

	assert_int_equal(functab_nr(functab), 0);
	assert_false(functab_find(functab, 0, &start));
	assert_false(functab_find(functab, UINT64_MAX, &start));
	assert_int_equal(start, 1);
	functab_free(functab);
}

static void test_nothing_to_read(void **state)
{
	static const char *const files[] = {"pie.debug", "a.o", "bare"};

	(void)state;
	judge_run("objcopy -R .eh_frame -R .eh_frame_hdr stripped bare");
	check_empty(NULL);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct elf_file *file = judge_open(files[i]);

		check_empty(file);
		elf_file_close(file);
	}
}

/* The same functions, and behind them so many zeros. */
static size_t nr_in_padded(const char *size)
{
	char *command scoped(freep) =
		xasprintf("objcopy --dump-section .eh_frame=frames stripped && "
			  "truncate -s %s frames && objcopy --update-section .eh_frame=frames "
			  "-R .eh_frame_hdr stripped padded",
			  size);
	struct elf_file *file;
	struct functab *functab;
	size_t nr;

	judge_run(command);
	file = judge_open("padded");
	functab = functab_new(file);
	nr = functab_nr(functab);
	functab_free(functab);
	elf_file_close(file);
	return nr;
}

static void test_too_long(void **state)
{
	(void)state;
	assert_true(nr_in_padded("64M") >= 4);
	assert_int_equal(nr_in_padded("65M"), 0);
}

static void test_cost(void **state)
{
	static const char *const files[] = {LIBC, "/usr/bin/python3",
					    "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1"};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
		uint64_t begin = clock_monotonic_ns(), built;
		struct elf_file *file = NULL;
		struct functab *functab;

		if (elf_file_open(judge_fd(files[i]), &file) < 0)
			continue;
		functab = functab_new(file);
		elf_file_close(file);
		built = clock_monotonic_ns();
		print_message("  %s: %zu functions, %.1f ms, %zu KiB\n", files[i],
			      functab_nr(functab), (double)(built - begin) / 1e6,
			      (mallinfo2().uordblks + mallinfo2().hblkhd - before) / 1024);
		functab_free(functab);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_readelf),
		cmocka_unit_test(test_stripped_functions),
		cmocka_unit_test(test_nothing_to_read),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_cost),
	};

	judge_build();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
