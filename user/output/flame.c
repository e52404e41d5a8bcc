// SPDX-License-Identifier: BSD-2-Clause
/*
 * The page is user/output/flame/page.html with "@name@" replaced by the style, the script and the
 * data, in one pass. Nothing of a profile is put into the markup, not even its title: the script
 * reads it from the data. The policy names the hashes of style and script, which scripts/embed.sh
 * computes at build time.
 */
#include "output/flame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "flame_page.h"
#include "output/flame_data.h"
#include "profile/algebra.h"

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
	(*tree)->keep_ends = true;
	calltree_add(*tree, profile, 0, is_two ? nr : CALLTREE_NONE);
	if (options->base)
		calltree_add(*tree, options->base, nr, 0);
	*is_diff = is_two;
	return 0;
}

/* Page -------------------------------------------------------------------------------------------- */

struct page {
	const struct flame_data *data;
	const char *title;
	sink_fn sink;
	void *ctx;
};

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

static int put_data(const struct page *page)
{
	return flame_data_put(page->data, page->title, page->sink, page->ctx);
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
	struct flame_data data;
	struct page page = {.data = &data, .title = title, .sink = sink, .ctx = ctx};
	int err = flame_data_make(profile, options, &data);

	if (err)
		return err;
	err = put_page(&page);
	flame_data_release(&data);
	return err;
}
