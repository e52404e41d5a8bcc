/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the data of a flame graph's page (output/flame.h): stacks of a profile and its base, as JSON.
 *
 *	struct flame_data data;
 *	flame_data_make(profile, &options, &data);
 *	flame_data_put(&data, title, sink, ctx);
 *	flame_data_release(&data);
 */
#ifndef CPROF_OUTPUT_FLAME_DATA_H
#define CPROF_OUTPUT_FLAME_DATA_H

#include "output/flame.h"
#include "profile/labelset.h"

/* The values of the samples with one stack and one set of labels. */
struct flame_cell {
	uint32_t node, set;
	uint32_t sample; /* of the profile, then of its base */
};

struct flame_data {
	const struct profile *profile;
	const struct flame_options *options;
	struct calltree *tree;
	bool is_diff;
	size_t nr_pruned;
	struct labelsets labels;
	vec_of(struct flame_cell) cells; /* by node, then set; empty if no label differs */
};

/* -EINVAL: as flame_tree(). Borrows profile and options until flame_data_release(). */
int flame_data_make(const struct profile *profile, const struct flame_options *options,
		    struct flame_data *data);
/* -errno of the sink. */
int flame_data_put(const struct flame_data *data, const char *title, sink_fn sink, void *ctx);
void flame_data_release(struct flame_data *data);

#endif
