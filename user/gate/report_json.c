// SPDX-License-Identifier: BSD-2-Clause
#include "base/json.h"
#include "gate/phrase.h"
#include "gate/report.h"

static void put_real(struct json *json, const char *key, double value)
{
	json_key(json, key);
	json_real(json, value); /* what has no end is null */
}

static void put_string(struct json *json, const char *key, const char *value)
{
	json_key(json, key);
	json_string(json, value);
}

static void put_side(struct json *json, const struct gate_result *result, enum run_side side)
{
	json_key(json, side == RUN_BASE ? "base" : "head");
	json_object(json);
	json_key(json, "runs");
	json_uint(json, result->nr_runs[side]);
	put_real(json, "samples", result->nr_samples[side]);
	put_real(json, "mean", result->mean_total[side]);
	json_key(json, "files");
	json_array(json);
	vec_for_each(&result->runs->at, run)
		if (run->side == side)
			json_string(json, run->name);
	json_end(json);
	json_end(json);
}

static void put_function(struct json *json, const struct run_function *function)
{
	put_string(json, "name", function ? function->name : "total");
	if (!function)
		return;
	put_string(json, "file", function->file);
	json_key(json, "line");
	json_int(json, function->line);
}

static void put_test(struct json *json, const struct gate_test *test)
{
	json_object(json);
	put_function(json, test->function);
	put_string(json, "measure", gate_measure_name(test->measure));
	put_string(json, "quantity", gate_quantity_name(test->quantity));
	put_string(json, "outcome", gate_outcome_name(test->outcome));
	put_real(json, "base", test->stats.base);
	put_real(json, "head", test->stats.head);
	put_real(json, "growth_percent", test->growth);
	put_real(json, "delta_points", test->delta);
	json_key(json, "interval95");
	json_array(json);
	json_real(json, test->stats.ci_low);
	json_real(json, test->stats.ci_high);
	json_end(json);
	put_real(json, "p_grown", test->stats.p_grown);
	put_real(json, "p_grown_adjusted", test->p_grown);
	put_real(json, "p_shrunk_adjusted", test->p_shrunk);
	put_real(json, "detectable", test->detectable);
	if (test->moved_from)
		put_string(json, "moved_from", test->moved_from->name);
	json_end(json);
}

static void put_options(struct json *json, const struct gate_options *options)
{
	json_key(json, "options");
	json_object(json);
	put_real(json, "max_growth_percent", options->max_growth);
	put_real(json, "max_delta_points", options->max_delta);
	put_real(json, "min_share_percent", options->min_share);
	put_real(json, "alpha", options->alpha);
	put_real(json, "max_loss_percent", options->max_loss);
	put_real(json, "max_unknown_points", options->max_unknown);
	json_key(json, "min_samples");
	json_uint(json, options->min_samples);
	json_key(json, "single");
	json_bool(json, options->single);
	json_end(json);
}

static void put_findings(struct json *json, const struct gate_result *result)
{
	json_key(json, "detectable");
	json_object(json);
	put_real(json, "total_percent", result->detectable_total);
	put_real(json, "share_points", result->detectable_share);
	put_real(json, "of_share", GATE_TYPICAL_SHARE);
	put_real(json, "power", GATE_POWER);
	json_end(json);
	put_real(json, "run_to_run_cv", result->cv);
	json_key(json, "regressions");
	json_array(json);
	vec_for_each(&result->rows, row)
		if ((*row)->outcome == GATE_REGRESSED)
			json_string(json, (*row)->function ? (*row)->function->name : "total");
	json_end(json);
	json_key(json, "tests");
	json_array(json);
	vec_for_each(&result->tests, test)
		put_test(json, test);
	json_end(json);
}

int report_json(const struct gate_result *result, const struct report_options *options,
		sink_fn sink, void *ctx)
{
	struct json json;

	(void)options;
	json_begin(&json, sink, ctx);
	json_object(&json);
	put_string(&json, "verdict", gate_verdict_name(result->verdict));
	json_key(&json, "weak");
	json_bool(&json, result->is_weak);
	json_key(&json, "reasons");
	json_array(&json);
	vec_for_each(&result->reasons, reason)
		json_string(&json, *reason);
	json_end(&json);
	put_string(&json, "sample_type", result->runs->type ? result->runs->type : "");
	put_string(&json, "unit", result->runs->unit ? result->runs->unit : "");
	put_side(&json, result, RUN_BASE);
	put_side(&json, result, RUN_HEAD);
	put_options(&json, &result->options);
	put_findings(&json, result);
	json_end(&json);
	return json_finish(&json) ?: sink(ctx, "\n", 1);
}
