/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of drawing one SVG, private to flamesvg.c, which lays it out, and flamesvg_box.c. */
#ifndef CPROF_OUTPUT_FLAMESVG_STATE_H
#define CPROF_OUTPUT_FLAMESVG_STATE_H

#include "output/flamesvg.h"

/* In px. */
#define SVG_MARGIN 10
#define SVG_HEAD   58 /* above the graph */
#define SVG_ROW	   18
#define SVG_LETTER 7.0 /* of the font of the boxes */

struct svg {
	struct text_out out;
	const struct profile *profile;
	const struct flame_options *options;
	struct calltree *tree;
	bool is_diff;
	/* by node, with its children: its value in the profile, in the base, and its width */
	double *head, *base, *width;
	double *next; /* where its next child begins, in the unit of width */
	double scale; /* px for 1 of width */
	uint32_t full_px;
};

/* Writes text as XML text or an attribute; control characters, which XML cannot express, as "\xNN". */
void svg_put_xml(struct text_out *out, const char *text);
/* Writes as many letters of text as fit into width px. */
void svg_put_clipped(struct text_out *out, const char *text, double width);
/* A value of the sample type that is drawn, with its unit. */
void svg_put_value(struct svg *svg, double value);
/* The box of a node, whose left edge is at start, in the unit of width. */
void svg_put_box(struct svg *svg, uint32_t node, double start);

#endif
