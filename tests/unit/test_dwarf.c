// SPDX-License-Identifier: BSD-2-Clause
/*
 * Lines and inlined functions of every address of small C and C++ programs, as gcc and clang write them, against
 * llvm-symbolizer --inlines; and damaged files, among them those of tests/fuzz/make_dwarf_corpus.py.
 *
 * The programs have no symbols: llvm-symbolizer takes the name of the outermost function from those if there are any.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>

#include "base/fileview.h"
#include "elf_judge.h"
#include "object/altlink.h"
#include "object/dwarf.h"
#include "object/inflate.h"

/* Templates, inlines in inlines, a class local to a function, lambdas, code of other sections, macros, a C file. */
static const char cxx_source[] =
	"#include <algorithm>\n#include <functional>\n#include <map>\n#include <string>\n"
	"#include <vector>\n#include <cstdio>\n"
	"namespace n { template <class T> struct box { T v; box(T x) : v(x) {}\n"
	"	T get() const { return v * 2; } virtual ~box() {} };\n"
	"static inline int tiny(int x) {\n	return x * 3 + 1; }\n"
	"__attribute__((noinline)) int outer(int x) { box<int> b(x); int s = 0;\n"
	"	for (int i = 0; i < x; i++)\n		s += tiny(b.get()) + i;\n	return s; "
	"} }\n"
	"struct local { static int run(const std::vector<int> &v) {\n"
	"	struct inner { static __attribute__((noinline)) int f(int a) { return a + 7; } };\n"
	"	auto l = [&](int z) __attribute__((noinline)) { return inner::f(z) + "
	"(int)v.size(); };\n"
	"	return l(3) + l((int)v.size()); } };\n"
	"extern \"C\" int from_c(int x);\n"
	"__attribute__((cold, noinline)) static void fails(int x) { if (x > 100) throw "
	"std::string(\"x\"); }\n"
	"int main(int argc, char **argv) {\n"
	"	std::map<std::string, std::vector<int>> m; std::vector<int> v;\n"
	"	for (int i = 0; i < argc * 10; i++) { v.push_back(n::outer(i));\n"
	"		m[std::to_string(i % 7)].push_back(from_c(i)); }\n"
	"	std::sort(v.begin(), v.end(), [](int a, int b) { return a % 17 < b % 17; });\n"
	"	std::function<int(int)> g = [&](int k) { return k + (int)m.size(); };\n"
	"	fails(argc);\n"
	"	printf(\"%d %d %zu %d\\n\", v[0], local::run(v), m.size(), g(1)); return 0; }\n";

static const char c_source[] =
	"#include <stdlib.h>\n#include <string.h>\n"
	"static inline int leaf(int x) {\n	return x * x; }\n"
	"#define TWICE(x) (leaf(x) + \\\n	leaf((x) + 1))\n"
	"static inline int middle(int x) {\n	if (x > 1000)\n		abort();\n"
	"	return TWICE(x); }\n"
	"static __attribute__((noinline)) int cloned(int x, int y) {\n"
	"	return y ? middle(x) : (int)strlen(\"abc\"); }\n"
	"int from_c(int x);\n"
	"int from_c(int x) {\n	int nested(int z) { return z + x; }\n"
	"	return cloned(x, 1) + nested(x) + middle(x + 2); }\n";

/* Without functions in functions, which clang does not have. */
static const char clang_source[] = "#define nested(z) ((z) + x)\n";

static void write_source(const char *name, const char *text)
{
	char *path scoped(freep) = xasprintf("%s/%s", judge_dir, name);
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static int make_sources(void **state)
{
	const char *nested = strstr(c_source, "	int nested"), *after = strchr(nested, '\n') + 1;
	char *flat scoped(freep) =
		xasprintf("%s%.*s%s", clang_source, (int)(nested - c_source), c_source, after);

	(void)state;
	judge_dir = temp_folder();
	write_source("a.cc", cxx_source);
	write_source("gcc.c", c_source);
	write_source("clang.c", flat);
	return 0;
}

/* Builds `name` with the options, without symbols. */
static void build(const char *name, const char *compiler, const char *options)
{
	bool is_gcc = !strcmp(compiler, "gcc");
	char *command scoped(freep) =
		xasprintf("%s -c %s -o c.o %s.c && %s -std=c++17 -c %s -o cc.o a.cc && %s %s -o "
			  "%s.full cc.o c.o"
			  " && strip --strip-all --keep-section='.debug_*' -o %s %s.full",
			  compiler, options, compiler, is_gcc ? "g++" : "clang++", options,
			  is_gcc ? "g++" : "clang++", options, name, name, name);

	judge_run(command);
}

/* "program" by gcc -g -O2, compiled once for all tests. */
static void build_usual(void)
{
	static bool is_built;

	if (!is_built) {
		build("usual", "gcc", "-g -O2");
		is_built = true;
	}
	judge_run("cp usual program");
}

/* Frames in llvm-symbolizer's words, one string for each address. */
struct answers {
	char **texts;
	size_t nr, nr_calls;
};

static void note(void *ctx, size_t i, const struct source_frame *frames, size_t nr)
{
	struct answers *answers = ctx;
	size_t len = 0;
	FILE *out;

	assert_true(i < answers->nr && nr >= 1 && nr <= SOURCE_MAX_FRAMES);
	assert_null(answers->texts[i]);
	out = open_memstream(&answers->texts[i], &len);
	for (size_t frame = 0; frame < nr; frame++) {
		assert_true(frames[frame].name || frame + 1 == nr);
		fprintf(out, "%s\n%s:%" PRIu32 "\n", frames[frame].name ? frames[frame].name : "??",
			*frames[frame].file ? frames[frame].file : "??", frames[frame].line);
	}
	fclose(out);
	answers->nr_calls++;
}

static void answers_release(struct answers *answers)
{
	for (size_t i = 0; i < answers->nr; i++)
		free(answers->texts[i]);
	free(answers->texts);
}

/* All addresses of .text, the caller's to free. */
static uint64_t *addresses(const struct elf_file *file, size_t *nr)
{
	struct elf_section text;
	uint64_t *addrs;

	assert_true(elf_file_section_named(file, ".text", &text));
	*nr = text.len_bytes;
	addrs = xcalloc(*nr, sizeof(*addrs));
	/* From the last to the first: the order is the caller's. */
	for (size_t i = 0; i < *nr; i++)
		addrs[i] = text.elf_addr + text.len_bytes - 1 - i;
	return addrs;
}

/* What llvm-symbolizer says of the next address: without the column, without "(discriminator 1)". */
static char *next_of_judge(FILE *in)
{
	char line[65536], *text = NULL, *colon;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	while (fgets(line, sizeof(line), in) && *line != '\n') {
		fputs(line, out);
		assert_non_null(fgets(line, sizeof(line), in));
		colon = strrchr(line, ':');
		assert_non_null(colon);
		fprintf(out, "%.*s\n", (int)(colon - line), line);
	}
	fclose(out);
	return text;
}

static FILE *ask_judge(const char *name, const uint64_t *addrs, size_t nr)
{
	char *path scoped(freep) = xasprintf("%s/addresses", judge_dir);
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	for (size_t i = 0; i < nr; i++)
		fprintf(out, "0x%" PRIx64 "\n", addrs[i]);
	fclose(out);
	return judge_ask("llvm-symbolizer --inlines --no-demangle -e %s <addresses", name);
}

static struct answers ask(const char *name, bool inlines, uint64_t **addrs)
{
	struct elf_file *file = judge_open(name);
	struct dwarf_source *source = dwarf_source_new(file, NULL);
	struct answers answers = {0};

	assert_non_null(source);
	*addrs = addresses(file, &answers.nr);
	elf_file_close(file);
	answers.texts = xcalloc(answers.nr, sizeof(*answers.texts));
	dwarf_source_frames(source, *addrs, answers.nr, inlines, NULL, note, &answers);
	dwarf_source_free(source);
	return answers;
}

/* Every address of the program is the same for the judge. Returns how many have frames. */
static size_t compare(const char *name)
{
	uint64_t *addrs;
	struct answers ours = ask(name, true, &addrs);
	FILE *in = ask_judge(name, addrs, ours.nr);

	for (size_t i = 0; i < ours.nr; i++) {
		char *theirs scoped(freep) = next_of_judge(in);
		const char *text = ours.texts[i] ? ours.texts[i] : "??\n??:0\n";

		if (strcmp(text, theirs) != 0)
			fail_msg("%s: 0x%" PRIx64 ":\n%sllvm-symbolizer:\n%s", name, addrs[i], text,
				 theirs);
	}
	pclose(in);
	free(addrs);
	answers_release(&ours);
	return ours.nr_calls;
}

static void test_every_address(void **state)
{
	static const char *const compilers[] = {"gcc", "clang"};
	static const char *const options[] = {
		"-gdwarf-4 -O0",
		"-gdwarf-4 -O2",
		"-gdwarf-5 -O0",
		"-gdwarf-5 -O2",
		"-gdwarf-5 -O2 -flto=auto -ffat-lto-objects -gz",
		"-gdwarf-4 -O1 -gz -fdebug-types-section",
		"-gdwarf-5 -O3 -ffunction-sections -Wl,--gc-sections -no-pie -fno-pie",
		"-gdwarf-2 -gno-strict-dwarf -O1",
	};

	(void)state;
	for (size_t compiler = 0; compiler < 2; compiler++) {
		for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
			if (compiler &&
			    (strstr(options[i], "lto") || strstr(options[i], "gno-strict")))
				continue;
			if (!getenv("TEST_LONG") && i % 2 != compiler)
				continue;
			build("program", compilers[compiler], options[i]);
			assert_true(compare("program") > 1000);
		}
	}
}

/* Compressed, the same is said of each address. */
static void test_compressed(void **state)
{
	static const char *const methods[] = {"zlib", "zlib-gnu", "zstd"};
	uint64_t *addrs;
	struct answers plain;

	(void)state;
	build_usual();
	plain = ask("program", true, &addrs);
	free(addrs);
	for (size_t method = 0; method < 3; method++) {
		char *command scoped(freep) = xasprintf(
			"objcopy --compress-debug-sections=%s program packed", methods[method]);
		struct answers packed;

		if (method == 2 &&
		    (!inflate_knows(INFLATE_ZSTD) || system("objcopy --help | grep -q zstd"))) {
			print_message("SKIP: no zstd in objcopy or in cprof\n");
			continue;
		}
		judge_run(command);
		packed = ask("packed", true, &addrs);
		free(addrs);
		assert_int_equal(packed.nr_calls, plain.nr_calls);
		for (size_t i = 0; i < plain.nr; i++)
			if (plain.texts[i])
				assert_string_equal(packed.texts[i], plain.texts[i]);
		answers_release(&packed);
	}
	answers_release(&plain);
}

/* The outermost function, at the line that it is at itself: that of the call where something is inlined. */
static void test_no_inlines(void **state)
{
	uint64_t *addrs;
	struct answers all, outermost;
	size_t nr_chains = 0;

	(void)state;
	build_usual();
	all = ask("program", true, &addrs);
	free(addrs);
	outermost = ask("program", false, &addrs);
	free(addrs);
	for (size_t i = 0; i < all.nr; i++) {
		const char *chain = all.texts[i], *last = outermost.texts[i];

		assert_int_equal(!chain, !last);
		if (!chain)
			continue;
		nr_chains += strlen(chain) > strlen(last);
		assert_string_equal(chain + strlen(chain) - strlen(last), last);
	}
	assert_true(nr_chains > 1000);
	answers_release(&all);
	answers_release(&outermost);
}

struct starts {
	const char *name;
	uint32_t line;
	size_t nr;
};

static void note_start(void *ctx, size_t i, const struct source_frame *frames, size_t nr)
{
	struct starts *starts = ctx;

	(void)i;
	for (size_t frame = 0; frame < nr; frame++) {
		if (!frames[frame].name || strcmp(frames[frame].name, starts->name) != 0)
			continue;
		assert_int_equal(frames[frame].start_line, starts->line);
		assert_true(frames[frame].line >= starts->line);
		starts->nr++;
	}
}

/* Where a function is declared: of an instance, of an inlined one, of one of two files. */
static void test_start_lines(void **state)
{
	struct starts expected[] = {{"_ZN1n5outerEi", 11, 0},
				    {"leaf", 3, 0},
				    {"middle", 7, 0},
				    {"cloned", 11, 0},
				    {"main", 21, 0}};
	struct dwarf_source *source;
	struct elf_file *file;
	uint64_t *addrs;
	size_t nr;

	(void)state;
	build_usual();
	file = judge_open("program");
	source = dwarf_source_new(file, NULL);
	addrs = addresses(file, &nr);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		dwarf_source_frames(source, addrs, nr, true, NULL, note_start, &expected[i]);
		assert_true(expected[i].nr);
	}
	free(addrs);
	dwarf_source_free(source);
	elf_file_close(file);
}

static void note_line_alone(void *ctx, size_t i, const struct source_frame *frames, size_t nr)
{
	(void)i;
	assert_int_equal(nr, 1);
	assert_null(frames->name);
	*(size_t *)ctx += frames->line && strstr(frames->file, "/a.cc") != NULL;
}

struct splits {
	uint64_t id;
	size_t nr;
};

static void note_split(void *ctx, size_t i, uint64_t dwo_id, const char *name, const char *dir)
{
	struct splits *splits = ctx;

	(void)i;
	assert_true(!splits->nr || splits->id == dwo_id);
	assert_non_null(strstr(name, "a.dwo"));
	assert_true(*name == '/' || !strcmp(dir, judge_dir));
	splits->id = dwo_id;
	splits->nr++;
}

/* Frames of every address, with the split units of a file, which is given after questions without it. */
static struct answers ask_split(const char *name, const char *split)
{
	struct elf_file *file = judge_open(name), *elf = judge_open(split);
	struct dwarf_source *source = dwarf_source_new(file, NULL);
	struct answers answers = {0};
	struct splits splits = {0};
	size_t nr_lines = 0;
	uint64_t *addrs;

	addrs = addresses(file, &answers.nr);
	answers.texts = xcalloc(answers.nr, sizeof(*answers.texts));
	dwarf_source_frames(source, addrs, answers.nr, true, NULL, note_line_alone, &nr_lines);
	assert_true(nr_lines > 500);
	dwarf_source_splits(source, addrs, answers.nr, NULL, note_split, &splits);
	assert_true(splits.nr >= nr_lines);
	assert_int_equal(dwarf_source_nr_split(source), splits.nr);
	assert_int_equal(dwarf_source_set_split(source, file, NULL), -ENOENT);
	assert_int_equal(dwarf_source_set_split(source, elf, NULL), 0);
	elf_file_close(elf);
	elf_file_close(file);
	dwarf_source_frames(source, addrs, answers.nr, true, NULL, note, &answers);
	assert_int_equal(dwarf_source_nr_split(source), 0);
	splits.nr = 0;
	dwarf_source_splits(source, addrs, answers.nr, NULL, note_split, &splits);
	assert_int_equal(splits.nr, 0);
	dwarf_source_free(source);
	free(addrs);
	return answers;
}

/* As for the same code compiled without -gsplit-dwarf, or, where it has other code, as the judge has it. */
static void compare_split(const char *split)
{
	struct answers ours = ask_split("split", split);
	struct elf_file *file = judge_open("split");
	uint64_t *addrs = addresses(file, &ours.nr);
	FILE *in = ask_judge("split", addrs, ours.nr);

	for (size_t i = 0; i < ours.nr; i++) {
		char *theirs scoped(freep) = next_of_judge(in);
		const char *text = ours.texts[i] ? ours.texts[i] : "??\n??:0\n";

		if (strcmp(text, theirs) != 0)
			fail_msg("%s: 0x%" PRIx64 ":\n%sllvm-symbolizer:\n%s", split, addrs[i],
				 text, theirs);
	}
	pclose(in);
	free(addrs);
	elf_file_close(file);
	answers_release(&ours);
}

/* -gsplit-dwarf, with the .dwo file and with a package: every address is the same for the judge. */
static void test_split(void **state)
{
	static const char *const compilers[] = {"g++", "clang++"};

	(void)state;
	for (int kind = 0; kind < 8; kind++) {
		const char *compiler = compilers[kind % 2];
		char *command scoped(freep) = xasprintf(
			"rm -f *.dwo *.dwp && %s -std=c++17 -gdwarf-%d -gsplit-dwarf -O%d -c a.cc "
			"&& gcc -O1 -c gcc.c && %s -o split.full a.o gcc.o && strip --strip-all "
			"--keep-section='.debug_*' -o split split.full",
			compiler, kind & 2 ? 5 : 4, kind & 4 ? 2 : 0, compiler);

		if (!getenv("TEST_LONG") && (kind % 2 != !!(kind & 2)) != !!(kind & 4))
			continue;
		judge_run(command);
		compare_split("a.dwo");
		/* binutils' dwp knows DWARF 4 alone, and llvm-dwp 14 does not end with gcc's 5. */
		if (kind % 2 == 0 && kind & 2)
			continue;
		judge_run(kind % 2 ? "llvm-dwp a.dwo -o split.dwp && mv a.dwo gone"
				   : "dwp -o split.dwp a.dwo && mv a.dwo gone");
		compare_split("split.dwp");
	}
}

/* dwz -m moves what two programs share into a third file: with it nothing changes, without it names are missing. */
static void compare_dwz(const char *options)
{
	struct answers before, without, with = {0};
	struct elf_file *file, *alt;
	struct dwarf_source *source;
	char *command scoped(freep) =
		xasprintf("cp program a && cp program b && dwz %s -m shared a b", options);
	struct altlink link;
	uint64_t *addrs;

	build_usual();
	before = ask("program", true, &addrs);
	free(addrs);
	judge_run(command);
	without = ask("a", true, &addrs); /* .text is the same */
	file = judge_open("a");
	alt = judge_open("shared");
	source = dwarf_source_new(file, NULL);
	assert_int_equal(altlink_read(file, &link), 0);
	assert_string_equal(link.path, "shared");
	assert_true(altlink_is(alt, link.id));
	assert_false(altlink_is(file, link.id));
	assert_int_equal(dwarf_source_set_alt(source, file, NULL), -ESTALE);
	assert_int_equal(dwarf_source_set_alt(source, alt, NULL), 0);
	elf_file_close(alt);
	elf_file_close(file);
	with.nr = before.nr;
	with.texts = xcalloc(with.nr, sizeof(*with.texts));
	dwarf_source_frames(source, addrs, with.nr, true, NULL, note, &with);
	assert_int_equal(with.nr_calls, before.nr_calls);
	for (size_t i = 0; i < with.nr; i++)
		if (before.texts[i])
			assert_string_equal(with.texts[i], before.texts[i]);
	assert_int_equal(without.nr_calls, before.nr_calls);
	dwarf_source_free(source);
	free(addrs);
	answers_release(&before);
	answers_release(&without);
	answers_release(&with);
}

static void test_dwz(void **state)
{
	(void)state;
	if (system("command -v dwz >/dev/null 2>&1")) {
		print_message("SKIP: dwz is not installed\n");
		skip();
	}
	compare_dwz("");
	compare_dwz("--dwarf-5");
}

static void test_no_dwarf(void **state)
{
	struct elf_file *file;

	(void)state;
	judge_run("gcc -O1 -o plain gcc.c -Dfrom_c=main && gcc -g -c -o object.o gcc.c");
	file = judge_open("plain");
	assert_null(dwarf_source_new(file, NULL));
	elf_file_close(file);
	file = judge_open("object.o"); /* not linked: its addresses are none */
	assert_null(dwarf_source_new(file, NULL));
	elf_file_close(file);
	assert_null(dwarf_source_new(NULL, NULL));
	dwarf_source_free(NULL);
}

static bool at_once(void)
{
	return true;
}

static void never(void *ctx, size_t i, const struct source_frame *frames, size_t nr)
{
	(void)ctx;
	(void)frames;
	fail_msg("address %zu has %zu frames", i, nr);
}

static void test_budget(void **state)
{
	struct workbudget budget = {0};
	struct dwarf_source *source;
	struct elf_file *file;
	uint64_t *addrs;
	size_t nr;

	(void)state;
	build_usual();
	file = judge_open("program");
	source = dwarf_source_new(file, NULL);
	addrs = addresses(file, &nr);
	workbudget_limit(&budget, 1000000000, at_once);
	dwarf_source_frames(source, addrs, nr, true, &budget, never, NULL);
	free(addrs);
	dwarf_source_free(source);
	elf_file_close(file);
	judge_run("objcopy --compress-debug-sections=zlib program packed");
	file = judge_open("packed");
	assert_null(dwarf_source_new(file, &budget)); /* there is no time to decompress it */
	elf_file_close(file);
}

/* The frames of some addresses of a source's file. */
static struct answers ask_some(struct dwarf_source *source, const uint64_t *addrs, size_t nr)
{
	struct answers answers = {xcalloc(nr, sizeof(char *)), nr, 0};

	dwarf_source_frames(source, addrs, nr, true, NULL, note, &answers);
	return answers;
}

static void expect_same(const struct answers *answers, const struct answers *expected)
{
	assert_int_equal(answers->nr_calls, expected->nr_calls);
	for (size_t i = 0; i < expected->nr; i++)
		if (expected->texts[i])
			assert_string_equal(answers->texts[i], expected->texts[i]);
}

static unsigned int looks_left;

static bool after_some_looks(void)
{
	return !looks_left || !--looks_left;
}

/* A question ends when time is up, wherever it is; the next one has the answers of a file that was not read before. */
static void test_time_is_up(void **state)
{
	struct workbudget budget = {0};
	struct answers expected, answers;
	struct dwarf_source *source;
	struct elf_file *file;
	uint64_t *addrs;
	size_t nr, nr_partial = 0;

	(void)state;
	judge_run("cp /proc/$PPID/exe itself");
	file = judge_open("itself");
	addrs = addresses(file, &nr);
	nr /= 50;
	for (size_t i = 0; i < nr; i++)
		addrs[i] = addrs[i * 50];
	source = dwarf_source_new(file, NULL);
	expected = ask_some(source, addrs, nr);
	dwarf_source_free(source);
	for (unsigned int looks = 1; looks < 1000; looks += looks / 4 + 1) {
		source = dwarf_source_new(file, NULL);
		looks_left = looks;
		workbudget_limit(&budget, UINT32_MAX * 1000ull, after_some_looks);
		answers = (struct answers){xcalloc(nr, sizeof(char *)), nr, 0};
		dwarf_source_frames(source, addrs, nr, true, &budget, note, &answers);
		nr_partial += answers.nr_calls > 0 && answers.nr_calls < expected.nr_calls;
		answers_release(&answers);
		answers = ask_some(source, addrs, nr);
		expect_same(&answers, &expected);
		answers_release(&answers);
		dwarf_source_free(source);
	}
	assert_true(nr_partial);
	answers_release(&expected);
	free(addrs);
	elf_file_close(file);
}

/* Where time is up between two sections, none of the file is used: it would be taken for all there is. */
static void test_decompressed_as_a_whole(void **state)
{
	struct workbudget budget = {0};
	struct answers expected, answers;
	struct dwarf_source *source;
	struct elf_file *file;
	uint64_t *addrs;
	size_t nr;

	(void)state;
	build_usual();
	file = judge_open("program");
	addrs = addresses(file, &nr);
	source = dwarf_source_new(file, NULL);
	expected = ask_some(source, addrs, nr);
	dwarf_source_free(source);
	elf_file_close(file);
	judge_run("objcopy --compress-debug-sections=zlib program packed");
	file = judge_open("packed");
	source = NULL;
	for (unsigned int looks = 1; !source; looks++) {
		assert_true(looks < 100000);
		looks_left = looks;
		workbudget_limit(&budget, UINT32_MAX * 1000ull, after_some_looks);
		source = dwarf_source_new(file, &budget);
	}
	answers = ask_some(source, addrs, nr);
	expect_same(&answers, &expected);
	answers_release(&answers);
	answers_release(&expected);
	dwarf_source_free(source);
	free(addrs);
	elf_file_close(file);
}

/* This program's own DWARF, read and looked at where it is; then its file becomes shorter. */
static void test_views(void **state)
{
	struct dwarf_source *read, *viewed;
	struct answers expected, answers;
	struct elf_file *file;
	uint64_t *addrs;
	size_t nr;

	(void)state;
	judge_run("cp /proc/$PPID/exe large");
	file = judge_open("large");
	read = dwarf_source_new(file, NULL);
	assert_int_equal(fileview_guard(), 0);
	viewed = dwarf_source_new(file, NULL);
	if (!viewed || !dwarf_source_views(viewed)) {
		print_message("SKIP: this program has no large sections of DWARF\n");
		skip();
	}
	assert_int_equal(dwarf_source_views(read), 0);
	assert_true(dwarf_source_memory(viewed) < dwarf_source_memory(read) / 2);
	addrs = addresses(file, &nr);
	nr /= 50;
	for (size_t i = 0; i < nr; i++)
		addrs[i] = addrs[i * 50];
	elf_file_close(file);
	expected = ask_some(read, addrs, nr);
	answers = ask_some(viewed, addrs, nr);
	assert_true(answers.nr_calls > nr / 4);
	expect_same(&answers, &expected);
	answers_release(&answers);
	judge_run("truncate -s 100000 large");
	answers = ask_some(viewed, addrs, nr);
	answers_release(&answers);
	answers_release(&expected);
	free(addrs);
	dwarf_source_free(read);
	dwarf_source_free(viewed);
}

/* Damage ----------------------------------------------------------------------------------------- */

static void count(void *ctx, size_t i, const struct source_frame *frames, size_t nr)
{
	(void)i;
	for (size_t frame = 0; frame < nr; frame++)
		*(size_t *)ctx += strlen(frames[frame].file) +
				  (frames[frame].name ? strlen(frames[frame].name) : 0);
}

static void read_image(const unsigned char *image, size_t len_bytes, const uint64_t *addrs,
		       size_t nr)
{
	struct dwarf_source *source;
	struct elf_file *file;
	size_t texts_bytes = 0;

	if (elf_file_open_memory(image, len_bytes, &file))
		return;
	source = dwarf_source_new(file, NULL);
	if (source) {
		dwarf_source_set_alt(source, file, NULL);
		dwarf_source_set_split(source, file, NULL);
	}
	elf_file_close(file);
	if (source)
		dwarf_source_frames(source, addrs, nr, true, NULL, count, &texts_bytes);
	dwarf_source_free(source);
}

static unsigned char *image_of(const char *name, size_t *len_bytes)
{
	int fd = judge_fd(name);
	unsigned char *image;

	*len_bytes = (size_t)lseek(fd, 0, SEEK_END);
	image = xmalloc(*len_bytes);
	assert_int_equal(pread(fd, image, *len_bytes, 0), *len_bytes);
	close(fd);
	return image;
}

/* One byte in each of many places of each section of DWARF is another; and the file ends early. */
static void test_damage(void **state)
{
	static const unsigned char lies[] = {0x00, 0xff, 0x80, 0x01, 0x7f};
	struct elf_file *file;
	unsigned char *image;
	uint64_t *addrs;
	size_t len_bytes, nr;

	(void)state;
	judge_run("gcc -gdwarf-5 -O2 -shared -fPIC -o small gcc.c");
	file = judge_open("small");
	addrs = addresses(file, &nr);
	image = image_of("small", &len_bytes);
	for (size_t at = 0x2000; at < len_bytes; at += 1 + at % 3) {
		unsigned char was = image[at];

		image[at] = lies[at % sizeof(lies)];
		read_image(image, len_bytes, addrs, nr);
		image[at] = was;
	}
	for (size_t at = 64; at < len_bytes; at += 97)
		read_image(image, at, addrs, nr);
	free(image);
	free(addrs);
	elf_file_close(file);
}

static void expect_good(const char *path)
{
	static const uint64_t addrs[] = {0x401010, 0x40101f, 0x401000, 0x400fff, 0x401080};
	static const char *const texts[] = {"_Z1gi\n/src/b.h:7\nf\n/src/a.c:12\n",
					    "_Z1gi\n/src/b.h:7\nf\n/src/a.c:12\n",
					    "f\n/src/a.c:10\n", NULL, NULL};
	char *found[5] = {NULL};
	struct answers answers = {found, 5, 0};
	struct elf_file *file = judge_open(path);
	struct dwarf_source *source = dwarf_source_new(file, NULL);

	assert_non_null(source);
	if (strstr(path, "_split"))
		assert_int_equal(dwarf_source_set_split(source, file, NULL), 0);
	if (strstr(path, "_alt"))
		assert_int_equal(dwarf_source_set_alt(source, file, NULL), 0); /* it is its own */
	elf_file_close(file);
	dwarf_source_frames(source, addrs, 5, true, NULL, note, &answers);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(!found[i], !texts[i]);
		if (found[i])
			assert_string_equal(found[i], texts[i]);
		free(found[i]);
	}
	dwarf_source_free(source);
}

/* The small files of tests/fuzz/make_dwarf_corpus.py: one for each version, and many with a lie. */
static void test_formats_and_lies(void **state)
{
	char *folder scoped(freep) = xasprintf("%s/fuzz/corpus/dwarf", TESTS_DIR);
	uint64_t addrs[0x90];
	size_t nr_good = 0, nr_bad = 0;
	struct dirent *entry;
	DIR *dir = opendir(folder);

	(void)state;
	assert_non_null(dir);
	for (size_t i = 0; i < 0x90; i++)
		addrs[i] = 0x400ff8 + i;
	while ((entry = readdir(dir)) != NULL) {
		char *path scoped(freep) = xasprintf("%s/%s", folder, entry->d_name);
		unsigned char *image scoped(freep) = NULL;
		size_t len_bytes;

		if (*entry->d_name == '.')
			continue;
		if (strstr(entry->d_name, "zstd") && !inflate_knows(INFLATE_ZSTD))
			continue;
		if (!strncmp(entry->d_name, "good_", 5)) {
			expect_good(path);
			nr_good++;
			continue;
		}
		image = image_of(path, &len_bytes);
		read_image(image, len_bytes, addrs, 0x90);
		nr_bad++;
	}
	closedir(dir);
	assert_true(nr_good >= 8);
	assert_true(nr_bad >= 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_address),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_no_inlines),
		cmocka_unit_test(test_start_lines),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_dwz),
		cmocka_unit_test(test_no_dwarf),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_time_is_up),
		cmocka_unit_test(test_decompressed_as_a_whole),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_formats_and_lies),
		cmocka_unit_test(test_views),
	};

	return cmocka_run_group_tests_name("dwarf", tests, make_sources, NULL);
}
