/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a profile as a flame graph in one HTML file, which needs no network and no server, and has all sample
 * types. A script in the file draws it. The source of the page is user/output/flame/; scripts/embed.sh
 * embeds it in the program.
 *
 * Text from a profile (names, paths, comments) is JSON in a <script> that is not executed; '<', '>' and '&' are
 * escaped there, and the page turns it into text nodes, never markup. The page's Content-Security-Policy allows
 * only cprof's own script, by its hash, and nothing to be loaded.
 *
 * With a base, the graph shows what changed from base to the profile. A profile with negative values (a
 * difference that was written to a file) is shown in the same way; its negative values are the base.
 *
 * Equal profiles give equal files.
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
	const char *const *
		sources; /* names of the files it was read from, to show; none: it was recorded by this run */
	const char *const *base_sources;
	size_t nr_sources, nr_base_sources;
	uint32_t width_px; /* of an SVG, in the range of output/flamesvg.h; 0: 1200 */
};

/* -errno of the sink; -EINVAL: the sample types are not base's, or options->type does not exist. */
int flame_html_encode(const struct profile *profile, const struct flame_options *options,
		      sink_fn sink, void *ctx);

/*
 * The title of a profile: "nginx (4242)" or "3 processes: nginx, php", from the labels comm and pid, or else
 * its main binary; "A → B" with a base. The caller frees it.
 */
char *flame_title(const struct profile *profile, const struct flame_options *options);

/*
 * The stacks of a profile and of its base. Column i is type i of the profile; if there is a base, or a negative
 * value (*is_diff), column nr_types + i is type i of the base. -EINVAL as above. The caller frees it.
 */
int flame_tree(const struct profile *profile, const struct flame_options *options, bool inverted,
	       struct calltree **tree, bool *is_diff);

#endif
