// SPDX-License-Identifier: BSD-2-Clause
/*
 * cprof diff: what takes more than before, and what less. A table of frames, or the difference as a
 * profile, as pprof's -base (or -diff_base) makes it.
 *
 *	read both -> same sample types -> head normalized to base -> filtered, summed up -> joined
 *								  -> head - base -> written
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cmd.h"
#include "exit.h"
#include "profile/algebra.h"
#include "profile/align.h"
#include "profile/difference.h"
#include "profile/merge.h"
#include "profile/unify.h"
#include "tools/load.h"
#include "tools/localnames.h"
#include "tools/reading.h"
#include "tools/save.h"
#include "tools/view.h"

/* What labels the base's samples, so that pprof can tell what 100 % is. */
#define BASE_KEY   "pprof::base"
#define BASE_VALUE "true"

struct options {
	struct view view; /* what the table is about */
	const char *output;
	bool normalize, diff_base, cum, drop_negative;
	uint32_t limit;
};

struct side {
	struct profile *profile;
	struct selection selection; /* total: what its shares are of */
	uint32_t type;
	struct summary summary;
};

static void side_release(struct side *side)
{
	if (side->summary.nodes)
		summary_release(&side->summary);
	profile_free(side->profile);
}

static int load_both(const struct options *options, const struct arg_list *paths, struct side *base,
		     struct side *head)
{
	struct localnames_by_path by_path = {0};
	int err;

	if (paths->nr != 2)
		return fail(-EINVAL, "diff needs two profiles, BASE and HEAD, not %zu.", paths->nr);
	err = load_profile(paths->at[0], &base->profile);
	if (!err)
		err = load_profile(paths->at[1], &head->profile);
	if (err)
		return err;
	if (!options->output && !options->view.selection.no_symbolize) {
		localnames_add(base->profile, &by_path);
		localnames_add(head->profile, &by_path);
		localnames_say(&by_path);
	}
	if (profile_align(head->profile, base->profile))
		return fail(-EINVAL, "the profiles cannot be compared: they have no sample type in "
				     "common, or their units or period types differ.");
	return options->normalize ? profile_normalize(head->profile, base->profile) : 0;
}

/* What differs from one run to the next: with it no stack of one is a stack of the other. */
static void drop_ids(struct profile *profile)
{
	profile_drop_label(profile, "pid");
	profile_drop_label(profile, "tid");
}

static size_t nr_negative(const struct profile *profile)
{
	size_t nr = 0;

	vec_for_each(&profile->samples, sample) {
		bool is_negative = false;

		for (uint32_t i = 0; i < profile->nr_types; i++)
			is_negative |= sample->values[i] < 0;
		nr += is_negative;
	}
	return nr;
}

/* Warns of negative values, which some readers do not accept, or drops them. */
static void tell_negative(const struct options *options, struct profile *merged)
{
	size_t nr = options->drop_negative ? profile_drop_negative(merged) : nr_negative(merged);

	if (!nr)
		return;
	if (options->drop_negative)
		warn("dropped the negative values of %zu samples (--drop-negative)", nr);
	else
		warn("%zu samples have negative values: go tool pprof accepts them, Pyroscope "
		     "drops the samples and shows wrong totals, speedscope cannot open the file; "
		     "use --drop-negative to leave them out",
		     nr);
}

/* head - base, as a file. */
static int write_difference(const struct options *options, struct side *base,
			    const struct side *head)
{
	struct merger *merger = merger_new();
	struct profile *merged;
	const char *why = NULL;
	int err;

	if (options->drop_negative) {
		drop_ids(base->profile);
		drop_ids(head->profile);
	}
	if (options->diff_base)
		profile_set_label(base->profile, BASE_KEY, BASE_VALUE);
	err = merger_add(merger, head->profile, &why);
	if (!err)
		err = merger_add_scaled(merger, base->profile, -1, &why);
	merged = merger_finish(merger);
	for (uint32_t i = 0; !err && i < merged->nr_types; i++)
		load_warn_of_sums(merged, i);
	if (!err)
		tell_negative(options, merged);
	err = err ? fail(err, "merge: %s.", why) : save_profile(merged, options->output);
	profile_free(merged);
	return err;
}

static int select_side(const struct options *options, struct side *side)
{
	side->selection = options->view.selection;
	return selection_apply(&side->selection, side->profile, &side->type);
}

static int sum_up(const struct options *options, struct side *base, struct side *head)
{
	int err = select_side(options, base);

	if (!err)
		err = select_side(options, head);
	if (err)
		return err;
	profile_unify(base->profile, head->profile, &(struct identity){0});
	if (view_apply_label(&options->view, base->profile, true) ||
	    view_apply_label(&options->view, head->profile, true))
		return -EINVAL;
	summary_make(base->profile, base->type, options->view.by, &base->summary);
	summary_make(head->profile, head->type, options->view.by, &head->summary);
	return 0;
}

static const char *type_name(const struct side *side)
{
	return strtab_get(&side->profile->strings, side->profile->types[side->type].type);
}

static const char *type_unit(const struct side *side)
{
	return strtab_get(&side->profile->strings, side->profile->types[side->type].unit);
}

static double share(int64_t value, int64_t total)
{
	return total ? 100.0 * value / total : 0;
}

/* Rounded to two digits it is not to be "-0.00". */
static double not_minus_zero(double percent)
{
	return fabs(percent) < .005 ? 0 : percent;
}

/* Percentage points. */
static double share_difference(const struct two_values *values, const struct two_values *totals)
{
	double points = share(values->head, totals->head) - share(values->base, totals->base);

	return not_minus_zero(points);
}

static char *signed_text(int64_t value, const char *from, const char *unit,
			 char out[UNIT_TEXT_BYTES])
{
	char text[UNIT_TEXT_BYTES];

	snprintf(out, UNIT_TEXT_BYTES, "%s%s", value > 0 ? "+" : "",
		 unit_text(value, from, unit, text));
	return out;
}

static void print_values(const struct two_values *values, const struct two_values *totals,
			 const char *from, const char *unit)
{
	char base[UNIT_TEXT_BYTES], head[UNIT_TEXT_BYTES], change[UNIT_TEXT_BYTES];

	printf("%10s %10s %10s %+7.2fpp ", unit_text(values->base, from, unit, base),
	       unit_text(values->head, from, unit, head),
	       signed_text(difference_of(values), from, unit, change),
	       share_difference(values, totals));
}

static void print_head(const struct side *base, const struct two_values *totals)
{
	char *name scoped(freep) = view_name(type_name(base));
	char old[UNIT_TEXT_BYTES], new[UNIT_TEXT_BYTES], change[UNIT_TEXT_BYTES];
	const char *unit = type_unit(base);

	printf("Type: %s\nBase: %s\nHead: %s, %s", name, unit_text(totals->base, unit, "auto", old),
	       unit_text(totals->head, unit, "auto", new),
	       signed_text(difference_of(totals), unit, "auto", change));
	if (totals->base)
		printf(" (%+.2f%%)", not_minus_zero(share(difference_of(totals), totals->base)));
	putchar('\n');
}

static const char *status_text(const struct difference_row *row)
{
	return row->in_base ? row->in_head ? "changed" : "gone" : "new";
}

static void print_table(const struct options *options, const struct side *base,
			const struct difference *difference, const struct two_values *totals)
{
	const char *from = type_unit(base);
	const char *unit = options->view.unit_text;
	size_t nr = view_nr_shown(&options->view, options->limit, difference->nr);
	int64_t largest = 0;

	for (size_t i = 0; i < difference->nr; i++)
		if (difference->rows[i].cum.head > largest)
			largest = difference->rows[i].cum.head;
	if (!unit)
		unit = unit_for(0, largest ? largest : totals->base, from);
	print_head(base, totals);
	printf("Showing %zu of %zu rows that differ\n", nr, difference->nr);
	printf("%10s %10s %10s %9s %10s %10s %10s %9s  %s\n", "flat base", "flat head", "diff",
	       "share", "cum base", "cum head", "diff", "share",
	       options->view.by_text ? options->view.by_text : "function");
	for (size_t i = 0; i < nr; i++) {
		const struct difference_row *row = &difference->rows[i];
		char *name scoped(freep) = view_frame_name(&options->view, row->frame);

		print_values(&row->flat, totals, from, unit);
		print_values(&row->cum, totals, from, unit);
		printf(" %s%s\n", name, !row->in_base ? " (new)" : !row->in_head ? " (gone)" : "");
	}
}

static void put_values(struct json *json, const char *key, const struct two_values *values,
		       const struct two_values *totals)
{
	json_key(json, key), json_object(json);
	json_key(json, "base"), json_int(json, values->base);
	json_key(json, "head"), json_int(json, values->head);
	json_key(json, "difference"), json_int(json, difference_of(values));
	json_key(json, "base_share"), json_real(json, share(values->base, totals->base));
	json_key(json, "head_share"), json_real(json, share(values->head, totals->head));
	json_end(json);
}

static void print_json(const struct options *options, const struct side *base,
		       const struct difference *difference, const struct two_values *totals)
{
	size_t nr = view_nr_shown(&options->view, options->limit, difference->nr);
	struct json json;

	view_open_json(&json);
	json_object(&json);
	json_key(&json, "command"), json_string(&json, "diff");
	json_key(&json, "type"), json_string(&json, type_name(base));
	json_key(&json, "unit"), json_string(&json, type_unit(base));
	put_values(&json, "total", totals, totals);
	json_key(&json, "rows"), json_array(&json);
	for (size_t i = 0; i < nr; i++) {
		const struct difference_row *row = &difference->rows[i];

		json_object(&json);
		json_key(&json, "name"), json_string(&json, row->name);
		json_key(&json, "status"), json_string(&json, status_text(row));
		put_values(&json, "flat", &row->flat, totals);
		put_values(&json, "cum", &row->cum, totals);
		json_end(&json);
	}
	json_end(&json);
	json_end(&json);
	view_close_json(&json);
}

static enum exit_code show(const struct options *options, const struct side *base,
			   const struct side *head)
{
	const struct two_values totals = {base->selection.total, head->selection.total};
	struct difference difference scoped(difference_release) = {.nr = 0};

	difference_make(&base->summary, &head->summary, options->cum, &difference);
	if (options->view.json)
		print_json(options, base, &difference, &totals);
	else
		print_table(options, base, &difference, &totals);
	return EXIT_DONE;
}

static enum exit_code diff(struct options *options, const struct arg_list *paths)
{
	struct side base scoped(side_release) = {.type = 0},
			 head scoped(side_release) = {.type = 0};

	view_complete(&options->view);
	if (load_both(options, paths, &base, &head))
		return EXIT_USAGE;
	if (options->output && options->diff_base && options->drop_negative) {
		warn("--diff-base and --drop-negative cannot be combined: give one of them.");
		return EXIT_USAGE;
	}
	if (options->output)
		return write_difference(options, &base, &head) ? EXIT_USAGE : EXIT_DONE;
	if (options->diff_base || options->drop_negative) {
		warn("%s needs -o FILE.", options->diff_base ? "--diff-base" : "--drop-negative");
		return EXIT_USAGE;
	}
	if (sum_up(options, &base, &head))
		return EXIT_USAGE;
	return show(options, &base, &head);
}

int cmd_diff(int argc, char **argv)
{
	struct options options = {.limit = VIEW_DEFAULT_LIMIT};
	struct reading reading = {.no_sandbox = false};
	const struct arg_row rows[] = {
		{"cum", 'c', ARG_FLAG, NULL, "sort by cum, not by flat", &options.cum},
		VIEW_LIMIT_ROW(&options.limit),
		{"normalize", 0, ARG_FLAG, NULL,
		 "scale HEAD to BASE's totals: compare shares, not amounts", &options.normalize},
		{"output", 'o', ARG_OUTPUT, "FILE",
		 "write HEAD - BASE as a pprof file, instead of a table; "
		 "- is stdout",
		 &options.output},
		{"diff-base", 0, ARG_FLAG, NULL,
		 "with -o, label BASE's samples pprof::base, so that pprof "
		 "shows shares of BASE",
		 &options.diff_base},
		{"drop-negative", 0, ARG_FLAG, NULL,
		 "with -o, write only what grew, for readers that do not "
		 "accept negative values (Pyroscope)",
		 &options.drop_negative},
		VIEW_ROWS(&options.view),
		READING_ROWS(&reading),
	};
	struct args args scoped(args_release) = {
		.command = "diff",
		.operands = "BASE HEAD",
		.about = "Compare two profiles function by function: what grew, what shrank, what "
			 "is new and what "
			 "is gone, the largest difference first.",
		.rows = rows,
		.nr_rows = ARRAY_SIZE(rows),
		.epilog = "Exit codes: 0 success, whether or not the profiles differ; 2 usage "
			  "error, a file cannot "
			  "be read or written, or the two cannot be compared. For a verdict, use "
			  "cprof check.",
	};
	enum exit_code code;

	return reading_begin(&reading, &args, argc, argv, &code) ? diff(&options, &args.operand)
								 : code;
}
