// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which stacks leak. Entries of one stack (its sizes, its threads) are judged together, over the time that the image of
 * their process ran while sampling went on; leaktest.c has the criteria. A stack is what the profile shows: those that
 * differ in frames that are left out alone, the allocator's and the interpreter's, are one. Of entries that came after
 * BUILDER_TIMELINES others it is not known when their blocks came and went: a stack is judged without them, where they are
 * few, and not at all where they are not.
 *
 * The score orders all suspects by one number, so that a reader of the profile has the same order: exceptions come before
 * mere growth, and within each the slope counts, reduced by two standard errors.
 */
#include "record/builder_state.h"

#include <stdlib.h>

#include "base/clock.h"
#include "profile/scale.h"
#include "record/leaktest.h"

#define MOST_UNKNOWN \
	0.1 /* of the bytes that a stack has taken: those of entries without a timeline */

struct stack_sum {
	struct leak_stack stack;
	double growth_bytes[TIMELINE_BINS];
	uint64_t oldest_ns; /* birth; 0: none is alive */
	uint64_t end_ns;    /* of watching it */
};

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* When the image of an entry began to be watched, and when it ended or watching did. */
static void span_of(const struct builder *builder, const struct entry *entry, uint64_t *begin_ns,
		    uint64_t *end_ns)
{
	const struct process *process = entry->image->process;

	*begin_ns =
		later(builder->clock.start_ns, later(entry->image->since_ns, process->start_ns));
	*end_ns = process->exited_ns ? process->exited_ns : builder->clock.now_ns;
}

/* The bytes that a sampled block of an entry stands for. */
static double weight_of(const struct builder *builder, const struct entry *entry)
{
	return entry->size_bytes /
	       scale_heap_probability(entry->size_bytes, builder->options.period);
}

/* Adds an entry's pieces from first to limit; of the living, those that were taken before old_ns are old. */
static void add_timeline(struct builder *builder, struct entry *entry, uint32_t first,
			 uint32_t limit, uint64_t old_ns, struct stack_sum *sum)
{
	struct timeline *timeline = &builder->timelines.at[entry->timeline - 1];
	double weight = weight_of(builder, entry);
	uint64_t old_bin = (old_ns - builder->clock.start_ns) / builder->clock.bin_ns;

	timeline_fit(timeline, &builder->clock);
	for (uint32_t i = first; i < limit; i++)
		sum->growth_bytes[i - first] += timeline->net[i] * weight;
	entry->nr_leaked = 0;
	for (uint32_t i = 0; i < TIMELINE_BINS && i < old_bin; i++)
		entry->nr_leaked += timeline->born[i];
	if (entry->nr_leaked > entry->nr_taken)
		entry->nr_leaked = entry->nr_taken;
	sum->stack.nr_old += entry->nr_leaked;
	if (timeline->oldest_ns && (!sum->oldest_ns || timeline->oldest_ns < sum->oldest_ns))
		sum->oldest_ns = timeline->oldest_ns;
}

static void add_counts(const struct entry *entry, struct stack_sum *sum)
{
	sum->stack.nr_taken += entry->nr_taken;
	sum->stack.nr_freed += entry->nr_freed;
	sum->stack.oldest_freed_ns = later(sum->stack.oldest_freed_ns, entry->oldest_freed_ns);
}

static void add_leak(struct builder *builder, const struct stack_sum *sum,
		     const struct leak_verdict *verdict)
{
	vec_push(&builder->leaks,
		 (struct built_leak){.is_exception = verdict->kind == LEAK_EXCEPTION,
				     .nr_blocks = sum->stack.nr_old,
				     .nr_freed = sum->stack.nr_freed,
				     .oldest_ns = sum->end_ns - sum->oldest_ns,
				     .oldest_freed_ns = sum->stack.oldest_freed_ns,
				     .age_ns = sum->stack.age_ns,
				     .slope = verdict->slope,
				     .error = verdict->error});
}

/* Is so much of a stack without a timeline that nothing can be said of it? */
static bool is_unknown(const struct builder *builder, const uint32_t *at, size_t nr)
{
	double all = 0, unknown = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct entry *entry = &builder->entries.at[at[i]];
		double bytes = entry->nr_taken * weight_of(builder, entry);

		all += bytes;
		unknown += entry->timeline ? 0 : bytes;
	}
	return unknown > MOST_UNKNOWN * all;
}

/* The entries of one stack: nr of builder->order from at on. false: they were not watched for long enough. */
static bool sum_up(struct builder *builder, const uint32_t *at, size_t nr, struct stack_sum *sum)
{
	struct entry *first = &builder->entries.at[at[0]];
	uint64_t bin_ns = builder->clock.bin_ns, begin_ns, end_ns, age_ns;
	uint32_t begin_bin, end_bin;

	*sum = (struct stack_sum){.stack = {.piece_s = bin_ns / 1e9}};

	span_of(builder, first, &begin_ns, &end_ns);
	age_ns = builder->leak_age_ns ? builder->leak_age_ns : (end_ns - begin_ns) / 2;
	if (end_ns < begin_ns || end_ns - begin_ns < age_ns)
		return false;
	begin_bin = (begin_ns - builder->clock.start_ns + bin_ns - 1) / bin_ns;
	end_bin = (end_ns - builder->clock.start_ns) / bin_ns;
	if (begin_bin > end_bin || end_bin > TIMELINE_BINS)
		return false;
	for (size_t i = 0; i < nr; i++) {
		struct entry *entry = &builder->entries.at[at[i]];

		add_counts(entry, sum);
		if (entry->timeline)
			add_timeline(builder, entry, begin_bin, end_bin, end_ns - age_ns, sum);
	}
	sum->stack.growth_bytes = sum->growth_bytes;
	sum->stack.nr_pieces = end_bin - begin_bin;
	sum->stack.age_ns = age_ns;
	sum->stack.is_over = first->image->process->exited_ns;
	sum->end_ns = end_ns;
	return true;
}

static void judge_stack(struct builder *builder, const uint32_t *at, size_t nr)
{
	struct leak_verdict verdict;
	struct stack_sum sum;

	if (!sum_up(builder, at, nr, &sum))
		return;
	builder->most_old = later(builder->most_old, sum.stack.nr_old);
	verdict = leak_judge(&sum.stack, builder->nr_tested);
	if (verdict.kind)
		add_leak(builder, &sum, &verdict);
	for (size_t i = 0; i < nr; i++) {
		struct entry *entry = &builder->entries.at[at[i]];

		entry->leak = verdict.kind ? builder->leaks.nr : 0;
		entry->nr_leaked = verdict.kind ? entry->nr_leaked : 0;
	}
}

/* How many are tested has to be known before the first one is judged. */
static void count_stack(struct builder *builder, const uint32_t *at, size_t nr)
{
	struct stack_sum sum;

	builder->nr_tested += sum_up(builder, at, nr, &sum) && leak_is_testable(&sum.stack);
}

static int compare_stacks(const void *a, const void *b, void *ctx)
{
	const struct builder *builder = ctx;
	const struct entry *x = &builder->entries.at[*(const uint32_t *)a];
	const struct entry *y = &builder->entries.at[*(const uint32_t *)b];

	if (x->image != y->image)
		return compare_u64((uintptr_t)x->image, (uintptr_t)y->image);
	return compare_u64(x->shown_stack, y->shown_stack);
}

static double lower_bound(const struct built_leak *leak)
{
	return leak->slope - 2 * leak->error; /* above 0, as t is above 4 */
}

static void set_scores(struct builder *builder)
{
	double most[2] = {0};

	vec_for_each(&builder->leaks, leak)
		if (lower_bound(leak) > most[leak->is_exception])
			most[leak->is_exception] = lower_bound(leak);
	vec_for_each(&builder->leaks, leak) {
		double part = lower_bound(leak) / most[leak->is_exception];

		leak->score = leak->is_exception ? 500 + 500 * part : 1 + 99 * part;
	}
}

/* Calls fn for each stack of a last image that is known well enough. Returns how many are not. */
static uint64_t each_stack(struct builder *builder,
			   void (*fn)(struct builder *builder, const uint32_t *at, size_t nr))
{
	uint64_t nr_unknown = 0;

	for (size_t i = 0, nr; i < builder->order.nr; i += nr) {
		const uint32_t *at = builder->order.at + i;
		const struct image *image = builder->entries.at[*at].image;

		for (nr = 1; i + nr < builder->order.nr; nr++)
			if (compare_stacks(at, at + nr, builder))
				break;
		if (image != image->process->images.at[image->process->images.nr - 1])
			continue;
		if (is_unknown(builder, at, nr))
			nr_unknown++;
		else
			fn(builder, at, nr);
	}
	return nr_unknown;
}

void builder_find_leaks(struct builder *builder, struct symbolizer *symbolizer,
			const struct build_order *order, uint64_t age_ns)
{
	builder->leak_age_ns = age_ns;
	builder->leaks.nr = 0;
	builder->nr_unjudged = builder->most_old = builder->nr_tested = 0;
	vec_for_each(&builder->entries, entry)
		entry->leak = entry->nr_leaked = 0;
	builder_number_stacks(builder, symbolizer, order);
	if (!builder->order.nr)
		return;
	qsort_r(builder->order.at, builder->order.nr, sizeof(*builder->order.at), compare_stacks,
		builder);
	each_stack(builder, count_stack);
	builder->nr_unjudged = each_stack(builder, judge_stack);
	set_scores(builder);
	builder->is_resolved = false; /* the order is another one */
	builder_resolve(builder);
}

bool builder_can_find_leaks(const struct builder *builder)
{
	const struct timeline_clock *clock = &builder->clock;

	return clock->now_ns - clock->start_ns >= LEAK_LEAST_PIECES * clock->bin_ns;
}

uint64_t builder_unjudged(const struct builder *builder)
{
	return builder->nr_unjudged;
}

uint64_t builder_most_old(const struct builder *builder)
{
	return builder->most_old;
}

const struct built_leak *builder_leaks(const struct builder *builder, size_t *nr)
{
	*nr = builder->leaks.nr;
	return builder->leaks.at;
}
