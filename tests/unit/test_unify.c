// SPDX-License-Identifier: BSD-2-Clause
/* Functions with the same identity become one, and unnamed addresses do where both builds are the same. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profile/unify.h"
#include "profile_case.h"

static const struct identity plain;

/* A sample of one frame in a file of this build. */
static void add(struct profile *profile, const char *name, const char *path, const char *build)
{
	struct profile_mapping map = {.start = 0x1000,
				      .limit = 0x2000,
				      .path = profile_string(profile, path),
				      .build_id = profile_string(profile, build)};
	struct profile_function function = {.name = profile_string(profile, name)};
	struct profile_line line = {.function = profile_function_id(profile, &function)};
	struct profile_location location = {
		.mapping = profile_mapping_id(profile, &map), .lines = &line, .nr_lines = 1};

	location.address = 0x1000 + hash_bytes(name, strlen(name), 0) % 0x1000;
	case_add_at(profile, profile_location_id(profile, &location), 1);
}

static void assert_names(const struct profile *profile, const char *expected)
{
	char *names = NULL;
	size_t len;
	FILE *out = open_memstream(&names, &len);

	vec_for_each(&profile->functions, function)
		fprintf(out, "%s ", strtab_get(&profile->strings, function->name));
	fclose(out);
	assert_string_equal(names, expected);
	free(names);
}

/* Both are unified, and then have these functions. */
static void assert_unified(struct profile *base, struct profile *head, const char *in_base,
			   const char *in_head)
{
	profile_unify(base, head, &plain);
	assert_names(base, in_base);
	assert_names(head, in_head);
}

static void test_clones_of_a_function_are_one(void **state)
{
	struct profile *base = case_new("samples/count"), *head = case_new("samples/count");

	(void)state;
	add(base, "f.constprop.0", "/old/srv", "");
	add(base, "g.isra.0", "/old/srv", "");
	add(base, "g.cold", "/old/srv", "");
	add(base, "gone.part.1", "/old/srv", "");
	add(head, "f.constprop.1", "/new/srv-v2", "");
	add(head, "g", "/new/srv-v2", "");
	assert_unified(base, head, "f.constprop.1 g g gone.part.1 ", "f.constprop.1 g ");
	assert_string_equal(strtab_get(&base->strings, base->mappings.at[0].path), "/new/srv-v2");
	profile_free(base);
	profile_free(head);
}

/* An address means something in one build only; code in no file lies anywhere. */
static void test_addresses_are_of_a_build(void **state)
{
	struct profile *base = case_new("samples/count"), *head = case_new("samples/count");

	(void)state;
	add(base, "libx.so.1.2+0x10", "/lib/libx.so.1.2", "aa");
	add(base, "libc.so.6+0x99", "/lib/libc.so.6", "cc");
	add(base, "[anon]+0x7f01", "[anon]", "");
	add(head, "libx.so.1.3+0x20", "/lib/libx.so.1.3", "bb");
	add(head, "libx.so.1.3+0x30", "/lib/libx.so.1.3", "bb");
	add(head, "libc.so.6+0x99", "/lib/libc.so.6", "cc");
	add(head, "[anon]+0x7f02", "[anon]", "");
	assert_unified(base, head, "[libx.so] libc.so.6+0x99 [anon] ",
		       "[libx.so] [libx.so] libc.so.6+0x99 [anon] ");
	profile_free(base);
	profile_free(head);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clones_of_a_function_are_one),
		cmocka_unit_test(test_addresses_are_of_a_build),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
