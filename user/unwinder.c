// SPDX-License-Identifier: BSD-2-Clause
#include "unwinder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/vec.h"
#include "codetables.h"
#include "copywalk.h"
#include "jvm.h"

#define USER_LIMIT (1ull << 63)
#define NO_FILE	   UINT32_MAX

struct followed {
	uint32_t tgid;
	enum unwinder_eagerness eagerness;
	bool is_dirty;	  /* BPF's vmas are not what is mapped */
	bool has_unbuilt; /* some of its mappings have no table yet */
	bool is_gone;
	struct vma_run run;
	vec_of(uint32_t) used; /* numbers in codetables of what its vmas refer to */
	struct jvm *jvm;       /* NULL: it is none, as far as is known */
};

struct vmas {
	vec_of(struct unwind_vma) all;
};

struct unwinder {
	struct session *session;
	struct tasks *tasks;
	struct codetables *codetables;
	vec_of(struct followed *) followed;
	struct hash followed_index; /* by tgid; the entry of one that is gone is used again */
	bool was_full;		    /* and said so */
	bool has_news;		    /* built, and not written for all yet */
	uint64_t nr_completed;
	uint64_t ips[STACK_MAX_FRAMES];
};

struct unwinder *unwinder_new(struct session *session, struct tasks *tasks,
			      const struct files *files, struct objects *objects)
{
	struct unwinder *unwinder = xcalloc(1, sizeof(*unwinder));

	unwinder->session = session;
	unwinder->tasks = tasks;
	unwinder->codetables = codetables_new(session, files, objects);
	return unwinder;
}

void unwinder_free(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	vec_for_each(&unwinder->followed, followed) {
		vec_release(&(*followed)->used);
		jvm_free((*followed)->jvm);
		free(*followed);
	}
	vec_release(&unwinder->followed);
	hash_release(&unwinder->followed_index);
	codetables_free(unwinder->codetables);
	free(unwinder);
}

/* Mappings --------------------------------------------------------------------------------------- */

static bool is_vdso(const struct unwinder *unwinder, const struct mapping *map)
{
	return map->file == FILE_NONE && map->limit > UINT32_MAX &&
	       !strcmp(strtab_get(tasks_names(unwinder->tasks), map->name), "[vdso]");
}

/* The number of the file behind a mapping, NO_FILE for code that is in none (JIT). */
static uint32_t number_of(struct unwinder *unwinder, const struct mapping *map)
{
	if (map->file == FILE_NONE && !is_vdso(unwinder, map))
		return NO_FILE;
	return codetables_of(unwinder->codetables, map->file);
}

/* ip - elf_addr for a mapping of a built file. */
static uint64_t bias_of(const struct codefile *codefile, const struct mapping *map)
{
	uint64_t elf_addr;

	if (codefile->file == FILE_NONE || !codefile->elf) /* the vdso is mapped from its start */
		return map->start;
	if (elf_file_addr(codefile->elf, map->file_off, &elf_addr))
		return map->start - map->file_off;
	return map->start - elf_addr;
}

/* Processes -------------------------------------------------------------------------------------- */

static bool same_tgid(const void *ctx, uint32_t value, const void *key)
{
	const struct unwinder *unwinder = ctx;

	return unwinder->followed.at[value]->tgid == *(const uint32_t *)key;
}

static struct followed *find_followed(const struct unwinder *unwinder, uint32_t tgid)
{
	uint32_t i =
		hash_find(&unwinder->followed_index, hash_u64(tgid), same_tgid, unwinder, &tgid);

	return i == HASH_NONE || unwinder->followed.at[i]->is_gone ? NULL
								   : unwinder->followed.at[i];
}

void unwinder_follow(struct unwinder *unwinder, uint32_t tgid, enum unwinder_eagerness eagerness)
{
	uint64_t code = hash_u64(tgid);
	uint32_t i = hash_find(&unwinder->followed_index, code, same_tgid, unwinder, &tgid);
	struct followed *followed;

	if (i == HASH_NONE) {
		followed = xcalloc(1, sizeof(*followed));
		followed->tgid = tgid;
		followed->is_gone = true;
		hash_insert(&unwinder->followed_index, code, unwinder->followed.nr);
		vec_push(&unwinder->followed, followed);
	} else {
		followed = unwinder->followed.at[i];
	}
	if (!followed->is_gone && followed->eagerness >= eagerness)
		return;
	followed->is_gone = false;
	followed->eagerness = eagerness;
	followed->is_dirty = true;
}

void unwinder_on_map(struct unwinder *unwinder, const struct process *process)
{
	struct followed *followed = find_followed(unwinder, process->tgid);

	if (followed)
		followed->is_dirty = true;
}

/* What a process referred to. */
static void drop_used(struct unwinder *unwinder, struct followed *followed)
{
	vec_for_each(&followed->used, number)
		codetables_drop(unwinder->codetables, *number);
	followed->used.nr = 0;
}

/* The vmas that refer to its tables are gone. */
static void drop_jvm(struct followed *followed)
{
	jvm_free(followed->jvm);
	followed->jvm = NULL;
}

static void unfollow(struct unwinder *unwinder, struct followed *followed)
{
	session_forget_vmas(unwinder->session, followed->tgid, &followed->run);
	drop_used(unwinder, followed);
	drop_jvm(followed);
	followed->is_gone = true;
	followed->is_dirty = false;
}

/* What is in the old image's memory is not in the new one's. */
static void begin_image(struct unwinder *unwinder, struct followed *followed)
{
	if (followed->jvm)
		session_forget_vmas(unwinder->session, followed->tgid, &followed->run);
	drop_jvm(followed);
	followed->is_dirty = true;
	if (followed->eagerness == UNWINDER_AFTER_EXEC)
		followed->eagerness = UNWINDER_NOW;
}

void unwinder_event(struct unwinder *unwinder, const struct task_event *event)
{
	struct followed *followed;

	switch (event->kind) {
	case TASK_FORK:
		if (find_followed(unwinder, event->parent_tgid))
			unwinder_follow(unwinder, event->tgid, UNWINDER_WHEN_MET);
		break;
	case TASK_EXEC:
		followed = find_followed(unwinder, event->tgid);
		if (followed)
			begin_image(unwinder, followed);
		break;
	case TASK_MAP:
		followed = find_followed(unwinder, event->tgid);
		if (followed)
			followed->is_dirty = true;
		break;
	case TASK_EXIT:
		/* If other threads live on, their next sample brings the process back. */
		followed = event->tid == event->tgid ? find_followed(unwinder, event->tgid) : NULL;
		if (followed)
			unfollow(unwinder, followed);
		break;
	default:
		break;
	}
}

/* Notes that a process's vmas refer to a file. */
static void use(struct unwinder *unwinder, struct followed *followed, uint32_t number)
{
	vec_for_each(&followed->used, known)
		if (*known == number)
			return;
	vec_push(&followed->used, number);
	codetables_use(unwinder->codetables, number);
}

static bool is_libjvm(const struct unwinder *unwinder, const struct mapping *map)
{
	static const char name[] = "/libjvm.so";
	const char *path;
	size_t len;

	if (map->file == FILE_NONE)
		return false;
	path = strtab_get(tasks_names(unwinder->tasks), map->name);
	len = path_len_undeleted(path);
	return len >= sizeof(name) - 1 &&
	       !strncmp(path + len - (sizeof(name) - 1), name, sizeof(name) - 1);
}

/* Is it a JVM? Asked when its mappings changed, until it is. */
static void find_jvm(struct unwinder *unwinder, struct followed *followed,
		     const struct mappings *mappings)
{
	const struct codefile *codefile;
	uint32_t number;

	for (size_t i = 0; !followed->jvm && i < mappings->now.nr; i++) {
		const struct mapping *map = &mappings->now.at[i];

		if (!is_libjvm(unwinder, map))
			continue;
		number = number_of(unwinder, map);
		codetables_build(unwinder->codetables, number);
		codefile = codetables_at(unwinder->codetables, number);
		if (!codefile->elf)
			continue;
		followed->jvm = jvm_new(unwinder->codetables, followed->tgid, codefile->elf,
					bias_of(codefile, map));
		if (followed->eagerness == UNWINDER_NOW)
			jvm_sync(followed->jvm, true);
	}
}

static struct unwind_vma describe_file(struct unwinder *unwinder, struct followed *followed,
				       const struct mapping *map, uint32_t number)
{
	struct unwind_vma vma = {.start = map->start, .limit = map->limit};
	const struct codefile *codefile;

	if (followed->eagerness == UNWINDER_NOW || map->file == FILE_NONE)
		codetables_build(unwinder->codetables, number);
	use(unwinder, followed, number);
	codefile = codetables_at(unwinder->codetables, number);
	vma.table = codetables_id(unwinder->codetables, number);
	if (codefile->is_built) {
		vma.bias = bias_of(codefile, map);
		vma.gap_by_fp = codefile->gap_by_fp;
	}
	followed->has_unbuilt = followed->has_unbuilt || !codefile->is_built;
	return vma;
}

/* A JVM's anonymous mapping may be parts of several heaps. */
static void describe(struct unwinder *unwinder, struct followed *followed,
		     const struct mapping *map, struct vmas *vmas)
{
	struct unwind_vma vma = {.start = map->start, .limit = map->limit, .table = TABLE_NO_CFI};
	uint32_t number = number_of(unwinder, map);

	if (number != NO_FILE)
		vma = describe_file(unwinder, followed, map, number);
	else if (followed->jvm)
		jvm_describe(followed->jvm, map->start, map->limit, &vma);
	vec_push(&vmas->all, vma);
	while (vma.limit < map->limit) {
		jvm_describe(followed->jvm, vma.limit, map->limit, &vma);
		vec_push(&vmas->all, vma);
	}
}

static void vmas_release(struct vmas *vmas)
{
	vec_release(&vmas->all);
}

static void write_vmas(struct unwinder *unwinder, struct followed *followed)
{
	struct image *image = tasks_image(unwinder->tasks, followed->tgid, 0, clock_monotonic_ns());
	const struct mappings *mappings = &image->mappings;
	struct vmas vmas scoped(vmas_release) = {0};
	struct followed old;
	int err;

	find_jvm(unwinder, followed, mappings);
	old = *followed;
	/* The new users first, so that a table that stays is not freed in between. */
	followed->used.at = NULL;
	followed->used.nr = followed->used.cap = 0;
	followed->has_unbuilt = false;
	/* [vsyscall] lies in the kernel's half, where BPF's search does not look. */
	for (size_t i = 0; i < mappings->now.nr && mappings->now.at[i].start < USER_LIMIT; i++)
		describe(unwinder, followed, &mappings->now.at[i], &vmas);
	err = session_set_vmas(unwinder->session, followed->tgid, vmas.all.at, vmas.all.nr,
			       &followed->run);
	if (err && !unwinder->was_full)
		warn("no room for the mappings of more processes (%s): their stacks will be copied",
		     strerror(-err));
	unwinder->was_full = unwinder->was_full || err;
	if (err) /* those that it has refer to what is given back below */
		session_forget_vmas(unwinder->session, followed->tgid, &followed->run);
	drop_used(unwinder, &old);
	vec_release(&old.used);
	if (followed->jvm)
		jvm_settle(followed->jvm);
	followed->is_dirty = false;
}

bool unwinder_sync(struct unwinder *unwinder)
{
	bool has_news = codetables_take_news(unwinder->codetables) || unwinder->has_news;

	unwinder->has_news = false;
	for (size_t i = 0; i < unwinder->followed.nr; i++) {
		struct followed *followed = unwinder->followed.at[i];

		if (followed->is_gone)
			continue;
		if (followed->jvm && jvm_sync(followed->jvm, false))
			followed->is_dirty = true;
		if (followed->is_dirty || (has_news && followed->has_unbuilt))
			write_vmas(unwinder, followed);
	}
	return codetables_take_news(unwinder->codetables) || has_news;
}

/* At once: thousands of records may wait to be finished, and more are sent until BPF knows. */
static void sync_one(struct unwinder *unwinder, uint32_t tgid)
{
	struct followed *followed = find_followed(unwinder, tgid);
	bool has_news = codetables_take_news(unwinder->codetables);

	unwinder->has_news = unwinder->has_news || has_news;
	if (followed && (followed->is_dirty || (has_news && followed->has_unbuilt)))
		write_vmas(unwinder, followed);
}

uint64_t unwinder_nr_completed(const struct unwinder *unwinder)
{
	return unwinder->nr_completed;
}

/* Rules ------------------------------------------------------------------------------------------ */

/* Is image what its process runs now? Only of that the memory can be read. */
static bool is_present(const struct unwinder *unwinder, const struct image *image)
{
	return image == tasks_image(unwinder->tasks, image->process->tgid, 0, clock_monotonic_ns());
}

/* The rule for code in no file: a JVM's, or a gap. */
static void find_made_rule(struct unwinder *unwinder, struct image *image, uint64_t ip,
			   uint64_t time_ns, struct unwind_rule *rule)
{
	struct followed *followed = find_followed(unwinder, image->process->tgid);

	if (!followed || !is_present(unwinder, image))
		return;
	if (followed->is_dirty)
		find_jvm(unwinder, followed, &image->mappings);
	if (followed->jvm)
		jvm_find(followed->jvm, ip, time_ns, rule);
	if (rule->kind == UNWIND_UNKNOWN)
		*rule = (struct unwind_rule){.kind = UNWIND_GAP};
}

/* The rule for an ip, as bpf/tables.bpf.c finds it; *by_fp: where there is none, rbp is promised. */
static bool find_rule(struct unwinder *unwinder, struct image *image, uint64_t ip, uint64_t time_ns,
		      struct unwind_rule *rule, bool *by_fp)
{
	const struct mapping *map = tasks_mapping(unwinder->tasks, image, ip, time_ns);
	const struct unwind_table *table;
	const struct codefile *codefile;
	uint32_t number;

	*rule = (struct unwind_rule){.kind = UNWIND_GAP};
	*by_fp = false;
	if (!map)
		return false;
	number = number_of(unwinder, map);
	if (number == NO_FILE) {
		find_made_rule(unwinder, image, ip, time_ns, rule);
		return true;
	}
	codetables_build(unwinder->codetables, number);
	codefile = codetables_at(unwinder->codetables, number);
	table = codetables_rules(unwinder->codetables, number);
	*by_fp = codefile->gap_by_fp;
	if (table)
		unwind_table_find(table, ip - bias_of(codefile, map), rule);
	return true;
}

/* Whose rules are asked for, and when. */
struct lookup {
	struct unwinder *unwinder;
	struct image *image;
	uint64_t time_ns;
};

static bool find_rule_of(void *ctx, uint64_t ip, struct unwind_rule *rule, bool *by_fp)
{
	const struct lookup *lookup = ctx;

	return find_rule(lookup->unwinder, lookup->image, ip, lookup->time_ns, rule, by_fp);
}

void unwinder_complete(struct unwinder *unwinder, struct record *record)
{
	struct image *image =
		tasks_image(unwinder->tasks, record->tgid, record->start_ns, record->time_ns);
	struct lookup lookup = {unwinder, image, record->time_ns};

	unwinder->nr_completed++;
	unwinder_follow(unwinder, record->tgid, UNWINDER_WHEN_MET);
	copywalk_finish(record, find_rule_of, &lookup, unwinder->ips);
	sync_one(unwinder, record->tgid);
}

void unwinder_name(struct unwinder *unwinder, const struct record *record)
{
	struct followed *followed = find_followed(unwinder, record->tgid);
	struct image *image;

	if (!followed || !followed->jvm)
		return;
	image = tasks_image(unwinder->tasks, record->tgid, record->start_ns, record->time_ns);
	if (is_present(unwinder, image))
		jvm_name(followed->jvm, record->user_ips, record->nr_user, record->time_ns,
			 &image->made);
}
