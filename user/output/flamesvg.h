/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a profile as a flame graph in one SVG file: one sample type, the root on top, for a README, a
 * report or a mail. Every box has a tooltip (its <title>). A small script zooms (click) and searches (Ctrl-F or
 * "/"); without scripts (in an <img>) the picture is complete. Boxes narrower than a fifth of a pixel are
 * left out. The colours are those of the page (output/flame.h).
 */
#ifndef CPROF_OUTPUT_FLAMESVG_H
#define CPROF_OUTPUT_FLAMESVG_H

#include "output/flame.h"

#define FLAMESVG_MIN_PX 200
#define FLAMESVG_MAX_PX 20000

/* Encodes an SVG; see flame_html_encode() for the contract. A width outside the range is clamped to it. */
int flame_svg_encode(const struct profile *profile, const struct flame_options *options,
		     sink_fn sink, void *ctx);

#endif
