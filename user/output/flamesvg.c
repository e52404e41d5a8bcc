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
 * Text is clipped here, by the width of an average letter, for a reader of SVG does not clip.
 */
#include "output/flamesvg.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/textout.h"
#include "flame_page.h"
#include "profile/unit.h"

#define MARGIN	       10
#define HEAD	       58 /* px above the graph */
#define ROW	       18
#define LETTER	       7.0    /* px, of the font of the boxes */
#define MAX_BOXES      200000 /* more no browser draws; the widest stay */
#define THINNEST       0.2
#define TEXT_FROM      (3 * LETTER + 8)
#define NAME_BYTES     16384 /* of a name in a tooltip; longer ones are cut */
#define RANGE(x, a, b) ((x) < (a) ? (a) : (x) > (b) ? (b) : (x))

struct svg {
	struct text_out out;
	const struct profile *profile;
	const struct flame_options *options;
	struct calltree *tree;
	bool is_diff;
	/* Of each node, in it and below: in the profile, in its base, how wide it is. */
	double *head, *base, *width;
	double *next; /* where its next child begins, in the unit of width */
	double scale; /* px for 1 of width */
	uint32_t full_px;
};

/* Text ---------------------------------------------------------------------------------------------- */

/* U+FFFE and U+FFFF are UTF-8, but no characters of XML 1.0 (2.2): U+FFFD instead. */
static void replace_noncharacters(char *text)
{
	for (char *p = text; (p = strstr(p, "\xef\xbf")); p += 2)
		if ((p[2] & 0xfe) == 0xbe)
			p[2] = '\xbd';
}

/* As XML text or an attribute; control characters, which XML has no way to say, as "\xNN". */
static void put_xml(struct text_out *out, const char *text)
{
	char safe[NAME_BYTES];
	static const char special[] = "&<>\"'";
	static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};

	text_escape(text, safe, sizeof(safe));
	replace_noncharacters(safe);
	for (const char *p = safe; *p;) {
		size_t nr = strcspn(p, special);

		text_out_write(out, p, nr);
		p += nr;
		if (!*p)
			break;
		text_out_print(out, "%s", entities[strchr(special, *p++) - special]);
	}
}

/* As many letters of text as there is room for. */
static void put_clipped(struct text_out *out, const char *text, double width)
{
	char safe[512];
	size_t room = (width - 8) / LETTER, nr = 0, len = 0;
	bool is_cut;

	text_escape(text, safe, sizeof(safe));
	/* Characters begin at bytes that are not 10xxxxxx. */
	while (safe[len] && nr < room)
		for (nr++, len++; (safe[len] & 0xc0) == 0x80;)
			len++;
	is_cut = safe[len] || strlen(text) >= sizeof(safe);
	while (is_cut && len && (safe[--len] & 0xc0) == 0x80)
		;
	safe[len] = '\0';
	put_xml(out, safe);
	if (is_cut)
		text_out_print(out, "\xe2\x80\xa6");
}

/* Colours, as user/output/flame/colour.js has them ------------------------------------------------- */

static double hash_of(const char *text, size_t len)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619u;
	hash ^= hash >> 15;
	return hash / 4294967296.0;
}

static int channel(double hue, double saturation, double lightness, int n)
{
	double k = fmod(n + hue / 30, 12), a = saturation * fmin(lightness, 1 - lightness);
	double least = fmin(fmin(k - 3, 9 - k), 1);

	return lround(255 * (lightness - a * fmax(-1, least)));
}

static void put_hsl(struct text_out *out, double hue, double saturation, double lightness)
{
	hue = fmod(hue + 360, 360);
	text_out_print(out, "#%02x%02x%02x", channel(hue, saturation, lightness, 0),
		       channel(hue, saturation, lightness, 8),
		       channel(hue, saturation, lightness, 4));
}

static void put_change(struct text_out *out, double base, double head)
{
	double larger = fmax(base, head), change = larger > 0 ? (head - base) / larger : 0;
	double strength = 0.18 + 0.82 * fabs(change);

	if (fabs(change) < 0.01)
		text_out_print(out, "#e6e6ea");
	else
		put_hsl(out, change > 0 ? 8 : 210, (change > 0 ? 0.84 : 0.78) * strength,
			0.91 - 0.25 * strength);
}

static void put_kind(struct text_out *out, const struct calltree *tree,
		     const struct callframe *frame)
{
	static const double hues[][2] = {[FRAME_PROGRAM] = {18, 40},
					 [FRAME_LIBRARY] = {150, 140},
					 [FRAME_KERNEL] = {345, 0},
					 [FRAME_JIT] = {85, 25}};
	const char *name = strtab_get(&tree->frames.strings, frame->name), *file;
	bool is_pale = frame->kind == FRAME_UNNAMED;
	double shade;
	size_t len;

	if (frame->kind == FRAME_NOTE) {
		text_out_print(out, "#d7d8de");
		return;
	}
	file = callframe_base_name(strtab_get(&tree->frames.strings, frame->mapping), &len);
	shade = hash_of(name, strlen(name)) - 0.5;
	put_hsl(out, hues[frame->where][0] + hues[frame->where][1] * hash_of(file, len),
		is_pale ? 0.32 : 0.72, 0.79 + 0.08 * shade);
}

/* Numbers ------------------------------------------------------------------------------------------ */

static void measure_side(const struct svg *svg, uint32_t column, double factor, double *sums)
{
	size_t nr = svg->tree->nr_columns;

	for (size_t i = 0; i < svg->tree->nodes.nr; i++)
		sums[i] = factor * (double)svg->tree->self.at[i * nr + column];
}

static void add_up(const struct calltree *tree, double *sums)
{
	for (size_t i = tree->nodes.nr; i-- > 1;)
		sums[tree->nodes.at[i].parent] += sums[i];
}

/* What is in base only is as wide as it was: what is gone is seen. */
static void measure(struct svg *svg)
{
	size_t nr = svg->tree->nodes.nr;
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
	add_up(svg->tree, svg->head);
	add_up(svg->tree, svg->base);
	add_up(svg->tree, svg->width);
}

static void put_value(struct svg *svg, double value)
{
	const struct value_type *type = &svg->profile->types[svg->options->type];
	char text[UNIT_TEXT_BYTES];
	int64_t whole = value >= 9.2e18 ? INT64_MAX : (int64_t)llround(value);

	put_xml(&svg->out,
		unit_text(whole, strtab_get(&svg->profile->strings, type->unit), "auto", text));
}

static void put_share(struct svg *svg, double part, double whole)
{
	text_out_print(&svg->out, "%.2f %%", whole > 0 ? 100 * part / whole : 0.0);
}

/* Boxes -------------------------------------------------------------------------------------------- */

static void put_where(struct svg *svg, const struct callframe *frame)
{
	const char *path = strtab_get(&svg->tree->frames.strings, frame->path);
	const char *mapping = strtab_get(&svg->tree->frames.strings, frame->mapping);

	if (*path) {
		text_out_print(&svg->out, "\n");
		put_xml(&svg->out, path);
		if (frame->first_line)
			text_out_print(&svg->out, ":%" PRId64, frame->first_line);
		if (frame->last_line > frame->first_line)
			text_out_print(&svg->out, "-%" PRId64, frame->last_line);
	}
	if (*mapping) {
		text_out_print(&svg->out, "\n");
		put_xml(&svg->out, mapping);
	}
}

static void put_tooltip(struct svg *svg, uint32_t node, const char *name)
{
	text_out_print(&svg->out, "<title>");
	put_xml(&svg->out, name);
	text_out_print(&svg->out, "\n");
	put_value(svg, svg->head[node]);
	text_out_print(&svg->out, ", ");
	put_share(svg, svg->head[node], svg->head[0]);
	if (svg->is_diff) {
		text_out_print(&svg->out, "\nbefore: ");
		put_value(svg, svg->base[node]);
		text_out_print(&svg->out, ", ");
		put_share(svg, svg->base[node], svg->base[0]);
	}
	if (node)
		put_where(svg, &svg->tree->frames.at[svg->tree->nodes.at[node].frame]);
	text_out_print(&svg->out, "</title>");
}

static void put_fill(struct svg *svg, uint32_t node)
{
	bool is_gone = svg->is_diff && svg->head[node] <= 0;

	text_out_print(&svg->out, "fill=\"");
	if (!node)
		text_out_print(&svg->out, "#dcdde4");
	else if (is_gone)
		text_out_print(&svg->out, "#ffffff\" stroke=\"#2166ac\" stroke-dasharray=\"3 2");
	else if (svg->is_diff)
		put_change(&svg->out, svg->base[node], svg->head[node]);
	else
		put_kind(&svg->out, svg->tree,
			 &svg->tree->frames.at[svg->tree->nodes.at[node].frame]);
	text_out_print(&svg->out, "\"");
}

static void put_box(struct svg *svg, uint32_t node, double start)
{
	const struct calltree_node *at = &svg->tree->nodes.at[node];
	double x = MARGIN + start * svg->scale, width = svg->width[node] * svg->scale;
	unsigned long y = HEAD + (unsigned long)at->depth * ROW;
	const char *name =
		node ? strtab_get(&svg->tree->frames.strings, svg->tree->frames.at[at->frame].name)
		     : "all";

	text_out_print(&svg->out, "<g class=\"f\" data-v=\"%.0f\">", svg->head[node]);
	put_tooltip(svg, node, name);
	text_out_print(&svg->out,
		       "<rect x=\"%.2f\" y=\"%lu\" width=\"%.2f\" height=\"%d\" rx=\"1\" ", x, y,
		       width, ROW - 1);
	put_fill(svg, node);
	text_out_print(&svg->out, "/><text x=\"%.2f\" y=\"%lu\">", x + 4, y + 13);
	if (width >= TEXT_FROM)
		put_clipped(&svg->out, name, width);
	text_out_print(&svg->out, "</text></g>\n");
}

/* Draws (or, with draw false, only measures) what is wide enough; the depth of the deepest. */
static uint32_t walk(struct svg *svg, bool draw)
{
	const struct calltree_node *nodes = svg->tree->nodes.at;
	uint32_t deepest = 0;

	svg->next[0] = 0;
	for (uint32_t i = 0; i < svg->tree->nodes.nr;) {
		double start = i ? svg->next[nodes[i].parent] : 0;

		if (i)
			svg->next[nodes[i].parent] += svg->width[i];
		if (i && svg->width[i] * svg->scale < THINNEST) {
			i = nodes[i].end; /* and nothing below it */
			continue;
		}
		svg->next[i] = start;
		if (nodes[i].depth > deepest)
			deepest = nodes[i].depth;
		if (draw)
			put_box(svg, i, start);
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
		put_xml(&svg->out, svg->options->sources[i]);
	}
	text_out_print(&svg->out, "</desc>\n");
}

static void put_head(struct svg *svg, const char *title, uint32_t deepest)
{
	const struct value_type *type = &svg->profile->types[svg->options->type];
	struct text_out *out = &svg->out;
	uint32_t width = svg->full_px + 2 * MARGIN;
	unsigned long height = HEAD + (deepest + 1ul) * ROW + MARGIN;
	char text[UNIT_TEXT_BYTES];

	text_out_print(out,
		       "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%lu\" "
		       "viewBox=\"0 0 %u %lu\" data-full=\"%u\" data-letter=\"%.1f\">\n<title>",
		       width, height, width, height, svg->full_px, LETTER);
	put_xml(out, title);
	text_out_print(out, "</title>\n");
	put_sources(svg);
	text_out_print(out, "<style>");
	text_out_write(out, (const char *)flame_svg_style, sizeof(flame_svg_style));
	text_out_print(out,
		       "</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
		       "<text class=\"title\" x=\"%d\" y=\"24\">",
		       MARGIN);
	put_clipped(out, title, width - 160);
	text_out_print(out, "</text>\n<text class=\"facts\" x=\"%d\" y=\"44\">", MARGIN);
	put_xml(out, strtab_get(&svg->profile->strings, type->type));
	text_out_print(out, " ");
	if (svg->is_diff) {
		put_value(svg, svg->base[0]);
		text_out_print(out, " \xe2\x86\x92 ");
	}
	put_value(svg, svg->head[0]);
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
	uint32_t right = svg->full_px + MARGIN;

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
	svg.full_px = RANGE(width, FLAMESVG_MIN_PX, FLAMESVG_MAX_PX) - 2 * MARGIN;
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
