// SPDX-License-Identifier: BSD-2-Clause
/*
 * The page holds its profile as tables, not as a tree of objects, so that a million nodes are a few
 * megabytes of digits that a browser reads in a fraction of a second:
 *
 *	nodes.up      0,0,2,...		from one node to the next in preorder: so many levels up
 *	nodes.frame   4,9,1,...		its function, a position in the tables of frames
 *	head[type]    step 3,1,7,...	from one node that has a value of its own to the next
 *		      value 10,2,...
 *
 * The root is node 0 and stands in no table. Strings are said once.
 *
 * Alternative rejected: the same, gzip'ed and in base 64, for the browser's DecompressionStream. It
 * halves the file, but takes longer to read, cannot be looked into with a text editor or grep, and
 * who stores many such files compresses them all.
 */
#include "output/flame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "flame_page.h"
#include "profile/algebra.h"

/* More cannot be told apart on a screen, and would be a page of tens of megabytes. */
#define MAX_NODES 2000000

/* Title ------------------------------------------------------------------------------------------- */

struct process {
	const char *comm;
	int64_t pid;
};

struct processes {
	vec_of(struct process) at;
	struct hash index;
};

static void processes_release(struct processes *processes)
{
	vec_release(&processes->at);
	hash_release(&processes->index);
}

static bool same_process(const void *ctx, uint32_t value, const void *key)
{
	const struct processes *processes = ctx;
	const struct process *a = &processes->at.at[value], *b = key;

	return a->pid == b->pid && !strcmp(a->comm, b->comm);
}

static void processes_of(const struct profile *profile, struct processes *processes)
{
	vec_for_each(&profile->samples, sample) {
		struct process process = {.comm = ""};
		uint64_t code;

		for (uint32_t i = 0; i < sample->nr_labels; i++) {
			const struct profile_label *label = &sample->labels[i];
			const char *key = strtab_get(&profile->strings, label->key);

			if (!strcmp(key, "comm"))
				process.comm = strtab_get(&profile->strings, label->str);
			else if (!strcmp(key, "pid"))
				process.pid = label->num;
		}
		if (!*process.comm)
			continue;
		code = hash_combine(hash_bytes(process.comm, strlen(process.comm), 0), process.pid);
		if (hash_find(&processes->index, code, same_process, processes, &process) !=
		    HASH_NONE)
			continue;
		hash_insert(&processes->index, code, processes->at.nr);
		vec_push(&processes->at, process);
	}
}

/* "nginx, php, redis, ...": each name once, a few of them. */
static char *names_of(const struct processes *processes)
{
	char *names = xstrdup("");
	unsigned int nr = 0;

	for (size_t i = 0; i < processes->at.nr; i++) {
		const char *comm = processes->at.at[i].comm;
		bool is_more = nr == 4, seen = false;
		char *longer;

		for (size_t j = 0; j < i && !seen; j++)
			seen = !strcmp(processes->at.at[j].comm, comm);
		if (seen)
			continue;
		longer = xasprintf("%s%s%s", names, nr++ ? ", " : "", is_more ? "..." : comm);
		free(names);
		names = longer;
		if (is_more)
			break;
	}
	return names;
}

static char *title_of(const struct profile *profile)
{
	struct processes processes scoped(processes_release) = {0};
	char *names scoped(freep) = NULL;
	const char *path = "", *base;
	size_t len;

	processes_of(profile, &processes);
	if (processes.at.nr == 1 && processes.at.at[0].pid)
		return xasprintf("%s (%" PRId64 ")", processes.at.at[0].comm,
				 processes.at.at[0].pid);
	names = names_of(&processes);
	if (processes.at.nr > 1)
		return xasprintf("%zu processes: %s", processes.at.nr, names);
	if (processes.at.nr)
		return xstrdup(names);
	if (profile->mappings.nr)
		path = strtab_get(&profile->strings, profile->mappings.at[0].path);
	base = callframe_base_name(path, &len);
	return len ? xasprintf("%.*s", (int)len, base) : xstrdup("profile");
}

char *flame_title(const struct profile *profile, const struct flame_options *options)
{
	char *head scoped(freep) = title_of(profile), *base scoped(freep) = NULL;

	if (options->title)
		return xstrdup(options->title);
	if (options->base)
		base = title_of(options->base);
	if (!base || !strcmp(base, head))
		return xasprintf("%s%s", head, base ? ": what changed" : "");
	return xasprintf("%s \xe2\x86\x92 %s", base, head);
}

/* Stacks ------------------------------------------------------------------------------------------ */

int flame_tree(const struct profile *profile, const struct flame_options *options, bool inverted,
	       struct calltree **tree, bool *is_diff)
{
	uint32_t nr = profile->nr_types;
	bool is_two;

	if (options->type >= nr || (options->base && !profile_same_types(profile, options->base)))
		return -EINVAL;
	is_two = options->base || profile_has_negative(profile);
	*tree = calltree_new(is_two ? 2 * nr : nr, inverted);
	(*tree)->frames.by_name = is_two;
	calltree_add(*tree, profile, 0, is_two ? nr : CALLTREE_NONE);
	if (options->base)
		calltree_add(*tree, options->base, nr, 0);
	*is_diff = is_two;
	return 0;
}

/* Data -------------------------------------------------------------------------------------------- */

struct page {
	const struct profile *profile;
	const struct flame_options *options;
	struct calltree *tree;
	const char *title;
	bool is_diff;
	size_t nr_pruned;
	sink_fn sink;
	void *ctx;
};

/* Text of strangers, fit to show: no control characters, nothing that turns what follows around. */
static void put_shown(struct json *json, const char *text)
{
	size_t need = 4 * strlen(text) + 1; /* every byte may become "\xNN" */
	char small[512], *large scoped(freep) = need > sizeof(small) ? xmalloc(need) : NULL;

	json_string(json, text_escape(text, large ? large : small, large ? need : sizeof(small)));
}

static void put_about(struct json *json, const struct page *page)
{
	const struct profile *profile = page->profile;

	json_key(json, "about"), json_object(json);
	json_key(json, "period"), json_int(json, profile->period);
	json_key(json, "periodUnit");
	put_shown(json, strtab_get(&profile->strings, profile->period_type.unit));
	json_key(json, "duration"), json_int(json, profile->duration_ns);
	json_key(json, "time"), json_int(json, profile->time_ns);
	json_key(json, "comments"), json_array(json);
	vec_for_each(&profile->comments, comment)
		put_shown(json, strtab_get(&profile->strings, *comment));
	json_end(json);
	json_key(json, "pruned"), json_uint(json, page->nr_pruned);
	json_key(json, "full"), json_bool(json, page->tree->full);
	json_end(json);
}

static void put_types(struct json *json, const struct profile *profile)
{
	json_key(json, "types"), json_array(json);
	for (uint32_t i = 0; i < profile->nr_types; i++) {
		json_array(json);
		put_shown(json, strtab_get(&profile->strings, profile->types[i].type));
		put_shown(json, strtab_get(&profile->strings, profile->types[i].unit));
		json_end(json);
	}
	json_end(json);
}

/* One table of the frames: what `value` is of each. */
#define PUT_FRAMES(json, tree, key, value)                \
	do {                                              \
		json_key(json, key), json_array(json);    \
		vec_for_each(&(tree)->frames, frame)      \
			json_int(json, (int64_t)(value)); \
		json_end(json);                           \
	} while (0)

static void put_frames(struct json *json, const struct calltree *tree)
{
	json_key(json, "strings"), json_array(json);
	if (!strtab_nr(&tree->frames.strings)) /* no frames: but "" is known */
		json_string(json, "");
	for (size_t i = 0; i < strtab_nr(&tree->frames.strings); i++)
		put_shown(json, strtab_get(&tree->frames.strings, i));
	json_end(json);
	json_key(json, "frames"), json_object(json);
	PUT_FRAMES(json, tree, "name", frame->name);
	PUT_FRAMES(json, tree, "file", frame->path);
	PUT_FRAMES(json, tree, "mapping", frame->mapping);
	PUT_FRAMES(json, tree, "first", frame->first_line);
	PUT_FRAMES(json, tree, "last", frame->last_line);
	PUT_FRAMES(json, tree, "kind", frame->kind);
	PUT_FRAMES(json, tree, "where", frame->where);
	PUT_FRAMES(json, tree, "inlined", frame->inlined + (frame->inlined && !frame->called));
	json_end(json);
}

static void put_nodes(struct json *json, const struct calltree *tree)
{
	const struct calltree_node *nodes = tree->nodes.at;

	json_key(json, "nodes"), json_object(json);
	json_key(json, "up"), json_array(json);
	for (size_t i = 1; i < tree->nodes.nr; i++)
		json_uint(json, nodes[i - 1].depth + 1 - nodes[i].depth);
	json_end(json);
	json_key(json, "frame"), json_array(json);
	for (size_t i = 1; i < tree->nodes.nr; i++)
		json_uint(json, nodes[i].frame);
	json_end(json);
	json_end(json);
}

static void put_column(struct json *json, const struct calltree *tree, uint32_t column)
{
	const int64_t *self = tree->self.at + column;
	size_t nr = tree->nr_columns, last = 0;

	json_object(json);
	json_key(json, "step"), json_array(json);
	for (size_t i = 0; i < tree->nodes.nr; i++) {
		if (!self[i * nr])
			continue;
		json_uint(json, i - last);
		last = i;
	}
	json_end(json);
	json_key(json, "value"), json_array(json);
	for (size_t i = 0; i < tree->nodes.nr; i++)
		if (self[i * nr])
			json_int(json, self[i * nr]);
	json_end(json);
	json_end(json);
}

static void put_columns(struct json *json, const struct page *page, const char *key, uint32_t first)
{
	json_key(json, key), json_array(json);
	for (uint32_t i = 0; i < page->profile->nr_types; i++)
		put_column(json, page->tree, first + i);
	json_end(json);
}

static int put_data(const struct page *page)
{
	struct json json;

	json_begin(&json, page->sink, page->ctx);
	json_object(&json);
	json_key(&json, "title"), put_shown(&json, page->title);
	put_about(&json, page);
	put_types(&json, page->profile);
	json_key(&json, "type"), json_uint(&json, page->options->type);
	json_key(&json, "view"), json_object(&json);
	json_key(&json, "inverted"), json_bool(&json, page->options->inverted);
	json_key(&json, "normalize"), json_bool(&json, page->options->normalize);
	json_end(&json);
	put_frames(&json, page->tree);
	put_nodes(&json, page->tree);
	put_columns(&json, page, "head", 0);
	if (page->is_diff)
		put_columns(&json, page, "base", page->profile->nr_types);
	else
		json_key(&json, "base"), json_null(&json);
	json_end(&json);
	return json_finish(&json);
}

/* Page -------------------------------------------------------------------------------------------- */

static int put(const struct page *page, const void *bytes, size_t len)
{
	return len ? page->sink(page->ctx, bytes, len) : 0;
}

static int put_text(const struct page *page, const char *text)
{
	return put(page, text, strlen(text));
}

static int put_policy(const struct page *page)
{
	char policy[512];

	snprintf(policy, sizeof(policy),
		 "default-src 'none'; style-src '%s'; script-src '%s'; img-src data:; "
		 "base-uri 'none'; form-action 'none'",
		 flame_style_hash, flame_script_hash);
	return put_text(page, policy);
}

static int put_generator(const struct page *page)
{
	return put_text(page, "cprof " CPROF_VERSION);
}

/* The script gives the page its title; nothing of a profile stands in the markup. */
static int put_title(const struct page *page)
{
	return put_text(page, "cprof flame");
}

static int put_style(const struct page *page)
{
	return put(page, flame_page_style, sizeof(flame_page_style));
}

static int put_script(const struct page *page)
{
	return put(page, flame_page_script, sizeof(flame_page_script));
}

/* What stands in page.html as "@name@". */
static const struct part {
	const char *name;
	int (*put)(const struct page *page);
} parts[] = {{"@policy@", put_policy}, {"@generator@", put_generator}, {"@title@", put_title},
	     {"@style@", put_style},   {"@data@", put_data},	       {"@script@", put_script}};

static const struct part *part_at(const char *text, size_t left)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t len = strlen(parts[i].name);

		if (left >= len && !memcmp(text, parts[i].name, len))
			return &parts[i];
	}
	return NULL;
}

static int put_page(const struct page *page)
{
	const char *html = (const char *)flame_page_html;
	size_t len = sizeof(flame_page_html), done = 0;
	int err = 0;

	for (size_t i = 0; !err && i < len; i++) {
		const struct part *part = html[i] == '@' ? part_at(html + i, len - i) : NULL;

		if (!part)
			continue;
		err = put(page, html + done, i - done);
		err = err ? err : part->put(page);
		done = i + strlen(part->name);
		i = done - 1;
	}
	return err ? err : put(page, html + done, len - done);
}

int flame_html_encode(const struct profile *profile, const struct flame_options *options,
		      sink_fn sink, void *ctx)
{
	char *title scoped(freep) = flame_title(profile, options);
	struct page page = {
		.profile = profile, .options = options, .title = title, .sink = sink, .ctx = ctx};
	int err = flame_tree(profile, options, false, &page.tree, &page.is_diff);

	if (err)
		return err;
	page.nr_pruned = calltree_prune(page.tree, MAX_NODES);
	calltree_arrange(page.tree, options->type, 1);
	err = put_page(&page);
	calltree_free(page.tree);
	return err;
}
