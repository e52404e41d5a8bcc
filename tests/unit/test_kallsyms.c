// SPDX-License-Identifier: BSD-2-Clause
/* Kernel symbols: made-up texts for the rules, this kernel's own against a second reading of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "object/kallsyms.h"

static int read_text(const char *text, size_t len, struct kallsyms **kallsyms)
{
	int fd scoped(closep) = memfd_create("kallsyms", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, len), len);
	return kallsyms_read(fd, kallsyms);
}

static const char kernel_text[] = "ffffffff81000000 T _text\n"
				  "ffffffff81000000 T startup\n"
				  "ffffffff81000100 t __pfx_alpha\n"
				  "ffffffff81000110 t alpha\n"
				  "ffffffff81000200 W __alpha_weak\n"
				  "ffffffff81000200 t alpha_local\n"
				  "ffffffff81000300 T beta\n"
				  "ffffffff81900000 T gamma\n"
				  "ffffffff81900100 T _etext\n"
				  "ffffffff81a00000 D some_data\n"
				  "ffffffff81a00100 T not_in_text\n"
				  "ffffffff82000000 T _sinittext\n"
				  "ffffffff82000000 t early\n"
				  "ffffffff82000100 T _einittext\n"
				  "ffffffffc0002000 t second\t[ext4]\n"
				  "ffffffffc0001000 t first\t[ext4]\n"
				  "ffffffffc0001800 d ext4_data\t[ext4]\n"
				  "ffffffffc0900000 t bpf_prog_1\t[bpf]\n"
				  "ffffffffc0901000 t bpf_prog_2\t[bpf]\n"
				  "garbage\n"
				  "ffffffff8100011g t bad_hex\n"
				  "11112222333344445 t too_long\n"
				  "ffffffff81000112 t\n"
				  "ffffffff81000112 t x\t[unclosed\n"
				  "ffffffffd0000000 t no_newline\t[last]";

static void expect(const struct kallsyms *kallsyms, uint64_t addr, const char *name,
		   const char *module)
{
	struct kernel_symbol symbol = {0};
	bool found = kallsyms_find(kallsyms, addr, &symbol);

	if (!name && found)
		fail_msg("0x%" PRIx64 " should have no name, has %s", addr, symbol.name);
	if (!name)
		return;
	if (!found)
		fail_msg("0x%" PRIx64 " should be %s", addr, name);
	assert_string_equal(symbol.name, name);
	assert_string_equal(symbol.module, module);
	assert_true(symbol.addr <= addr);
}

static void test_rules(void **state)
{
	struct kallsyms *kallsyms;
	uint64_t addr = 0;

	(void)state;
	assert_int_equal(read_text(kernel_text, sizeof(kernel_text) - 1, &kallsyms), 0);
	expect(kallsyms, 0, NULL, NULL);
	expect(kallsyms, 0xffffffff80ffffff, NULL, NULL);
	expect(kallsyms, 0xffffffff81000000, "startup", "");
	expect(kallsyms, 0xffffffff810000ff, "startup", "");
	expect(kallsyms, 0xffffffff81000100, NULL, NULL); /* padding */
	expect(kallsyms, 0xffffffff81000110, "alpha", "");
	expect(kallsyms, 0xffffffff810001ff, "alpha", "");
	expect(kallsyms, 0xffffffff81000200, "__alpha_weak", ""); /* weak before local */
	expect(kallsyms, 0xffffffff818fffff, "beta", "");	  /* long, but in the kernel */
	expect(kallsyms, 0xffffffff819000ff, "gamma", "");
	expect(kallsyms, 0xffffffff81900100, NULL, NULL);
	expect(kallsyms, 0xffffffff81a00000, NULL, NULL);
	expect(kallsyms, 0xffffffff81a00110, NULL, NULL);
	expect(kallsyms, 0xffffffff82000010, "early", "");
	expect(kallsyms, 0xffffffff82000100, NULL, NULL);
	expect(kallsyms, 0xffffffffc0000fff, NULL, NULL);
	expect(kallsyms, 0xffffffffc0001000, "first", "ext4");
	expect(kallsyms, 0xffffffffc0001800, NULL, NULL); /* data */
	expect(kallsyms, 0xffffffffc0002fff, "second", "ext4");
	expect(kallsyms, 0xffffffffc0002000 + KALLSYMS_REACH_BYTES - 1, "second", "ext4");
	expect(kallsyms, 0xffffffffc0002000 + KALLSYMS_REACH_BYTES, NULL, NULL);
	expect(kallsyms, 0xffffffffc0900fff, "bpf_prog_1", "bpf");
	expect(kallsyms, 0xffffffffc0901000, "bpf_prog_2", "bpf");
	expect(kallsyms, 0xffffffffc0901000 + KALLSYMS_REACH_BYTES, NULL, NULL);
	expect(kallsyms, 0xffffffffd0000000, "no_newline", "last");
	expect(kallsyms, UINT64_MAX, NULL, NULL);
	assert_true(kallsyms_lookup(kallsyms, "_etext", &addr));
	assert_int_equal(addr, 0xffffffff81900100);
	assert_false(kallsyms_lookup(kallsyms, "first", &addr)); /* of a module */
	assert_false(kallsyms_lookup(kallsyms, "bad_hex", &addr));
	assert_int_equal(kallsyms_nr(kallsyms), 17);
	kallsyms_free(kallsyms);
}

static void test_without_marks(void **state)
{
	static const char text[] = "ffffffff81000000 T only\n";
	struct kallsyms *kallsyms;

	(void)state;
	assert_int_equal(read_text(text, sizeof(text) - 1, &kallsyms), 0);
	expect(kallsyms, 0xffffffff8100ffff, "only", "");
	expect(kallsyms, 0xffffffff81010000, NULL, NULL);
	kallsyms_free(kallsyms);
}

static void test_errors(void **state)
{
	static const char hidden[] = "0000000000000000 T _text\n0000000000000000 t foo\t[bar]\n";
	static const char data[] = "ffffffff81000000 D nothing_to_run\n";
	struct kallsyms *kallsyms = NULL;
	char *line scoped(freep) = xmalloc(200000);

	(void)state;
	assert_int_equal(read_text(hidden, sizeof(hidden) - 1, &kallsyms), -EPERM);
	assert_int_equal(read_text(data, sizeof(data) - 1, &kallsyms), -EINVAL);
	assert_int_equal(read_text("", 0, &kallsyms), -EINVAL);
	assert_int_equal(kallsyms_read(-1, &kallsyms), -EIO);
	memset(line, 'a', 200000);
	assert_int_equal(read_text(line, 200000, &kallsyms), -EINVAL);
	assert_null(kallsyms);
	kallsyms_free(NULL);
	/* A line longer than any buffer is lost, its neighbours are not. */
	memcpy(line, "ffffffff81000000 T a\n", 21);
	memcpy(line + 200000 - 22, "\nffffffff81000010 T b\n", 22);
	assert_int_equal(read_text(line, 200000, &kallsyms), 0);
	assert_int_equal(kallsyms_nr(kallsyms), 2);
	kallsyms_free(kallsyms);
}

/* Every function of this kernel is found at its own address, under one of this address's names. */
static void test_this_kernel(void **state)
{
	FILE *judge scoped(fclosep) = fopen("/proc/kallsyms", "r");
	int fd scoped(closep) = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	struct kallsyms *kallsyms = NULL;
	uint64_t begin = clock_monotonic_ns(), etext = 0, addr, previous = 0;
	char line[1024], name[600], type;
	size_t nr = 0, nr_same = 0, nr_text = 0;
	int err;

	(void)state;
	if (fd < 0 || !judge) {
		print_message("SKIP: no /proc/kallsyms\n");
		skip();
	}
	err = kallsyms_read(fd, &kallsyms);
	if (err == -EPERM) {
		print_message("SKIP: kptr_restrict hides the addresses\n");
		skip();
	}
	assert_int_equal(err, 0);
	print_message("%zu symbols in %.1f ms\n", kallsyms_nr(kallsyms),
		      (double)(clock_monotonic_ns() - begin) / 1e6);
	assert_true(kallsyms_lookup(kallsyms, "_etext", &etext));
	while (fgets(line, sizeof(line), judge)) {
		struct kernel_symbol symbol;

		assert_int_equal(sscanf(line, "%" SCNx64 " %c %599s", &addr, &type, name), 3);
		if (!strchr("tTwW", type) || addr >= etext || !strncmp(name, "__pfx_", 6))
			continue;
		nr_text += addr != previous;
		previous = addr;
		assert_true(kallsyms_find(kallsyms, addr, &symbol));
		assert_int_equal(symbol.addr, addr);
		nr++;
		nr_same += !strcmp(symbol.name, name);
	}
	/* One winner for each distinct address. */
	assert_int_equal(nr_same, nr_text);
	assert_true(nr > 1000);
	kallsyms_free(kallsyms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_without_marks),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_this_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
