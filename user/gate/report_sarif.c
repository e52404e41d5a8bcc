// SPDX-License-Identifier: BSD-2-Clause
/* A verdict as SARIF 2.1.0, for code scanning. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "gate/phrase.h"
#include "gate/report.h"

static const struct {
	const char *id, *text;
} rules[] = {
	{"cpu-regression", "Uses more CPU time than before, beyond the variation between runs"},
	{"heap-regression",
	 "Allocates or holds more memory than before, beyond the variation between runs"},
};

static void put_text(struct json *json, const char *key, const char *value)
{
	json_key(json, key);
	json_object(json);
	json_key(json, "text"), json_string(json, value);
	json_end(json);
}

static void put_tool(struct json *json)
{
	json_key(json, "tool");
	json_object(json);
	json_key(json, "driver");
	json_object(json);
	json_key(json, "name"), json_string(json, "cprof");
	json_key(json, "version"), json_string(json, CPROF_VERSION);
	json_key(json, "rules");
	json_array(json);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		json_object(json);
		json_key(json, "id"), json_string(json, rules[i].id);
		put_text(json, "shortDescription", rules[i].text);
		json_end(json);
	}
	json_end(json);
	json_end(json);
	json_end(json);
}

/* A path as a relative URI reference (RFC 3986). The caller frees it. */
static char *uri_of(const char *path)
{
	char *uri = xmalloc(3 * strlen(path) + 1), *out = uri;

	for (; *path; path++) {
		if (isalnum((unsigned char)*path) || strchr("/._-~", *path))
			*out++ = *path;
		else
			out += sprintf(out, "%%%02X", (unsigned char)*path);
	}
	*out = '\0';
	return uri;
}

static void put_locations(struct json *json, const struct report_options *options,
			  const struct gate_test *test)
{
	const char *path = source_path(options, test);

	json_key(json, "locations");
	json_array(json);
	json_object(json);
	if (path) {
		char *uri scoped(freep) = uri_of(path);

		json_key(json, "physicalLocation");
		json_object(json);
		json_key(json, "artifactLocation");
		json_object(json);
		json_key(json, "uri"), json_string(json, uri);
		json_end(json);
		json_key(json, "region");
		json_object(json);
		json_key(json, "startLine");
		json_int(json, test->function->line ? test->function->line : 1);
		json_end(json);
		json_end(json);
	}
	json_key(json, "logicalLocations");
	json_array(json);
	json_object(json);
	json_key(json, "fullyQualifiedName"), json_string(json, phrase_name(test).text);
	json_key(json, "kind"), json_string(json, test->function ? "function" : "module");
	json_end(json);
	json_end(json);
	json_end(json);
	json_end(json);
}

/* The same regression of a later run is recognized by the function and what was measured. */
static void put_fingerprint(struct json *json, const struct gate_result *result,
			    const struct gate_test *test)
{
	char *of scoped(freep) =
		xasprintf("%s/%s", result->runs->type, test->function ? test->function->name : "");
	char hex[17];

	snprintf(hex, sizeof(hex), "%016" PRIx64, hash_bytes(of, strlen(of), 0));
	json_key(json, "partialFingerprints");
	json_object(json);
	json_key(json, "cprofFunction/v1"), json_string(json, hex);
	json_end(json);
}

static void put_result(struct json *json, const struct gate_result *result,
		       const struct report_options *options, const struct gate_test *test)
{
	bool heap = !strcmp(result->runs->unit, "bytes") || strstr(result->runs->type, "_objects");
	char *message scoped(freep) =
		xasprintf("%s: %s", phrase_name(test).text, phrase_change(result, test).text);

	json_object(json);
	json_key(json, "ruleId"), json_string(json, rules[heap].id);
	json_key(json, "ruleIndex");
	json_int(json, heap);
	json_key(json, "level"), json_string(json, "error");
	put_text(json, "message", message);
	put_locations(json, options, test);
	put_fingerprint(json, result, test);
	json_end(json);
}

static void put_notification(struct json *json, const char *level, const char *text)
{
	json_object(json);
	json_key(json, "level"), json_string(json, level);
	put_text(json, "message", text);
	json_end(json);
}

/* Not successful unless something was compared: an empty list of results would be good news. */
static void put_invocation(struct json *json, const struct gate_result *result)
{
	json_key(json, "invocations");
	json_array(json);
	json_object(json);
	json_key(json, "executionSuccessful");
	json_bool(json, result->verdict != GATE_INCONCLUSIVE);
	json_key(json, "toolExecutionNotifications");
	json_array(json);
	vec_for_each(&result->reasons, reason)
		put_notification(json, "error", *reason);
	if (result->reasons.nr)
		put_notification(json, "note", PHRASE_INCONCLUSIVE);
	vec_for_each(&result->moves, move)
		put_notification(json, "note", phrase_move(move).text);
	json_end(json);
	json_end(json);
	json_end(json);
}

int report_sarif(const struct gate_result *result, const struct report_options *options,
		 sink_fn sink, void *ctx)
{
	struct json json;

	json_begin(&json, sink, ctx);
	json_object(&json);
	json_key(&json, "$schema"),
		json_string(&json, "https://json.schemastore.org/sarif-2.1.0.json");
	json_key(&json, "version"), json_string(&json, "2.1.0");
	json_key(&json, "runs");
	json_array(&json);
	json_object(&json);
	put_tool(&json);
	put_invocation(&json, result);
	json_key(&json, "results");
	json_array(&json);
	vec_for_each(&result->rows, row)
		if (gate_is_finding(result, *row))
			put_result(&json, result, options, *row);
	json_end(&json);
	json_end(&json);
	json_end(&json);
	json_end(&json);
	return json_finish(&json) ?: sink(ctx, "\n", 1);
}
