// SPDX-License-Identifier: BSD-2-Clause
/*
 * A generation of a table is unique over all workers: its upper half is the serial of the request that the JVM was first
 * read for. So main notices that another worker made other tables.
 */
#include "worker/jvms.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "runtime/hotspot.h"
#include "runtime/hotspotmethod.h"
#include "worker/memory.h"

_Static_assert(MESSAGE_NR_VARIABLES == VM_NR_VARIABLES, "main sends all of them");
_Static_assert((int)MESSAGE_MAX_HEAPS == (int)HOTSPOT_MAX_HEAPS, "a reply has all heaps");
_Static_assert(MESSAGE_METHOD_BYTES == HOTSPOT_NAME_BYTES, "and names as a whole");
_Static_assert(MESSAGE_MAX_FRAMES == HOTSPOT_MAX_FRAMES, "and all frames of a piece");

struct known_jvm {
	uint32_t key;
	uint64_t instance;
	uint64_t epoch; /* the upper half of generations */
	uint64_t variables[VM_NR_VARIABLES];
	struct target_memory memory; /* ctx: this, so it does not move */
	struct hotspot *vm;	     /* NULL: not opened yet */
	size_t memory_bytes;	     /* that vm takes */
	int memory_fd;		     /* of the request; borrowed */
	size_t nr_failed;	     /* reads of it, for the request */
};

struct jvms {
	vec_of(struct known_jvm *) all;
};

static void read_memory(void *ctx, struct memory_piece *pieces, size_t nr)
{
	struct known_jvm *jvm = ctx;

	jvm->nr_failed += memory_read_pieces(jvm->memory_fd, pieces, nr);
}

static uint64_t find_variable(void *ctx, const char *name)
{
	const struct known_jvm *jvm = ctx;

	for (size_t i = 0; i < VM_NR_VARIABLES; i++)
		if (!strcmp(vm_variables[i], name))
			return jvm->variables[i];
	return 0;
}

struct jvms *jvms_new(void)
{
	return xcalloc(1, sizeof(struct jvms));
}

static void forget(struct known_jvm *jvm)
{
	hotspot_free(jvm->vm);
	jvm->vm = NULL;
	jvm->memory_bytes = 0;
}

static void forget_all(struct jvms *jvms)
{
	vec_for_each(&jvms->all, jvm) {
		forget(*jvm);
		free(*jvm);
	}
	jvms->all.nr = 0;
}

void jvms_free(struct jvms *jvms)
{
	forget_all(jvms);
	vec_release(&jvms->all);
	free(jvms);
}

static size_t bytes_of_all(const struct jvms *jvms)
{
	size_t bytes = 0;

	vec_for_each(&jvms->all, jvm)
		bytes += (*jvm)->memory_bytes + sizeof(**jvm);
	return bytes;
}

static struct known_jvm *find(struct jvms *jvms, uint32_t key)
{
	struct known_jvm *jvm;

	vec_for_each(&jvms->all, known)
		if ((*known)->key == key)
			return *known;
	if (bytes_of_all(jvms) > JVMS_ALL_BYTES)
		forget_all(jvms);
	jvm = xcalloc(1, sizeof(*jvm));
	jvm->key = key;
	jvm->memory = (struct target_memory){read_memory, find_variable, jvm,
					     arch_of_machine(unwind_arch_here()->e_machine)};
	vec_push(&jvms->all, jvm);
	return jvm;
}

/* The JVM that a request is about. */
static struct known_jvm *meet(struct jvms *jvms, const struct message *request,
			      const struct message_jvm *about, int memory_fd)
{
	struct known_jvm *jvm = find(jvms, request->key);

	if (jvm->instance != about->instance)
		forget(jvm);
	if (!jvm->vm) {
		jvm->instance = about->instance;
		jvm->epoch = request->serial << 32;
		memcpy(jvm->variables, about->variables, sizeof(jvm->variables));
	}
	jvm->memory_fd = memory_fd;
	jvm->nr_failed = 0;
	return jvm;
}

static bool has_code(const struct hotspot *vm)
{
	for (size_t i = 0; i < hotspot_nr_heaps(vm); i++)
		if (hotspot_heap(vm, i)->start < hotspot_heap(vm, i)->limit)
			return true;
	return false;
}

/* Nothing of it is there: does it not exist, or can it not be read? */
static int why_not(const struct known_jvm *jvm, int err)
{
	return err == -EAGAIN && jvm->nr_failed ? -EIO : err;
}

/* *is_partial: some of it could not be read. */
static int look(struct known_jvm *jvm, size_t max_bytes, bool *is_partial)
{
	struct hotspot_stats stats;
	int err = hotspot_look(jvm->vm, max_bytes);

	if (err && !has_code(jvm->vm))
		return why_not(jvm, err);
	*is_partial = err;
	hotspot_stats(jvm->vm, &stats);
	jvm->memory_bytes = stats.memory_bytes;
	if (jvm->memory_bytes <= JVMS_MAX_BYTES)
		return 0;
	forget(jvm);
	return -EFBIG;
}

/* Looking ---------------------------------------------------------------------------------------- */

static uint64_t generation_of(const struct known_jvm *jvm, const struct hotspot_heap *heap)
{
	return heap->generation ? jvm->epoch | heap->generation : 0;
}

/* The heaps; then the tables that main does not have, as many as there is room for: it asks again for the others. */
static void append_heaps(const struct known_jvm *jvm, const struct message_jvm *about,
			 struct payload *payload)
{
	size_t nr = hotspot_nr_heaps(jvm->vm), first = payload->nr;
	struct message_heap heads[HOTSPOT_MAX_HEAPS] = {{0}};

	payload_append(payload, heads, nr * sizeof(heads[0]));
	for (size_t i = 0; i < nr; i++) {
		const struct hotspot_heap *heap = hotspot_heap(jvm->vm, i);
		size_t before = payload->nr;

		heads[i] = (struct message_heap){.start = heap->start,
						 .limit = heap->limit,
						 .reserved = heap->reserved,
						 .generation = generation_of(jvm, heap)};
		if (!heap->table || heads[i].generation == about->generations[i])
			continue;
		if (payload_append_table(payload, heap->table, MESSAGE_LOOK_BYTES - before)) {
			heads[i].generation = about->generations[i];
			continue;
		}
		heads[i].has_table = 1;
		heads[i].table_bytes = payload->nr - before;
	}
	memcpy(payload->at + first, heads, nr * sizeof(heads[0]));
}

static int append_missing(struct payload *payload, const char *missing)
{
	struct message_look look = {.missing = ""};

	strncpy(look.missing, missing, sizeof(look.missing) - 1);
	payload_append(payload, &look, sizeof(look));
	return 0;
}

static int answer_look(struct known_jvm *jvm, const struct message_jvm *about,
		       struct payload *payload, struct message *reply)
{
	const char *missing = "";
	struct hotspot_stats stats;
	bool is_partial = false;
	int err = jvm->vm ? 0 : hotspot_open(&jvm->memory, &jvm->vm, &missing);

	if (err && err != -EAGAIN)
		return append_missing(payload, missing);
	if (!err && about->what & MESSAGE_LOOK_READ)
		err = look(jvm, about->max_bytes, &is_partial);
	if (err)
		return why_not(jvm, err);
	if (about->what & MESSAGE_LOOK_PACK)
		hotspot_pack(jvm->vm);
	hotspot_stats(jvm->vm, &stats);
	payload_append(
		payload,
		&(struct message_look){.nr_blobs = stats.nr_blobs,
				       .nr_analyzed = stats.nr_analyzed,
				       .code_bytes = stats.code_bytes,
				       .is_partial = is_partial,
				       .is_changed = hotspot_is_changed(jvm->vm),
				       .unloads_at = hotspot_counters(jvm->vm).unloads_at,
				       .collections_at = hotspot_counters(jvm->vm).collections_at},
		sizeof(struct message_look));
	append_heaps(jvm, about, payload);
	reply->nr = hotspot_nr_heaps(jvm->vm);
	return 0;
}

/* Code ------------------------------------------------------------------------------------------- */

/* A worker that was not asked about the JVM before has to look first. */
static int get_ready(struct known_jvm *jvm)
{
	bool is_partial;
	int err;

	if (jvm->vm)
		return 0;
	err = hotspot_open(&jvm->memory, &jvm->vm, NULL);
	return err ? why_not(jvm, err) : look(jvm, 0, &is_partial);
}

static void append_row(struct payload *payload, uint32_t offset, const struct unwind_rule *rule)
{
	struct message_row row = {.offset = offset};

	memcpy(row.rule, rule, sizeof(row.rule));
	payload_append(payload, &row, sizeof(row));
}

/* Cuts code with more rows than a reply holds to the row for ip. */
static void cut_code(struct hotspot_code *code, uint64_t ip)
{
	size_t i = 0;

	while (i + 1 < code->nr_rows && code->start + code->rows[i + 1].offset <= ip)
		i++;
	if (i + 1 < code->nr_rows)
		code->limit = code->start + code->rows[i + 1].offset;
	code->start += code->rows[i].offset;
	code->rows += i;
	code->nr_rows = 1;
}

static int answer_code(struct known_jvm *jvm, uint64_t ip, struct payload *payload,
		       struct message *reply)
{
	struct hotspot_code code;

	if (!hotspot_code(jvm->vm, ip, &code))
		return -ENOENT;
	if (code.nr_rows > MESSAGE_MAX_ROWS)
		cut_code(&code, ip);
	payload_append(payload, &(struct message_code){code.start, code.limit},
		       sizeof(struct message_code));
	for (size_t i = 0; i < code.nr_rows; i++)
		append_row(payload, code.rows[i].offset - code.rows[0].offset, &code.rows[i].rule);
	reply->nr = code.nr_rows;
	return 0;
}

/* An answer in the making. */
struct methods {
	struct payload pieces, frames, texts;
};

static void methods_release(struct methods *methods)
{
	vec_release(&methods->pieces);
	vec_release(&methods->frames);
	vec_release(&methods->texts);
}

static void append_piece(struct methods *methods, const struct hotspot_piece *piece)
{
	payload_append(&methods->pieces,
		       &(struct message_method){piece->start, piece->limit, (uint32_t)piece->nr, 0},
		       sizeof(struct message_method));
	for (size_t i = 0; i < piece->nr; i++) {
		const struct hotspot_frame *from = &piece->frames[i];
		struct message_method_frame frame = {(uint32_t)strlen(from->name),
						     (uint32_t)strlen(from->file), from->line,
						     from->start_line};

		payload_append(&methods->frames, &frame, sizeof(frame));
		payload_append(&methods->texts, from->name, frame.name_bytes);
		payload_append(&methods->texts, from->file, frame.file_bytes);
	}
}

/* Room for one more piece in a reply? */
static bool has_room(const struct methods *methods)
{
	return methods->pieces.nr + methods->frames.nr + methods->texts.nr +
		       sizeof(struct message_method) +
		       MESSAGE_MAX_FRAMES *
			       (sizeof(struct message_method_frame) + 2 * MESSAGE_METHOD_BYTES) <=
	       MESSAGE_NAMES_BYTES;
}

static int answer_methods(struct known_jvm *jvm, const struct message_jvm *about,
			  const uint64_t *ips, uint32_t nr, struct payload *payload,
			  struct message *reply)
{
	struct methods methods scoped(methods_release) = {0};
	const struct hotspot_tick tick = {about->time_ns, about->unloads, about->collections};
	struct hotspot_piece piece;

	hotspot_forget_methods(jvm->vm);
	for (uint32_t i = 0; i < nr && has_room(&methods); i++) {
		if (!hotspot_take_piece(jvm->vm, ips[i], &tick, &piece))
			continue;
		append_piece(&methods, &piece);
		reply->nr++;
	}
	payload_append(payload, methods.pieces.at, methods.pieces.nr);
	payload_append(payload, methods.frames.at, methods.frames.nr);
	payload_append(payload, methods.texts.at, methods.texts.nr);
	return 0;
}

int jvms_answer(struct jvms *jvms, const struct message *request, const void *about, int memory_fd,
		struct payload *payload, struct message *reply)
{
	const uint64_t *ips = (const uint64_t *)((const struct message_jvm *)about + 1);
	struct known_jvm *jvm;
	int err;

	if (memory_fd < 0 || request->nr > MESSAGE_MAX_NAMES ||
	    request->len_bytes != sizeof(struct message_jvm) + request->nr * sizeof(*ips))
		return -EINVAL;
	jvm = meet(jvms, request, about, memory_fd);
	if (request->kind == MESSAGE_LOOK)
		return answer_look(jvm, about, payload, reply);
	err = get_ready(jvm);
	if (err)
		return err;
	if (request->kind == MESSAGE_CODE && request->nr == 1)
		return answer_code(jvm, ips[0], payload, reply);
	if (request->kind == MESSAGE_METHODS)
		return answer_methods(jvm, about, ips, request->nr, payload, reply);
	return -EINVAL;
}
