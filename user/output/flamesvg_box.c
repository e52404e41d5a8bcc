// SPDX-License-Identifier: BSD-2-Clause
/*
 * One box of a flame graph as SVG: its place, its colour, its tooltip and its text.
 *
 * Text is clipped here, by the width of an average letter, for a reader of SVG does not clip. The colours are
 * those of the page (user/output/flame/colour.js).
 */
#include "output/flamesvg_state.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "profile/unit.h"

#define TEXT_FROM  (3 * SVG_LETTER + 8)
#define NAME_BYTES 16384 /* of a name in a tooltip; longer ones are cut */

/* Text ---------------------------------------------------------------------------------------------- */

/* U+FFFE and U+FFFF are UTF-8, but no characters of XML 1.0 (2.2): U+FFFD instead. */
static void replace_noncharacters(char *text)
{
	for (char *p = text; (p = strstr(p, "\xef\xbf")); p += 2)
		if ((p[2] & 0xfe) == 0xbe)
			p[2] = '\xbd';
}

void svg_put_xml(struct text_out *out, const char *text)
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

void svg_put_clipped(struct text_out *out, const char *text, double width)
{
	char safe[512];
	size_t room = (width - 8) / SVG_LETTER, nr = 0, len = 0;
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
	svg_put_xml(out, safe);
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

void svg_put_value(struct svg *svg, double value)
{
	const struct value_type *type = &svg->profile->types[svg->options->type];
	char text[UNIT_TEXT_BYTES];
	int64_t whole = value >= 9.2e18 ? INT64_MAX : (int64_t)llround(value);

	svg_put_xml(&svg->out,
		    unit_text(whole, strtab_get(&svg->profile->strings, type->unit), "auto", text));
}

static void put_share(struct svg *svg, double part, double whole)
{
	text_out_print(&svg->out, "%.2f %%", whole > 0 ? 100 * part / whole : 0.0);
}

/* Boxes -------------------------------------------------------------------------------------------- */

/* Of every node but the root. */
static const struct callframe *frame_of(const struct svg *svg, uint32_t node)
{
	return &svg->tree->frames.at[prefixtree_key(&svg->tree->stacks, node)];
}

static void put_where(struct svg *svg, const struct callframe *frame)
{
	const char *path = strtab_get(&svg->tree->frames.strings, frame->path);
	const char *mapping = strtab_get(&svg->tree->frames.strings, frame->mapping);

	if (*path) {
		text_out_print(&svg->out, "\n");
		svg_put_xml(&svg->out, path);
		if (frame->first_line)
			text_out_print(&svg->out, ":%" PRId64, frame->first_line);
		if (frame->last_line > frame->first_line)
			text_out_print(&svg->out, "-%" PRId64, frame->last_line);
	}
	if (*mapping) {
		text_out_print(&svg->out, "\n");
		svg_put_xml(&svg->out, mapping);
	}
}

static void put_tooltip(struct svg *svg, uint32_t node, const char *name)
{
	text_out_print(&svg->out, "<title>");
	svg_put_xml(&svg->out, name);
	text_out_print(&svg->out, "\n");
	svg_put_value(svg, svg->head[node]);
	text_out_print(&svg->out, ", ");
	put_share(svg, svg->head[node], svg->head[0]);
	if (svg->is_diff) {
		text_out_print(&svg->out, "\nbefore: ");
		svg_put_value(svg, svg->base[node]);
		text_out_print(&svg->out, ", ");
		put_share(svg, svg->base[node], svg->base[0]);
	}
	if (node)
		put_where(svg, frame_of(svg, node));
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
		put_kind(&svg->out, svg->tree, frame_of(svg, node));
	text_out_print(&svg->out, "\"");
}

void svg_put_box(struct svg *svg, uint32_t node, double start)
{
	double x = SVG_MARGIN + start * svg->scale, width = svg->width[node] * svg->scale;
	unsigned long y = SVG_HEAD + (unsigned long)svg->tree->stacks.depth[node] * SVG_ROW;
	const char *name = node ? strtab_get(&svg->tree->frames.strings, frame_of(svg, node)->name)
				: "all";

	text_out_print(&svg->out, "<g class=\"f\" data-v=\"%.0f\">", svg->head[node]);
	put_tooltip(svg, node, name);
	text_out_print(&svg->out,
		       "<rect x=\"%.2f\" y=\"%lu\" width=\"%.2f\" height=\"%d\" rx=\"1\" ", x, y,
		       width, SVG_ROW - 1);
	put_fill(svg, node);
	text_out_print(&svg->out, "/><text x=\"%.2f\" y=\"%lu\">", x + 4, y + 13);
	if (width >= TEXT_FROM)
		svg_put_clipped(&svg->out, name, width);
	text_out_print(&svg->out, "</text></g>\n");
}
