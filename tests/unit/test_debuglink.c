// SPDX-License-Identifier: BSD-2-Clause
/*
 * .gnu_debuglink as objcopy writes it, sections that say something else, and the checksum against python's.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>

#include "elf_judge.h"
#include "object/debuglink.h"

static void test_as_objcopy_writes_it(void **state)
{
	struct debuglink link = {0};
	struct elf_file *file;
	uint32_t crc = 0, judged = 0;
	FILE *in;

	(void)state;
	judge_run("cp pie.debug a-name.debug && cp stripped linked && "
		  "objcopy --add-gnu-debuglink=a-name.debug linked");
	file = judge_open("linked");
	assert_int_equal(debuglink_read(file, &link), 0);
	assert_string_equal(link.name, "a-name.debug");
	elf_file_close(file);
	assert_int_equal(debuglink_crc(judge_fd("a-name.debug"), &crc), 0);
	assert_int_equal(crc, link.crc);
	in = judge_ask("python3 -c \"import zlib; print(zlib.crc32(open('%s', 'rb').read()))\"",
		       "a-name.debug");
	assert_int_equal(fscanf(in, "%" SCNu32, &judged), 1);
	assert_int_equal(crc, judged);
	pclose(in);
	file = judge_open("stripped");
	assert_int_equal(debuglink_read(file, &link), -ENOENT);
	assert_string_equal(link.name, "a-name.debug");
	elf_file_close(file);
}

/* A section of any bytes, by printf(1). */
static int read_section(const char *bytes, struct debuglink *link)
{
	char *command scoped(freep) = xasprintf("printf '%s' >section && cp stripped made && "
						"objcopy --add-section .gnu_debuglink=section made",
						bytes);
	struct elf_file *file;
	int err;

	judge_run(command);
	file = judge_open("made");
	err = debuglink_read(file, link);
	elf_file_close(file);
	return err;
}

static void test_malformed(void **state)
{
	static const char *const bad[] = {
		"x",			     /* no NUL, no checksum */
		"name\\0\\0\\0",	     /* no checksum */
		"name\\0\\0\\0\\0\\1\\2\\3", /* not all of it */
		"\\0\\0\\0\\0\\1\\2\\3\\4",  /* no name */
		"../x\\0\\0\\0\\0\\1\\2\\3\\4",
		"/etc/passwd\\0\\1\\2\\3\\4",
		"..\\0\\0\\1\\2\\3\\4",
		".\\0\\0\\0\\1\\2\\3\\4",
		"a/b\\0\\1\\2\\3\\4",
	};
	char long_name[DEBUGLINK_NAME_BYTES + 32];
	struct debuglink link = {.name = "untouched"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (read_section(bad[i], &link) != -EBADMSG)
			fail_msg("%s was accepted", bad[i]);
		assert_string_equal(link.name, "untouched");
	}
	memset(long_name, 'x', sizeof(long_name));
	strcpy(long_name + DEBUGLINK_NAME_BYTES, "\\0\\0\\0\\0abcd");
	assert_int_equal(read_section(long_name, &link), -EBADMSG);
	strcpy(long_name + DEBUGLINK_NAME_BYTES - 1, "\\0abcd");
	assert_int_equal(read_section(long_name, &link), 0);
	assert_int_equal(strlen(link.name), DEBUGLINK_NAME_BYTES - 1);
	assert_int_equal(link.crc, 0x64636261);
}

static void test_size(void **state)
{
	uint32_t crc = 7;

	(void)state;
	judge_run("truncate -s 1073741825 huge && : >empty");
	assert_int_equal(debuglink_crc(judge_fd("huge"), &crc), -EFBIG);
	assert_int_equal(crc, 7);
	assert_int_equal(debuglink_crc(judge_fd("empty"), &crc), 0);
	assert_int_equal(crc, 0);
	assert_int_equal(debuglink_crc(-1, &crc), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_objcopy_writes_it),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_size),
	};

	judge_build();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
