// SPDX-License-Identifier: BSD-2-Clause
/*
 * Perf maps and jitdumps: which code had an ip at a time, and what becomes of files that are damaged or made to deceive.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "runtime/jitdump.h"
#include "runtime/perfmap.h"

struct bytes {
	vec_of(char) all;
	size_t at_once; /* most bytes of one read; 0: any */
};

static size_t read_bytes(void *ctx, uint64_t off, void *to, size_t len)
{
	const struct bytes *bytes = ctx;

	if (off >= bytes->all.nr)
		return 0;
	if (len > bytes->all.nr - off)
		len = bytes->all.nr - off;
	if (bytes->at_once && len > bytes->at_once)
		len = bytes->at_once;
	memcpy(to, bytes->all.at + off, len);
	return len;
}

static void append(struct bytes *bytes, const void *from, size_t len)
{
	vec_reserve(&bytes->all, len);
	memcpy(bytes->all.at + bytes->all.nr, from, len);
	bytes->all.nr += len;
}

/* Perf maps -------------------------------------------------------------------------------------- */

/* name: "": none. */
static void expect_in_map(const char *text, size_t len, uint64_t ip, const char *name)
{
	for (size_t at_once = 0; at_once < 4; at_once++) {
		struct bytes bytes = {.at_once = at_once};
		struct jitsym_query query = {.ip = ip, .time_ns = UINT64_MAX};

		append(&bytes, text, len);
		perfmap_find(&(struct jitsym_source){read_bytes, &bytes}, &query, 1);
		if (strcmp(query.name, name) != 0)
			fail_msg("%lx is '%s' in: %s", (unsigned long)ip, query.name, text);
		assert_true(!*name || (ip >= query.start && ip < query.limit));
		vec_release(&bytes.all);
	}
}

static void test_perf_map(void **state)
{
	static const char map[] = "1000 10 first\n"
				  "1010 20 LazyCompile:*f /srv/a b.js:1\n"
				  "0x2000 0x10 with prefix\r\n"
				  "1018 4 later wins\n"
				  "FFFFFFFFFFFFFF00 ff high\n";

	(void)state;
	expect_in_map(map, sizeof(map) - 1, 0xfff, "");
	expect_in_map(map, sizeof(map) - 1, 0x1000, "first");
	expect_in_map(map, sizeof(map) - 1, 0x100f, "first");
	expect_in_map(map, sizeof(map) - 1, 0x1010, "LazyCompile:*f /srv/a b.js:1");
	expect_in_map(map, sizeof(map) - 1, 0x1017, "LazyCompile:*f /srv/a b.js:1");
	expect_in_map(map, sizeof(map) - 1, 0x1018, "later wins");
	expect_in_map(map, sizeof(map) - 1, 0x101c, "LazyCompile:*f /srv/a b.js:1");
	expect_in_map(map, sizeof(map) - 1, 0x1030, "");
	expect_in_map(map, sizeof(map) - 1, 0x200f, "with prefix");
	expect_in_map(map, sizeof(map) - 1, 0xffffffffffffff00, "high");
}

/* One bad line costs itself. */
static void test_perf_map_lines(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		"1000",
		"1000 10",
		"1000 10 ",
		"1000 0 empty",
		"x000 10 hex",
		"1000 1g hex",
		"-1000 10 sign",
		"1000,10,comma",
		"ffffffffffffffff 10 wraps",
		"11111111111111111 10 too long",
		"1000 fffffffffffffffff too long",
		"# 1000 10 comment",
		"\t1000 10 tab",
		"1000\t10\ttab",
		"0x 10 no digits",
		"\xff\xfe\xfd",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *alone scoped(freep) = xasprintf("%s\n", bad[i]);
		char *among scoped(freep) = xasprintf("1000 10 good\n%s\n1800 10 last\n", bad[i]);

		expect_in_map(alone, strlen(alone), 0x1000, "");
		expect_in_map(among, strlen(among), 0x1000, "good");
		expect_in_map(among, strlen(among), 0x1800, "last");
	}
	expect_in_map("1000 10 a\0b\n2000 10 c\n", 22, 0x1000, "");
	expect_in_map("1000 10 a\0b\n2000 10 c\n", 22, 0x2000, "c");
	expect_in_map("1000 10 unfinish", 16, 0x1000, "");
}

static void test_perf_map_long_lines(void **state)
{
	struct bytes bytes = {0};
	struct jitsym_query queries[2] = {{.ip = 0x1000, .time_ns = UINT64_MAX},
					  {.ip = 0x2000, .time_ns = UINT64_MAX}};

	(void)state;
	append(&bytes, "1000 10 ", 8);
	for (int i = 0; i < 10000; i++)
		append(&bytes, "long", 4);
	append(&bytes, "\n2000 10 ", 9);
	for (int i = 0; i < 100000; i++)
		append(&bytes, "2000 10 very long ", 18);
	append(&bytes, "\n", 1);
	perfmap_find(&(struct jitsym_source){read_bytes, &bytes}, queries, 2);
	assert_int_equal(strlen(queries[0].name), JITSYM_NAME_BYTES - 1);
	assert_string_equal(queries[1].name, "");
	append(&bytes, "2000 10 behind\n", 15);
	perfmap_find(&(struct jitsym_source){read_bytes, &bytes}, queries, 2);
	assert_string_equal(queries[1].name, "behind");
	vec_release(&bytes.all);
}

/* Jitdumps --------------------------------------------------------------------------------------- */

enum {
	LOAD,
	MOVE,
	DEBUG_INFO,
	CLOSE,
	UNWINDING
};

static void put32(struct bytes *bytes, uint32_t number)
{
	append(bytes, &number, sizeof(number));
}

static void put64(struct bytes *bytes, uint64_t number)
{
	append(bytes, &number, sizeof(number));
}

static void header(struct bytes *bytes, uint32_t magic, uint32_t version, uint64_t flags)
{
	const uint32_t numbers[] = {magic, version, 40, 62, 0, 1};

	append(bytes, numbers, sizeof(numbers));
	put64(bytes, 1);
	put64(bytes, flags);
}

static void record(struct bytes *bytes, uint32_t kind, size_t body, uint64_t time_ns)
{
	put32(bytes, kind);
	put32(bytes, (uint32_t)(16 + body));
	put64(bytes, time_ns);
}

static void load(struct bytes *bytes, uint64_t time_ns, uint64_t start, uint64_t len,
		 uint64_t number, const char *name)
{
	record(bytes, LOAD, 40 + strlen(name) + 1 + 4, time_ns);
	put64(bytes, 1);
	put64(bytes, start);
	put64(bytes, start);
	put64(bytes, len);
	put64(bytes, number);
	append(bytes, name, strlen(name) + 1);
	put32(bytes, 0xc3c3c3c3);
}

static void move(struct bytes *bytes, uint64_t time_ns, uint64_t from, uint64_t to, uint64_t len,
		 uint64_t number)
{
	record(bytes, MOVE, 48, time_ns);
	put64(bytes, 1);
	put64(bytes, to);
	put64(bytes, from);
	put64(bytes, to);
	put64(bytes, len);
	put64(bytes, number);
}

static void expect_in_dump(struct bytes *bytes, uint64_t ip, uint64_t time_ns, const char *name)
{
	struct jitsym_query query = {.ip = ip, .time_ns = time_ns};

	assert_int_equal(jitdump_find(&(struct jitsym_source){read_bytes, bytes}, &query, 1), 0);
	if (strcmp(query.name, name) != 0)
		fail_msg("%lx at %lu is '%s', not '%s'", (unsigned long)ip, (unsigned long)time_ns,
			 query.name, name);
}

static void test_jitdump(void **state)
{
	struct bytes bytes = {0};

	(void)state;
	header(&bytes, 0x4a695444, 1, 0);
	load(&bytes, 100, 0x1000, 0x40, 1, "first");
	record(&bytes, DEBUG_INFO, 24, 110);
	append(&bytes, "123456781234567812345678", 24);
	load(&bytes, 200, 0x2000, 0x40, 2, "second");
	load(&bytes, 300, 0x1020, 0x40, 3, "third");
	move(&bytes, 400, 0x2000, 0x3000, 0x40, 2);
	record(&bytes, 77, 8, 450);
	put64(&bytes, 0);
	load(&bytes, 500, 0x2000, 0x10, 4, "fourth");
	expect_in_dump(&bytes, 0xfff, 1000, "");
	expect_in_dump(&bytes, 0x1000, 1000, "first");
	expect_in_dump(&bytes, 0x1020, 250, "first");
	expect_in_dump(&bytes, 0x1020, 300, "third");
	expect_in_dump(&bytes, 0x1020, 1000, "third");
	expect_in_dump(&bytes, 0x1000, 50, "first"); /* its record may come a little late */
	expect_in_dump(&bytes, 0x2000, 450, "second");
	expect_in_dump(&bytes, 0x2000, 500, "fourth");
	expect_in_dump(&bytes, 0x2010, 1000, "second");
	expect_in_dump(&bytes, 0x3010, 500, "second");
	expect_in_dump(&bytes, 0x3040, 500, "");
	record(&bytes, CLOSE, 0, 600);
	load(&bytes, 700, 0x5000, 0x10, 5, "after the end");
	expect_in_dump(&bytes, 0x5000, 1000, "");
	vec_release(&bytes.all);
}

/* A line of debug info; file "\xff": that of the line before. */
struct line {
	uint64_t start;
	int32_t line;
	const char *file;
};

static void debug_info(struct bytes *bytes, uint64_t start, uint64_t nr_said,
		       const struct line *lines, size_t nr)
{
	size_t body = 16;

	for (size_t i = 0; i < nr; i++)
		body += 16 + strlen(lines[i].file) + 1;
	record(bytes, DEBUG_INFO, body, 1);
	put64(bytes, start);
	put64(bytes, nr_said);
	for (size_t i = 0; i < nr; i++) {
		put64(bytes, lines[i].start);
		put32(bytes, (uint32_t)lines[i].line);
		put32(bytes, 0);
		append(bytes, lines[i].file, strlen(lines[i].file) + 1);
	}
}

/* The line at ip, and where it begins and ends. */
static void expect_line(struct bytes *bytes, uint64_t ip, const char *file, uint32_t line,
			uint64_t start, uint64_t limit)
{
	struct jitsym_query query = {.ip = ip, .time_ns = 1000};

	assert_int_equal(jitdump_find(&(struct jitsym_source){read_bytes, bytes}, &query, 1), 0);
	if (strcmp(query.file, file) != 0 || query.line != line)
		fail_msg("%lx is in '%s':%u", (unsigned long)ip, query.file, query.line);
	assert_true(query.start == start && query.limit == limit);
	assert_int_not_equal(*query.name, 0);
}

static const struct line some_lines[] = {
	{0x1010, 7, "/srv/a.c"}, {0x1020, 9, "\xff"}, {0x1030, 3, "b.h"}, {0x1038, 0, "\xff"}};

static void test_jitdump_lines(void **state)
{
	struct bytes bytes = {0};

	(void)state;
	header(&bytes, 0x4a695444, 1, 0);
	debug_info(&bytes, 0x1000, 4, some_lines, 4);
	load(&bytes, 100, 0x1000, 0x40, 1, "first");
	expect_line(&bytes, 0x100f, "", 0, 0x1000, 0x1010);
	expect_line(&bytes, 0x1010, "/srv/a.c", 7, 0x1010, 0x1020);
	expect_line(&bytes, 0x102f, "/srv/a.c", 9, 0x1020, 0x1030);
	expect_line(&bytes, 0x1030, "b.h", 3, 0x1030, 0x1038);
	expect_line(&bytes, 0x103f, "", 0, 0x1038, 0x1040);
	vec_release(&bytes.all);
}

/* V8's addresses are those of an ELF file that has its header before the code. */
static void test_jitdump_lines_of_v8(void **state)
{
	struct line lines[2];
	struct bytes bytes = {0};
	const uint32_t padding = 0xdeadbeef;

	(void)state;
	header(&bytes, 0x4a695444, 1, 0);
	memcpy(bytes.all.at + 16, &padding, sizeof(padding));
	for (size_t i = 0; i < 2; i++) {
		lines[i] = some_lines[i];
		lines[i].start += 0x40;
	}
	debug_info(&bytes, 0x1000, 2, lines, 2);
	load(&bytes, 100, 0x1000, 0x40, 1, "JS:*f /srv/a.c:7:3");
	expect_line(&bytes, 0x1010, "/srv/a.c", 7, 0x1010, 0x1020);
	expect_line(&bytes, 0x103f, "/srv/a.c", 9, 0x1020, 0x1040);
	/* the name of another file, as it happens to be in memory */
	debug_info(&bytes, 0x1000, 2, lines, 2);
	load(&bytes, 100, 0x1000, 0x40, 1, "JS:*f /srv/b.c:7:3");
	expect_line(&bytes, 0x1010, "", 0, 0x1000, 0x1040);
	vec_release(&bytes.all);
}

/* Of other code, of none, of code that moved, and counts and names that are not so. */
static void test_jitdump_bad_lines(void **state)
{
	struct bytes bytes = {0};
	size_t at;

	(void)state;
	header(&bytes, 0x4a695444, 1, 0);
	debug_info(&bytes, 0x2000, 2, some_lines, 2);
	load(&bytes, 100, 0x1000, 0x40, 1, "first");
	load(&bytes, 100, 0x2000, 0x40, 2, "first"); /* these are for the next one only */
	expect_line(&bytes, 0x1010, "", 0, 0x1000, 0x1040);
	expect_line(&bytes, 0x2010, "", 0, 0x2000, 0x2040);
	debug_info(&bytes, 0x3000, UINT64_MAX, some_lines, 1);
	load(&bytes, 100, 0x3000, 0x40, 3, "first");
	expect_line(&bytes, 0x3010, "", 0, 0x3000, 0x3040);
	debug_info(&bytes, 0x1000, UINT64_MAX, some_lines, 2);
	load(&bytes, 200, 0x1000, 0x40, 4, "first");
	expect_line(&bytes, 0x1010, "", 0, 0x1000, 0x1040);
	debug_info(&bytes, 0x1000, 1, &(struct line){0x1041, 5, "a.c"}, 1); /* behind it */
	load(&bytes, 200, 0x1000, 0x40, 4, "first");
	expect_line(&bytes, 0x1010, "", 0, 0x1000, 0x1040);
	debug_info(&bytes, 0x1000, 2, some_lines, 2);
	at = bytes.all.nr;
	load(&bytes, 200, 0x1000, 0x40, 4, "first");
	expect_line(&bytes, 0x1010, "/srv/a.c", 7, 0x1010, 0x1020);
	move(&bytes, 300, 0x1000, 0x1000, 0x40, 4);
	expect_line(&bytes, 0x1010, "", 0, 0x1000, 0x1040);
	bytes.all.nr = at;
	bytes.all.at[at - 1] = 'x'; /* the last name has no end */
	load(&bytes, 200, 0x1000, 0x40, 5, "first");
	expect_line(&bytes, 0x1030, "", 0, 0x1000, 0x1040);
	debug_info(&bytes, 0x1000, 1, &(struct line){0x1000, 5, ""}, 1);
	load(&bytes, 400, 0x1000, 0x40, 6, "first");
	expect_line(&bytes, 0x1010, "", 0, 0x1000, 0x1040);
	vec_release(&bytes.all);
}

/* Times of a CPU's counter do not count: the later record is meant. */
static void test_jitdump_other_clock(void **state)
{
	struct bytes bytes = {0};

	(void)state;
	header(&bytes, 0x4a695444, 1, 1);
	load(&bytes, 1000000, 0x1000, 0x40, 1, "first");
	load(&bytes, 2000000, 0x1000, 0x40, 2, "second");
	expect_in_dump(&bytes, 0x1000, 5, "second");
	vec_release(&bytes.all);
}

static void expect_refused(struct bytes *bytes)
{
	struct jitsym_query query = {.ip = 0x1000};

	assert_int_equal(jitdump_find(&(struct jitsym_source){read_bytes, bytes}, &query, 1),
			 -EBADMSG);
	vec_release(&bytes->all);
}

static void test_jitdump_headers(void **state)
{
	struct bytes bytes = {0};

	(void)state;
	expect_refused(&bytes);
	bytes = (struct bytes){0};
	header(&bytes, 0x4454694a, 1, 0); /* the other byte order */
	expect_refused(&bytes);
	bytes = (struct bytes){0};
	header(&bytes, 0x4a695444, 2, 0);
	expect_refused(&bytes);
	bytes = (struct bytes){0};
	header(&bytes, 0x4a695444, 1, 0);
	bytes.all.nr--;
	expect_refused(&bytes);
	bytes = (struct bytes){0};
	header(&bytes, 0x4a695444, 1, 0);
	bytes.all.at[8] = 39;
	expect_refused(&bytes);
}

/* Records that lie about their size, or about code, cost at most what comes after them. */
static void test_jitdump_records(void **state)
{
	static const uint32_t sizes[] = {0, 15, 16, 55, 56, 0xffffffff};
	struct bytes bytes = {0};
	size_t whole;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		bytes = (struct bytes){0};
		header(&bytes, 0x4a695444, 1, 0);
		load(&bytes, 100, 0x1000, 0x40, 1, "first");
		put32(&bytes, LOAD);
		put32(&bytes, sizes[i]);
		put64(&bytes, 200);
		expect_in_dump(&bytes, 0x1000, 300, "first");
		vec_release(&bytes.all);
	}
	bytes = (struct bytes){0};
	header(&bytes, 0x4a695444, 1, 0);
	load(&bytes, 100, 0x1000, 0, 1, "no length");
	load(&bytes, 100, UINT64_MAX - 8, 0x40, 2, "wraps");
	load(&bytes, 100, 0x3000, 0x40, 3, "");
	move(&bytes, 100, 0x1000, 0x4000, 0x40, 99); /* of nothing */
	load(&bytes, 200, 0x2000, 0x40, 4, "good");
	expect_in_dump(&bytes, 0x1000, 300, "");
	expect_in_dump(&bytes, UINT64_MAX - 8, 300, "");
	expect_in_dump(&bytes, 0x3000, 300, "");
	expect_in_dump(&bytes, 0x4000, 300, "");
	expect_in_dump(&bytes, 0x2000, 300, "good");
	whole = bytes.all.nr;
	for (bytes.all.nr = 40; bytes.all.nr < whole; bytes.all.nr++)
		expect_in_dump(&bytes, 0x1000, 300, "");
	vec_release(&bytes.all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_perf_map),
		cmocka_unit_test(test_perf_map_lines),
		cmocka_unit_test(test_perf_map_long_lines),
		cmocka_unit_test(test_jitdump),
		cmocka_unit_test(test_jitdump_lines),
		cmocka_unit_test(test_jitdump_lines_of_v8),
		cmocka_unit_test(test_jitdump_bad_lines),
		cmocka_unit_test(test_jitdump_other_clock),
		cmocka_unit_test(test_jitdump_headers),
		cmocka_unit_test(test_jitdump_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
