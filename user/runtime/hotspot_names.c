// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which functions the code at an ip, or an interpreted frame, was of at a tick. It is read later than that, when the VM may have
 * put others in their place: so counts of what it unloads and collects (runtime/hotspotunload.h) are taken before, after, and at
 * the tick, and what they do not vouch for is said to be gone.
 */
#include "runtime/hotspot_state.h"

#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "runtime/hotspotscopes.h"
#include "stream.h"

#define MAX_METHOD_BYTES (8u << 20) /* that are kept */
#define WORD		 8
#define OWN_REST_TIMES	 100 /* what looking for the VM's own loaders took, until it is done again */

void hotspot_forget_methods(struct hotspot *vm)
{
	hotspot_methods_forget(&vm->methods);
}

static struct hotspot_frame frame_of(const struct hotspot_method *method, uint32_t line)
{
	return (struct hotspot_frame){method->name, method->file, line, method->start_line};
}

/* The methods of the scopes. false: one cannot be read. */
static bool name_scopes(struct hotspot *vm, const struct hotspot_scopes *scopes,
			struct hotspot_piece *piece)
{
	for (size_t i = 0; i < scopes->nr; i++) {
		const struct hotspot_method *method =
			hotspot_method(&vm->methods, scopes->at[i].method);

		if (!method)
			return false;
		piece->frames[i] = frame_of(
			method, hotspot_method_line(&vm->methods, method, scopes->at[i].bci));
	}
	piece->nr = scopes->nr;
	return piece->nr;
}

/* By what the compiler noted, else by the compiled method alone. */
static bool name_nmethod(struct hotspot *vm, const struct blob *blob, const struct raw_head *raw,
			 uint64_t ip, struct hotspot_piece *piece)
{
	const struct hotspot_method *method;
	struct hotspot_scopes scopes;

	if (hotspot_scopes_read(&vm->reader, raw, &blob->head, ip, &scopes)) {
		piece->start = scopes.start;
		piece->limit = scopes.limit;
		if (name_scopes(vm, &scopes, piece))
			return true;
	} else if (vm->reader.structs.fields[VM_NMETHOD_SCOPES_PCS].known) {
		piece->start = ip;
		piece->limit = ip + 1;
	}
	method = hotspot_method(&vm->methods, blob->head.method);
	if (!method)
		return false;
	piece->frames[0] = frame_of(method, 0);
	piece->nr = 1;
	return true;
}

/* By the VM's own name of its code. The interpreter's, where it executes no method's, has one that says so. */
static bool name_blob(struct hotspot *vm, const struct blob *blob, struct hotspot_piece *piece)
{
	if (blob->head.kind == BLOB_INTERPRETER)
		strcpy(vm->blob_name, "[interpreter]");
	else
		memory_string(vm->reader.memory, blob->head.name, vm->blob_name,
			      sizeof(vm->blob_name));
	piece->frames[0] = (struct hotspot_frame){.name = vm->blob_name, .file = ""};
	piece->nr = 1;
	return *vm->blob_name;
}

/* What was at ip at the last look and can have been run. NULL: nothing. */
static struct blob *find_code(struct hotspot *vm, uint64_t ip)
{
	struct blob *blob = NULL;

	vec_for_each(&vm->heaps, heap)
		if (ip - heap->shown.start < heap->shown.limit - heap->shown.start)
			blob = code_heap_find(heap, ip);
	return blob && blob->head.kind != BLOB_SCRATCH ? blob : NULL;
}

/* The line of the bytecode whose address has this lower half. A method that is being entered has the first one before it. */
static uint32_t line_of_word(const struct hotspot *vm, const struct hotspot_method *method,
			     uint64_t word)
{
	uint16_t bci = (uint16_t)((word & UNWIND_METHOD_BCP) - method->bytecodes);

	return hotspot_method_line(&vm->methods, method, word & UNWIND_METHOD_HAS_BCP ? bci : 0);
}

static uint64_t hash_of(const struct hotspot_piece *piece)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < piece->nr; i++) {
		const struct hotspot_frame *frame = &piece->frames[i];

		hash = hash_combine(hash_bytes(frame->name, strlen(frame->name), hash),
				    frame->line);
	}
	return hash;
}

/* Makes it the answer for one ip. false: the same was answered before. */
static bool put_answer(struct hotspot *vm, uint64_t word, uint64_t unloads,
		       struct hotspot_piece *piece)
{
	const struct answer *before = answers_find(&vm->answers, word);
	struct answer answer = {word, hash_of(piece), unloads};
	bool is_news = !before || before->value != answer.value;

	piece->start = word;
	piece->limit = word + 1;
	answers_put(&vm->answers, &answer);
	return is_news;
}

/* Nobody can know any more, unless what was answered last is of the same time. */
static bool put_gone(struct hotspot *vm, uint64_t word, const struct hotspot_tick *tick,
		     struct hotspot_piece *piece)
{
	const struct answer *answer = answers_find(&vm->answers, word);

	if (answer && answer->unloads && answer->unloads == tick->unloads)
		return false;
	piece->frames[0] = (struct hotspot_frame){.name = CODE_IS_GONE, .file = ""};
	piece->nr = 1;
	return put_answer(vm, word, 0, piece);
}

/* Is what was read until the count was `unloads` what was there at the tick? Also if no class was ever unloaded. */
static bool is_of_tick(uint64_t unloads, const struct hotspot_tick *tick)
{
	return unloads && (unloads == tick->unloads || unloads == UNWIND_UNLOADS(0));
}

/*
 * Looked for until all are found: programs begin with the first of them. Rarely where it takes long: a VM may have thousands, and where
 * pointers to classes have another form the three are never found.
 */
static const struct own_loaders *own_loaders(struct hotspot *vm)
{
	uint64_t began_ns = clock_monotonic_ns(), now_ns;

	if (vm->own.nr < MAX_OWN_LOADERS && began_ns >= vm->own_due_ns) {
		unloads_find_own(&vm->reader.structs, vm->reader.memory, &vm->own);
		now_ns = clock_monotonic_ns();
		vm->own_due_ns = now_ns + NSEC_PER_SEC + OWN_REST_TIMES * (now_ns - began_ns);
	}
	return &vm->own;
}

/* Was the Method there at the tick, because its class stays and it was there before? Notes that it is otherwise. */
static bool stays_since(struct hotspot *vm, uint64_t addr, const struct hotspot_tick *tick)
{
	const struct answer *stays = answers_find(&vm->answers, addr);

	if (stays)
		return stays->value <= tick->time_ns;
	if (unloads_never(&vm->reader.structs, vm->reader.memory, own_loaders(vm),
			  hotspot_method_class(&vm->methods, addr)))
		answers_put(&vm->answers,
			    &(struct answer){.word = addr, .value = clock_monotonic_ns()});
	return false;
}

/* Returns the count. What was read when it was another is forgotten. */
static uint64_t begin_reading(struct hotspot *vm)
{
	uint64_t unloads = unloads_read(vm->reader.memory, vm->counters.unloads_at);

	if (unloads != vm->methods_unloads)
		hotspot_methods_forget(&vm->methods);
	vm->methods_unloads = unloads;
	return unloads;
}

static bool take_interpreted(struct hotspot *vm, uint64_t word, const struct hotspot_tick *tick,
			     struct hotspot_piece *piece)
{
	uint64_t addr = unwind_method_addr(word, vm->reader.memory->arch == &arch_arm64), before,
		 unloads;
	const struct hotspot_method *method;

	before = begin_reading(vm);
	method = hotspot_method_is_listed(&vm->methods, addr) ? hotspot_method(&vm->methods, addr)
							      : NULL;
	unloads = unloads_read(vm->reader.memory, vm->counters.unloads_at);
	if (!method || before != unloads)
		return put_gone(vm, word, tick, piece);
	if (!is_of_tick(unloads, tick) && !stays_since(vm, addr, tick))
		return put_gone(vm, word, tick, piece);
	piece->frames[0] = frame_of(method, line_of_word(vm, method, word));
	piece->nr = 1;
	return put_answer(vm, word, tick->unloads, piece);
}

/* Was nothing collected since, or no class ever unloaded? */
static bool is_uncollected(const struct hotspot *vm, uint64_t unloads,
			   const struct hotspot_tick *tick)
{
	return unloads == UNWIND_UNLOADS(0) ||
	       unloads_read(vm->reader.memory, vm->counters.collections_at) == tick->collections;
}

/* The piece of its code. false: its name cannot be read. */
static bool name_code(struct hotspot *vm, const struct blob *blob, const struct raw_head *raw,
		      uint64_t ip, struct hotspot_piece *piece)
{
	piece->start = blob->head.code;
	piece->limit = blob->head.code_limit;
	return (blob->head.kind == BLOB_NMETHOD && blob->head.method &&
		name_nmethod(vm, blob, raw, ip, piece)) ||
	       name_blob(vm, blob, piece);
}

/*
 * Code has a number, so what was there before the tick and is there now was there at the tick. What was met later was, if no class
 * was unloaded since, and nothing collected, which also code goes by that is not used. (Before Java 20 a thread of its own makes
 * such room, when it is scarce.)
 */
static bool take_compiled(struct hotspot *vm, uint64_t ip, const struct hotspot_tick *tick,
			  struct hotspot_piece *piece)
{
	struct blob *blob = find_code(vm, ip);
	uint64_t before = begin_reading(vm), unloads;
	uint8_t bytes[HOTSPOT_HEADS_BYTES];
	struct raw_head raw;
	bool is_there = blob && blob_is_there(&vm->reader, blob, bytes, &raw), was_there, is_named;

	if (before == UNWIND_UNLOADS(0) && (!blob || (is_there && blob_was_named(blob, ip))))
		return false; /* nothing was here before it, so it is what comes next */
	is_named = is_there && name_code(vm, blob, &raw, ip, piece);
	unloads = unloads_read(vm->reader.memory, vm->counters.unloads_at);
	was_there = blob && blob->since_ns <= tick->time_ns;
	if (!is_named || before != unloads ||
	    (!was_there && !(is_of_tick(unloads, tick) && is_uncollected(vm, unloads, tick))))
		return put_gone(vm, ip, tick, piece);
	if (unloads != UNWIND_UNLOADS(0))
		return put_answer(vm, ip, tick->unloads, piece);
	blob_note_named(blob, piece->start, piece->limit);
	return true;
}

bool hotspot_take_piece(struct hotspot *vm, uint64_t ip, const struct hotspot_tick *tick,
			struct hotspot_piece *piece)
{
	if (vm->methods.bytes > MAX_METHOD_BYTES)
		hotspot_methods_forget(&vm->methods);
	return IP_IS_METHOD(ip) ? take_interpreted(vm, ip, tick, piece)
				: take_compiled(vm, ip, tick, piece);
}
