// SPDX-License-Identifier: BSD-2-Clause
/*
 * The stacks are the paths of a prefix tree sorted by name (profile/stacktree.h), so that each
 * stands once and in order without comparing whole lines. Names are escaped once for each frame,
 * not for each line they are in.
 */
#include "output/folded.h"

#include <ctype.h>
#include <errno.h>
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

static uint32_t deepest_of(const struct prefixtree *stacks)
{
	uint32_t deepest = 0;

	for (size_t i = 1; i < prefixtree_nr(stacks); i++)
		if (stacks->depth[i] > deepest)
			deepest = stacks->depth[i];
	return deepest;
}

/* The bytes of all lines without their values. Nodes stand in preorder, so a path's are those of its last node at
 * each depth. */
static uint64_t bytes_of(const struct prefixtree *stacks, char *const *names, size_t nr_names)
{
	uint64_t *of_path scoped(freep) = xcalloc((size_t)deepest_of(stacks) + 1, sizeof(*of_path));
	size_t *of_name scoped(freep) = xcalloc(nr_names, sizeof(*of_name));
	uint64_t sum = 0;

	for (size_t i = 0; i < nr_names; i++)
		of_name[i] = strlen(names[i]) + 1;
	for (size_t i = 1; i < prefixtree_nr(stacks); i++) {
		uint32_t depth = stacks->depth[i];

		of_path[depth] = of_path[depth - 1] + of_name[prefixtree_key(stacks, i)];
		if (*prefixtree_self(stacks, i))
			sum += of_path[depth];
	}
	return sum;
}

static void put_tree(struct text_out *out, const struct stacktree *tree, char *const *names)
{
	const struct prefixtree *stacks = &tree->stacks;
	uint32_t *path scoped(freep) = xcalloc((size_t)deepest_of(stacks) + 1, sizeof(*path));
	int64_t unplaced = tree->unplaced; /* until it is written */

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

static int put_profile(const struct profile *profile, uint32_t type, const struct stacktree *tree,
		       sink_fn sink, void *ctx)
{
	const struct frames *frames = tree->frames;
	char **names = xcalloc(frames->nr, sizeof(*names));
	struct text_out out;
	int err = -E2BIG;

	for (size_t i = 0; i < frames->nr; i++)
		names[i] = folded_name(frames->at[i].name);
	if (bytes_of(&tree->stacks, names, frames->nr) <= TEXT_OUT_MAX_BYTES) {
		text_out_open(&out, sink, ctx);
		put_tree(&out, tree, names);
		put_type(&out, profile, type);
		err = text_out_close(&out);
	}
	for (size_t i = 0; i < frames->nr; i++)
		free(names[i]);
	free(names);
	return err;
}

int folded_encode(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx)
{
	struct frames frames;
	struct stacktree tree;
	int err;

	frames_make(profile, FRAME_BY_FUNCTION, &frames);
	err = stacktree_make(profile, type, &frames, &tree);
	if (!err) {
		stacktree_sort(&tree, STACKTREE_BY_NAME);
		err = put_profile(profile, type, &tree, sink, ctx);
		stacktree_release(&tree);
	}
	frames_release(&frames);
	return err;
}
