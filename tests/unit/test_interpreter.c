// SPDX-License-Identifier: BSD-2-Clause
/* profile/interpreter: which stacks hide a program's functions, and which do not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profile/interpreter.h"
#include "profile_case.h"

/* Such a stack, and 100 samples of something else. language: "" if nothing hides anything. */
static void check(const char *stack, int64_t value, const char *language, const char *loop)
{
	struct profile *profile = case_new("samples/count");
	struct interpreter found = {.language = "", .loop = ""};
	bool hides;

	case_add(profile, stack, "", value);
	case_add(profile, "main;work", "", 100);
	hides = interpreter_hides(profile, 0, &found);
	assert_string_equal(found.language, language);
	assert_string_equal(found.loop, loop);
	assert_int_equal(hides, *language != '\0');
	if (hides)
		assert_true(found.share == (double)value / (double)(value + 100));
	profile_free(profile);
}

static void test_languages(void **state)
{
	(void)state;
	check("main;_PyEval_EvalFrameDefault", 900, "Python", "_PyEval_EvalFrameDefault");
	check("main;PyEval_EvalFrameEx;call;malloc", 900, "Python", "PyEval_EvalFrameEx");
	check("main;_PyEval_EvalFrameDefault.cold", 900, "Python", "_PyEval_EvalFrameDefault.cold");
	check("Start;Builtins_InterpreterEntryTrampoline;[anon]", 900, "JavaScript",
	      "Builtins_InterpreterEntryTrampoline");
	check("main;rb_vm_exec;vm_exec_core", 900, "Ruby", "vm_exec_core");
	check("main;execute_ex", 900, "PHP", "execute_ex");
	check("main;Perl_runops_standard;Perl_pp_add", 900, "Perl", "Perl_runops_standard");
	check("main;luaV_execute", 900, "Lua", "luaV_execute");
	check("start_thread;JavaMain;Interpreter", 900, "Java", "Interpreter");
}

/* Something names the program's functions, or it is too little of all. */
static void test_visible(void **state)
{
	(void)state;
	check("main;_PyEval_EvalFrameDefault", 99, "", "");
	check("main;_PyEval_EvalFrameDefault", 100, "Python", "_PyEval_EvalFrameDefault");
	check("main;_PyEval_EvalFrameDefault;py::f:/srv/a.py", 900, "", "");
	check("Builtins_InterpreterEntryTrampoline;LazyCompile:*f /a.js:1:2", 900, "", "");
	check("JavaMain;Interpreter;Fib.fib", 900, "", "");
	check("JavaMain;Interpreter;java.lang.String.<init>;malloc", 900, "", "");
	check("JavaMain;Interpreter;Ljava/lang/String;::hashCode", 900, "", "");
	check("JavaMain;Interpreter;java/lang/String.hashCode", 900, "", "");
	check("main;my_PyEval_EvalFrameDefault", 900, "", "");
	check("main;Interpreter::run(int)", 900, "", "");
}

static void test_values(void **state)
{
	struct profile *profile = case_new("samples/count cpu/nanoseconds");
	struct interpreter found;

	(void)state;
	assert_false(interpreter_hides(profile, 0, &found)); /* of nothing */
	case_add(profile, "main;luaV_execute", "", INT64_MAX, -6);
	case_add(profile, "main", "", INT64_MAX, 4);
	assert_true(interpreter_hides(profile, 0, &found));
	assert_true(interpreter_hides(profile, 1, &found)); /* of a difference */
	assert_true(found.share == 0.6);
	case_add(profile, "main;f", "", INT64_MAX, 0);
	assert_false(interpreter_hides(profile, 0, &found)); /* more than 64 bits */
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_languages),
		cmocka_unit_test(test_visible),
		cmocka_unit_test(test_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
