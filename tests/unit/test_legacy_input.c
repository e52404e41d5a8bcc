// SPDX-License-Identifier: BSD-2-Clause
/* The formats before profile.proto: known files in, known stacks and values out. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/input.h"
#include "input/memorymap.h"

static struct profile *parse(const void *bytes, size_t len, enum input_format wanted)
{
	struct input_error error = {0};
	enum input_format format = INPUT_UNKNOWN;
	struct profile *profile = NULL;

	if (input_parse(bytes, len, &input_default_limits, &profile, &format, &error))
		fail_msg("%s (line %lu)", error.message, error.line);
	assert_int_equal(format, wanted);
	return profile;
}

static struct profile *parse_text(const char *text, enum input_format wanted)
{
	return parse(text, strlen(text), wanted);
}

static void refuse(const void *bytes, size_t len, uint64_t line, const char *words)
{
	struct input_error error = {0};
	struct profile *profile = NULL;
	int err = input_parse(bytes, len, &input_default_limits, &profile, NULL, &error);

	assert_int_equal(err, -EBADMSG);
	assert_null(profile);
	if (!strstr(error.message, words))
		fail_msg("'%s' does not say '%s'", error.message, words);
	assert_int_equal(error.line, line);
}

static void assert_stack(const struct profile *profile, size_t sample, size_t nr,
			 const uint64_t *addresses)
{
	const struct profile_sample *s = &profile->samples.at[sample];

	assert_int_equal(s->nr_locations, nr);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(profile->locations.at[s->locations[i] - 1].address, addresses[i]);
}

static const char *string(const struct profile *profile, uint32_t id)
{
	return strtab_get(&profile->strings, id);
}

/* Words of a CPU profile in any width and byte order. */
static size_t put_words(uint8_t *out, const uint64_t *words, size_t nr, unsigned int bytes,
			bool big_endian)
{
	for (size_t i = 0; i < nr; i++)
		for (unsigned int byte = 0; byte < bytes; byte++)
			*out++ = words[i] >> 8 * (big_endian ? bytes - 1 - byte : byte);
	return nr * bytes;
}

/* The seed's three records, with a memory map behind them. */
static const uint64_t cpu_words[] = {0, 3,	0,	10000,	0, 5, 2,      0x1000, 0x2001, 7,
				     3, 0x1004, 0x2101, 0x3001, 1, 1, 0x1008, 0,      1,      0};

static void test_cpu_in_four_ways(void **state)
{
	static const char map[] = "00001000-00004000 r-xp 00000000 08:01 12 /bin/app\n";
	uint8_t bytes[512];

	(void)state;
	for (int way = 0; way < 4; way++) {
		size_t len = put_words(bytes, cpu_words, sizeof(cpu_words) / sizeof(*cpu_words),
				       way & 1 ? 8 : 4, way & 2);
		struct profile *profile;

		memcpy(bytes + len, map, sizeof(map) - 1);
		profile = parse(bytes, len + sizeof(map) - 1, INPUT_LEGACY_CPU);
		assert_int_equal(profile->period, 10000000);
		assert_int_equal(profile->samples.nr, 3);
		assert_stack(profile, 0, 2, (uint64_t[]){0x1000, 0x2000});
		assert_stack(profile, 1, 3, (uint64_t[]){0x1004, 0x2100, 0x3000});
		assert_stack(profile, 2, 1, (uint64_t[]){0x1008});
		assert_int_equal(profile->samples.at[1].values[0], 7);
		assert_int_equal(profile->samples.at[1].values[1], 70000000);
		assert_int_equal(profile->mappings.nr, 1);
		assert_string_equal(string(profile, profile->mappings.at[0].path), "/bin/app");
		profile_free(profile);
	}
}

/* A frame that is second in all stacks is the handler's, unless there is but one stack. */
static void test_cpu_handler_frames(void **state)
{
	static const uint64_t same_second[] = {0,    3, 0, 1,	 0,    1,    3, 0x10, 0x21,
					       0x31, 1, 3, 0x12, 0x21, 0x33, 0, 1,    0};
	static const uint64_t one_stack[] = {0, 3, 0, 1, 0, 4, 3, 0x10, 0x21, 0x31, 0, 1, 0};
	static const uint64_t twice_the_leaf[] = {0,	3, 0, 1,    0,	  4, 3, 0x10, 0x10,
						  0x31, 1, 2, 0x20, 0x41, 0, 1, 0};
	uint8_t bytes[512];
	struct profile *profile;

	(void)state;
	profile = parse(bytes, put_words(bytes, same_second, 18, 8, false), INPUT_LEGACY_CPU);
	assert_stack(profile, 0, 2, (uint64_t[]){0x10, 0x30});
	assert_stack(profile, 1, 2, (uint64_t[]){0x12, 0x32});
	profile_free(profile);
	profile = parse(bytes, put_words(bytes, one_stack, 13, 8, false), INPUT_LEGACY_CPU);
	assert_stack(profile, 0, 3, (uint64_t[]){0x10, 0x20, 0x30});
	profile_free(profile);
	profile = parse(bytes, put_words(bytes, twice_the_leaf, 17, 8, false), INPUT_LEGACY_CPU);
	assert_stack(profile, 0, 2, (uint64_t[]){0x10, 0x30});
	profile_free(profile);
}

static void test_cpu_refused(void **state)
{
	static const uint64_t long_stack[] = {0, 3, 0, 1, 0, 1, 1ull << 61, 0x10};
	static const uint64_t huge_count[] = {0, 3, 0, 1, 0, 1ull << 62, 1, 0x10};
	static const uint64_t lone_word[] = {0, 3, 0, 1, 0, 1, 1, 0x10, 5};
	uint8_t bytes[80];

	(void)state;
	refuse(bytes, put_words(bytes, long_stack, 8, 8, false), 0, "1 words are left");
	refuse(bytes, put_words(bytes, huge_count, 8, 8, false), 0,
	       "invalid sample count 4611686018427387904");
	refuse(bytes, put_words(bytes, lone_word, 9, 8, false), 0, "last 8 bytes");
	refuse(bytes, put_words(bytes, lone_word, 9, 8, false) - 3, 0, "last 5 bytes");
	profile_free(parse(bytes, put_words(bytes, lone_word, 8, 8, false), INPUT_LEGACY_CPU));
}

static void assert_line(const struct profile *profile, uint32_t id, const char *function,
			const char *file, int64_t line)
{
	const struct profile_location *location = &profile->locations.at[id - 1];
	const struct profile_function *f = &profile->functions.at[location->lines[0].function - 1];

	assert_int_equal(location->nr_lines, 1);
	assert_string_equal(string(profile, f->name), function);
	assert_string_equal(string(profile, f->path), file);
	assert_int_equal(location->lines[0].line, line);
}

/* Of a Java program, whose places have no addresses. */
static void assert_frame(const struct profile *profile, uint32_t id, const char *function,
			 const char *file, int64_t line)
{
	assert_line(profile, id, function, file, line);
	assert_int_equal(profile->locations.at[id - 1].address, 0);
}

#define JAVA_PLACES                                          \
	"\n 0x0000003 com.example.f (source.java:3)\n"       \
	" 0x0000004 Gen::g (deleted) (/usr/lib/libjvm.so)\n" \
	" 0x0000005 generated stub/JIT\n 0x0000006 GC\n"

static void test_java_heap(void **state)
{
	struct profile *profile =
		parse_text("--- heapz 1 ---\nformat = java\nresolution = bytes\n"
			   "  7048  1 @ 0x00000003 0x00000004\n"
			   "  0  2 @ 0x00000005 0x00000006 0x00000007\n" JAVA_PLACES,
			   INPUT_LEGACY_JAVA);
	const uint32_t *ids = profile->samples.at[0].locations;

	(void)state;
	assert_string_equal(string(profile, profile->types[1].type), "inuse_space");
	assert_string_equal(string(profile, profile->types[1].unit), "bytes");
	assert_int_equal(profile->samples.nr, 2);
	/* 7048 / (1 - e^(-7048/524288)) = 527820.04, by python */
	assert_int_equal(profile->samples.at[0].values[0], 74);
	assert_int_equal(profile->samples.at[0].values[1], 527819);
	assert_int_equal(profile->samples.at[0].labels[0].num, 7048);
	assert_int_equal(profile->samples.at[1].values[0], 0);
	assert_frame(profile, ids[0], "com.example.f", "source.java", 3);
	assert_frame(profile, ids[1], "Gen::g (deleted)", "libjvm.so", 0);
	ids = profile->samples.at[1].locations;
	assert_frame(profile, ids[0], "STUB", "", 0);
	assert_frame(profile, ids[1], "GC", "", 0);
	assert_int_equal(profile->locations.at[ids[2] - 1].nr_lines, 0);
	assert_int_equal(profile->mappings.nr, 1);
	profile_free(profile);
}

static void test_java_contention(void **state)
{
	struct profile *profile = parse_text(
		"--- contentionz 1 ---\nformat = java\nresolution = microseconds\n"
		"sampling period = 100\nms since reset = 6019\n  14  2 @ 0x3 0x4\n" JAVA_PLACES,
		INPUT_LEGACY_JAVA);

	(void)state;
	assert_int_equal(profile->samples.at[0].values[0], 200);
	assert_int_equal(profile->samples.at[0].values[1], 1400);
	assert_string_equal(string(profile, profile->types[1].unit), "microseconds");
	assert_int_equal(profile->period, 100);
	assert_int_equal(profile->duration_ns, 6019000000);
	profile_free(profile);
}

static void test_java_cpu(void **state)
{
	static const uint64_t cpu[] = {0, 3, 1, 10000, 0, 5, 2, 3, 4, 0, 1, 0};
	uint8_t bytes[512];
	size_t len = put_words(bytes, cpu, 12, 4, false);
	struct profile *profile;

	(void)state;
	memcpy(bytes + len, JAVA_PLACES, sizeof(JAVA_PLACES) - 1);
	profile = parse(bytes, len + sizeof(JAVA_PLACES) - 1, INPUT_LEGACY_CPU);
	assert_int_equal(profile->samples.at[0].values[1], 50000000);
	assert_frame(profile, profile->samples.at[0].locations[0], "com.example.f", "source.java",
		     3);
	assert_frame(profile, profile->samples.at[0].locations[1], "Gen::g (deleted)", "libjvm.so",
		     0);
	profile_free(profile);
}

/* A pair with a 0 in it is none, before anybody asks for the rate. */
static void test_heap_of_no_bytes(void **state)
{
	static const struct {
		const char *kind;
		int64_t objects;
	} kinds[] = {{"heap/2", 0},  {"heap_v2/1", 0},	 {"heap", 0},	{"heap/1048576", 0},
		     {"heap/-2", 0}, {"heapprofile", 5}, {"growthz", 5}};
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct profile *profile;

		snprintf(text, sizeof(text), "heap profile: 5: 0 [5: 0] @ %s\n5: 0 [5: 0] @ 0x11\n",
			 kinds[i].kind);
		profile = parse_text(text, INPUT_LEGACY_HEAP);
		assert_int_equal(profile->samples.at[0].values[0], kinds[i].objects);
		assert_int_equal(profile->samples.at[0].values[1], 0);
		profile_free(profile);
	}
}

/* As pprof's regular expressions have it: what stands before a head or a line's numbers is skipped. */
static void test_text_before(void **state)
{
	struct profile *profile = parse_text("GET /heapz: heap profile: 5: 50 [5: 50] @ heap/-2\n"
					     "of a: 5: 50 [5: 50] @ 0x11 0x2F 0x31\n",
					     INPUT_LEGACY_HEAP);

	(void)state;
	assert_int_equal(profile->period, 0);
	assert_int_equal(profile->samples.at[0].values[0], 5);
	assert_stack(profile, 0, 2, (uint64_t[]){0x10, 0x1});
	profile_free(profile);
}

static void test_heap_is_scaled(void **state)
{
	struct profile *profile =
		parse_text("heap profile: 3: 3072 [4: 4096] @ heap/1048576\n"
			   "3: 3072 [4: 4096] @ 0x2001 0x1001\n"
			   "# VmRSS = 5120 kB\n"
			   "MAPPED_LIBRARIES:\n"
			   "1000-3000 r-xp 00001000 00:00 0 /usr/bin/my app (deleted)\n",
			   INPUT_LEGACY_HEAP);
	const int64_t *values = profile->samples.at[0].values;

	(void)state;
	assert_int_equal(profile->nr_types, 4);
	assert_string_equal(string(profile, profile->types[3].type), "inuse_space");
	assert_int_equal(profile->period, 524288);
	/* 1 / (1 - e^(-1024/524288)) = 512.5001628, by python */
	assert_int_equal(values[0], 2050);
	assert_int_equal(values[1], 2099200);
	assert_int_equal(values[2], 1537);
	assert_int_equal(values[3], 1574400);
	assert_stack(profile, 0, 2, (uint64_t[]){0x2000, 0x1000});
	assert_int_equal(profile->samples.at[0].labels[0].num, 1024);
	assert_string_equal(string(profile, profile->mappings.at[0].path), "/usr/bin/my app");
	profile_free(profile);
}

static void test_heap_kinds(void **state)
{
	static const struct {
		const char *kind;
		int64_t period, objects;
	} kinds[] = {{"heap/1048576", 524288, 1537},
		     {"heap_v2/524288", 524288, 1537},
		     {"heapz_v2/524288", 524288, 1537},
		     {"heapprofile", 1, 3},
		     {"heap", 0, 3},
		     {"growthz", 1, 3},
		     {"fragmentation", 1, 3},
		     {"heap_v2/1", 1, 3}};
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct profile *profile;

		snprintf(text, sizeof(text),
			 "heap profile:  3:  3072 [ 3:  3072] @ %s\n  3: 3072 [ 3: 3072] @ 0x11\n",
			 kinds[i].kind);
		profile = parse_text(text, INPUT_LEGACY_HEAP);
		assert_int_equal(profile->nr_types, 2);
		assert_int_equal(profile->period, kinds[i].period);
		assert_int_equal(profile->samples.at[0].values[0], kinds[i].objects);
		profile_free(profile);
	}
}

static void test_heap_of_jemalloc(void **state)
{
	struct profile *profile = parse_text("heap_v2/524288\n"
					     "  t*: 13: 6688 [0: 0]\n"
					     "  t0: 13: 6688 [0: 0]\n"
					     "@ 0x2001 0x1001\n"
					     "  t*: 3: 3072 [0: 0]\n"
					     "  t0: 3: 3072 [0: 0]\n"
					     "\nMAPPED_LIBRARIES:\n"
					     "1000-3000 r-xp 00001000 00:00 0 /usr/bin/app\n",
					     INPUT_LEGACY_HEAP);

	(void)state;
	assert_int_equal(profile->samples.nr, 1);
	assert_int_equal(profile->nr_types, 2);
	assert_int_equal(profile->samples.at[0].values[0], 1537);
	assert_stack(profile, 0, 2, (uint64_t[]){0x2000, 0x1000});
	profile_free(profile);
}

static void test_texts_refused(void **state)
{
	static const struct {
		const char *text;
		uint64_t line;
		const char *words;
	} bad[] = {
		{"heap profile: 1: 2 [1: 2] @ heapz_v1/5\n", 1, "kind"},
		{"heap profile: 1: 2 [1: 2]\n", 1, "kind"},
		{"heap profile: 1: 2 [1: 2] @ heap/2\n1: 2 [1: 2]\n", 2, "not a line of a heap"},
		{"heap profile: 1: 2 [1: 2] @ heap/2\n0: 2 [0: 0] @ 0x1\n", 2, "2 bytes, but 0"},
		{"heap profile: 1: 2 [1: 2] @ heap/2\n\n1: 2 [1: 2] @ 0x11111111111111111\n", 3,
		 "64 bits"},
		{"heap profile: 1: 2 [1: 2] @ heap/2\n99999999999999999999: 2 [1: 2] @\n", 2,
		 "not a line of a heap"},
		{"--- contention:\ncycles/second = x\n", 2, "not a line of a contention"},
		{"--- contention:\nformat = java\n", 2, "not a line of a contention"},
		{"--- heapz 1 ---\nformat = java\n1 1 @ 0x3\n", 3, "come before their resolution"},
		{"--- heapz 1 ---\nformat = c\n", 2, "not a line of a Java"},
		{"--- heapz 1 ---\nresolution = bytes\n1 0 @ 0x3\n", 3, "not a line of a Java"},
		{"--- heapz 1 ---\nresolution = bytes\n1 1 @ 0x11111111111111111\n", 3, "64 bits"},
		{"--- contention:\n1 @ 0x1\n", 2, "not a line of a contention"},
		{"--- threadz 1 ---\n\n--- Nothing ---\n", 3, "not the heading of a thread"},
		{"goroutine profile: total 2\n2 @\n", 2, "not a line of a count"},
		{"app 1 1.000000: cycles:\n\t1 f (app)\n\nno head\n", 4,
		 "not the first line of a sample"},
		{"a;b 3\na;b three\n", 2, "expected a stack and a whole number"},
		{"nothing of the kind\n", 0, "not a profile"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refuse(bad[i].text, strlen(bad[i].text), bad[i].line, bad[i].words);
}

static void test_contention(void **state)
{
	struct profile *profile = parse_text("--- contention:\n"
					     "cycles/second=0x77359400\n"
					     "sampling period=1_00\n"
					     "ms since reset=1500\n"
					     "discarded samples=0\n"
					     "4000 27 @ 0x2001 0x1001\n"
					     "1 1 @ 0x3001\n",
					     INPUT_LEGACY_CONTENTION);

	(void)state;
	assert_int_equal(profile->samples.nr, 2);
	assert_int_equal(profile->samples.at[0].values[0], 2700);
	assert_int_equal(profile->samples.at[0].values[1], 200000);
	assert_int_equal(profile->duration_ns, 1500000000);
	assert_int_equal(profile->period, 100);
	assert_stack(profile, 0, 2, (uint64_t[]){0x2000, 0x1000});
	profile_free(profile);
}

static void test_threads(void **state)
{
	struct profile *profile =
		parse_text("--- threadz 1 ---\n\n"
			   "--- Thread 7f794ab90940 (name: main/14748) stack: ---\n"
			   "  PC: 0x00bccc97: helper(arg *)\n"
			   "  0x1001: main\n"
			   "--- Thread 7f794a32d940 (name: pool/14751) stack: ---\n"
			   "    [same as previous thread]\n"
			   "--- Thread 7f794a32d941 (name: pool/14752) stack: ---\n"
			   "  0x3000\n"
			   "---- no stack trace for some ---\n"
			   "--- Memory map: ---\n"
			   "  1000-2000: /bin/app\n",
			   INPUT_LEGACY_THREADS);

	(void)state;
	assert_int_equal(profile->samples.nr, 2);
	assert_int_equal(profile->samples.at[0].values[0], 2);
	assert_int_equal(profile->samples.at[1].values[0], 1);
	assert_stack(profile, 0, 2, (uint64_t[]){0xbccc97, 0x1000});
	assert_string_equal(string(profile, profile->mappings.at[0].path), "/bin/app");
	profile_free(profile);
}

static void test_counts(void **state)
{
	struct profile *profile = parse_text("# comment\n\ngoroutine profile: total 7\n"
					     "3 @ 0x2001 0x1001\n"
					     "#\t0x2000\tmain.f+0x1\t/src/main.go:4\n\n"
					     "4 @ 0x3001\n",
					     INPUT_LEGACY_COUNT);

	(void)state;
	assert_string_equal(string(profile, profile->types[0].type), "goroutine");
	assert_int_equal(profile->samples.nr, 2);
	assert_int_equal(profile->samples.at[1].values[0], 4);
	assert_stack(profile, 0, 1, (uint64_t[]){0x2000});
	profile_free(profile);
}

/* As Go's runtime writes them: its own frames have no names, an inlined function has its caller's address. */
static void test_names_in_comments(void **state)
{
	struct profile *profile =
		parse_text("heap profile: 3: 48 [3: 48] @ heap/2\n"
			   "1: 16 [1: 16] @ 0x9001 0x2001 0x2002 0x3001 0x8001\n"
			   "#\t0x2000\tmain.grow[go.shape.int]+0x20\t\t/src/a b.go:12\n"
			   "#\t0x2001\tmain.inlined+0x2\t/src/a b.go:18\n"
			   "#\t0x2001\tmain.load+0x40\t/src/a b.go:24\n"
			   "#\t0x3000\tstd::f(int, char)\tlibfoo.so\n"
			   "\n"
			   "1: 16 [1: 16] @ 0x9001 0x8001\n"
			   "1: 16 [1: 16] @ 0x2001 0x3001 0x3001\n"
			   "#\t0x2000\tanother name\tx.c:1\n"
			   "#\t0x3000\tstd::f(int, char)\tlibfoo.so\n"
			   "#\t0x3000\tstd::f(int, char)\tlibfoo.so\n"
			   "#\t0x7000\tnobody's\tx.c:1\n"
			   "#\t0x\n#\t0x3000\n#\t0x3000\t\t\n# 0x10000000000000000\tf\tx.c:1\n",
			   INPUT_LEGACY_HEAP);
	const struct profile_location *inlined;

	(void)state;
	assert_stack(profile, 0, 3, (uint64_t[]){0x2000, 0x2001, 0x3000});
	assert_stack(profile, 1, 2, (uint64_t[]){0x9000, 0x8000});
	assert_stack(profile, 2, 3, (uint64_t[]){0x2000, 0x3000, 0x3000});
	assert_line(profile, profile->samples.at[0].locations[0], "main.grow[go.shape.int]",
		    "/src/a b.go", 12);
	assert_line(profile, profile->samples.at[0].locations[2], "std::f(int, char)", "", 0);
	inlined = &profile->locations.at[profile->samples.at[0].locations[1] - 1];
	assert_int_equal(inlined->nr_lines, 2);
	assert_int_equal(inlined->lines[0].line, 18);
	assert_int_equal(inlined->lines[1].line, 24);
	assert_int_equal(profile->locations.at[profile->samples.at[1].locations[0] - 1].nr_lines,
			 0);
	profile_free(profile);
}

/* Lines without a name and lines of another kind do not end what is shown of a stack. */
static void test_comments_of_go(void **state)
{
	struct profile *profile = parse_text("goroutine profile: total 3\n"
					     "1 @ 0x9001 0x2001 0x3001 0x4001 0x8001\n"
					     "# labels: {\"phase\":\"one\"}\n"
					     "#\t0x2000\tmain.f+0x1\t\t/src/main.go:4\n"
					     "#\t0x3000\n"
					     "#\t0x4000\tmain.g\t/src/g.go\n\n"
					     "2 @ 0x9001 0x2001\n",
					     INPUT_LEGACY_COUNT);

	(void)state;
	assert_stack(profile, 0, 3, (uint64_t[]){0x2000, 0x3000, 0x4000});
	assert_stack(profile, 1, 2, (uint64_t[]){0x9000, 0x2000});
	assert_line(profile, profile->samples.at[0].locations[0], "main.f", "/src/main.go", 4);
	assert_line(profile, profile->samples.at[0].locations[2], "main.g", "/src/g.go", 0);
	profile_free(profile);
}

/* As cprof writes functions of interpreters: no stack is whole without them. */
static void test_interpreted_in_comments(void **state)
{
	struct profile *profile = parse_text("heap profile: 1: 16 [1: 16] @ heapprofile\n"
					     "1: 16 [1: 16] @ 0x2001 0x3001\n"
					     "#\t0x2000\tPyList_New\tpython3\n"
					     "#\t\tprog.f\t/src/prog.py:4\n",
					     INPUT_LEGACY_HEAP);

	(void)state;
	assert_stack(profile, 0, 2, (uint64_t[]){0x2000, 0x3000});
	assert_int_equal(profile->functions.nr, 0);
	profile_free(profile);
}

/* What stands in a memory map, in all the ways of writing it (pprof's TestParseMappingEntry). */
static void test_memory_map(void **state)
{
	static const struct {
		const char *line;
		uint64_t start, limit, file_off;
		const char *path, *build_id; /* path NULL: no mapping comes of it */
	} entries[] = {
		{"00400000-02e00000 r-xp 00000000 00:00 0", 0x400000, 0x2e00000, 0, "", ""},
		{"02e00000-02e8a000 r-xp 02a00000 00:00 15953927    /foo/bin", 0x2e00000, 0x2e8a000,
		 0x2a00000, "/foo/bin", ""},
		{"02e00000-02e8a000 rw-p 02a00000 00:00 15953927    /foo/bin", 0, 0, 0, NULL, NULL},
		{"02e00000-02e8a000 r-xp 000000 00:00 15953927    [vdso]", 0x2e00000, 0x2e8a000, 0,
		 "[vdso]", ""},
		{"  02e00000-02e8a000: /foo/bin (@2a00000)", 0x2e00000, 0x2e8a000, 0x2a00000,
		 "/foo/bin", ""},
		{"  02e00000-02e8a000: /foo/bin (deleted)", 0x2e00000, 0x2e8a000, 0, "/foo/bin",
		 ""},
		{"  0x02e00000 0x02e8a000: /foo/bin (@2a00000) abcdef0123", 0x2e00000, 0x2e8a000,
		 0x2a00000, "/foo/bin", "abcdef0123"},
		{"02e00000-02e8a000 /foo/bin abc1", 0x2e00000, 0x2e8a000, 0, "/foo/bin", "abc1"},
		{"I0102 12:00:00.1 1 f.cc:12] 02e00000-02e8a000: /foo/bin", 0x2e00000, 0x2e8a000, 0,
		 "/foo/bin", ""},
		{"7f00-7f80 r-xp 1000 08:01 7 /opt/a b/lib c.so (deleted)", 0x7f00, 0x7f80, 0x1000,
		 "/opt/a b/lib c.so", ""},
		{"2e00000 r-xp", 0, 0, 0, NULL, NULL},
		{"nothing", 0, 0, 0, NULL, NULL},
		{"", 0, 0, 0, NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		const char *text = entries[i].line;
		struct lines lines = {.at = text, .end = text + strlen(text)};
		struct memory_map map = {0};

		assert_int_equal(memory_map_read(&map, &lines, 10), 0);
		assert_int_equal(map.all.nr, entries[i].path ? 1 : 0);
		if (entries[i].path) {
			assert_int_equal(map.all.at[0].start, entries[i].start);
			assert_int_equal(map.all.at[0].limit, entries[i].limit);
			assert_int_equal(map.all.at[0].file_off, entries[i].file_off);
			assert_string_equal(map.all.at[0].path, entries[i].path);
			assert_string_equal(map.all.at[0].build_id, entries[i].build_id);
		}
		memory_map_release(&map);
	}
}

static void test_memory_map_as_a_whole(void **state)
{
	static const char text[] = "build=/home/me\n"
				   "1000-2000 r-xp 0 00:00 0 /lib/libc-2.28.so\n"
				   "3000-4000: $build/app (@1000)\n"
				   "4000-5000: $build/app (@2000)\n"
				   "5000-6000: $build/app (@9000)\n";
	struct lines lines = {.at = text, .end = text + sizeof(text) - 1};
	struct memory_map map = {0};

	(void)state;
	assert_int_equal(memory_map_read(&map, &lines, 10), 0);
	assert_int_equal(map.all.nr, 3);
	assert_string_equal(map.all.at[0].path, "/home/me/app");
	assert_int_equal(map.all.at[0].start, 0x3000);
	assert_int_equal(map.all.at[0].limit, 0x5000);
	assert_string_equal(map.all.at[1].path, "/lib/libc-2.28.so");
	memory_map_release(&map);
}

/* Variables that make long lines out of short ones, again and again, are no way to fill memory. */
static void test_variables_are_bounded(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	struct memory_map map = {0};
	struct lines lines;

	(void)state;
	fprintf(out, "a=%04000d\n", 1);
	for (int i = 0; i < 100000; i++)
		fputs("$a$a\n", out);
	fclose(out);
	lines = (struct lines){.at = text, .end = text + len};
	assert_int_equal(memory_map_read(&map, &lines, 10), 0);
	assert_true(map.replaced_bytes < 17u << 20);
	memory_map_release(&map);
	free(text);
}

static void test_perf_script(void **state)
{
	struct profile *profile = parse_text(
		"# captured by nobody\n"
		"my app: 2 20618/20619 [001]  5213.000001:   10101010 cpu-clock:pppH: \n"
		"\t    55d0c0de1234 helper(int, char (*)[2])+0x14 (/usr/bin/app (deleted))\n"
		"\t    7f3a5c0a1235 inner (inlined)\n"
		"\t    7f3a5c0a1235 outer+0x1c (/usr/lib/libfoo.so.1)\n"
		"  foo.c:12\n"
		"\t    7f3a5c0a1335 [unknown] (/usr/lib/libfoo.so.1)\n"
		"\n"
		"swapper     0 [000]  5213.500001:   10101010 cpu-clock: ffffffff81000010 "
		"default_idle+0x10 ([kernel.kallsyms])\n"
		"app     7  5214.000001:          3   page-faults:u: \n"
		"\t    55d0c0de1234 [unknown] ([unknown])\n",
		INPUT_PERF_SCRIPT);
	const struct profile_sample *sample = &profile->samples.at[0];
	const struct profile_location *location = &profile->locations.at[sample->locations[1] - 1];

	(void)state;
	assert_int_equal(profile->nr_types, 3);
	assert_string_equal(string(profile, profile->types[1].type), "cpu");
	assert_string_equal(string(profile, profile->types[2].type), "page_faults");
	assert_int_equal(profile->samples.nr, 3);
	assert_int_equal(sample->values[0], 1);
	assert_int_equal(sample->values[1], 10101010);
	assert_int_equal(sample->values[2], 0);
	assert_int_equal(profile->samples.at[2].values[2], 3);
	assert_string_equal(string(profile, sample->labels[0].str), "my app: 2");
	assert_int_equal(sample->labels[2].num, 20619);
	assert_stack(profile, 0, 3, (uint64_t[]){0x55d0c0de1234, 0x7f3a5c0a1234, 0x7f3a5c0a1334});
	assert_int_equal(location->nr_lines, 2);
	assert_string_equal(
		string(profile, profile->functions.at[location->lines[0].function - 1].name),
		"inner");
	assert_string_equal(
		string(profile,
		       profile->functions
			       .at[profile->locations.at[sample->locations[0] - 1].lines->function -
				   1]
			       .name),
		"helper(int, char (*)[2])");
	assert_string_equal(
		string(profile,
		       profile->functions
			       .at[profile->locations.at[sample->locations[2] - 1].lines->function -
				   1]
			       .name),
		"[libfoo.so.1]");
	/* It is no symbol's name. */
	assert_int_equal(
		profile->functions
			.at[profile->locations.at[sample->locations[2] - 1].lines->function - 1]
			.system_name,
		0);
	assert_string_equal(string(profile, profile->mappings.at[0].path),
			    "/usr/bin/app (deleted)");
	assert_int_equal(profile->duration_ns, 1000000000);
	profile_free(profile);
}

static void test_folded(void **state)
{
	struct profile *profile = parse_text("main;work;operator new(unsigned long) 12\n"
					     "main;;work 3\n"
					     "main;work;operator new(unsigned long) 1\n",
					     INPUT_FOLDED);

	(void)state;
	assert_int_equal(profile->samples.nr, 2);
	assert_int_equal(profile->samples.at[0].values[0], 13);
	assert_int_equal(profile->samples.at[0].nr_locations, 3);
	assert_int_equal(profile->functions.nr, 4);
	assert_string_equal(string(profile, profile->functions.at[0].name),
			    "operator new(unsigned long)");
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpu_in_four_ways),
		cmocka_unit_test(test_cpu_handler_frames),
		cmocka_unit_test(test_cpu_refused),
		cmocka_unit_test(test_java_heap),
		cmocka_unit_test(test_java_contention),
		cmocka_unit_test(test_java_cpu),
		cmocka_unit_test(test_heap_of_no_bytes),
		cmocka_unit_test(test_text_before),
		cmocka_unit_test(test_heap_is_scaled),
		cmocka_unit_test(test_heap_kinds),
		cmocka_unit_test(test_heap_of_jemalloc),
		cmocka_unit_test(test_texts_refused),
		cmocka_unit_test(test_contention),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_names_in_comments),
		cmocka_unit_test(test_comments_of_go),
		cmocka_unit_test(test_interpreted_in_comments),
		cmocka_unit_test(test_memory_map),
		cmocka_unit_test(test_memory_map_as_a_whole),
		cmocka_unit_test(test_variables_are_bounded),
		cmocka_unit_test(test_perf_script),
		cmocka_unit_test(test_folded),
	};

	return cmocka_run_group_tests_name("legacy_input", tests, NULL, NULL);
}
