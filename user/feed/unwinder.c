// SPDX-License-Identifier: BSD-2-Clause
#include "feed/unwinder.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/vec.h"
#include "feed/codemap.h"
#include "feed/codetables.h"
#include "unwind/copywalk.h"

struct followed {
	uint32_t tgid;
	enum unwinder_eagerness eagerness;
	bool is_gone;
	struct codemap *code;
};

struct unwinder {
	struct codemap_rooms rooms;
	struct patience *patience;
	vec_of(struct followed) followed;
	struct hash followed_index; /* by tgid; the entry of one that is gone is used again */
	bool was_full;		    /* and said so */
	bool has_news;		    /* built, and not written for all yet */
	uint64_t nr_completed, nr_unknown;
	uint64_t ips[STACK_MAX_FRAMES];
};

struct unwinder *unwinder_new(struct session *session, struct tasks *tasks,
			      const struct files *files, struct objects *objects,
			      struct patience *patience)
{
	struct unwinder *unwinder = xcalloc(1, sizeof(*unwinder));

	unwinder->patience = patience;
	unwinder->rooms.session = session;
	unwinder->rooms.tasks = tasks;
	unwinder->rooms.codetables = codetables_new(session, files, objects, patience);
	return unwinder;
}

void unwinder_free(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	vec_for_each(&unwinder->followed, followed)
		codemap_free(followed->code);
	vec_release(&unwinder->followed);
	hash_release(&unwinder->followed_index);
	codetables_free(unwinder->rooms.codetables);
	free(unwinder);
}

/* Processes -------------------------------------------------------------------------------------- */

static bool same_tgid(const void *ctx, uint32_t value, const void *key)
{
	const struct unwinder *unwinder = ctx;

	return unwinder->followed.at[value].tgid == *(const uint32_t *)key;
}

/* NULL: it is not followed. Borrowed until the next unwinder_follow(). */
static struct followed *find_followed(const struct unwinder *unwinder, uint32_t tgid)
{
	uint32_t i =
		hash_find(&unwinder->followed_index, hash_u64(tgid), same_tgid, unwinder, &tgid);

	return i == HASH_NONE || unwinder->followed.at[i].is_gone ? NULL
								  : &unwinder->followed.at[i];
}

static void set_eagerness(struct followed *followed, enum unwinder_eagerness eagerness)
{
	followed->eagerness = eagerness;
	codemap_set_eager(followed->code, eagerness == UNWINDER_NOW);
}

void unwinder_follow(struct unwinder *unwinder, uint32_t tgid, enum unwinder_eagerness eagerness)
{
	uint64_t code = hash_u64(tgid);
	uint32_t i = hash_find(&unwinder->followed_index, code, same_tgid, unwinder, &tgid);
	struct followed *followed;

	if (i == HASH_NONE) {
		i = unwinder->followed.nr;
		hash_insert(&unwinder->followed_index, code, i);
		vec_push(&unwinder->followed,
			 (struct followed){.tgid = tgid,
					   .is_gone = true,
					   .code = codemap_new(&unwinder->rooms, tgid)});
	}
	followed = &unwinder->followed.at[i];
	if (!followed->is_gone && followed->eagerness >= eagerness)
		return;
	followed->is_gone = false;
	set_eagerness(followed, eagerness);
	codemap_changed(followed->code);
}

void unwinder_on_map(struct unwinder *unwinder, const struct process *process)
{
	struct followed *followed = find_followed(unwinder, process->tgid);

	if (followed)
		codemap_changed(followed->code);
}

static void on_exec(struct followed *followed)
{
	codemap_exec(followed->code);
	if (followed->eagerness == UNWINDER_AFTER_EXEC)
		set_eagerness(followed, UNWINDER_NOW);
}

static void on_exit_of(struct followed *followed)
{
	codemap_forget(followed->code);
	followed->is_gone = true;
}

void unwinder_event(struct unwinder *unwinder, const struct task_event *event)
{
	struct followed *followed = find_followed(unwinder, event->tgid);

	switch (event->kind) {
	case TASK_FORK:
		if (find_followed(unwinder, event->parent_tgid))
			unwinder_follow(unwinder, event->tgid, UNWINDER_WHEN_MET);
		break;
	case TASK_EXEC:
		if (followed)
			on_exec(followed);
		break;
	case TASK_MAP:
		if (followed)
			codemap_changed(followed->code);
		break;
	case TASK_EXIT:
		/* If other threads live on, their next sample brings the process back. */
		if (followed && event->tid == event->tgid)
			on_exit_of(followed);
		break;
	default:
		break;
	}
}

/* Vmas ------------------------------------------------------------------------------------------- */

static void sync_code(struct unwinder *unwinder, struct followed *followed, bool has_news)
{
	int err = codemap_sync(followed->code, has_news);

	if (err && !unwinder->was_full)
		warn("no room for the mappings of more processes (%s): their stacks will be copied",
		     strerror(-err));
	unwinder->was_full = unwinder->was_full || err;
}

bool unwinder_sync(struct unwinder *unwinder)
{
	struct codetables *codetables = unwinder->rooms.codetables;
	bool has_news = codetables_take_news(codetables) || unwinder->has_news;

	unwinder->has_news = false;
	vec_for_each(&unwinder->followed, followed) {
		if (followed->is_gone)
			continue;
		codemap_look(followed->code);
		sync_code(unwinder, followed, has_news);
	}
	return codetables_take_news(codetables) || has_news;
}

/* At once: thousands of records may wait to be finished, and more are sent until BPF knows. */
static void sync_one(struct unwinder *unwinder, struct followed *followed)
{
	bool has_news = codetables_take_news(unwinder->rooms.codetables);

	unwinder->has_news = unwinder->has_news || has_news;
	sync_code(unwinder, followed, has_news);
}

/* Stacks ----------------------------------------------------------------------------------------- */

/* Whose rules are asked for, and when. */
struct lookup {
	struct codemap *code;
	struct image *image;
	uint64_t time_ns;
};

static enum code_known find_rule(void *ctx, uint64_t ip, struct unwind_rule *rule, bool *by_fp)
{
	const struct lookup *lookup = ctx;

	return codemap_rule(lookup->code, lookup->image, ip, lookup->time_ns, rule, by_fp);
}

static bool read_code(void *ctx, uint64_t addr, void *to, size_t len_bytes)
{
	const struct lookup *lookup = ctx;

	return codemap_read(lookup->code, lookup->image, addr, to, len_bytes);
}

void unwinder_complete(struct unwinder *unwinder, struct record *record)
{
	struct lookup lookup = {.time_ns = record->time_ns};
	const struct copywalk_target target = {find_rule, read_code, &lookup};
	struct followed *followed;

	lookup.image =
		tasks_image(unwinder->rooms.tasks, record->tgid, record->start_ns, record->time_ns);
	unwinder->nr_completed++;
	unwinder_follow(unwinder, record->tgid, UNWINDER_WHEN_MET);
	followed = find_followed(unwinder, record->tgid);
	lookup.code = followed->code;
	copywalk_finish(record, &target, unwinder->ips);
	if (record->end == END_UNKNOWN_CODE && patience_is_over(unwinder->patience))
		unwinder->nr_unknown++;
	sync_one(unwinder, followed);
}

uint64_t unwinder_nr_completed(const struct unwinder *unwinder)
{
	return unwinder->nr_completed;
}

uint64_t unwinder_nr_unknown(const struct unwinder *unwinder)
{
	return unwinder->nr_unknown;
}

void unwinder_name(struct unwinder *unwinder, const struct record *record)
{
	struct followed *followed = find_followed(unwinder, record->tgid);

	if (followed)
		codemap_name(followed->code, record);
}
