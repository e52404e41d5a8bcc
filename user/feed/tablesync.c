// SPDX-License-Identifier: BSD-2-Clause
/*
 * There is one entry for each tgid that is followed. When its process ends, the entry stays for a while, and the next
 * process with the same tgid reuses it. Vmas are written after each drain for all processes that changed,
 * except that a record with a stack copy has its process written immediately: until then BPF copies every stack of that process.
 */
#include "feed/tablesync.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/vec.h"
#include "feed/codemap.h"
#include "feed/tablecache.h"
#include "unwind/copywalk.h"

#define LOOK_EVERY_NS (NSEC_PER_SEC / 2)
/* Entries of processes that are gone, before they are thrown away. */
#define MOST_GONE 1024

struct followed {
	uint32_t tgid;
	enum tablesync_eagerness eagerness;
	bool is_gone;
	bool is_doubtful;      /* no exit will be announced any more: /proc is asked */
	uint64_t next_look_ns; /* in /proc */
	struct codemap *code;
};

struct tablesync {
	struct codemap_rooms rooms;
	uint32_t unread_said;
	struct workbudget *budget;
	vec_of(struct followed) followed;
	struct hash followed_index; /* by tgid; the entry of one that is gone is used again */
	size_t nr_gone;		    /* entries, at most */
	bool was_full;		    /* and said so */
	bool has_news;		    /* built, and not written for all yet */
	uint64_t nr_completed, nr_unknown;
	uint64_t ips[STACK_MAX_FRAMES];
};

struct tablesync *tablesync_new(struct session *session, struct tasks *tasks, struct files *files,
				struct parser *parser, struct workbudget *budget)
{
	struct tablesync *sync = xcalloc(1, sizeof(*sync));

	sync->budget = budget;
	sync->rooms.session = session;
	sync->rooms.tasks = tasks;
	sync->rooms.files = files;
	sync->rooms.parser = parser;
	sync->rooms.unread_said = &sync->unread_said;
	sync->rooms.tablecache = tablecache_new(session, files, parser, budget);
	return sync;
}

void tablesync_free(struct tablesync *sync)
{
	if (!sync)
		return;
	vec_for_each(&sync->followed, followed)
		codemap_free(followed->code);
	vec_release(&sync->followed);
	hash_release(&sync->followed_index);
	tablecache_free(sync->rooms.tablecache);
	free(sync);
}

/* Processes -------------------------------------------------------------------------------------- */

static bool same_tgid(const void *ctx, uint32_t value, const void *key)
{
	const struct tablesync *sync = ctx;

	return sync->followed.at[value].tgid == *(const uint32_t *)key;
}

/* NULL: it is not followed. Borrowed until the next tablesync_follow(). */
static struct followed *find_followed(const struct tablesync *sync, uint32_t tgid)
{
	uint32_t i = hash_find(&sync->followed_index, hash_u64(tgid), same_tgid, sync, &tgid);

	return i == HASH_NONE || sync->followed.at[i].is_gone ? NULL : &sync->followed.at[i];
}

static void set_eagerness(struct followed *followed, enum tablesync_eagerness eagerness)
{
	followed->eagerness = eagerness;
	codemap_set_eager(followed->code, eagerness == TABLESYNC_NOW);
}

/* Borrowed until the next call. */
static struct followed *follow(struct tablesync *sync, uint32_t tgid,
			       enum tablesync_eagerness eagerness)
{
	uint64_t code = hash_u64(tgid);
	uint32_t i = hash_find(&sync->followed_index, code, same_tgid, sync, &tgid);
	struct followed *followed;

	if (i == HASH_NONE) {
		i = sync->followed.nr;
		hash_insert(&sync->followed_index, code, i);
		vec_push(&sync->followed,
			 (struct followed){.tgid = tgid,
					   .is_gone = true,
					   .code = codemap_new(&sync->rooms, tgid)});
	}
	followed = &sync->followed.at[i];
	if (!followed->is_gone && followed->eagerness >= eagerness)
		return followed;
	followed->is_gone = followed->is_doubtful = false;
	set_eagerness(followed, eagerness);
	codemap_changed(followed->code);
	return followed;
}

void tablesync_follow(struct tablesync *sync, uint32_t tgid, enum tablesync_eagerness eagerness)
{
	follow(sync, tgid, eagerness);
}

void tablesync_expect(struct tablesync *sync, uint32_t file)
{
	struct tablecache *tables = sync->rooms.tablecache;
	uint32_t number = tablecache_get(tables, file), place;
	const struct message_runtime *runtime;

	tablecache_build_ahead(tables, number);
	if (!tablecache_at(tables, number)->elf)
		return;
	runtime = &tablecache_at(tables, number)->elf->runtime;
	if (runtime->runtime &&
	    !session_add_runtime(sync->rooms.session, ABI_RUNTIME_KIND(runtime->runtime),
				 &runtime->layout, &place))
		session_remove_runtime(sync->rooms.session, place);
}

void tablesync_on_map(struct tablesync *sync, const struct process *process)
{
	struct followed *followed = find_followed(sync, process->tgid);

	if (followed)
		codemap_changed(followed->code);
}

static void on_exec(struct followed *followed)
{
	codemap_exec(followed->code);
	if (followed->eagerness == TABLESYNC_AFTER_EXEC)
		set_eagerness(followed, TABLESYNC_NOW);
}

static void on_exit_of(struct tablesync *sync, struct followed *followed)
{
	codemap_forget(followed->code);
	followed->is_gone = true;
	sync->nr_gone++;
}

/* Marks a process that may have ended: its first thread did, or announcements were lost. */
static void doubt(struct followed *followed)
{
	followed->is_doubtful = true;
	followed->next_look_ns = 0;
}

void tablesync_event(struct tablesync *sync, const struct task_event *event)
{
	struct followed *followed = find_followed(sync, event->tgid);

	switch (event->kind) {
	case TASK_FORK:
		if (find_followed(sync, event->parent_tgid))
			tablesync_follow(sync, event->tgid, TABLESYNC_WHEN_MET);
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
			on_exit_of(sync, followed);
		break;
	case TASK_LOST:
		vec_for_each(&sync->followed, each)
			doubt(each);
		break;
	default:
		break;
	}
}

/* Vmas ------------------------------------------------------------------------------------------- */

static void sync_code(struct tablesync *sync, struct followed *followed, bool has_news)
{
	int err = codemap_sync(followed->code, has_news);

	if (err && !sync->was_full)
		warn("cannot store the mappings of more processes (%s): their stacks will be "
		     "copied",
		     strerror(-err));
	sync->was_full = sync->was_full || err;
}

/* Is it gone after all? */
static bool find_gone(struct tablesync *sync, struct followed *followed, uint64_t now_ns)
{
	if (followed->is_gone || !followed->is_doubtful || now_ns < followed->next_look_ns)
		return followed->is_gone;
	followed->next_look_ns = now_ns + LOOK_EVERY_NS;
	if (!tasks_is_alive(sync->rooms.tasks, followed->tgid))
		on_exit_of(sync, followed);
	return followed->is_gone;
}

/* Throws away the entries of processes that are gone. */
static void forget_gone(struct tablesync *sync)
{
	size_t nr = 0;

	hash_release(&sync->followed_index);
	vec_for_each(&sync->followed, followed) {
		if (followed->is_gone) {
			codemap_free(followed->code);
			continue;
		}
		hash_insert(&sync->followed_index, hash_u64(followed->tgid), nr);
		sync->followed.at[nr++] = *followed;
	}
	sync->followed.nr = nr;
	sync->nr_gone = 0;
}

bool tablesync_sync(struct tablesync *sync)
{
	struct tablecache *tablecache = sync->rooms.tablecache;
	bool has_news = tablecache_poll(tablecache) || sync->has_news;
	uint64_t now_ns = clock_monotonic_ns();

	sync->has_news = false;
	if (sync->nr_gone > MOST_GONE)
		forget_gone(sync);
	vec_for_each(&sync->followed, followed) {
		if (find_gone(sync, followed, now_ns))
			continue;
		codemap_look(followed->code);
		sync_code(sync, followed, has_news);
	}
	return tablecache_poll(tablecache) || has_news;
}

/* At once: thousands of records may wait to be finished, and more are sent until BPF knows. */
static void sync_one(struct tablesync *sync, struct followed *followed)
{
	bool has_news = tablecache_poll(sync->rooms.tablecache);

	sync->has_news = sync->has_news || has_news;
	sync_code(sync, followed, has_news);
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

void tablesync_complete(struct tablesync *sync, struct record *record)
{
	struct lookup lookup = {.time_ns = record->time_ns};
	const struct copywalk_target target = {unwind_arch_here(), find_rule, read_code, &lookup};
	struct followed *followed;

	lookup.image =
		tasks_image(sync->rooms.tasks, record->tgid, record->start_ns, record->time_ns);
	sync->nr_completed++;
	followed = follow(sync, record->tgid, TABLESYNC_WHEN_MET);
	if (lookup.image->process->exited_ns && !followed->is_doubtful)
		doubt(followed); /* the record may have come after the process's last word */
	lookup.code = followed->code;
	copywalk_finish(record, &target, sync->ips);
	if (record->end == END_UNKNOWN_CODE && workbudget_is_over(sync->budget))
		sync->nr_unknown++;
	sync_one(sync, followed);
}

uint64_t tablesync_nr_completed(const struct tablesync *sync)
{
	return sync->nr_completed;
}

uint64_t tablesync_nr_unknown(const struct tablesync *sync)
{
	return sync->nr_unknown;
}

void tablesync_name(struct tablesync *sync, const struct record *record)
{
	struct followed *followed = find_followed(sync, record->tgid);

	if (followed)
		codemap_name(followed->code, record);
}
