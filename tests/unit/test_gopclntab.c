// SPDX-License-Identifier: BSD-2-Clause
/*
 * The functions of Go programs: in the small files of tests/fuzz/make_gopclntab_corpus.py, one for each format and many
 * that lie, and in a program of the Go that is installed, stripped, against nm(1) of the same program before.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <inttypes.h>

#include "elf_judge.h"
#include "object/gopclntab.h"

static struct gopclntab *read_table(const char *path)
{
	struct elf_file *file = judge_open(path);
	struct gopclntab *table = gopclntab_new(file);

	elf_file_close(file);
	return table;
}

static void expect(const struct gopclntab *table, uint64_t elf_addr, const char *name,
		   uint64_t function)
{
	uint64_t start = 1;
	const char *found = gopclntab_find(table, elf_addr, &start);

	if (!name) {
		assert_null(found);
		assert_int_equal(start, 1);
		return;
	}
	assert_non_null(found);
	assert_string_equal(found, name);
	assert_int_equal(start, function);
}

static void expect_all(const struct gopclntab *table)
{
	assert_int_equal(gopclntab_nr(table), 3);
	expect(table, 0x400fff, NULL, 0);
	expect(table, 0x401000, "main.a", 0x401000);
	expect(table, 0x40103f, "main.a", 0x401000);
	expect(table, 0x401040, "main.(*T).b", 0x401040);
	expect(table, 0x4010ff, "main.(*T).b", 0x401040);
	expect(table, 0x401100, "main.c[...]", 0x401100);
	expect(table, 0x4011ff, "main.c[...]", 0x401100);
	expect(table, 0x401200, NULL, 0);
	expect(table, UINT64_MAX, NULL, 0);
}

static void expect_file(const char *path, const char *name)
{
	struct gopclntab *table;

	if (*name == '.')
		return;
	table = read_table(path);
	if (!strncmp(name, "good_", 5)) {
		assert_non_null(table);
		expect_all(table);
	} else if (strncmp(name, "odd_", 4) != 0) {
		assert_null(table);
	}
	gopclntab_free(table);
}

static void test_formats_and_lies(void **state)
{
	char *folder scoped(freep) = xasprintf("%s/fuzz/corpus/gopclntab", TESTS_DIR);
	DIR *dir = opendir(folder);
	struct dirent *entry;
	size_t nr = 0;

	(void)state;
	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		char *path scoped(freep) = xasprintf("%s/%s", folder, entry->d_name);

		expect_file(path, entry->d_name);
		nr++;
	}
	closedir(dir);
	assert_true(nr > 50);
}

static void test_no_go(void **state)
{
	struct elf_file *file = judge_open("pie");

	(void)state;
	assert_null(gopclntab_new(NULL));
	assert_null(gopclntab_new(file));
	assert_false(gopclntab_is_there(NULL));
	assert_false(gopclntab_is_there(file));
	elf_file_close(file);
	expect(NULL, 1, NULL, 0);
	gopclntab_free(NULL);
}

/* A symbol's name, as the table has it: without what tells the two calling conventions apart. */
static bool is_same_name(char *symbol, const char *name)
{
	char *abi = strstr(symbol, ".abi");

	if (abi)
		*abi = '\0';
	return !strcmp(symbol, name);
}

/* Of each symbol between runtime.text and runtime.etext, which are no functions. */
static size_t compare(const struct gopclntab *table, size_t *nr_same)
{
	FILE *in = judge_ask("nm -n %s | sed -n '/ runtime.text$/,/ runtime.etext$/p'", "gopie");
	char line[4096], symbol[2048];
	uint64_t addr, start;
	size_t nr = 0;

	while (fgets(line, sizeof(line), in)) {
		const char *name;

		if (sscanf(line, "%" SCNx64 " %*1[tT] %2047[^\n]", &addr, symbol) != 2 ||
		    strstr(symbol, ":") || !strcmp(symbol, "runtime.text") ||
		    !strcmp(symbol, "runtime.etext"))
			continue;
		name = gopclntab_find(table, addr, &start);
		assert_non_null(name);
		assert_int_equal(start, addr);
		nr++;
		*nr_same += is_same_name(symbol, name);
	}
	pclose(in);
	return nr;
}

static void test_against_nm(void **state)
{
	struct gopclntab *table;
	struct elf_file *file;
	size_t nr, nr_same = 0;

	(void)state;
	if (system("command -v go >/dev/null 2>&1")) {
		if (getenv("TEST_JUDGES"))
			fail_msg("no go here: scripts/setup.sh all installs it");
		skip();
	}
	judge_run("printf 'package main\\nfunc main() { println(\"x\") }\\n' >main.go && "
		  "GOFLAGS=-mod=mod GOTOOLCHAIN=local HOME=${HOME:-$PWD} "
		  "go build -buildmode=pie -o gopie main.go && strip -o gostripped gopie");
	file = judge_open("gostripped");
	assert_true(gopclntab_is_there(file));
	elf_file_close(file);
	table = read_table("gostripped");
	assert_non_null(table);
	nr = compare(table, &nr_same);
	gopclntab_free(table);
	print_message("  %zu functions, %zu with the symbol's name\n", nr, nr_same);
	assert_true(nr > 500);
	/* One code that serves as two functions has the name of either. */
	assert_true(nr_same >= nr - nr / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats_and_lies),
		cmocka_unit_test(test_no_go),
		cmocka_unit_test(test_against_nm),
	};

	judge_build();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
