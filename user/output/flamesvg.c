// SPDX-License-Identifier: BSD-2-Clause
/*
 * The tree is laid out in one pass, since its nodes are in preorder: a node begins where the sibling
 * before it ends, and that is known when its turn comes. next[node] is where its next child begins.
 *
 *	main         [0 ............... 100)
 *	  parse      [0 ....... 70)
 *	    read     [0 . 20)
 *	  write                 [70 . 95)		5 in main itself
 *
 * flamesvg_box.c draws a box.
 */
#include "output/flamesvg.h"

#include <math.h>
#include <stdlib.h>

#include "flame_page.h"
#include "output/flamesvg_state.h"
#include "profile/unit.h"

#define MAX_BOXES      200000 /* more no browser draws; the widest stay */
#define THINNEST       0.2
#define RANGE(x, a, b) ((x) < (a) ? (a) : (x) > (b) ? (b) : (x))

/* Numbers ------------------------------------------------------------------------------------------ */

static void measure_side(const struct svg *svg, uint32_t column, double factor, double *sums)
{
	for (size_t i = 0; i < prefixtree_nr(&svg->tree->stacks); i++)
		sums[i] = factor * (double)prefixtree_self(&svg->tree->stacks, i)[column];
}

static void add_up(const struct prefixtree *tree, double *sums)
{
	for (size_t i = prefixtree_nr(tree); i-- > 1;)
		sums[prefixtree_parent(tree, i)] += sums[i];
}

/* What is in base only is as wide as it was: what is gone is seen. */
static void measure(struct svg *svg)
{
	size_t nr = prefixtree_nr(&svg->tree->stacks);
	uint32_t type = svg->options->type;

	svg->head = xcalloc(nr, sizeof(*svg->head));
	svg->base = xcalloc(nr, sizeof(*svg->base));
	svg->width = xcalloc(nr, sizeof(*svg->width));
	svg->next = xcalloc(nr, sizeof(*svg->next));
	measure_side(svg, type, 1, svg->head);
	if (svg->is_diff) {
		double sums[2] = {0};

		measure_side(svg, svg->profile->nr_types + type, 1, svg->base);
		for (size_t i = 0; i < nr; i++)
			sums[0] += svg->head[i], sums[1] += svg->base[i];
		if (svg->options->normalize && sums[0] > 0 && sums[1] > 0)
			measure_side(svg, svg->profile->nr_types + type, sums[0] / sums[1],
				     svg->base);
	}
	for (size_t i = 0; i < nr; i++)
		svg->width[i] = fmax(svg->head[i], svg->base[i]);
	add_up(&svg->tree->stacks, svg->head);
	add_up(&svg->tree->stacks, svg->base);
	add_up(&svg->tree->stacks, svg->width);
}

/* Draws (or, with draw false, only measures) what is wide enough; the depth of the deepest. */
static uint32_t walk(struct svg *svg, bool draw)
{
	const struct prefixtree *tree = &svg->tree->stacks;
	uint32_t deepest = 0;

	svg->next[0] = 0;
	for (uint32_t i = 0; i < prefixtree_nr(tree);) {
		uint32_t parent = prefixtree_parent(tree, i);
		double start = i ? svg->next[parent] : 0;

		if (i)
			svg->next[parent] += svg->width[i];
		if (i && svg->width[i] * svg->scale < THINNEST) {
			i = tree->end[i]; /* and nothing below it */
			continue;
		}
		svg->next[i] = start;
		if (tree->depth[i] > deepest)
			deepest = tree->depth[i];
		if (draw)
			svg_put_box(svg, i, start);
		i++;
	}
	return deepest;
}

/* Where the numbers come from, for who looks for the raw file. */
static void put_sources(struct svg *svg)
{
	if (!svg->options->nr_sources)
		return;
	text_out_print(&svg->out, "<desc>Drawn by cprof flame from");
	for (size_t i = 0; i < svg->options->nr_sources; i++) {
		text_out_print(&svg->out, " ");
		svg_put_xml(&svg->out, svg->options->sources[i]);
	}
	text_out_print(&svg->out, "</desc>\n");
}

static void put_head(struct svg *svg, const char *title, uint32_t deepest)
{
	const struct value_type *type = &svg->profile->types[svg->options->type];
	struct text_out *out = &svg->out;
	uint32_t width = svg->full_px + 2 * SVG_MARGIN;
	unsigned long height = SVG_HEAD + (deepest + 1ul) * SVG_ROW + SVG_MARGIN;
	char text[UNIT_TEXT_BYTES];

	text_out_print(out,
		       "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%lu\" "
		       "viewBox=\"0 0 %u %lu\" data-full=\"%u\" data-letter=\"%.1f\">\n<title>",
		       width, height, width, height, svg->full_px, SVG_LETTER);
	svg_put_xml(out, title);
	text_out_print(out, "</title>\n");
	put_sources(svg);
	text_out_print(out, "<style>");
	text_out_write(out, (const char *)flame_svg_style, sizeof(flame_svg_style));
	text_out_print(out,
		       "</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
		       "<text class=\"title\" x=\"%d\" y=\"24\">",
		       SVG_MARGIN);
	svg_put_clipped(out, title, width - 160);
	text_out_print(out, "</text>\n<text class=\"facts\" x=\"%d\" y=\"44\">", SVG_MARGIN);
	svg_put_xml(out, strtab_get(&svg->profile->strings, type->type));
	text_out_print(out, " ");
	if (svg->is_diff) {
		svg_put_value(svg, svg->base[0]);
		text_out_print(out, " \xe2\x86\x92 ");
	}
	svg_put_value(svg, svg->head[0]);
	if (svg->profile->duration_ns)
		text_out_print(out, " over %s",
			       unit_text(svg->profile->duration_ns, "nanoseconds", "auto", text));
	if (svg->is_diff)
		text_out_print(out, "%s \xc2\xb7 red grew, blue shrank, dashed is gone",
			       svg->options->normalize ? ", normalized" : "");
	if (svg->options->inverted)
		text_out_print(out, " \xc2\xb7 inverted: callers below");
	text_out_print(out, "</text>\n");
}

static void put_buttons(struct svg *svg)
{
	uint32_t right = svg->full_px + SVG_MARGIN;

	text_out_print(
		&svg->out,
		"<text id=\"found\" class=\"facts\" x=\"%u\" y=\"44\" text-anchor=\"end\"/>\n"
		"<text id=\"search\" class=\"button\" x=\"%u\" y=\"24\" text-anchor=\"end\" "
		"style=\"display:none\">Search</text>\n"
		"<text id=\"back\" class=\"button\" x=\"%u\" y=\"24\" text-anchor=\"end\" "
		"style=\"display:none\">Zoom out</text>\n<script><![CDATA[\n",
		right, right, right - 64);
	text_out_write(&svg->out, (const char *)flame_svg_script, sizeof(flame_svg_script));
	text_out_print(&svg->out, "]]></script>\n</svg>\n");
}

int flame_svg_encode(const struct profile *profile, const struct flame_options *options,
		     sink_fn sink, void *ctx)
{
	struct svg svg = {.profile = profile, .options = options};
	char *title scoped(freep) = flame_title(profile, options);
	uint32_t width = options->width_px ? options->width_px : 1200;
	uint32_t deepest;
	int err = flame_tree(profile, options, options->inverted, &svg.tree, &svg.is_diff);

	if (err)
		return err;
	calltree_prune(svg.tree, MAX_BOXES);
	calltree_arrange(svg.tree, options->type, 1);
	svg.full_px = RANGE(width, FLAMESVG_MIN_PX, FLAMESVG_MAX_PX) - 2 * SVG_MARGIN;
	measure(&svg);
	svg.scale = svg.width[0] > 0 ? svg.full_px / svg.width[0] : 0;
	deepest = walk(&svg, false);
	text_out_open(&svg.out, sink, ctx);
	put_head(&svg, title, deepest);
	walk(&svg, true);
	put_buttons(&svg);
	err = text_out_close(&svg.out);
	free(svg.head);
	free(svg.base);
	free(svg.width);
	free(svg.next);
	calltree_free(svg.tree);
	return err;
}
