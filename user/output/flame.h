/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a profile as a flame graph in one HTML file, which needs no network and no server, holds all
 * sample types, and is drawn by the script in it. The page's source is user/output/flame/, put into
 * the program by scripts/embed.sh.
 *
 * What comes from a profile (names, paths, comments) is JSON in a <script> that is not run, in which
 * '<', '>' and '&' are escaped, and becomes text nodes, never markup. A policy in the page
 * (Content-Security-Policy) lets only our own script run, known by its hash, and nothing be loaded.
 *
 * With a base the graph is of what changed: head is the profile. A profile with negative values (a
 * difference that was written to a file) is shown in the same way: what is negative is the base.
 *
 * Equal profiles make equal files.
 */
#ifndef CPROF_OUTPUT_FLAME_H
#define CPROF_OUTPUT_FLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/textout.h"
#include "profile/calltree.h"
#include "profile/model.h"

struct flame_options {
	const struct profile *base; /* of the same sample types, unified (profile/unify.h) with
				     * the profile; NULL: no comparison */
	const char *title;	    /* NULL: flame_title() */
	uint32_t type;		    /* position of the sample type shown (first) */
	bool inverted;		    /* begin with the leaves */
	bool normalize;		    /* scale base to the sum of the profile, type by type */
	const char *const
		*sources; /* files the profile was read from, for people; none: the run itself */
	const char *const *base_sources;
	size_t nr_sources, nr_base_sources;
	uint32_t width_px; /* of an SVG, in the range of output/flamesvg.h; 0: 1200 */
};

/* -errno of the sink; -EINVAL: the sample types are not base's, or options->type is none of them. */
int flame_html_encode(const struct profile *profile, const struct flame_options *options,
		      sink_fn sink, void *ctx);

/*
 * What a profile is of: "nginx (4242)" by the labels comm and pid, "3 processes: nginx, php", else its
 * main binary; "A → B" with a base. The caller frees it.
 */
char *flame_title(const struct profile *profile, const struct flame_options *options);

/*
 * The stacks of a profile and of its base: column i is type i of the profile, column nr_types + i that
 * of the base, if there is one, or anything negative (*is_diff). -EINVAL as above. The caller frees it.
 */
int flame_tree(const struct profile *profile, const struct flame_options *options, bool inverted,
	       struct calltree **tree, bool *is_diff);

#endif
