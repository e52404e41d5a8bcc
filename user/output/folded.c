// SPDX-License-Identifier: BSD-2-Clause
/*
 * The stacks are the paths of a prefix tree sorted by name (profile/stacktree.h), so that each
 * stands once and in order without comparing whole lines. Names are escaped once for each frame,
 * not for each line they are in.
 */
#include "output/folded.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/textout.h"
#include "base/vec.h"
#include "profile/stacktree.h"

#define NO_STACK "[no stack]"

/* A name as it can stand between two ';'. Owned by the caller. */
static char *folded_name(const char *name)
{
	char *out = xmalloc(4 * strlen(name) + 1), *end = out;

	for (; *name; name++) {
		unsigned char c = *name;

		if (c < 0x20 || c == 0x7f || c == ';')
			end += sprintf(end, "\\x%02x", c);
		else
			*end++ = c;
	}
	*end = '\0';
	return out;
}

/* The names from the root to this node. path: work space. */
static void put_path(struct text_out *out, const struct prefixtree *tree, char *const *names,
		     uint32_t node, uint32_t *path)
{
	uint32_t nr = 0;

	for (; node != PREFIXTREE_ROOT; node = prefixtree_parent(tree, node))
		path[nr++] = prefixtree_key(tree, node);
	while (nr-- > 0) {
		text_out_write(out, names[path[nr]], strlen(names[path[nr]]));
		if (nr)
			text_out_write(out, ";", 1);
	}
}

static void put_value(struct text_out *out, const char *name, int64_t *value)
{
	text_out_print(out, "%s %" PRId64 "\n", name, *value);
	*value = 0;
}

static void put_tree(struct text_out *out, const struct stacktree *tree, char *const *names)
{
	const struct prefixtree *stacks = &tree->stacks;
	uint32_t *path scoped(freep) = NULL, deepest = 0;
	int64_t unplaced = tree->unplaced; /* until it is written */

	for (size_t i = 1; i < prefixtree_nr(stacks); i++)
		if (stacks->depth[i] > deepest)
			deepest = stacks->depth[i];
	path = xcalloc((size_t)deepest + 1, sizeof(*path));
	for (size_t i = 1; i < prefixtree_nr(stacks); i++) {
		int64_t self = *prefixtree_self(stacks, i);

		if (stacks->depth[i] == 1 && unplaced &&
		    strcmp(names[prefixtree_key(stacks, i)], NO_STACK) > 0)
			put_value(out, NO_STACK, &unplaced);
		if (!self)
			continue;
		put_path(out, stacks, names, i, path);
		put_value(out, "", &self);
	}
	if (unplaced)
		put_value(out, NO_STACK, &unplaced);
}

static bool is_word(const char *text)
{
	for (const char *at = text; *at; at++)
		if (!isalnum((unsigned char)*at) && *at != '_')
			return false;
	return *text;
}

/* What the numbers are, behind all stacks, where the first line is what tells others of the format. */
static void put_type(struct text_out *out, const struct profile *profile, uint32_t type)
{
	const char *name = strtab_get(&profile->strings, profile->types[type].type);
	const char *unit = strtab_get(&profile->strings, profile->types[type].unit);

	if (is_word(name) && is_word(unit) && (strcmp(name, "samples") || strcmp(unit, "count")))
		text_out_print(out, FOLDED_TYPE_MARK "%s/%s 0\n", name, unit);
}

int folded_encode(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx)
{
	struct frames frames;
	struct stacktree tree;
	struct text_out out;
	char **names;
	int err;

	frames_make(profile, FRAME_BY_FUNCTION, &frames);
	err = stacktree_make(profile, type, &frames, &tree);
	if (err) {
		frames_release(&frames);
		return err;
	}
	stacktree_sort(&tree, STACKTREE_BY_NAME);
	names = xcalloc(frames.nr, sizeof(*names));
	for (size_t i = 0; i < frames.nr; i++)
		names[i] = folded_name(frames.at[i].name);
	text_out_open(&out, sink, ctx);
	put_tree(&out, &tree, names);
	put_type(&out, profile, type);
	err = text_out_close(&out);
	for (size_t i = 0; i < frames.nr; i++)
		free(names[i]);
	free(names);
	stacktree_release(&tree);
	frames_release(&frames);
	return err;
}
