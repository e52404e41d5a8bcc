// SPDX-License-Identifier: BSD-2-Clause
/* The symbols that an ELF file exports, looked up by name in the C library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "object/dynsym.h"

/* The dynamic linker is the judge: where it has libc's stdout, less where it has libc. */
static void test_libc(void **state)
{
	struct elf_file *file;
	uint64_t elf_addr = 1;
	Dl_info info;
	int fd;

	(void)state;
	assert_true(dladdr((void *)getpid, &info));
	fd = open(info.dli_fname, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(fd, &file), 0);
	assert_true(dynsym_variable(file, "_IO_2_1_stdout_", &elf_addr));
	assert_true(elf_addr + (uintptr_t)info.dli_fbase ==
		    (uintptr_t)dlsym(RTLD_DEFAULT, "_IO_2_1_stdout_"));
	elf_addr = 1;
	assert_false(dynsym_variable(file, "_IO_2_1_stdout", &elf_addr));
	assert_false(dynsym_variable(file, "getpid", &elf_addr)); /* a function */
	assert_false(dynsym_variable(file, "", &elf_addr));
	assert_true(elf_addr == 1);
	elf_file_close(file);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_libc)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
