// SPDX-License-Identifier: BSD-2-Clause
/* Code in no file, which two processes have at one address: what one calls it says nothing of the other's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "record/symbolize.h"
#include "unit/parser_case.h"

#define START 0x7f0000000000ull
#define IP    (START + 0x10)

static void mapped(struct tasks *tasks, uint64_t time_ns, uint32_t tgid, uint64_t limit,
		   const char *path)
{
	tasks_apply(tasks, &(struct task_event){.kind = TASK_MAP,
						.time_ns = time_ns,
						.tgid = tgid,
						.tid = tgid,
						.map = {START, limit, .path = path}});
}

static const char *text_of(const struct profile *profile, uint32_t string)
{
	return strtab_get(&profile->strings, string);
}

static void assert_place(const struct profile *profile, uint32_t id, const char *name,
			 const char *path, uint64_t limit)
{
	const struct profile_location *location = &profile->locations.at[id - 1];
	const struct profile_mapping *mapping = &profile->mappings.at[location->mapping - 1];
	uint32_t function = location->lines[0].function;

	assert_string_equal(text_of(profile, profile->functions.at[function - 1].name), name);
	assert_string_equal(text_of(profile, mapping->path), path);
	assert_int_equal(mapping->limit, limit);
	assert_int_equal(location->address, IP);
}

/* One profile of three processes, and of a second generation of the last one. */
static void test_mappings_at_one_address(void **state)
{
	static const struct {
		uint32_t tgid;
		uint64_t time_ns, limit;
		const char *path, *name, *shown;
	} rows[] = {
		{11, 100, START + 0x1000, "//anon", "[anon]+0x7f0000000010", "//anon"},
		{12, 100, START + 0x1000, "[heap]", "[heap]+0x7f0000000010", "[heap]"},
		{13, 100, START + 0x2000, "//anon", "[anon]+0x7f0000000010", "//anon"},
		{13, 300, START + 0x1000, "[stack]", "[stack]+0x7f0000000010", "[stack]"},
	};
	struct files *files = files_new("/nonexistent");
	struct tasks *tasks = tasks_new("/nonexistent", files);
	struct parser *parser = parser_case_open();
	struct symbolizer *symbolizer = symbolizer_new(tasks, files, parser);
	struct profile *profile = profile_new();
	uint32_t ids[4];

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		uint64_t time_ns = rows[i].time_ns;

		if (i == 3)
			tasks_apply(tasks, &(struct task_event){.kind = TASK_EXEC,
								.time_ns = time_ns - 50,
								.tgid = 13,
								.tid = 13,
								.comm = "new"});
		mapped(tasks, time_ns, rows[i].tgid, rows[i].limit, rows[i].path);
		ids[i] = symbolize_user(symbolizer, profile,
					tasks_image(tasks, rows[i].tgid, 0, time_ns + 10), IP,
					time_ns + 10, false);
		assert_place(profile, ids[i], rows[i].name, rows[i].shown, rows[i].limit);
	}
	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(ids[i], ids[j]);
	profile_free(profile);
	symbolizer_free(symbolizer);
	parser_close(parser);
	tasks_free(tasks);
	files_free(files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mappings_at_one_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
