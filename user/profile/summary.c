// SPDX-License-Identifier: BSD-2-Clause
/*
 * A recursive function counts once for each sample. Instead of a set of what a sample has visited,
 * each frame and each pair of frames remembers the number of the sample that counted there last
 * ("turn").
 *
 * Pairs (caller, callee) are numbered (base/pairtable.h) and summed while samples are added. Then edges are sorted
 * twice, by caller and by callee, and the callees and callers of a node are slices of the two
 * arrays.
 */
#include "profile/summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/magnitude.h"
#include "base/pairtable.h"

struct sums {
	int64_t flat, cum;
	size_t turn; /* of the last sample that counted here; 1 is the first */
};

struct call {
	int64_t value;
	size_t turn;
	bool is_inline;
};

/* While samples are added up. */
struct adding {
	const struct frames *frames;
	struct sums *sums;	   /* as many as there are frames */
	struct pairtable pairs;	   /* a frame that calls, and the frame that it calls */
	vec_of(struct call) calls; /* of each pair */
};

static void add_call(struct adding *adding, uint32_t caller, uint32_t callee,
		     const struct call *call)
{
	uint32_t i = pairtable_enter(&adding->pairs, caller, callee);
	struct call *known;

	if (i == adding->calls.nr) {
		vec_push(&adding->calls, *call);
		return;
	}
	known = &adding->calls.at[i];
	if (known->turn == call->turn)
		return;
	known->turn = call->turn;
	known->value = profile_sum(known->value, call->value);
	known->is_inline &= call->is_inline;
}

/* One sample, from its root to its leaf. turn: which one it is. */
static void add_sample(struct adding *adding, const struct profile_sample *sample, int64_t value,
		       size_t turn)
{
	struct call call = {.value = value, .turn = turn};
	uint32_t caller = UINT32_MAX;

	for (uint32_t i = sample->nr_locations; i-- > 0;) {
		uint32_t nr_lines, nr;
		const uint32_t *ids = frames_of(adding->frames, sample->locations[i], &nr_lines);

		for (nr = nr_lines; nr-- > 0; caller = ids[nr]) {
			struct sums *sums = &adding->sums[ids[nr]];

			call.is_inline = nr + 1 != nr_lines;
			if (sums->turn != turn)
				sums->cum = profile_sum(sums->cum, value);
			sums->turn = turn;
			if (caller != UINT32_MAX && caller != ids[nr])
				add_call(adding, caller, ids[nr], &call);
		}
	}
	if (sample->nr_locations)
		adding->sums[caller].flat = profile_sum(adding->sums[caller].flat, value);
}

static int compare_flat(const void *a, const void *b)
{
	const struct summary_node *p = a, *q = b;
	int order = compare_magnitudes(p->flat, q->flat);

	return order ? order : strcmp(p->frame->name, q->frame->name);
}

static int compare_cum(const void *a, const void *b, void *ctx)
{
	const struct summary_node *nodes = ctx;
	const struct summary_node *p = &nodes[*(const uint32_t *)a],
				  *q = &nodes[*(const uint32_t *)b];
	int order = compare_magnitudes(p->cum, q->cum);

	return order ? order : strcmp(p->frame->name, q->frame->name);
}

static int compare_edges(const struct summary_edge *p, const struct summary_edge *q,
			 const struct summary_node *nodes, bool by_caller)
{
	uint32_t own_p = by_caller ? p->caller : p->callee,
		 own_q = by_caller ? q->caller : q->callee;
	uint32_t end_p = by_caller ? p->callee : p->caller,
		 end_q = by_caller ? q->callee : q->caller;
	int order;

	if (own_p != own_q)
		return own_p < own_q ? -1 : 1;
	order = compare_magnitudes(p->value, q->value);
	return order ? order : strcmp(nodes[end_p].frame->name, nodes[end_q].frame->name);
}

static int compare_out(const void *a, const void *b, void *ctx)
{
	return compare_edges(a, b, ctx, true);
}

static int compare_in(const void *a, const void *b, void *ctx)
{
	return compare_edges(a, b, ctx, false);
}

/* Frames with a value become nodes, sorted. *node_of: from a frame to its node, or UINT32_MAX. */
static void make_nodes(const struct adding *adding, struct summary *summary, uint32_t *node_of)
{
	size_t nr_frames = summary->frames.nr;

	summary->nodes = xcalloc(nr_frames, sizeof(*summary->nodes));
	summary->by_cum = xcalloc(nr_frames, sizeof(*summary->by_cum));
	for (size_t i = 0; i < nr_frames; i++) {
		node_of[i] = UINT32_MAX;
		if (adding->sums[i].flat || adding->sums[i].cum)
			summary->nodes[summary->nr++] =
				(struct summary_node){.frame = &summary->frames.at[i],
						      .flat = adding->sums[i].flat,
						      .cum = adding->sums[i].cum};
	}
	qsort(summary->nodes, summary->nr, sizeof(*summary->nodes), compare_flat);
	for (size_t i = 0; i < summary->nr; i++) {
		node_of[summary->nodes[i].frame - summary->frames.at] = i;
		summary->by_cum[i] = i;
	}
	qsort_r(summary->by_cum, summary->nr, sizeof(*summary->by_cum), compare_cum,
		summary->nodes);
}

static void make_edges(const struct adding *adding, struct summary *summary,
		       const uint32_t *node_of)
{
	size_t nr = 0, bytes = sizeof(*summary->edges);
	struct summary_edge *out = xcalloc(adding->pairs.nr, bytes), *in;

	for (size_t i = 0; i < adding->pairs.nr; i++) {
		const struct pair *pair = &adding->pairs.at[i];
		struct summary_edge edge = {node_of[pair->first], node_of[pair->second],
					    adding->calls.at[i].value,
					    adding->calls.at[i].is_inline};

		if (edge.caller != UINT32_MAX && edge.callee != UINT32_MAX)
			out[nr++] = edge;
	}
	in = xcalloc(nr, bytes);
	memcpy(in, out, nr * bytes);
	qsort_r(out, nr, bytes, compare_out, summary->nodes);
	qsort_r(in, nr, bytes, compare_in, summary->nodes);
	for (size_t i = nr; i-- > 0;) { /* backwards: the first of each stays */
		summary->nodes[out[i].caller].callees = &out[i];
		summary->nodes[out[i].caller].nr_callees++;
		summary->nodes[in[i].callee].callers = &in[i];
		summary->nodes[in[i].callee].nr_callers++;
	}
	summary->edges = out;
	summary->edges_in = in;
}

void summary_make(const struct profile *profile, uint32_t type, enum frame_by by,
		  struct summary *summary)
{
	struct adding adding = {.frames = &summary->frames};
	uint32_t *node_of scoped(freep) = NULL;
	size_t turn = 0;

	*summary = (struct summary){.total = profile_whole(profile, type)};
	frames_make(profile, by, &summary->frames);
	adding.sums = xcalloc(summary->frames.nr, sizeof(*adding.sums));
	vec_for_each(&profile->samples, sample) {
		int64_t value = sample->values[type];

		if (!value)
			continue;
		add_sample(&adding, sample, value, ++turn);
		if (!sample->nr_locations)
			summary->unplaced = profile_sum(summary->unplaced, value);
	}
	node_of = xcalloc(summary->frames.nr, sizeof(*node_of));
	make_nodes(&adding, summary, node_of);
	make_edges(&adding, summary, node_of);
	free(adding.sums);
	pairtable_release(&adding.pairs);
	vec_release(&adding.calls);
}

void summary_release(struct summary *summary)
{
	frames_release(&summary->frames);
	free(summary->nodes);
	free(summary->by_cum);
	free(summary->edges);
	free(summary->edges_in);
}

static bool is_base(const struct profile *profile, const struct profile_sample *sample)
{
	for (uint32_t i = 0; i < sample->nr_labels; i++) {
		const struct profile_label *label = &sample->labels[i];

		if (!strcmp(strtab_get(&profile->strings, label->key), "pprof::base") &&
		    !strcmp(strtab_get(&profile->strings, label->str), "true"))
			return true;
	}
	return false;
}

int64_t profile_whole(const struct profile *profile, uint32_t type)
{
	int64_t all = 0, base = 0;

	vec_for_each(&profile->samples, sample) {
		uint64_t size = magnitude_of(sample->values[type]);
		int64_t value = size > INT64_MAX ? INT64_MAX : size;

		all = profile_sum(all, value);
		if (is_base(profile, sample))
			base = profile_sum(base, value);
	}
	return base > 0 ? base : all;
}
