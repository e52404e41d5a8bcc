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
#include "object/unwindstep.h"
#include "object/unwindtable.h"

#define USER_LIMIT (1ull << 63)

/*
 * Tables that no process refers to are kept for the next that will: a compiler under make comes and
 * goes ten times a second, and its table takes longer to build than all its samples to take. So much
 * is kept (each table is here and in the slabs), the longest unused goes first.
 */
#define UNUSED_MAX_BYTES (8u << 20)
#define UNUSED_MAX_NR	 1024

/* A file whose code may be walked. */
struct coded {
	uint32_t file;		    /* index in files; FILE_NONE: the vdso */
	bool is_built;		    /* asked for: the rest is valid */
	struct elf_file *elf;	    /* borrowed from its object, NULL if it is not one */
	struct unwind_table *table; /* NULL: no unwind information */
	uint32_t id;		    /* BPF's name for the table, or TABLE_NO_CFI */
	uint32_t nr_users;	    /* followed processes that refer to it */
	uint64_t unused_since;	    /* the turn of the unwinder; 0: in use, or no table */
	bool gap_by_fp;
};

struct followed {
	uint32_t tgid;
	bool is_eager;
	bool is_dirty;	  /* BPF's vmas are not what is mapped */
	bool has_unbuilt; /* some of its mappings have no table yet */
	bool is_gone;
	struct vma_run run;
	vec_of(uint32_t) coded; /* indices of what its vmas refer to */
};

struct unwinder {
	struct session *session;
	struct tasks *tasks;
	const struct files *files;
	struct objects *objects;
	vec_of(struct coded) coded;
	struct hash coded_index; /* by file */
	vec_of(struct followed *) followed;
	struct hash followed_index; /* by tgid; the entry of one that is gone is used again */
	size_t unused_bytes, nr_unused;
	uint64_t turn;	/* counts what became unused */
	bool was_built; /* a table, since the last sync */
	bool was_full;	/* and said so */
	uint64_t nr_completed;
	uint64_t ips[STACK_MAX_FRAMES];
};

struct unwinder *unwinder_new(struct session *session, struct tasks *tasks,
			      const struct files *files, struct objects *objects)
{
	struct unwinder *unwinder = xcalloc(1, sizeof(*unwinder));

	unwinder->session = session;
	unwinder->tasks = tasks;
	unwinder->files = files;
	unwinder->objects = objects;
	return unwinder;
}

void unwinder_free(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	vec_for_each(&unwinder->coded, coded)
		unwind_table_free(coded->table);
	vec_for_each(&unwinder->followed, followed) {
		vec_release(&(*followed)->coded);
		free(*followed);
	}
	vec_release(&unwinder->coded);
	vec_release(&unwinder->followed);
	hash_release(&unwinder->coded_index);
	hash_release(&unwinder->followed_index);
	free(unwinder);
}

/* Files ------------------------------------------------------------------------------------------ */

static bool same_file(const void *ctx, uint32_t value, const void *key)
{
	const struct unwinder *unwinder = ctx;

	return unwinder->coded.at[value].file == *(const uint32_t *)key;
}

static uint32_t coded_of(struct unwinder *unwinder, uint32_t file)
{
	uint64_t code = hash_u64(file);
	uint32_t i = hash_find(&unwinder->coded_index, code, same_file, unwinder, &file);

	if (i == HASH_NONE) {
		i = unwinder->coded.nr;
		vec_push(&unwinder->coded, (struct coded){.file = file, .id = TABLE_UNBUILT});
		hash_insert(&unwinder->coded_index, code, i);
	}
	return i;
}

/* From a second opening of the file: what is read of that is freed, .eh_frame is megabytes. */
static int new_table(const struct elf_file *elf, struct unwind_table **table)
{
	struct elf_file *again;
	int err = elf_file_reopen(elf, &again);

	if (err)
		return err;
	err = unwind_table_from_elf(again, table);
	elf_file_close(again);
	return err;
}

/* Copies the table to where BPF reads it. */
static void upload(struct unwinder *unwinder, struct coded *coded)
{
	struct unwind_table *table = coded->table;
	struct table_image image = {
		.start = table->start,
		.nr_pages = table->nr_pages,
		.nr_rows = table->nr_rows,
		.nr_wides = table->nr_wides,
		.pages = table->pages,
		.rows = table->rows,
		.wides = table->wides,
	};
	int err = session_add_table(unwinder->session, &image, &coded->id);

	if (!err)
		return;
	coded->id = TABLE_NO_CFI;
	if (!unwinder->was_full)
		warn("no room for more unwind tables (%s): some stacks will be cut short",
		     strerror(-err));
	unwinder->was_full = true;
}

static void take_back(struct unwinder *unwinder, struct coded *coded)
{
	if (!coded->unused_since)
		return;
	coded->unused_since = 0;
	unwinder->unused_bytes -= unwind_table_bytes(coded->table);
	unwinder->nr_unused--;
}

static void discard(struct unwinder *unwinder, struct coded *coded)
{
	take_back(unwinder, coded);
	session_remove_table(unwinder->session, coded->id);
	unwind_table_free(coded->table);
	coded->table = NULL;
	coded->is_built = false;
	coded->id = TABLE_UNBUILT;
}

static void discard_oldest(struct unwinder *unwinder)
{
	struct coded *oldest = NULL;

	vec_for_each(&unwinder->coded, coded)
		if (coded->unused_since && (!oldest || coded->unused_since < oldest->unused_since))
			oldest = coded;
	if (oldest)
		discard(unwinder, oldest);
}

/* Nobody refers to the table: keeps it, at the cost of others if there are too many, not of itself. */
static void set_aside(struct unwinder *unwinder, struct coded *coded)
{
	if (!coded->table || coded->id == TABLE_NO_CFI || coded->unused_since)
		return;
	coded->unused_since = ++unwinder->turn;
	unwinder->unused_bytes += unwind_table_bytes(coded->table);
	unwinder->nr_unused++;
	while (unwinder->nr_unused > 1 &&
	       (unwinder->nr_unused > UNUSED_MAX_NR || unwinder->unused_bytes > UNUSED_MAX_BYTES))
		discard_oldest(unwinder);
}

static void build(struct unwinder *unwinder, struct coded *coded)
{
	struct object *object = coded->file == FILE_NONE
					? objects_vdso(unwinder->objects)
					: objects_get(unwinder->objects, coded->file,
						      files_fd(unwinder->files, coded->file));
	const struct elf_file *elf = object_elf(object);
	uint64_t started_ns = clock_monotonic_ns();
	struct elf_section gopclntab;

	coded->is_built = true;
	coded->id = TABLE_NO_CFI;
	coded->elf = (struct elf_file *)elf;
	if (!elf)
		return;
	/* Go's compiler keeps frame pointers in everything it makes, and writes no .eh_frame. */
	coded->gap_by_fp = elf_file_section_named(elf, ".gopclntab", &gopclntab);
	unwinder->was_built = true;
	if (new_table(elf, &coded->table) || !coded->table->nr_pages) {
		unwind_table_free(coded->table);
		coded->table = NULL;
		return;
	}
	upload(unwinder, coded);
	if (!coded->nr_users)
		set_aside(unwinder, coded);
	detail("unwind table of %s: %zu bytes for %zu functions in %.1f ms",
	       coded->file == FILE_NONE ? "[vdso]" : files_path(unwinder->files, coded->file),
	       unwind_table_bytes(coded->table), coded->table->stats.nr_fdes,
	       (clock_monotonic_ns() - started_ns) / 1e6);
}

static bool is_vdso(const struct unwinder *unwinder, const struct mapping *map)
{
	return map->file == FILE_NONE && map->limit > UINT32_MAX &&
	       !strcmp(strtab_get(tasks_names(unwinder->tasks), map->name), "[vdso]");
}

/* The coded file behind a mapping, HASH_NONE for code that is in none (JIT). */
static uint32_t coded_of_mapping(struct unwinder *unwinder, const struct mapping *map)
{
	if (map->file == FILE_NONE && !is_vdso(unwinder, map))
		return HASH_NONE;
	return coded_of(unwinder, map->file);
}

/* ip - elf_addr for a mapping of a built file. */
static uint64_t bias_of(const struct coded *coded, const struct mapping *map)
{
	uint64_t elf_addr;

	if (coded->file == FILE_NONE || !coded->elf) /* the vdso is mapped from its start */
		return map->start;
	if (elf_file_addr(coded->elf, map->file_off, &elf_addr))
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

void unwinder_follow(struct unwinder *unwinder, uint32_t tgid, bool eager)
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
	if (!followed->is_gone && followed->is_eager == eager)
		return;
	followed->is_gone = false;
	followed->is_eager = eager;
	followed->is_dirty = true;
}

void unwinder_on_map(struct unwinder *unwinder, const struct process *process)
{
	struct followed *followed = find_followed(unwinder, process->tgid);

	if (followed)
		followed->is_dirty = true;
}

/* What a process referred to. */
static void drop_users(struct unwinder *unwinder, struct followed *followed)
{
	vec_for_each(&followed->coded, i)
		if (!--unwinder->coded.at[*i].nr_users)
			set_aside(unwinder, &unwinder->coded.at[*i]);
	followed->coded.nr = 0;
}

static void unfollow(struct unwinder *unwinder, struct followed *followed)
{
	session_forget_vmas(unwinder->session, followed->tgid, &followed->run);
	drop_users(unwinder, followed);
	followed->is_gone = true;
	followed->is_dirty = false;
}

void unwinder_event(struct unwinder *unwinder, const struct task_event *event)
{
	struct followed *followed;

	switch (event->kind) {
	case TASK_FORK:
		if (find_followed(unwinder, event->parent_tgid))
			unwinder_follow(unwinder, event->tgid, false);
		break;
	case TASK_EXEC:
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

/* Notes that a process's vmas refer to a coded file. */
static void add_user(struct unwinder *unwinder, struct followed *followed, uint32_t i)
{
	vec_for_each(&followed->coded, known)
		if (*known == i)
			return;
	vec_push(&followed->coded, i);
	unwinder->coded.at[i].nr_users++;
	take_back(unwinder, &unwinder->coded.at[i]);
}

static struct unwind_vma describe(struct unwinder *unwinder, struct followed *followed,
				  const struct mapping *map)
{
	struct unwind_vma vma = {.start = map->start, .limit = map->limit, .table = TABLE_NO_CFI};
	uint32_t i = coded_of_mapping(unwinder, map);
	struct coded *coded;

	if (i == HASH_NONE)
		return vma;
	coded = &unwinder->coded.at[i];
	if (!coded->is_built && (followed->is_eager || coded->file == FILE_NONE))
		build(unwinder, coded);
	add_user(unwinder, followed, i);
	vma.table = coded->id;
	followed->has_unbuilt = followed->has_unbuilt || !coded->is_built;
	if (coded->is_built) {
		vma.bias = bias_of(coded, map);
		vma.gap_by_fp = coded->gap_by_fp;
	}
	return vma;
}

static void write_vmas(struct unwinder *unwinder, struct followed *followed)
{
	struct image *image = tasks_image(unwinder->tasks, followed->tgid, 0, clock_monotonic_ns());
	const struct mappings *mappings = &image->mappings;
	struct unwind_vma *vmas scoped(freep) = xcalloc(mappings->now.nr, sizeof(*vmas));
	struct followed old = *followed;
	size_t nr = 0;
	int err;

	/* The new users first, so that a table that stays is not freed in between. */
	followed->coded.at = NULL;
	followed->coded.nr = followed->coded.cap = 0;
	followed->has_unbuilt = false;
	/* [vsyscall] lies in the kernel's half, where BPF's search does not look. */
	for (; nr < mappings->now.nr && mappings->now.at[nr].start < USER_LIMIT; nr++)
		vmas[nr] = describe(unwinder, followed, &mappings->now.at[nr]);
	err = session_set_vmas(unwinder->session, followed->tgid, vmas, nr, &followed->run);
	if (err && !unwinder->was_full)
		warn("no room for the mappings of more processes (%s): their stacks will be copied",
		     strerror(-err));
	unwinder->was_full = unwinder->was_full || err;
	drop_users(unwinder, &old);
	vec_release(&old.coded);
	followed->is_dirty = false;
}

bool unwinder_sync(struct unwinder *unwinder)
{
	bool was_built = unwinder->was_built;

	for (size_t i = 0; i < unwinder->followed.nr; i++) {
		struct followed *followed = unwinder->followed.at[i];

		if (!followed->is_gone &&
		    (followed->is_dirty || (was_built && followed->has_unbuilt)))
			write_vmas(unwinder, followed);
	}
	was_built = was_built || unwinder->was_built;
	unwinder->was_built = false;
	return was_built;
}

uint64_t unwinder_nr_completed(const struct unwinder *unwinder)
{
	return unwinder->nr_completed;
}

/* Finishing a walk ------------------------------------------------------------------------------- */

static bool read_copy(void *ctx, uint64_t addr, uint64_t *value)
{
	const struct stack_copy *copy = ctx;
	uint64_t offset = addr - copy->sp;

	if (copy->len_bytes < sizeof(*value) || offset > copy->len_bytes - sizeof(*value))
		return false;
	memcpy(value, copy->bytes + offset, sizeof(*value));
	return true;
}

/* The rule for an ip, as bpf/tables.bpf.c finds it; *by_fp: where there is none, rbp is promised. */
static bool find_rule(struct unwinder *unwinder, struct image *image, uint64_t ip, uint64_t time_ns,
		      struct unwind_rule *rule, bool *by_fp)
{
	const struct mapping *map = tasks_mapping(unwinder->tasks, image, ip, time_ns);
	struct coded *coded;
	uint32_t i;

	*rule = (struct unwind_rule){.kind = UNWIND_GAP};
	*by_fp = false;
	if (!map)
		return false;
	i = coded_of_mapping(unwinder, map);
	if (i == HASH_NONE)
		return true;
	coded = &unwinder->coded.at[i];
	if (!coded->is_built)
		build(unwinder, coded);
	*by_fp = coded->gap_by_fp;
	if (coded->table)
		unwind_table_find(coded->table, ip - bias_of(coded, map), rule);
	return true;
}

static enum stack_end end_of_status(enum unwind_status status, const struct stack_copy *copy)
{
	switch (status) {
	case UNWIND_AT_ROOT:
		return END_ROOT;
	case UNWIND_NO_REG:
		return END_NO_REG;
	case UNWIND_NO_MEMORY:
		return copy->len_bytes >= 8192 ? END_BEYOND_COPY : END_UNREADABLE;
	case UNWIND_NO_MOVE:
		return END_NO_MOVE;
	default:
		return END_NO_RULE;
	}
}

/* One step, with the frame pointer where there is no rule. 0 to go on, else the end plus one. */
static int step_on(struct unwind_regs *regs, struct unwind_rule *rule, bool by_fp,
		   const struct stack_copy *copy, uint64_t *guessed)
{
	static const struct unwind_rule fp_rule = {.kind = UNWIND_FP};
	bool is_gap = rule->kind == UNWIND_GAP;
	enum unwind_status status;

	*guessed = is_gap && !by_fp ? IP_GUESSED : 0;
	if ((is_gap || rule->kind == UNWIND_FP) && !regs->fp)
		return (*guessed ? END_NO_ROOT : END_ROOT) + 1;
	status = unwind_step(is_gap ? &fp_rule : rule, regs, read_copy, (void *)copy);
	if (!status)
		return regs->ip ? 0 : END_NO_ROOT + 1;
	if (*guessed)
		return END_NO_CFI + 1;
	return end_of_status(status, copy) + 1;
}

void unwinder_complete(struct unwinder *unwinder, struct record *record)
{
	const struct stack_copy *copy = record->copy;
	struct image *image =
		tasks_image(unwinder->tasks, record->tgid, record->start_ns, record->time_ns);
	struct unwind_regs regs = {.ip = copy->ip,
				   .sp = copy->sp,
				   .fp = copy->fp,
				   .bx = copy->bx,
				   .ip_exact = copy->ip_exact,
				   .bx_known = copy->bx_known,
				   .leaf = copy->leaf};
	uint64_t guessed;
	int end = 0;

	unwinder->nr_completed++;
	unwinder_follow(unwinder, record->tgid, false);
	memcpy(unwinder->ips, record->user_ips, record->nr_user * sizeof(unwinder->ips[0]));
	while (!end) {
		struct unwind_rule rule;
		bool by_fp;

		if (record->nr_user == STACK_MAX_FRAMES)
			end = END_TOO_DEEP + 1;
		else if (!find_rule(unwinder, image, unwind_lookup_ip(&regs), record->time_ns,
				    &rule, &by_fp))
			end = END_NO_CFI + 1;
		else
			end = step_on(&regs, &rule, by_fp, copy, &guessed);
		if (!end)
			unwinder->ips[record->nr_user++] = regs.ip | guessed;
	}
	record->user_ips = unwinder->ips;
	record->end = end - 1;
	record->copy = NULL;
}
