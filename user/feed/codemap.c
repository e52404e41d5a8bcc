// SPDX-License-Identifier: BSD-2-Clause
/*
 * A process's vmas are always described anew and written as a whole: BPF searches a sorted array, in which nothing can
 * be changed in place while a program reads it. Each table that the new vmas refer to is marked as used before the
 * old ones are released, so that a table which stays is not freed in between.
 *
 * A runtime with a shadow stack is found by what its file exports, once a sample is in it, or all files are read ahead. A JVM is found by its
 * libjvm.so when mappings change, and its code tables are described as further vmas.
 */
#include "feed/codemap.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/vec.h"
#include "feed/jvm.h"
#include "feed/runtime.h"
#include "process/opener.h"
#include "process/remote.h"

#define USER_LIMIT (1ull << 63)
#define NO_FILE	   UINT32_MAX

#define LOOK_REST_NS	 (NSEC_PER_SEC / 10)
#define LOOK_MAX_REST_NS (16 * NSEC_PER_SEC)

struct numbers { /* in tablecache */
	vec_of(uint32_t) all;
	struct hash index;
};

struct codemap {
	const struct codemap_rooms *rooms;
	uint32_t tgid;
	bool is_eager;
	bool is_dirty;	  /* BPF's vmas are not what is mapped */
	bool has_unbuilt; /* some of its mappings have no table yet */
	struct vma_run run;
	struct numbers used; /* what its vmas refer to */
	struct jvm *jvm;     /* NULL: it is none, as far as is known */
	/* When files of JIT symbols are looked for next, and how long not again after that. */
	uint64_t look_due_ns, look_rest_ns;
	struct runtime runtime;
	uint32_t unread; /* what its files have of runtimes that are not read: a bit for each */
	bool awaits_jvm; /* it maps a libjvm.so that there was no time for yet */
};

struct vmas {
	vec_of(struct unwind_vma) all;
};

static void numbers_release(struct numbers *numbers)
{
	vec_release(&numbers->all);
	hash_release(&numbers->index);
}

static bool same_number(const void *ctx, uint32_t value, const void *key)
{
	return ((const struct numbers *)ctx)->all.at[value] == *(const uint32_t *)key;
}

struct codemap *codemap_new(const struct codemap_rooms *rooms, uint32_t tgid)
{
	struct codemap *code = xcalloc(1, sizeof(*code));

	code->rooms = rooms;
	code->tgid = tgid;
	return code;
}

void codemap_free(struct codemap *code)
{
	if (!code)
		return;
	numbers_release(&code->used);
	jvm_free(code->jvm);
	free(code);
}

void codemap_set_eager(struct codemap *code, bool is_eager)
{
	code->is_eager = is_eager;
}

void codemap_changed(struct codemap *code)
{
	code->is_dirty = true;
}

/* Gives back what vmas referred to that are not BPF's any more. */
static void drop(struct codemap *code, struct numbers *used)
{
	vec_for_each(&used->all, number)
		tablecache_drop(code->rooms->tablecache, *number);
	numbers_release(used);
}

/* The vmas that refer to its tables are gone. */
static void drop_runtimes(struct codemap *code)
{
	jvm_free(code->jvm);
	code->jvm = NULL;
	runtime_detach(&code->runtime, code->rooms->session);
}

void codemap_exec(struct codemap *code)
{
	if (code->jvm || code->runtime.number)
		session_forget_vmas(code->rooms->session, code->tgid, &code->run);
	drop_runtimes(code);
	code->look_due_ns = code->look_rest_ns = 0;
	code->is_dirty = true;
}

void codemap_look(struct codemap *code)
{
	if (code->jvm && jvm_sync(code->jvm, false))
		code->is_dirty = true;
}

void codemap_forget(struct codemap *code)
{
	session_forget_vmas(code->rooms->session, code->tgid, &code->run);
	drop(code, &code->used);
	drop_runtimes(code);
	code->look_due_ns = code->look_rest_ns = 0;
	code->is_dirty = false;
}

/* Mappings --------------------------------------------------------------------------------------- */

static bool is_vdso(const struct codemap *code, const struct mapping *map)
{
	return map->file == FILE_NONE && map->limit > UINT32_MAX &&
	       !strcmp(strtab_get(tasks_names(code->rooms->tasks), map->name), "[vdso]");
}

/* The number of the file behind a mapping, NO_FILE for code that is in none (JIT). */
static uint32_t number_of(struct codemap *code, const struct mapping *map)
{
	if (map->file == FILE_NONE && !is_vdso(code, map))
		return NO_FILE;
	return tablecache_get(code->rooms->tablecache, map->file);
}

/* ip - elf_addr for a mapping of a built file. */
static uint64_t bias_of(const struct codefile *codefile, const struct mapping *map)
{
	uint64_t elf_addr;

	if (codefile->file == FILE_NONE || !codefile->elf) /* the vdso is mapped from its start */
		return map->start;
	if (segments_addr(codefile->elf->segments, map->file_off, &elf_addr))
		return map->start - map->file_off;
	return map->start - elf_addr;
}

/* Notes that a process's vmas refer to a file. */
static void use(struct codemap *code, uint32_t number)
{
	uint64_t hash = hash_u64(number);

	if (hash_find(&code->used.index, hash, same_number, &code->used, &number) != HASH_NONE)
		return;
	hash_insert(&code->used.index, hash, code->used.all.nr);
	vec_push(&code->used.all, number);
	tablecache_use(code->rooms->tablecache, number);
}

static bool is_libjvm(const struct codemap *code, const struct mapping *map)
{
	static const char name[] = "/libjvm.so";
	const char *path;
	size_t len;

	if (map->file == FILE_NONE)
		return false;
	path = strtab_get(tasks_names(code->rooms->tasks), map->name);
	len = path_len_undeleted(path);
	return len >= sizeof(name) - 1 &&
	       !strncmp(path + len - (sizeof(name) - 1), name, sizeof(name) - 1);
}

/* Vmas ------------------------------------------------------------------------------------------- */

/* Is it a JVM? Asked when its mappings changed, until it is. */
static void find_jvm(struct codemap *code, const struct mappings *mappings)
{
	const struct codefile *codefile;
	uint32_t number;

	code->awaits_jvm = false;
	for (size_t i = 0; !code->jvm && i < mappings->now.nr; i++) {
		const struct mapping *map = &mappings->now.at[i];

		if (!is_libjvm(code, map))
			continue;
		number = number_of(code, map);
		tablecache_build(code->rooms->tablecache, number);
		codefile = tablecache_at(code->rooms->tablecache, number);
		code->awaits_jvm = code->awaits_jvm || !codefile->is_built;
		if (!codefile->elf || files_fd(code->rooms->files, map->file) < 0)
			continue;
		code->jvm = jvm_new(code->rooms, code->tgid, map->file, bias_of(codefile, map));
		if (code->is_eager)
			jvm_sync(code->jvm, true);
	}
}

/* Notes that a known runtime is not read: at all, or by this session, which was not asked for it. */
static void note_unread(struct codemap *code, const struct message_runtime *about)
{
	if (about->unread && !(about->runtime && code->runtime.number))
		code->unread |= 1u << about->unread;
}

static struct unwind_vma describe_file(struct codemap *code, const struct mapping *map,
				       uint32_t number)
{
	struct unwind_vma vma = {.start = map->start, .limit = map->limit};
	const struct codefile *codefile;

	if (map->file == FILE_NONE)
		tablecache_build(code->rooms->tablecache, number);
	else if (code->is_eager)
		tablecache_build_ahead(code->rooms->tablecache, number);
	use(code, number);
	codefile = tablecache_at(code->rooms->tablecache, number);
	vma.table = tablecache_id(code->rooms->tablecache, number);
	if (codefile->is_built) {
		vma.bias = bias_of(codefile, map);
		vma.gap_by_fp = codefile->gap_by_fp;
		if (codefile->elf && codefile->elf->runtime.runtime)
			runtime_attach(&code->runtime, code->rooms->session, code->tgid,
				       &codefile->elf->runtime, vma.bias);
		if (codefile->elf)
			note_unread(code, &codefile->elf->runtime);
	}
	code->has_unbuilt = code->has_unbuilt || !codefile->is_built || codefile->is_closed;
	return vma;
}

/* A JVM's anonymous mapping may be parts of several heaps. */
static void describe(struct codemap *code, const struct mapping *map, struct vmas *vmas)
{
	struct unwind_vma vma = {.start = map->start, .limit = map->limit, .table = TABLE_NO_CFI};
	uint32_t number = number_of(code, map);

	if (number != NO_FILE)
		vma = describe_file(code, map, number);
	else if (code->jvm)
		jvm_describe(code->jvm, map->start, map->limit, &vma);
	else if (code->awaits_jvm)
		vma.table = TABLE_UNBUILT;
	vec_push(&vmas->all, vma);
	while (vma.limit < map->limit) {
		jvm_describe(code->jvm, vma.limit, map->limit, &vma);
		vec_push(&vmas->all, vma);
	}
}

static void vmas_release(struct vmas *vmas)
{
	vec_release(&vmas->all);
}

static int write_vmas(struct codemap *code)
{
	struct image *image = tasks_image(code->rooms->tasks, code->tgid, 0, clock_monotonic_ns());
	const struct mappings *mappings = &image->mappings;
	struct vmas vmas scoped(vmas_release) = {0};
	struct numbers before scoped(numbers_release) = code->used;
	int err;

	/* The new users first, so that a table that stays is not freed in between. */
	code->used = (struct numbers){0};
	code->has_unbuilt = false;
	code->unread = 0;
	find_jvm(code, mappings);
	/* [vsyscall] lies in the kernel's half, where BPF's search does not look. */
	for (size_t i = 0; i < mappings->now.nr && mappings->now.at[i].start < USER_LIMIT; i++)
		describe(code, &mappings->now.at[i], &vmas);
	err = session_set_vmas(
		code->rooms->session, code->tgid, vmas.all.at, vmas.all.nr, code->runtime.number,
		code->jvm ? jvm_counters(code->jvm) : (struct jvm_counters){0}, &code->run);
	if (err) /* those that it has refer to what is given back below */
		session_forget_vmas(code->rooms->session, code->tgid, &code->run);
	drop(code, &before);
	runtime_say_unread(code->unread, code->tgid, image->comm, code->rooms->unread_said);
	if (code->jvm)
		jvm_settle(code->jvm);
	code->is_dirty = false;
	return err;
}

int codemap_sync(struct codemap *code, bool has_news)
{
	return code->is_dirty || (has_news && code->has_unbuilt) ? write_vmas(code) : 0;
}

/* Rules ------------------------------------------------------------------------------------------ */

/* Is image what the process runs now? Only that image's memory can be read. */
static bool is_present(const struct codemap *code, const struct image *image)
{
	return image == tasks_image(code->rooms->tasks, code->tgid, 0, clock_monotonic_ns());
}

/* The rule for code in no file: a JVM's, or a gap. */
static void find_jit_rule(struct codemap *code, const struct image *image, uint64_t ip,
			  uint64_t time_ns, struct unwind_rule *rule)
{
	if (!is_present(code, image))
		return;
	if (code->is_dirty || code->awaits_jvm) {
		find_jvm(code, &image->mappings);
		code->is_dirty = code->is_dirty || code->jvm;
	}
	if (code->jvm)
		jvm_find(code->jvm, ip, time_ns, rule);
}

/* What is known of an address without a mapping. */
static enum code_known no_mapping(const struct image *image)
{
	return image->was_read || image->mappings.now.nr ? CODE_NONE : CODE_NOT_YET;
}

enum code_known codemap_rule(struct codemap *code, struct image *image, uint64_t ip,
			     uint64_t time_ns, struct unwind_rule *rule, bool *by_fp)
{
	struct tablecache *tablecache = code->rooms->tablecache;
	const struct mapping *map = tasks_mapping(code->rooms->tasks, image, ip, time_ns);
	const struct unwind_table *table;
	const struct codefile *codefile;
	uint32_t number;

	*rule = (struct unwind_rule){.kind = UNWIND_GAP};
	*by_fp = false;
	if (!map)
		return no_mapping(image);
	number = number_of(code, map);
	if (number == NO_FILE) {
		find_jit_rule(code, image, ip, time_ns, rule);
		return CODE_FOUND;
	}
	tablecache_build(tablecache, number);
	codefile = tablecache_at(tablecache, number);
	if (!codefile->is_built)
		return CODE_NOT_YET;
	table = tablecache_rules(tablecache, number);
	*by_fp = codefile->gap_by_fp;
	if (table)
		unwind_table_find(table, ip - bias_of(codefile, map), rule);
	return CODE_FOUND;
}

bool codemap_read(struct codemap *code, const struct image *image, uint64_t addr, void *to,
		  size_t len_bytes)
{
	struct opener *opener = files_opener(code->rooms->files);
	struct memory_piece piece = {.addr = addr, .to = to, .len_bytes = len_bytes};

	if (!is_present(code, image))
		return false;
	if (opener)
		opener_read(opener, code->tgid, &piece, 1);
	else
		remote_read(code->tgid, &piece, 1);
	return piece.was_read;
}

/* When to look for files of JIT symbols: soon after the start, then ever more rarely. */
static bool is_time_to_look(struct codemap *code)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns < code->look_due_ns)
		return false;
	code->look_rest_ns = code->look_rest_ns ? code->look_rest_ns * 2 : LOOK_REST_NS;
	if (code->look_rest_ns > LOOK_MAX_REST_NS)
		code->look_rest_ns = LOOK_MAX_REST_NS;
	code->look_due_ns = now_ns + code->look_rest_ns;
	return true;
}

void codemap_name(struct codemap *code, const struct record *record)
{
	const struct codemap_rooms *rooms = code->rooms;
	bool looks = is_time_to_look(code);
	struct image *image;

	if (!code->jvm && !looks)
		return;
	image = tasks_image(rooms->tasks, record->tgid, record->start_ns, record->time_ns);
	if (!is_present(code, image))
		return;
	if (looks)
		jitsymfiles_look(&image->jitsym_files, files_opener(rooms->files), code->tgid,
				 &image->mappings, tasks_names(rooms->tasks));
	if (!code->jvm)
		return;
	jvm_check(code->jvm, record);
	jvm_name(code->jvm, record, &image->jitsyms);
}
