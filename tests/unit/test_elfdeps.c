// SPDX-License-Identifier: BSD-2-Clause
/* What a command will map, on commands of this machine and on some made here; and what runs to find out. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "record/child.h"
#include "record/elfdeps.h"
#include "temp.h"
#include "unit/judge.h"
#include "unit/parser_case.h"

struct list {
	vec_of(char *) paths;
};

static char *folder;

static void note(void *ctx, const char *path)
{
	struct list *list = ctx;

	vec_push(&list->paths, xstrdup(path));
}

static struct list list_of(const char *command)
{
	struct list list = {0};

	struct elfdeps_helpers helpers = {.parser = parser_case_open()};

	elfdeps_of(command, &helpers, note, &list);
	parser_close(helpers.parser);
	return list;
}

static void release(struct list *list)
{
	vec_for_each(&list->paths, path)
		free(*path);
	vec_release(&list->paths);
}

static bool has(const struct list *list, const char *part)
{
	vec_for_each(&list->paths, path)
		if (strstr(*path, part))
			return true;
	return false;
}

static char *in_folder(const char *name)
{
	return xasprintf("%s/%s", folder, name);
}

static char *write_script(const char *name, const char *text)
{
	char *path = in_folder(name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	assert_int_equal(chmod(path, 0755), 0);
	return path;
}

static int set_up(void **state)
{
	(void)state;
	folder = temp_folder();
	return chmod(folder, 0755);
}

static int tear_down(void **state)
{
	(void)state;
	free(folder);
	return 0;
}

static void check_shell(const char *command)
{
	struct list list = list_of(command);

	assert_true(list.paths.nr >= 2);
	assert_true(has(&list, "sh"));
	assert_true(has(&list, "libc.so.6"));
	assert_false(has(&list, "vdso"));
	vec_for_each(&list.paths, path)
		assert_int_equal(access(*path, R_OK), 0);
	release(&list);
}

static void test_program(void **state)
{
	(void)state;
	if (access("/lib64/ld-linux-x86-64.so.2", X_OK))
		skip();
	check_shell("sh");
	check_shell("/bin/sh");
}

static void test_scripts(void **state)
{
	char *script scoped(freep) = write_script("script", "#! /bin/sh -e\nexit 1\n");
	char *line scoped(freep) = xasprintf("#!%s\n", script);
	char *second scoped(freep) = write_script("second", line);
	char *own scoped(freep) = in_folder("own"), *itself scoped(freep) = NULL;
	struct list list;

	(void)state;
	check_shell(script);
	check_shell(second);
	free(line);
	line = xasprintf("#!%s\n", own);
	itself = write_script("own", line);
	list = list_of(itself);
	assert_int_equal(list.paths.nr, 0);
}

static void check_nothing(const char *command)
{
	struct list list = list_of(command);

	assert_int_equal(list.paths.nr, 0);
	release(&list);
}

static void test_nothing(void **state)
{
	char *fifo scoped(freep) = in_folder("fifo");

	(void)state;
	assert_int_equal(mkfifo(fifo, 0755), 0);
	check_nothing("no-such-command-anywhere");
	check_nothing("/no/such/file");
	check_nothing(fifo);
	check_nothing("/tmp");
	check_nothing("");
}

/* Nothing is run but the loaders that are known to list: the program itself never. */
static void test_nothing_strange_runs(void **state)
{
	char *marker scoped(freep) = in_folder("marker");
	char *text scoped(freep) = xasprintf("#!/bin/sh\ntouch %s\n", marker);
	char *loader scoped(freep) = write_script("loader", text);
	char *program scoped(freep) = in_folder("program");
	char *source scoped(freep) = write_script("p.c", "int main(void) { return 0; }\n");
	char *command scoped(freep) =
		xasprintf("gcc -o %s -Wl,--dynamic-linker=%s %s 2>&1", program, loader, source);
	char *said;
	struct list list;
	int status;

	(void)state;
	if (!judge_has("gcc"))
		skip();
	said = judge_run(command, &status);
	free(said);
	assert_int_equal(status, 0);
	list = list_of(program);
	assert_int_equal(list.paths.nr, 1);
	assert_string_equal(list.paths.at[0], program);
	assert_int_not_equal(access(marker, F_OK), 0);
	release(&list);
}

static void test_capture(void **state)
{
	const char *const echo[] = {"/bin/sh", "-c", "echo some words; echo no >&2", NULL};
	const char *const fails[] = {"/bin/sh", "-c", "exit 3", NULL};
	const char *const missing[] = {"/no/such/file", NULL};
	const char *const much[] = {"/bin/sh", "-c",
				    "i=0; while [ $i -lt 5000 ]; do echo 0123456789; i=$((i+1)); "
				    "done",
				    NULL};
	const char *const hangs[] = {"/bin/sh", "-c", "exec sleep infinity", NULL};
	const char *const lingers[] = {"/bin/sh", "-c", "exec sleep infinity >&-", NULL};
	char text[100];

	(void)state;
	assert_int_equal(child_capture(echo, text, sizeof(text)), 0);
	assert_string_equal(text, "some words\n");
	assert_int_equal(child_capture(fails, text, sizeof(text)), -ECHILD);
	assert_int_equal(child_capture(missing, text, sizeof(text)), -ECHILD);
	assert_int_equal(child_capture(much, text, sizeof(text)), 0);
	assert_int_equal(strlen(text), sizeof(text) - 1);
	/* These end only if they are killed. */
	assert_int_equal(child_capture(hangs, text, sizeof(text)), -ETIMEDOUT);
	assert_int_equal(child_capture(lingers, text, sizeof(text)), -ETIMEDOUT);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
	assert_int_equal(errno, ECHILD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_program, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_scripts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nothing_strange_runs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_capture, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
