// SPDX-License-Identifier: BSD-2-Clause
/*
 * A join of two summaries by frame name: a string table of the names gives each row its position,
 * so that neither side needs an order. Rows without any difference are left out before sorting.
 */
#include "profile/difference.h"

#include <stdlib.h>
#include <string.h>

#include "base/magnitude.h"
#include "base/strtab.h"

int64_t difference_of(const struct two_values *values)
{
	int64_t difference;

	if (__builtin_sub_overflow(values->head, values->base, &difference))
		return values->base < 0 ? INT64_MAX : INT64_MIN;
	return difference;
}

/* names gives each name the position of its row. */
static struct difference_row *row_of(struct difference *difference, struct strtab *names,
				     const struct frame *frame)
{
	uint32_t i = strtab_intern(names, frame->name);

	difference->rows[i].name = frame->name;
	difference->rows[i].frame = frame;
	if (difference->nr <= i)
		difference->nr = i + 1;
	return &difference->rows[i];
}

static void join(const struct summary *base, const struct summary *head,
		 struct difference *difference)
{
	struct strtab names scoped(strtab_release) = {.index = {0}};

	for (size_t i = 0; i < base->nr; i++) {
		const struct summary_node *node = &base->nodes[i];
		struct difference_row *row = row_of(difference, &names, node->frame);

		row->in_base = true;
		row->flat.base = node->flat;
		row->cum.base = node->cum;
	}
	for (size_t i = 0; i < head->nr; i++) {
		const struct summary_node *node = &head->nodes[i];
		struct difference_row *row = row_of(difference, &names, node->frame);

		row->in_head = true;
		row->flat.head = node->flat;
		row->cum.head = node->cum;
	}
}

/* Row 0 may belong to no function: "" has that position in any string table. */
static void drop_equal(struct difference *difference)
{
	size_t nr = 0;

	for (size_t i = 0; i < difference->nr; i++) {
		const struct difference_row *row = &difference->rows[i];

		if (difference_of(&row->flat) || difference_of(&row->cum))
			difference->rows[nr++] = *row;
	}
	difference->nr = nr;
}

static int compare_differences(const struct two_values *a, const struct two_values *b)
{
	return compare_magnitudes(difference_of(a), difference_of(b));
}

static int compare_flat(const void *a_void, const void *b_void)
{
	const struct difference_row *a = a_void, *b = b_void;
	int order = compare_differences(&a->flat, &b->flat);

	if (!order)
		order = compare_differences(&a->cum, &b->cum);
	return order ? order : strcmp(a->name, b->name);
}

static int compare_cum(const void *a_void, const void *b_void)
{
	const struct difference_row *a = a_void, *b = b_void;
	int order = compare_differences(&a->cum, &b->cum);

	return order ? order : compare_flat(a, b);
}

void difference_make(const struct summary *base, const struct summary *head, bool by_cum,
		     struct difference *difference)
{
	*difference = (struct difference){
		.rows = xcalloc(base->nr + head->nr + 1, sizeof(*difference->rows)),
	};
	join(base, head, difference);
	drop_equal(difference);
	qsort(difference->rows, difference->nr, sizeof(*difference->rows),
	      by_cum ? compare_cum : compare_flat);
}

void difference_release(struct difference *difference)
{
	free(difference->rows);
	*difference = (struct difference){0};
}
