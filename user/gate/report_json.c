// SPDX-License-Identifier: BSD-2-Clause
/* A verdict as JSON: everything that the comparison found. */
#include <math.h>

#include "base/json.h"
#include "gate/phrase.h"
#include "gate/report.h"

static void put_side(struct json *json, const struct gate_result *result, enum run_side side)
{
	json_key(json, side == RUN_BASE ? "base" : "head");
	json_object(json);
	json_key(json, "runs");
	json_uint(json, result->nr_runs[side]);
	json_key(json, "samples"), json_real(json, result->nr_samples[side]);
	json_key(json, "mean"), json_real(json, result->mean_total[side]);
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
	json_key(json, "name"), json_string(json, function ? function->name : "total");
	if (!function)
		return;
	json_key(json, "file"), json_string(json, function->file);
	json_key(json, "line");
	json_int(json, function->line);
}

static void put_test(struct json *json, const struct gate_test *test)
{
	json_object(json);
	put_function(json, test->function);
	json_key(json, "measure"), json_string(json, gate_measure_name(test->measure));
	json_key(json, "quantity"), json_string(json, gate_quantity_name(test->quantity));
	json_key(json, "outcome"), json_string(json, gate_outcome_name(test->outcome));
	json_key(json, "base"), json_real(json, test->stats.base);
	json_key(json, "head"), json_real(json, test->stats.head);
	json_key(json, "growth_percent"), json_real(json, test->growth);
	json_key(json, "delta_points"), json_real(json, test->delta);
	json_key(json, "interval95");
	json_array(json);
	json_real(json, test->stats.ci_low);
	json_real(json, test->stats.ci_high);
	json_end(json);
	json_key(json, "run_growth_percent"), json_real(json, test->run_growth);
	json_key(json, "run_delta_points"), json_real(json, test->run_delta);
	json_key(json, "p_grown"), json_real(json, test->stats.p_grown);
	json_key(json, "p_grown_adjusted"), json_real(json, test->p_grown);
	json_key(json, "p_shrunk_adjusted"), json_real(json, test->p_shrunk);
	json_key(json, "detectable"), json_real(json, test->detectable);
	if (test->moved_from)
		json_key(json, "moved_from"), json_string(json, test->moved_from->name);
	if (test->moved_to)
		json_key(json, "moved_to"), json_string(json, test->moved_to->name);
	json_end(json);
}

static void put_options(struct json *json, const struct gate_options *options)
{
	json_key(json, "options");
	json_object(json);
	json_key(json, "max_growth_percent"), json_real(json, options->max_growth);
	json_key(json, "max_delta_points"), json_real(json, options->max_delta);
	json_key(json, "min_share_percent"), json_real(json, options->min_share);
	json_key(json, "alpha"), json_real(json, options->alpha);
	json_key(json, "max_loss_percent"), json_real(json, options->max_loss);
	json_key(json, "max_unknown_points"), json_real(json, options->max_unknown);
	json_key(json, "min_samples");
	json_uint(json, options->min_samples);
	json_key(json, "single");
	json_bool(json, options->single);
	json_end(json);
}

static void put_moves(struct json *json, const struct gate_result *result)
{
	json_key(json, "moves");
	json_array(json);
	vec_for_each(&result->moves, move) {
		char *rename scoped(freep) = phrase_rename(move);

		json_object(json);
		json_key(json, "from"), json_string(json, move->from->name);
		json_key(json, "to"), json_string(json, move->to->name);
		json_key(json, "certain");
		json_bool(json, move->is_certain);
		json_key(json, "text"), json_string(json, phrase_move(move).text);
		if (rename)
			json_key(json, "option"), json_string(json, rename);
		json_end(json);
	}
	json_end(json);
}

static void put_findings(struct json *json, const struct gate_result *result)
{
	json_key(json, "detectable");
	json_object(json);
	json_key(json, "total_percent"), json_real(json, result->detectable_total);
	json_key(json, "share_points"), json_real(json, result->detectable_share);
	json_key(json, "of_share"), json_real(json, GATE_TYPICAL_SHARE);
	json_key(json, "power"), json_real(json, GATE_POWER);
	json_end(json);
	json_key(json, "size_factor");
	json_object(json);
	json_key(json, "head_over_base"), json_real(json, result->size_ratio);
	json_key(json, "robust");
	json_bool(json, result->factor.is_known);
	json_key(json, "standard_error"), json_real(json, sqrt(result->factor.variance));
	json_end(json);
	json_key(json, "run_to_run_cv"), json_real(json, result->cv);
	json_key(json, "regressions");
	json_array(json);
	vec_for_each(&result->rows, row)
		if (gate_is_finding(result, *row))
			json_string(json, (*row)->function ? (*row)->function->name : "total");
	json_end(json);
	put_moves(json, result);
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
	json_key(&json, "verdict"), json_string(&json, gate_verdict_name(result->verdict));
	json_key(&json, "weak");
	json_bool(&json, result->is_weak);
	json_key(&json, "reasons");
	json_array(&json);
	vec_for_each(&result->reasons, reason)
		json_string(&json, *reason);
	json_end(&json);
	json_key(&json, "sample_type"),
		json_string(&json, result->runs->type ? result->runs->type : "");
	json_key(&json, "unit"), json_string(&json, result->runs->unit ? result->runs->unit : "");
	put_side(&json, result, RUN_BASE);
	put_side(&json, result, RUN_HEAD);
	put_options(&json, &result->options);
	put_findings(&json, result);
	json_end(&json);
	return json_finish(&json) ?: sink(ctx, "\n", 1);
}
