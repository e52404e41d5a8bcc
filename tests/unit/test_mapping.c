// SPDX-License-Identifier: BSD-2-Clause
/* Lines of /proc/PID/maps, and the mappings of a process over time, compared with a model of its pages. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "process/mapping.h"

#define NOW UINT64_MAX - 1

static struct mapping file_map(uint64_t start, uint64_t limit, uint64_t off, uint32_t file,
			       uint64_t since)
{
	return (struct mapping){start, limit, off, since, UINT64_MAX, file, file + 100};
}

static struct mapping anon_map(uint64_t start, uint64_t limit, uint32_t name, uint64_t since)
{
	return (struct mapping){start, limit, 0, since, UINT64_MAX, FILE_NONE, name};
}

static bool add(struct mappings *m, struct mapping map)
{
	return mappings_add(m, &map);
}

static void assert_sorted(const struct mappings *m)
{
	for (size_t i = 0; i < m->now.nr; i++) {
		assert_true(m->now.at[i].start < m->now.at[i].limit);
		assert_true(m->now.at[i].until_ns == UINT64_MAX);
		assert_true(!i || m->now.at[i - 1].limit <= m->now.at[i].start);
	}
	for (size_t i = 0; i < m->past.nr; i++)
		assert_true(m->past.at[i].since_ns < m->past.at[i].until_ns);
}

/* The file at ip, or -1; file_off of ip in *off. */
static int64_t file_at(const struct mappings *m, uint64_t ip, uint64_t time_ns, uint64_t *off)
{
	const struct mapping *map = mappings_find(m, ip, time_ns);

	if (!map)
		return -1;
	assert_true(map->start <= ip && ip < map->limit);
	if (off)
		*off = map->file_off + (ip - map->start);
	return map->file;
}

static void parses_what_the_kernel_writes(void **state)
{
	static const struct {
		const char *line, *path;
		uint64_t start, limit, off, inode;
		uint32_t major, minor;
		bool executable;
	} lines[] = {
		{"00400000-0048b000 r-xp 00001000 fe:00 247278                             /bin/x",
		 "/bin/x", 0x400000, 0x48b000, 0x1000, 247278, 0xfe, 0, true},
		{"7ffc1a2b3000-7ffc1a2d4000 rw-p 00000000 00:00 0                          [stack]",
		 "[stack]", 0x7ffc1a2b3000, 0x7ffc1a2d4000, 0, 0, 0, 0, false},
		{"7ffc1a3e1000-7ffc1a3e3000 r-xp 00000000 00:00 0                          [vdso]",
		 "[vdso]", 0x7ffc1a3e1000, 0x7ffc1a3e3000, 0, 0, 0, 0, true},
		{"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  "
		 "[vsyscall]",
		 "[vsyscall]", 0xffffffffff600000, 0xffffffffff601000, 0, 0, 0, 0, true},
		{"7f0000000000-7f0000001000 rwxp 00000000 00:00 0 ", "//anon", 0x7f0000000000,
		 0x7f0000001000, 0, 0, 0, 0, true},
		{"7f0000000000-7f0000001000 rwxs 00000000 00:00 0", "//anon", 0x7f0000000000,
		 0x7f0000001000, 0, 0, 0, 0, true},
		{"7f0000000000-7f0000001000 r-xp 00000000 103:0a 18446744073709551615 /a b  c "
		 "(deleted)",
		 "/a b  c (deleted)", 0x7f0000000000, 0x7f0000001000, 0, UINT64_MAX, 0x103, 0xa,
		 true},
		{"7f0000000000-7f0000001000 r-xs 7fff00000000 00:01 1027 /memfd:jit \\012 "
		 "(deleted)",
		 "/memfd:jit \\012 (deleted)", 0x7f0000000000, 0x7f0000001000, 0x7fff00000000, 1027,
		 0, 1, true},
		{"1000-2000 ---p 0 0:0 0 [anon:a b]", "[anon:a b]", 0x1000, 0x2000, 0, 0, 0, 0,
		 false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct map_event map;
		bool executable;

		assert_int_equal(mapping_parse(lines[i].line, &map, &executable), 0);
		assert_int_equal(map.start, lines[i].start);
		assert_int_equal(map.limit, lines[i].limit);
		assert_int_equal(map.file_off, lines[i].off);
		assert_int_equal(map.inode, lines[i].inode);
		assert_int_equal(map.dev_major, lines[i].major);
		assert_int_equal(map.dev_minor, lines[i].minor);
		assert_int_equal(executable, lines[i].executable);
		assert_string_equal(map.path, lines[i].path);
	}
}

static void refuses_what_is_no_line(void **state)
{
	static const char *const lines[] = {
		"",
		" ",
		"-",
		"1000",
		"1000-",
		"1000-2000",
		"1000-2000 ",
		"1000-2000 r-x",
		"1000-2000 r-xp",
		"1000-2000 r-xp 0",
		"1000-2000 r-xp 0 fe",
		"1000-2000 r-xp 0 fe:",
		"1000-2000 r-xp 0 fe:0",
		"1000-2000 r-xp 0 fe:0 ",
		"1000-2000 r-xp 0 fe:0 2472",	  /* cut inside the inode */
		"1000-2000 r-xp 0 fe:0 2472    ", /* cut before the path */
		"1000-2000 r-xp 0 fe:0 12x /bin/x",
		"1000-2000 r-xp 0 fe:0 -1 /bin/x",
		"1000-2000 r-xp 0 fe:0 18446744073709551616 /bin/x",
		"1000-2000 r-xp 0 100000000:0 1 /bin/x",
		"1000-2000 r-xp 10000000000000000 fe:0 1 /bin/x",
		"10000000000000000-20000000000000000 r-xp 0 fe:0 1 /bin/x",
		"2000-1000 r-xp 0 fe:0 1 /bin/x",
		"1000-1000 r-xp 0 fe:0 1 /bin/x",
		" 1000-2000 r-xp 0 fe:0 1 /bin/x",
		"0x1000-0x2000 r-xp 0 fe:0 1 /bin/x",
		"+1000-2000 r-xp 0 fe:0 1 /bin/x",
		"1000-2000 rxwp 0 fe:0 1 /bin/x",
		"1000-2000 r-xq 0 fe:0 1 /bin/x",
		"1000-2000\tr-xp\t0\tfe:0\t1\t/bin/x",
		"1000-2000  r-xp 0 fe:0 1 /bin/x",
		"1000-2000 r-xp 0 fe:0 1/bin/x",
		"1000-2000 R-XP 0 fe:0 1 /bin/x",
		"\xff\xfe-2000 r-xp 0 fe:0 1 /bin/x",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct map_event map, before;
		bool executable = true;

		memset(&map, 0x5a, sizeof(map));
		before = map;
		assert_int_equal(mapping_parse(lines[i], &map, &executable), -EINVAL);
		assert_memory_equal(&map, &before, sizeof(map));
		assert_true(executable);
	}
}

/* Every line of every process here, with the C library's scanf as the judge. */
static void parses_every_line_there_is(void **state)
{
	DIR *proc = opendir("/proc");
	size_t nr = 0, cap = 0;
	struct dirent *entry;
	char path[300], *line = NULL;

	(void)state;
	assert_non_null(proc);
	while ((entry = readdir(proc))) {
		FILE *maps;

		snprintf(path, sizeof(path), "/proc/%s/maps", entry->d_name);
		maps = atoi(entry->d_name) ? fopen(path, "r") : NULL;
		if (!maps)
			continue;
		while (getline(&line, &cap, maps) > 0) {
			uint64_t start, limit, off, inode;
			unsigned int major, minor;
			struct map_event map;
			bool executable;
			char perm[5];
			int end = 0;

			line[strcspn(line, "\n")] = '\0';
			assert_int_equal(mapping_parse(line, &map, &executable), 0);
			assert_int_equal(sscanf(line,
						"%" SCNx64 "-%" SCNx64 " %4s %" SCNx64
						" %x:%x %" SCNu64 " %n",
						&start, &limit, perm, &off, &major, &minor, &inode,
						&end),
					 7);
			assert_int_equal(map.start, start);
			assert_int_equal(map.limit, limit);
			assert_int_equal(map.file_off, off);
			assert_int_equal(map.dev_major, major);
			assert_int_equal(map.dev_minor, minor);
			assert_int_equal(map.inode, inode);
			assert_int_equal(executable, perm[2] == 'x');
			assert_string_equal(map.path, line[end] ? line + end : "//anon");
			nr++;
		}
		fclose(maps);
	}
	free(line);
	closedir(proc);
	assert_true(nr > 10);
}

static void keeps_the_ends_of_what_is_replaced(void **state)
{
	struct mappings m = {0};
	uint64_t off;

	(void)state;
	assert_true(add(&m, file_map(0x1000, 0x9000, 0x10000, 1, 0)));
	assert_true(add(&m, file_map(0x3000, 0x5000, 0, 2, 50)));
	assert_sorted(&m);
	assert_int_equal(m.now.nr, 3);
	assert_int_equal(m.past.nr, 1);
	assert_int_equal(file_at(&m, 0x2fff, 60, &off), 1);
	assert_int_equal(off, 0x11fff);
	assert_int_equal(file_at(&m, 0x3000, 60, &off), 2);
	assert_int_equal(off, 0);
	assert_int_equal(file_at(&m, 0x5000, 60, &off), 1);
	assert_int_equal(off, 0x14000);
	assert_int_equal(file_at(&m, 0x4000, 49, &off), 1);
	assert_int_equal(off, 0x13000);
	assert_int_equal(file_at(&m, 0x4000, 50, &off), 2);
	assert_int_equal(file_at(&m, 0xfff, 60, NULL), -1);
	assert_int_equal(file_at(&m, 0x9000, 60, NULL), -1);
	mappings_release(&m);
}

static void dlclose_and_dlopen_at_one_address(void **state)
{
	struct mappings m = {0};

	(void)state;
	add(&m, file_map(0x7000, 0x9000, 0, 1, 100));
	add(&m, file_map(0x7000, 0x8000, 0, 2, 200));
	add(&m, file_map(0x7000, 0x8000, 0, 1, 300));
	assert_sorted(&m);
	/* Too early for all: the first one known later. */
	assert_int_equal(file_at(&m, 0x7800, 10, NULL), 1);
	assert_int_equal(file_at(&m, 0x7800, 150, NULL), 1);
	assert_int_equal(file_at(&m, 0x7800, 250, NULL), 2);
	assert_int_equal(file_at(&m, 0x7800, 350, NULL), 1);
	assert_int_equal(file_at(&m, 0x8800, 350, NULL), 1);
	mappings_release(&m);
}

static void an_older_one_that_comes_late(void **state)
{
	struct mappings m = {0};

	(void)state;
	add(&m, file_map(0x4000, 0x6000, 0, 2, 200));
	assert_true(add(&m, file_map(0x3000, 0x7000, 0, 1, 100)));
	assert_sorted(&m);
	assert_int_equal(file_at(&m, 0x3000, 300, NULL), 1);
	assert_int_equal(file_at(&m, 0x5000, 300, NULL), 2);
	assert_int_equal(file_at(&m, 0x5000, 150, NULL), 1);
	assert_int_equal(file_at(&m, 0x6000, 300, NULL), 1);
	mappings_release(&m);
}

static void one_line_is_one_mapping(void **state)
{
	struct mappings m = {0};

	(void)state;
	assert_true(add(&m, file_map(0x4000, 0x8000, 0x1000, 1, 0)));
	assert_false(add(&m, file_map(0x4000, 0x8000, 0x1000, 1, 50)));
	assert_false(add(&m, file_map(0x5000, 0x6000, 0x2000, 1, 50)));
	assert_int_equal(m.past.nr, 0);
	assert_true(add(&m, file_map(0x6000, 0xa000, 0x3000, 1, 60)));
	assert_int_equal(m.now.nr, 1);
	assert_int_equal(m.now.at[0].limit, 0xa000);
	/* The same file at another offset is another line. */
	assert_true(add(&m, file_map(0x5000, 0x6000, 0, 1, 70)));
	assert_int_equal(m.now.nr, 3);
	assert_int_equal(m.past.nr, 1);
	assert_sorted(&m);
	mappings_release(&m);
}

/* Page by page downward, as mmap() places them, with another mapping that was there before. */
static void a_jit_that_grows_is_one_mapping(void **state)
{
	struct mappings m = {0};

	(void)state;
	add(&m, file_map(0x10000, 0x20000, 0, 7, 10));
	for (uint64_t i = 1; i <= 1000; i++)
		assert_true(add(&m, anon_map(0x1000000 - i * 0x1000, 0x1000000, 3, 100 + i)));
	assert_int_equal(m.now.nr, 2);
	assert_int_equal(m.past.nr, 0);
	add(&m, anon_map(0xc18000 - 0xc00000, 0xc18000, 3, 5000));
	assert_sorted(&m);
	/* The joined mapping is as old as its oldest part, but the library was there until 5000. */
	assert_int_equal(file_at(&m, 0x18800, 4000, NULL), 7);
	assert_int_equal(file_at(&m, 0x18800, 5000, NULL), FILE_NONE);
	mappings_release(&m);
}

static void the_ends_of_the_address_space(void **state)
{
	struct mappings m = {0};

	(void)state;
	assert_false(add(&m, file_map(0x2000, 0x2000, 0, 1, 0)));
	assert_false(add(&m, file_map(0x3000, 0x2000, 0, 1, 0)));
	assert_int_equal(file_at(&m, 0, 0, NULL), -1);
	assert_true(add(&m, file_map(0, UINT64_MAX, UINT64_MAX - 5, 1, 0)));
	assert_int_equal(file_at(&m, 0, 0, NULL), 1);
	assert_int_equal(file_at(&m, UINT64_MAX - 1, NOW, NULL), 1);
	assert_int_equal(file_at(&m, UINT64_MAX, NOW, NULL), -1);
	assert_true(add(&m, anon_map(0xffffffffff600000, 0xffffffffff601000, 9, 1)));
	assert_sorted(&m);
	assert_int_equal(m.now.nr, 3);
	mappings_release(&m);
}

/* Against a model that knows nothing of ranges: for each page, every add that ever covered it. */
static void agrees_with_a_page_model(void **state)
{
	enum {
		PAGES = 24,
		ADDS = 60
	};

	(void)state;
	srandom(1);
	for (int round = 0; round < 400; round++) {
		struct mapping added[ADDS];
		struct mappings m = {0};

		for (int i = 0; i < ADDS; i++) {
			uint64_t start = random() % PAGES;
			uint64_t limit = start + 1 + random() % 6;
			uint64_t off = random() % 3 ? start : start + 1;

			added[i] = file_map(start, limit, off, random() % 3, i * 10);
			if (random() % 4 == 0)
				added[i] = anon_map(start, limit, random() % 2, i * 10);
			mappings_add(&m, &added[i]);
			assert_sorted(&m);
		}
		for (int k = 0; k < 300; k++) {
			uint64_t ip = random() % (PAGES + 8), t = random() % (ADDS * 10 + 20);
			const struct mapping *got = mappings_find(&m, ip, t), *want = NULL;

			for (int i = 0; i < ADDS; i++)
				if (ip >= added[i].start && ip < added[i].limit &&
				    (added[i].since_ns <= t || !want))
					want = &added[i];
			assert_int_equal(!got, !want);
			if (!want)
				continue;
			assert_int_equal(got->file, want->file);
			assert_true(got->start <= ip && ip < got->limit);
			if (want->file == FILE_NONE)
				assert_int_equal(got->name, want->name);
			else
				assert_int_equal(got->file_off - got->start,
						 want->file_off - want->start);
		}
		mappings_release(&m);
	}
}

static void a_copy_is_its_own(void **state)
{
	struct mappings parent = {0}, child = {0}, other = {0}, none = {0};

	(void)state;
	mappings_copy(&child, &none);
	assert_int_equal(child.now.nr, 0);
	for (uint64_t i = 0; i < 10; i++)
		add(&parent, file_map(i * 0x2000, i * 0x2000 + 0x1000, 0, i, 0));
	add(&parent, file_map(0, 0x1000, 0, 77, 5));
	assert_int_equal(parent.past.nr, 1);
	mappings_copy(&child, &parent);
	mappings_copy(&other, &child);
	assert_ptr_equal(child.now.at, parent.now.at);
	assert_int_equal(child.past.nr, 0);
	add(&child, file_map(0x2000, 0x3000, 0, 99, 10));
	assert_int_equal(file_at(&child, 0x2000, 20, NULL), 99);
	assert_int_equal(file_at(&parent, 0x2000, 20, NULL), 1);
	add(&parent, file_map(0x100000, 0x101000, 0, 55, 10));
	assert_int_equal(file_at(&other, 0x100000, 20, NULL), -1);
	mappings_release(&parent);
	assert_int_equal(file_at(&other, 0x2000, 20, NULL), 1);
	add(&other, file_map(0x100000, 0x101000, 0, 66, 10));
	assert_int_equal(file_at(&other, 0x100000, 20, NULL), 66);
	mappings_release(&other);
	assert_int_equal(file_at(&child, 0x0, 20, NULL), 77);
	mappings_release(&child);
	mappings_release(&child);
}

static void is_bounded(void **state)
{
	struct mappings m = {0};

	(void)state;
	for (uint64_t i = 0; i < 3 * MAPPINGS_MAX_PAST; i++)
		add(&m, file_map(0x1000, 0x2000, 0, i % 2, i * 10));
	assert_true(m.past.nr <= MAPPINGS_MAX_PAST);
	/* The latest are kept. */
	assert_int_equal(file_at(&m, 0x1000, (3 * MAPPINGS_MAX_PAST - 2) * 10, NULL), 0);
	for (uint64_t i = 0; i < MAPPINGS_MAX + 100; i++)
		add(&m, file_map(0x10000 + i * 0x2000, 0x11000 + i * 0x2000, 0, 1, 0));
	assert_true(m.now.nr <= MAPPINGS_MAX);
	assert_false(add(&m, file_map(0, 0x1000, 0, 1, 0)));
	mappings_release(&m);
}

static void many_mappings_are_quick(void **state)
{
	struct mappings m = {0};
	uint64_t begin = clock_monotonic_ns(), parsed;
	char line[200];

	(void)state;
	for (uint64_t i = 0; i < 65000; i++) {
		struct map_event map;
		bool executable;
		uint64_t start = 0x7f0000000000 + i * 0x1000;

		snprintf(line, sizeof(line),
			 "%" PRIx64 "-%" PRIx64
			 " %s %08x fe:00 12345                     /a/lib.so",
			 start, start + 0x1000, i % 2 ? "r-xp" : "rwxp", (unsigned int)(i % 2));
		assert_int_equal(mapping_parse(line, &map, &executable), 0);
		add(&m, file_map(map.start, map.limit, map.file_off, i % 2, 0));
	}
	parsed = clock_monotonic_ns();
	assert_int_equal(m.now.nr, 65000);
	for (uint64_t i = 0; i < 65000; i++)
		assert_int_equal(file_at(&m, 0x7f0000000000 + i * 0x1000, 1, NULL), i % 2);
	print_message("65,000 lines: parsed and added in %.1f ms, found in %.1f ms\n",
		      (parsed - begin) / 1e6, (clock_monotonic_ns() - parsed) / 1e6);
	mappings_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_what_the_kernel_writes),
		cmocka_unit_test(refuses_what_is_no_line),
		cmocka_unit_test(parses_every_line_there_is),
		cmocka_unit_test(keeps_the_ends_of_what_is_replaced),
		cmocka_unit_test(dlclose_and_dlopen_at_one_address),
		cmocka_unit_test(an_older_one_that_comes_late),
		cmocka_unit_test(one_line_is_one_mapping),
		cmocka_unit_test(a_jit_that_grows_is_one_mapping),
		cmocka_unit_test(the_ends_of_the_address_space),
		cmocka_unit_test(agrees_with_a_page_model),
		cmocka_unit_test(a_copy_is_its_own),
		cmocka_unit_test(is_bounded),
		cmocka_unit_test(many_mappings_are_quick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
