// SPDX-License-Identifier: BSD-2-Clause
/*
 * The C library of this machine, and shared objects made here that define what allocators define. Where
 * their functions are, readelf(1) says.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "probes/allocator.h"
#include "elf_judge.h"

struct fixture {
	struct objects *objects;
	uint32_t nr;
};

/* Functions that do not call each other, unless they say so; assembly, so that no compiler guesses. */
#define FUNCTION(name, body)                                                               \
	"__asm__(\".globl " name "\\n.type " name ",@function\\n"                          \
	"" name ":\\n\\tpush %rbp\\n" body "\\tpop %rbp\\n\\tret\\n.size " name ",.-" name \
	"\");\n"

static void write_source(const char *name, const char *source)
{
	char *path scoped(freep) = xasprintf("%s/%s.c", judge_dir, name);
	char *command scoped(freep) =
		xasprintf("gcc -shared -fPIC -nostdlib -Wl,-Bsymbolic -o %s.so %s.c", name, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(source, file) >= 0);
	assert_int_equal(fclose(file), 0);
	judge_run(command);
}

static int build_files(void **state)
{
	(void)state;
	judge_dir = temp_folder();
	write_source("jemalloc",
		     FUNCTION("malloc", "") FUNCTION("free", "") FUNCTION("mallocx", "")
			     FUNCTION("sdallocx", "") FUNCTION("_Znwm", "") FUNCTION("_ZdlPvm", "")
				     FUNCTION("malloc_usable_size", ""));
	write_source("calls", FUNCTION("malloc", "") FUNCTION("free", "")
				      FUNCTION("calloc", "\\tcall malloc\\n")
					      FUNCTION("helper", "\\tcall malloc\\n")
						      FUNCTION("_Znwm", "\\tcall helper\\n")
							      FUNCTION("_Znam", "\\tcall free\\n"));
	write_source("half", FUNCTION("malloc", "") FUNCTION("calloc", ""));
	write_source("imports", "void *malloc(unsigned long); void free(void *);\n"
				"void both(void) { free(malloc(7)); }\n");
	write_source("chosen", "static void *one(unsigned long n) { (void)n; return 0; }\n"
			       "static void *(*pick(void))(unsigned long) { return one; }\n"
			       "void *malloc(unsigned long) __attribute__((ifunc(\"pick\")));\n"
			       "void free(void *p) { (void)p; }\n");
	write_source("alias", "void free(void *p) { (void)p; }\n"
			      "void cfree(void *) __attribute__((alias(\"free\")));\n"
			      "void *malloc(unsigned long n) { (void)n; return 0; }\n"
			      "void *valloc(unsigned long) __attribute__((alias(\"malloc\")));\n");
	judge_run("echo malloc free >script");
	return 0;
}

static int set_up(void **state)
{
	struct fixture *fixture = xcalloc(1, sizeof(*fixture));

	fixture->objects = objects_new();
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	objects_free(fixture->objects);
	free(fixture);
	return 0;
}

static struct allocator find(struct fixture *fixture, const char *path)
{
	int fd = judge_fd(path);
	struct allocator allocator;

	assert_true(fd >= 0);
	allocator_find(objects_get(fixture->objects, fixture->nr++, fd), fd, &allocator);
	return allocator;
}

/* Its position; SIZE_MAX: it is not among them. */
static size_t position(const struct allocator *allocator, const char *name)
{
	for (size_t i = 0; i < allocator->nr; i++)
		if (!strcmp(allocator->names[i], name))
			return i;
	return SIZE_MAX;
}

static const struct alloc_site *site(const struct allocator *allocator, const char *name)
{
	size_t i = position(allocator, name);

	assert_int_not_equal(i, SIZE_MAX);
	return &allocator->sites[i];
}

/* Where readelf has the function in the file: the symbol's address, less what its segment is moved by. */
static uint64_t file_off_of(const char *path, const char *name)
{
	unsigned long segment_off, start, len, addr, moved = 0;
	char *ask scoped(freep) = xasprintf("readelf --dyn-syms -W %%s | awk '{ sub(\"@.*\", \"\", "
					    "$8) } $8 == \"%s\" { print $2; exit }'",
					    name);
	FILE *in = judge_ask(ask, path);

	assert_int_equal(fscanf(in, "%lx", &addr), 1);
	pclose(in);
	in = judge_ask("readelf -lW %s | awk '$1 == \"LOAD\" { print $2, $3, $5 }'", path);
	while (fscanf(in, "%lx %lx %lx", &segment_off, &start, &len) == 3)
		if (addr >= start && addr - start < len)
			moved = start - segment_off;
	pclose(in);
	return addr - moved;
}

static void check_places(const struct allocator *allocator, const char *path)
{
	for (size_t i = 0; i < allocator->nr; i++) {
		assert_int_equal(allocator->sites[i].file_off - allocator->offsets[i],
				 file_off_of(path, allocator->names[i]));
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(allocator->sites[i].file_off,
					     allocator->sites[j].file_off);
	}
}

static void test_libc(void **state)
{
	static const struct {
		const char *name;
		enum alloc_shape shape;
	} functions[] = {
		{"malloc", SHAPE_MALLOC},
		{"free", SHAPE_FREE},
		{"calloc", SHAPE_CALLOC},
		{"realloc", SHAPE_REALLOC},
		{"reallocarray", SHAPE_REALLOCARRAY},
		{"posix_memalign", SHAPE_POSIX_MEMALIGN},
		{"aligned_alloc", SHAPE_MEMALIGN},
		{"pvalloc", SHAPE_MALLOC},
	};
	struct allocator allocator = find(*state, LIBC);

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		assert_int_equal(site(&allocator, functions[i].name)->shape, functions[i].shape);
	assert_int_equal(position(&allocator, "_Znwm"), SIZE_MAX);
	check_places(&allocator, LIBC);
	/* glibc's malloc is called by others of its functions, and calls none that is probed. */
	assert_true(site(&allocator, "malloc")->is_leaf);
	assert_false(site(&allocator, "realloc")->is_leaf);
}

static void test_jemalloc_and_new(void **state)
{
	struct allocator allocator = find(*state, "jemalloc.so");

	assert_int_equal(allocator.nr, 6);
	assert_int_equal(site(&allocator, "mallocx")->shape, SHAPE_MALLOC);
	assert_int_equal(site(&allocator, "sdallocx")->shape, SHAPE_FREE);
	assert_int_equal(site(&allocator, "_Znwm")->shape, SHAPE_MALLOC);
	assert_int_equal(site(&allocator, "_ZdlPvm")->shape, SHAPE_FREE);
	check_places(&allocator, "jemalloc.so");
}

/* Through a helper, too; a call of what does not allocate is none. */
static void test_leaves(void **state)
{
	struct allocator allocator = find(*state, "calls.so");

	assert_true(site(&allocator, "malloc")->is_leaf);
	assert_false(site(&allocator, "calloc")->is_leaf);
	assert_false(site(&allocator, "_Znwm")->is_leaf);
	assert_true(site(&allocator, "_Znam")->is_leaf);
}

/* A probe for each name would count each call twice. */
static void test_aliases_have_one_site(void **state)
{
	struct allocator allocator = find(*state, "alias.so");

	assert_int_equal(allocator.nr, 2);
	assert_int_not_equal(position(&allocator, "malloc"), SIZE_MAX);
	assert_int_not_equal(position(&allocator, "free"), SIZE_MAX);
}

/* A file that was cut meanwhile: where its code cannot be read, the entry is the place. */
static void test_code_that_cannot_be_read(void **state)
{
	struct fixture *fixture = *state;
	struct allocator allocator;
	int fd = judge_fd(LIBC);

	allocator_find(objects_get(fixture->objects, fixture->nr++, fd), -1, &allocator);
	assert_int_not_equal(allocator.nr, 0);
	for (size_t i = 0; i < allocator.nr; i++) {
		assert_int_equal(allocator.offsets[i], 0);
		assert_int_equal(allocator.sites[i].file_off,
				 file_off_of(LIBC, allocator.names[i]));
	}
}

static void test_no_allocators(void **state)
{
	assert_int_equal(find(*state, "half.so").nr, 0);
	assert_int_equal(find(*state, "imports.so").nr, 0);
	assert_int_equal(find(*state, "chosen.so").nr, 0); /* which malloc, is not known yet */
	assert_int_equal(find(*state, "script").nr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_libc, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_jemalloc_and_new, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_leaves, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_aliases_have_one_site, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_code_that_cannot_be_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_allocators, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, build_files, NULL);
}
