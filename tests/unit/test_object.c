// SPDX-License-Identifier: BSD-2-Clause
/* Objects by key, and the vdso. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "elf_judge.h"
#include "object/object.h"

static void test_by_key(void **state)
{
	struct objects *objects = objects_new();
	struct object *first, *missing, *script;
	struct symbol symbol;
	bool is_ifunc;
	int fd;

	(void)state;
	judge_run("echo '#!/bin/sh' >script");
	fd = judge_fd("pie");
	first = objects_get(objects, 7, fd);
	assert_int_equal(object_error(first), 0);
	assert_int_equal(strlen(object_build_id(first)), 40);
	assert_non_null(object_elf(first));
	assert_true(symtab_lookup(object_symtab(first), "outer", &symbol, &is_ifunc));
	assert_ptr_equal(object_symtab(first), object_symtab(first));
	missing = objects_get(objects, 8, -1);
	assert_int_equal(object_error(missing), -EBADF);
	assert_null(object_elf(missing));
	assert_string_equal(object_build_id(missing), "");
	assert_int_equal(symtab_nr(object_symtab(missing)), 0);
	script = objects_get(objects, UINT32_MAX - 1, judge_fd("script"));
	assert_int_equal(object_error(script), -ENOEXEC);
	assert_int_equal(symtab_nr(object_symtab(script)), 0);
	/* The same key is the same object, whatever the descriptor, and stays where it is. */
	for (uint32_t key = 100; key < 2000; key++)
		assert_ptr_not_equal(objects_get(objects, key, -1), first);
	assert_ptr_equal(objects_get(objects, 7, -1), first);
	assert_ptr_equal(objects_get(objects, 8, fd), missing);
	assert_true(symtab_lookup(object_symtab(first), "inner", &symbol, &is_ifunc));
	objects_free(objects);
	objects_free(NULL);
}

/* Another file that has the number of a closed descriptor is not read, and the right one is, once it is open again. */
static void test_a_descriptor_that_is_let_go(void **state)
{
	struct objects *objects = objects_new();
	struct object *object, *late;
	struct symbol symbol;
	bool is_ifunc;
	int fd = judge_fd("pie"), other = judge_fd("script");

	(void)state;
	object = objects_get(objects, 7, fd);
	assert_false(object_needs_file(object));
	objects_let_go(objects, 7);
	objects_let_go(objects, 8); /* nobody */
	assert_int_equal(dup2(other, fd), fd);
	assert_true(object_needs_file(object));
	assert_int_equal(strlen(object_build_id(object)), 40);
	assert_ptr_equal(objects_get(objects, 7, other), object); /* refused */
	assert_true(object_needs_file(object));
	assert_ptr_equal(objects_get(objects, 7, judge_fd("pie")), object);
	assert_false(object_needs_file(object));
	assert_true(symtab_lookup(object_symtab(object), "outer", &symbol, &is_ifunc));
	objects_let_go(objects, 7);
	assert_true(object_needs_file(object)); /* its function starts */
	assert_true(symtab_lookup(object_symtab(object), "inner", &symbol, &is_ifunc));
	assert_ptr_equal(objects_get(objects, 7, judge_fd("pie")), object);
	object_functab(object);
	assert_null(object_gopclntab(object));
	objects_let_go(objects, 7);
	assert_false(object_needs_file(object));

	late = objects_get(objects, 9, -1);
	assert_true(object_needs_file(late));
	assert_int_equal(symtab_nr(object_symtab(late)), 0);
	assert_ptr_equal(objects_get(objects, 9, judge_fd("pie")), late);
	assert_int_equal(object_error(late), 0);
	assert_true(symtab_lookup(object_symtab(late), "outer", &symbol, &is_ifunc));
	assert_ptr_equal(objects_known(objects, 9), late);
	assert_null(objects_known(objects, 10));
	objects_free(objects);
}

static void test_vdso(void **state)
{
	struct objects *objects = objects_new();
	struct object *vdso = objects_vdso(objects);
	struct symbol symbol, found;
	bool is_ifunc;

	(void)state;
	if (!getauxval(AT_SYSINFO_EHDR)) {
		print_message("SKIP: no vdso\n");
		objects_free(objects);
		skip();
	}
	assert_int_equal(object_error(vdso), 0);
	assert_ptr_equal(objects_vdso(objects), vdso);
	assert_true(strlen(object_build_id(vdso)) >= 16);
	assert_true(symtab_lookup(object_symtab(vdso), "__vdso_clock_gettime", &symbol, &is_ifunc));
	assert_true(symtab_find(object_symtab(vdso), symbol.elf_addr + 1, &found));
	assert_int_equal(found.elf_addr, symbol.elf_addr);
	assert_string_equal(found.name, "__vdso_clock_gettime"); /* clock_gettime is weak */
	objects_free(objects);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_key),
		cmocka_unit_test(test_a_descriptor_that_is_let_go),
		cmocka_unit_test(test_vdso),
	};

	judge_build();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
