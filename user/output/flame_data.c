// SPDX-License-Identifier: BSD-2-Clause
/*
 * The page holds its profile as tables, not as a tree of objects, so that a million nodes are a few
 * megabytes of digits that a browser reads in a fraction of a second:
 *
 *	nodes.up      0,0,2,...		from one node to the next in preorder: so many levels up
 *	nodes.frame   4,9,1,...		its function, a position in the tables of frames
 *	head[type]    step 3,1,7,...	from one node that has a value of its own to the next
 *		      value 10,2,...
 *
 * Where labels tell samples apart, labels.sets says which values each set of labels has, and a column has
 * its values by node and set, "set 0,3,1,...", so that the page can leave sets out.
 *
 * The root is node 0 and stands in no table. Strings are said once.
 *
 * Alternative rejected: the same, gzip'ed and in base 64, for the browser's DecompressionStream. It
 * halves the file, but takes longer to read, cannot be looked into with a text editor or grep, and
 * who stores many such files compresses them all.
 */
#include "output/flame_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

/* A screen cannot show more, and the page would have tens of megabytes. */
#define MAX_NODES 2000000
/* So many stacks, each with the labels of one set; with more of them keys of labels are left out. */
#define MAX_CELLS 2000000

/* Labels ------------------------------------------------------------------------------------------ */

static int compare_cells(const void *a, const void *b)
{
	const struct flame_cell *p = a, *q = b;

	if (p->node != q->node)
		return p->node < q->node ? -1 : 1;
	if (p->set != q->set)
		return p->set < q->set ? -1 : 1;
	return p->sample < q->sample ? -1 : p->sample > q->sample;
}

static bool is_same_cell(const struct flame_data *data, size_t a, size_t b)
{
	return b < data->cells.nr && data->cells.at[a].node == data->cells.at[b].node &&
	       data->cells.at[a].set == data->cells.at[b].set;
}

/* How many different ones there are. */
static size_t fill_cells(struct flame_data *data)
{
	size_t nr = 0;

	data->cells.nr = 0;
	for (size_t i = 0; i < data->tree->ends.nr; i++)
		vec_push(&data->cells, (struct flame_cell){.node = data->tree->ends.at[i],
							   .set = data->labels.set_of.at[i],
							   .sample = i});
	if (data->cells.nr)
		qsort(data->cells.at, data->cells.nr, sizeof(*data->cells.at), compare_cells);
	for (size_t i = 0; i < data->cells.nr; i++)
		nr += !is_same_cell(data, i, i + 1);
	return nr;
}

static void make_labels(struct flame_data *data)
{
	data->labels.type = data->options->type;
	labelsets_add(&data->labels, data->profile);
	if (data->options->base)
		labelsets_add(&data->labels, data->options->base);
	labelsets_make(&data->labels);
	while (data->labels.nr_sets > 1 && fill_cells(data) > MAX_CELLS)
		labelsets_reduce(&data->labels);
	if (data->labels.nr_sets < 2)
		data->cells.nr = 0;
}

/* What a sample adds to a column: calltree_add() does the same. */
static int64_t value_in(const struct flame_data *data, uint32_t at, uint32_t column)
{
	uint32_t nr = data->profile->nr_types;
	bool is_base = at >= data->profile->samples.nr;
	const struct profile_sample *sample =
		is_base ? &data->options->base->samples.at[at - data->profile->samples.nr]
			: &data->profile->samples.at[at];
	int64_t value = sample->values[column % nr];

	if (!data->is_diff)
		return value;
	if ((column >= nr) == is_base)
		return value > 0 ? value : 0;
	return value >= 0 ? 0 : value == INT64_MIN ? INT64_MAX : -value;
}

int flame_data_make(const struct profile *profile, const struct flame_options *options,
		    struct flame_data *data)
{
	struct calltree *tree;
	bool is_diff;
	int err = flame_tree(profile, options, false, &tree, &is_diff);

	if (err)
		return err;
	*data = (struct flame_data){
		.profile = profile, .options = options, .tree = tree, .is_diff = is_diff};
	data->nr_pruned = calltree_prune(tree, MAX_NODES);
	calltree_arrange(tree, options->type, 1);
	make_labels(data);
	return 0;
}

void flame_data_release(struct flame_data *data)
{
	calltree_free(data->tree);
	labelsets_release(&data->labels);
	vec_release(&data->cells);
}

/* Tables ------------------------------------------------------------------------------------------ */

/* Untrusted text, made safe to show: no control characters, and none that changes the direction of the text after it. */
static void put_shown(struct json *json, const char *text)
{
	size_t need = 4 * strlen(text) + 1; /* every byte may become "\xNN" */
	char small[512], *large scoped(freep) = need > sizeof(small) ? xmalloc(need) : NULL;

	json_string(json, text_escape(text, large ? large : small, large ? need : sizeof(small)));
}

static void put_sources(struct json *json, const char *key, const char *const *paths, size_t nr)
{
	json_key(json, key), json_array(json);
	for (size_t i = 0; i < nr; i++)
		put_shown(json, paths[i]);
	json_end(json);
}

static void put_about(struct json *json, const struct flame_data *data)
{
	const struct profile *profile = data->profile;

	json_key(json, "about"), json_object(json);
	json_key(json, "period"), json_int(json, profile->period);
	json_key(json, "periodUnit");
	put_shown(json, strtab_get(&profile->strings, profile->period_type.unit));
	json_key(json, "duration"), json_int(json, profile->duration_ns);
	json_key(json, "time"), json_int(json, profile->time_ns);
	json_key(json, "comments"), json_array(json);
	vec_for_each(&profile->comments, comment)
		put_shown(json, strtab_get(&profile->strings, *comment));
	json_end(json);
	json_key(json, "pruned"), json_uint(json, data->nr_pruned);
	json_key(json, "full"), json_bool(json, data->tree->full);
	json_key(json, "labelsCut"), json_bool(json, data->labels.is_cut);
	put_sources(json, "source", data->options->sources, data->options->nr_sources);
	put_sources(json, "baseSource", data->options->base_sources,
		    data->options->nr_base_sources);
	json_end(json);
}

static void put_types(struct json *json, const struct profile *profile)
{
	json_key(json, "types"), json_array(json);
	for (uint32_t i = 0; i < profile->nr_types; i++) {
		json_array(json);
		put_shown(json, strtab_get(&profile->strings, profile->types[i].type));
		put_shown(json, strtab_get(&profile->strings, profile->types[i].unit));
		json_end(json);
	}
	json_end(json);
}

/* One table of the frames: what `value` is of each. */
#define PUT_FRAMES(json, tree, key, value)                \
	do {                                              \
		json_key(json, key), json_array(json);    \
		vec_for_each(&(tree)->frames, frame)      \
			json_int(json, (int64_t)(value)); \
		json_end(json);                           \
	} while (0)

static void put_frames(struct json *json, const struct calltree *tree)
{
	json_key(json, "strings"), json_array(json);
	if (!strtab_nr(&tree->frames.strings)) /* no frames: but "" is known */
		json_string(json, "");
	for (size_t i = 0; i < strtab_nr(&tree->frames.strings); i++)
		put_shown(json, strtab_get(&tree->frames.strings, i));
	json_end(json);
	json_key(json, "frames"), json_object(json);
	PUT_FRAMES(json, tree, "name", frame->name);
	PUT_FRAMES(json, tree, "file", frame->path);
	PUT_FRAMES(json, tree, "mapping", frame->mapping);
	PUT_FRAMES(json, tree, "first", frame->first_line);
	PUT_FRAMES(json, tree, "last", frame->last_line);
	PUT_FRAMES(json, tree, "kind", frame->kind);
	PUT_FRAMES(json, tree, "where", frame->where);
	PUT_FRAMES(json, tree, "inlined", frame->inlined + (frame->inlined && !frame->called));
	json_end(json);
}

static void put_nodes(struct json *json, const struct prefixtree *tree)
{
	size_t nr = prefixtree_nr(tree);

	json_key(json, "nodes"), json_object(json);
	json_key(json, "up"), json_array(json);
	for (size_t i = 1; i < nr; i++)
		json_uint(json, tree->depth[i - 1] + 1 - tree->depth[i]);
	json_end(json);
	json_key(json, "frame"), json_array(json);
	for (size_t i = 1; i < nr; i++)
		json_uint(json, prefixtree_key(tree, i));
	json_end(json);
	json_end(json);
}

static void put_column(struct json *json, const struct prefixtree *tree, uint32_t column)
{
	size_t nr = prefixtree_nr(tree), last = 0;

	json_object(json);
	json_key(json, "step"), json_array(json);
	for (size_t i = 0; i < nr; i++) {
		if (!prefixtree_self(tree, i)[column])
			continue;
		json_uint(json, i - last);
		last = i;
	}
	json_end(json);
	json_key(json, "value"), json_array(json);
	for (size_t i = 0; i < nr; i++) {
		int64_t value = prefixtree_self(tree, i)[column];

		if (value)
			json_int(json, value);
	}
	json_end(json);
	json_end(json);
}

/* The same of cells; a node comes several times, with a step of 0 between. */
static void put_cells(struct json *json, const struct flame_data *data, uint32_t column)
{
	vec_of(int64_t) sums = {0};
	uint32_t last = 0;

	json_object(json);
	json_key(json, "step"), json_array(json);
	for (size_t i = 0, next; i < data->cells.nr; i = next) {
		int64_t sum = 0;

		for (next = i; next == i || is_same_cell(data, i, next); next++)
			sum = profile_sum(sum, value_in(data, data->cells.at[next].sample, column));
		vec_push(&sums, sum);
		if (!sum)
			continue;
		json_uint(json, data->cells.at[i].node - last);
		last = data->cells.at[i].node;
	}
	json_end(json);
	json_key(json, "value"), json_array(json);
	vec_for_each(&sums, sum)
		if (*sum)
			json_int(json, *sum);
	json_end(json);
	json_key(json, "set"), json_array(json);
	for (size_t i = 0, at = 0; i < data->cells.nr; i++) {
		if (is_same_cell(data, i, i + 1))
			continue;
		if (sums.nr && sums.at[at++])
			json_uint(json, data->cells.at[i].set);
	}
	json_end(json);
	json_end(json);
	vec_release(&sums);
}

static void put_columns(struct json *json, const struct flame_data *data, const char *key,
			uint32_t first)
{
	json_key(json, key), json_array(json);
	for (uint32_t i = 0; i < data->profile->nr_types; i++)
		if (data->cells.nr)
			put_cells(json, data, first + i);
		else
			put_column(json, &data->tree->stacks, first + i);
	json_end(json);
}

/* Keys and their values by weight; for each key the value of all sets, 0: none, 1: the first. */
static void put_labels(struct json *json, const struct labelsets *labels)
{
	json_key(json, "labels"), json_array(json);
	for (size_t i = 0; i < labels->keys.nr; i++) {
		const struct labelset_key *key = &labels->keys.at[i];

		json_object(json);
		json_key(json, "key"), put_shown(json, key->name);
		json_key(json, "values"), json_array(json);
		vec_for_each(&key->order, value)
			put_shown(json, key->values.at[*value].text);
		json_end(json);
		json_key(json, "hasOther"), json_bool(json, key->has_other);
		json_key(json, "sets"), json_array(json);
		for (size_t set = 0; set < labels->nr_sets; set++)
			json_uint(json, labelsets_value(labels, set, i));
		json_end(json);
		json_end(json);
	}
	json_end(json);
}

int flame_data_put(const struct flame_data *data, const char *title, sink_fn sink, void *ctx)
{
	struct json json;

	json_begin(&json, sink, ctx);
	json_object(&json);
	json_key(&json, "title"), put_shown(&json, title);
	put_about(&json, data);
	put_types(&json, data->profile);
	json_key(&json, "type"), json_uint(&json, data->options->type);
	json_key(&json, "view"), json_object(&json);
	json_key(&json, "inverted"), json_bool(&json, data->options->inverted);
	json_key(&json, "normalize"), json_bool(&json, data->options->normalize);
	json_end(&json);
	put_frames(&json, data->tree);
	put_nodes(&json, &data->tree->stacks);
	put_labels(&json, &data->labels);
	put_columns(&json, data, "head", 0);
	if (data->is_diff)
		put_columns(&json, data, "base", data->profile->nr_types);
	else
		json_key(&json, "base"), json_null(&json);
	json_end(&json);
	return json_finish(&json);
}
