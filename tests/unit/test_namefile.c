// SPDX-License-Identifier: BSD-2-Clause
/* Files of the cache of names: what is written is read, and what is damaged is refused; the crafted ones of tests/fuzz, too. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "symbolize/namefile.h"

#define NR 1300 /* more than two parts */

static const struct reply_frame frames[] = {{"in", "in", "in.h", 3, 1}, {"", "", "f.cc", 7, 5}};

static struct namefile_name name_of(uint64_t i)
{
	static const struct reply_name names[] = {
		{.kind = MESSAGE_NAME_SYMBOL,
		 .raw = "_Z1fv",
		 .display = "f()",
		 .frames = frames,
		 .nr_frames = 2},
		{.kind = MESSAGE_NAME_START, .start = 0x1000, .raw = "", .display = ""},
		{.kind = MESSAGE_NAME_NONE, .raw = "", .display = ""},
	};

	return (struct namefile_name){0x1000 + i, names[i % 3]};
}

static void compare(void *ctx, uint64_t elf_addr, const struct reply_name *name)
{
	uint64_t *i = ctx;
	struct namefile_name expected = name_of(*i);

	assert_int_equal(elf_addr, expected.elf_addr);
	assert_int_equal(name->kind, expected.name.kind);
	assert_int_equal(name->start, expected.name.start);
	assert_string_equal(name->raw, expected.name.raw);
	assert_string_equal(name->display, expected.name.display);
	assert_int_equal(name->nr_frames, expected.name.nr_frames);
	for (uint32_t k = 0; k < name->nr_frames; k++) {
		assert_string_equal(name->frames[k].raw, frames[k].raw);
		assert_string_equal(name->frames[k].file, frames[k].file);
		assert_int_equal(name->frames[k].line, frames[k].line);
		assert_int_equal(name->frames[k].start_line, frames[k].start_line);
	}
	(*i)++;
}

static void make(struct namefile *file)
{
	struct namefile_name *names scoped(freep) = xcalloc(NR, sizeof(*names));

	for (uint64_t i = 0; i < NR; i++)
		names[i] = name_of(i);
	namefile_begin(file, "key");
	namefile_add(file, names, NR);
	namefile_end(file);
}

static void test_what_is_written_is_read(void **state)
{
	struct namefile file = {0}, more = {0};
	struct namefile_name next = name_of(NR);
	uint64_t nr = 0;

	(void)state;
	make(&file);
	assert_int_equal(namefile_check(file.at, file.nr, "key"), 0);
	assert_int_equal(namefile_each(file.at, file.nr, compare, &nr), 0);
	assert_int_equal(nr, NR);
	namefile_continue(&more, file.at, file.nr);
	namefile_add(&more, &next, 1);
	assert_int_equal(namefile_check(more.at, more.nr, "key"), -EBADMSG);
	namefile_end(&more);
	assert_int_equal(namefile_check(more.at, more.nr, "key"), 0);
	nr = 0;
	assert_int_equal(namefile_each(more.at, more.nr, compare, &nr), 0);
	assert_int_equal(nr, NR + 1);
	vec_release(&file);
	vec_release(&more);
}

static void test_another_key(void **state)
{
	struct namefile file = {0};

	(void)state;
	make(&file);
	assert_int_equal(namefile_check(file.at, file.nr, "kex"), -ESTALE);
	assert_int_equal(namefile_check(file.at, file.nr, "ke"), -ESTALE);
	assert_int_equal(namefile_check(file.at, file.nr, "keys"), -ESTALE);
	vec_release(&file);
}

/* Each byte that is another, and each end that is too early, is noticed. */
static void test_damage(void **state)
{
	struct namefile file = {0};
	struct namefile_name name = name_of(0);

	(void)state;
	namefile_begin(&file, "key");
	namefile_add(&file, &name, 1);
	namefile_end(&file);
	for (size_t i = 0; i < file.nr; i++) {
		assert_int_equal(namefile_check(file.at, i, "key"), -EBADMSG);
		file.at[i] ^= 1;
		assert_int_equal(namefile_check(file.at, file.nr, "key"), -EBADMSG);
		file.at[i] ^= 1;
	}
	assert_int_equal(namefile_check(file.at, file.nr, "key"), 0);
	vec_release(&file);
}

static void ignore(void *ctx, uint64_t elf_addr, const struct reply_name *name)
{
	(void)ctx;
	(void)elf_addr;
	(void)name;
}

/* With a checksum that is right. */
static int read_crafted(const char *path)
{
	struct namefile file = {0};
	char bytes[65536];
	FILE *in = fopen(path, "re");
	size_t len = in ? fread(bytes, 1, sizeof(bytes), in) : 0;
	int err;

	assert_true(in && len && len < sizeof(bytes));
	fclose(in);
	namefile_continue(&file, bytes, len);
	if (len >= 24)
		namefile_end(&file);
	err = namefile_check(file.at, file.nr, "a key");
	if (!err)
		err = namefile_each(file.at, file.nr, ignore, NULL);
	vec_release(&file);
	return err;
}

static void test_crafted_files(void **state)
{
	char *folder scoped(freep) = xasprintf("%s/fuzz/corpus/namecache", TESTS_DIR);
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int nr_good = 0, nr_bad = 0;

	(void)state;
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		char *path scoped(freep) = xasprintf("%s/%s", folder, entry->d_name);

		if (!strncmp(entry->d_name, "good", 4) && ++nr_good)
			assert_int_equal(read_crafted(path), 0);
		if (!strncmp(entry->d_name, "bad", 3) && ++nr_bad)
			assert_int_not_equal(read_crafted(path), 0);
	}
	closedir(dir);
	assert_true(nr_good >= 6 && nr_bad >= 17);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_written_is_read),
		cmocka_unit_test(test_another_key),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_crafted_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
