// SPDX-License-Identifier: BSD-2-Clause
/* cprof lint: reports what pprof, Parca, Pyroscope or speedscope would reject or drop in a pprof file. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cmd.h"
#include "exit.h"
#include "input/input.h"
#include "input/lint.h"
#include "tools/load.h"
#include "tools/view.h"

static int judge(const char *path, struct lint *lint)
{
	uint8_t *bytes scoped(freep) = NULL;
	struct input_error error;
	size_t len = 0;
	int err = input_load(path, &input_default_limits, &bytes, &len, &error);

	if (!err)
		err = lint_bytes(bytes, len, &input_default_limits, lint, &error);
	return err ? load_fail(path, err, &error) : 0;
}

static void print_finding(const char *path, const struct lint_rule *rule,
			  const struct lint_finding *finding)
{
	char name[512];
	const char *comma = ": ";

	printf("%s: %s: %s", text_escape(path, name, sizeof(name)), rule->name, finding->what);
	if (finding->nr > 1)
		printf(" (and %s more)", text_count(finding->nr - 1));
	if (finding->offset != INPUT_NO_OFFSET)
		printf(", at byte %" PRIu64, finding->offset);
	for (int i = 0; i < NR_LINT_CONSUMERS; i++) {
		if (!rule->does[i])
			continue;
		printf("%s%s %s", comma, lint_consumers[i], rule->does[i]);
		comma = "; ";
	}
	putchar('\n');
}

static void put_finding(struct json *json, const struct lint_rule *rule,
			const struct lint_finding *finding)
{
	json_object(json);
	json_key(json, "rule"), json_string(json, rule->name);
	json_key(json, "where"), json_string(json, finding->what);
	json_key(json, "times"), json_uint(json, finding->nr);
	json_key(json, "offset");
	if (finding->offset == INPUT_NO_OFFSET)
		json_null(json);
	else
		json_uint(json, finding->offset);
	json_key(json, "consumers"), json_object(json);
	for (int i = 0; i < NR_LINT_CONSUMERS; i++)
		if (rule->does[i])
			json_key(json, lint_consumers[i]), json_string(json, rule->does[i]);
	json_end(json);
	json_end(json);
}

/* Is there a finding? Prints, or puts into json where that is not NULL, all there are. */
static bool report(const char *path, const struct lint *lint, struct json *json)
{
	bool any = false;

	if (json) {
		json_object(json);
		json_key(json, "file"), json_string(json, path);
		json_key(json, "findings"), json_array(json);
	}
	for (int i = 0; i < NR_LINT_RULES; i++) {
		if (!lint->findings[i].nr)
			continue;
		any = true;
		if (json)
			put_finding(json, &lint_rules[i], &lint->findings[i]);
		else
			print_finding(path, &lint_rules[i], &lint->findings[i]);
	}
	if (json) {
		json_end(json);
		json_end(json);
	}
	return any;
}

static enum exit_code lint_file(const char *path, struct json *json)
{
	struct lint lint;

	if (judge(path, &lint))
		return EXIT_USAGE;
	return report(path, &lint, json) ? EXIT_REGRESSION : EXIT_DONE;
}

int cmd_lint(int argc, char **argv)
{
	static const struct view_command command = {
		.name = "lint",
		.about = "Report what go tool pprof, Parca, Pyroscope or speedscope would reject "
			 "or drop in pprof files: one line for each rule that a file breaks. - is "
			 "stdin.",
		.epilog = "Exit codes: 0 no findings, 1 findings, 2 usage error or a file cannot "
			  "be read.",
		.show = lint_file,
	};

	return view_command_run(&command, argc, argv);
}
