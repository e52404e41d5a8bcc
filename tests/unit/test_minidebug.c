// SPDX-License-Identifier: BSD-2-Clause
/*
 * .gnu_debugdata as Fedora's find-debuginfo makes it, by nm, objcopy and xz: the names of the stripped file are those of
 * both of its tables.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "elf_judge.h"
#include "object/minidebug.h"
#include "object/symtab.h"

static const char source[] =
	"__attribute__((noinline)) static int hidden(int x) { return x * 3 + 1; }\n"
	"__attribute__((noinline)) static int other(int x) { return x * 5 + hidden(x); }\n"
	"int exported(int x) { return other(x) * 7; }\n"
	"int same(int x) { return x * 11; }\n";

/* What is in .dynsym is left out, as are the files' other symbols; then the rest is compressed. */
static const char build[] =
	"gcc -O1 -shared -fPIC -Wl,--build-id -o full.so mini.c && "
	"nm -D full.so --format=posix --defined-only | awk '{print $1}' | sort >dynsyms && "
	"nm full.so --format=posix --defined-only | awk '$2 ~ /[tT]/ {print $1}' | sort >funcsyms "
	"&& "
	"comm -13 dynsyms funcsyms >keep && "
	"objcopy --only-keep-debug full.so debug && "
	"objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols=keep "
	"debug mini && "
	"strip -s -o bare.so full.so && xz -k mini && "
	"objcopy --add-section .gnu_debugdata=mini.xz bare.so with.so && "
	"head -c 100 mini.xz >cut.xz && objcopy --add-section .gnu_debugdata=cut.xz bare.so cut.so "
	"&& "
	"head -c 70000000 /dev/zero >zeros && xz -0 zeros && "
	"objcopy --add-section .gnu_debugdata=zeros.xz bare.so bomb.so && "
	"head -c 100000 /dev/zero >few && xz --lzma2=dict=512MiB few && "
	"objcopy --add-section .gnu_debugdata=few.xz bare.so greedy.so && "
	"head -c 1000 /dev/zero >none && objcopy --add-section .gnu_debugdata=none bare.so none.so "
	"&& "
	"xz -k none && objcopy --add-section .gnu_debugdata=none.xz bare.so noelf.so";

static struct symtab *symbols_of(const char *path)
{
	struct elf_file *file = judge_open(path);
	struct symtab *symtab = symtab_new(file);

	elf_file_close(file);
	return symtab;
}

static bool is_there(const char *path, const char *name, uint64_t *addr)
{
	struct symtab *symtab = symbols_of(path);
	struct symbol symbol = {0};
	bool is_ifunc, found = symtab_lookup(symtab, name, &symbol, &is_ifunc);

	*addr = symbol.elf_addr;
	symtab_free(symtab);
	return found;
}

static void test_merged_with_dynsym(void **state)
{
	static const char *const names[] = {"hidden", "other", "exported", "same"};
	uint64_t addr, expected;

	(void)state;
	assert_false(is_there("bare.so", "hidden", &addr));
	assert_true(is_there("bare.so", "exported", &addr));
	for (size_t i = 0; i < 4; i++) {
		struct symtab *symtab = symbols_of("with.so");
		struct symbol symbol;

		assert_true(is_there("with.so", names[i], &addr));
		assert_true(is_there("full.so", names[i], &expected));
		assert_int_equal(addr, expected);
		assert_true(symtab_find(symtab, addr + 1, &symbol));
		assert_string_equal(symbol.name, names[i]);
		symtab_free(symtab);
	}
}

static int read_of(const char *path)
{
	struct elf_file *file = judge_open(path);
	size_t len_bytes = 1;
	void *image = NULL;
	int err = minidebug_read(file, &image, &len_bytes);

	if (err) {
		assert_null(image);
		assert_int_equal(len_bytes, 1);
	}
	free(image);
	elf_file_close(file);
	return err;
}

/* What is damaged or too large costs its own names and no others. */
static void test_damaged(void **state)
{
	static const char *const files[] = {"cut.so", "bomb.so", "greedy.so", "none.so",
					    "noelf.so"};
	uint64_t addr;

	(void)state;
	assert_int_equal(read_of("bare.so"), -ENOENT);
	assert_int_equal(read_of("with.so"), 0);
	assert_int_equal(read_of("cut.so"), -EBADMSG);
	assert_int_equal(read_of("bomb.so"), -EFBIG);
	assert_int_equal(read_of("greedy.so"), -EFBIG);
	assert_int_equal(read_of("none.so"), -EBADMSG);
	assert_int_equal(read_of("noelf.so"), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		assert_true(is_there(files[i], "exported", &addr));
		assert_false(is_there(files[i], "hidden", &addr));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merged_with_dynsym),
		cmocka_unit_test(test_damaged),
	};
	char *path scoped(freep) = NULL;
	FILE *out;

	judge_dir = temp_folder();
	path = xasprintf("%s/mini.c", judge_dir);
	out = fopen(path, "w");
	if (!out)
		abort();
	fputs(source, out);
	fclose(out);
	judge_run(build);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
