// SPDX-License-Identifier: BSD-2-Clause
/* machine/: what holds for every check, on any machine and for any user. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "machine/machine.h"

#define NOBODY 65534

static void names_are_unique(void **state)
{
	(void)state;
	for (size_t i = 0; i < machine_nr_checks(); i++)
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(machine_check_name(i), machine_check_name(j));
}

static void assert_complete(const char *name, const struct machine_finding *finding)
{
	if (finding->verdict == MACHINE_OK && !*finding->value)
		fail_msg("%s is ok, but there is no value", name);
	if ((finding->verdict == MACHINE_OK) != !*finding->why)
		fail_msg("%s: verdict %d, but '%s'", name, finding->verdict, finding->why);
	if ((finding->verdict >= MACHINE_LOSS) != !!finding->uses)
		fail_msg("%s: verdict %d, uses %u", name, finding->verdict, finding->uses);
	if (finding->verdict >= MACHINE_LOSS && !*finding->remedy)
		fail_msg("%s says not what to do", name);
	if (*finding->why && strchr(".!?", finding->why[strlen(finding->why) - 1]))
		fail_msg("%s: '%s' is to be followed by the remedy", name, finding->why);
	if (strlen(finding->why) + 1 >= sizeof(finding->why) ||
	    strlen(finding->remedy) + 1 >= sizeof(finding->remedy))
		fail_msg("%s is cut off: '%s', '%s'", name, finding->why, finding->remedy);
}

/* Each check that is ok has a value; each other one has its cause, and what to do where something is lost. */
static void findings_are_complete(void **state)
{
	(void)state;
	machine_silence_libbpf();
	for (size_t i = 0; i < machine_nr_checks(); i++) {
		struct machine_finding finding, again;

		machine_check(i, &finding);
		assert_complete(machine_check_name(i), &finding);
		machine_check_named(machine_check_name(i), &again);
		assert_int_equal(finding.verdict, again.verdict);
		assert_string_equal(finding.why, again.why);
	}
}

/* Without privileges: the first refusal is a capability, and what follows from it is not tried. */
static void nobody_is_refused(void **state)
{
	struct kernel_features features;
	struct machine_finding finding;

	(void)state;
	if (!geteuid() && setresuid(NOBODY, NOBODY, NOBODY))
		fail_msg("cannot become nobody");
	machine_check_named("BTF", &finding);
	if (finding.verdict == MACHINE_CANNOT)
		skip();
	machine_check_named("pid namespace", &finding);
	if (finding.verdict == MACHINE_CANNOT)
		skip();
	assert_true(machine_first_refusal(MACHINE_RECORD, &features, &finding));
	assert_non_null(strstr(finding.why, "CAP_BPF and CAP_PERFMON are missing"));
	assert_string_equal(
		machine_lacks_for_files(),
		"CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and CAP_CHECKPOINT_RESTORE are missing");
	machine_check_named("bpf(2)", &finding);
	assert_true(finding.was_skipped);
	findings_are_complete(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_unique),
		cmocka_unit_test(findings_are_complete),
		cmocka_unit_test(nobody_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
