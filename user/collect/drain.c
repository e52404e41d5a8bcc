// SPDX-License-Identifier: BSD-2-Clause
/*
 * The order is what makes it exact:
 *
 *	flip the epoch			new ticks count in the other map
 *	wait for a grace period		ticks under way, which may have read the old epoch, are over
 *	empty the ring, aside		a record is sent before it is counted, so after this every id
 *					in the old map has been described
 *	deliver the side-band		(session.c) whatever led up to those records is in it: an exec
 *					is announced before the new image can be sampled
 *	deliver the records
 *	empty the old map		nobody writes it now
 *
 * BPF programs run inside RCU read-side sections, and MEMBARRIER_CMD_GLOBAL is, from user space, a
 * wait for an RCU grace period (kernel/sched/membarrier.c: synchronize_rcu()). It orders memory, too: of a program
 * that may have read what was there before it all writes are visible after it.
 */
#include "collect/drain.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/alloc.h"
#include "base/log.h"
#include "collect/lives.h"
#include "collect/shadowstack.h"
#include "cprof_abi.h"
#include "machine/pacmask.h"

#define BATCH 4096

/* Behind a copy, until its record is there. */
#define LAST_MESSAGES 64
/* Absorbed at most: what comes then waits in the ring, and BPF copies less. */
#define MOST_INCOMING_BYTES (32 << 20)

static const enum stack_end ends[] = {
#define X(id) [ABI_END_##id] = END_##id,
	ABI_STACK_ENDS(X)
#undef X
};
_Static_assert(STACK_COPY_BYTES == ABI_MAX_STACK_PIECES * ABI_STACK_PIECE_BYTES,
	       "both worlds agree");
_Static_assert(STACK_MAX_FRAMES == ABI_MAX_USER_FRAMES && STACK_LEAF_FRAMES == ABI_LEAF_FRAMES &&
		       IP_ELIDED == ABI_IP_ELIDED && IP_GUESSED == ABI_IP_GUESSED &&
		       IP_EXACT == ABI_IP_EXACT && IP_METHOD == UNWIND_METHOD_MARK &&
		       TABLE_UNBUILT == ABI_TABLE_UNBUILT && TABLE_NO_CFI == ABI_TABLE_NO_CFI,
	       "stream.h says what cprof_abi.h says");

/* Puts a message aside, in whole words. */
static void put_aside(struct drain *drain, const void *data, size_t len_bytes)
{
	size_t nr_words = (len_bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);
	const uint32_t *event = data;

	if (*event == ABI_EVENT_WAKE)
		return;
	vec_reserve(&drain->incoming, nr_words + 1);
	drain->incoming.at[drain->incoming.nr] = nr_words;
	memcpy(drain->incoming.at + drain->incoming.nr + 1, data, len_bytes);
	drain->incoming.nr += nr_words + 1;
}

static int on_message(void *ctx, void *data, size_t len_bytes)
{
	struct drain *drain = ctx;

	put_aside(drain, data, len_bytes);
	if (len_bytes >= drain->left_bytes)
		return -ENOBUFS;
	drain->left_bytes -= len_bytes;
	return 0;
}

/*
 * Reads until the ring is empty, or as much was read as fits into it: so all that was in it at the beginning. Processes
 * may go on filling it as fast as it is read. -errno.
 */
static int read_ring(struct drain *drain)
{
	int err;

	drain->left_bytes = drain->ring_bytes;
	err = ring_buffer__consume(drain->ring);
	return err < 0 && err != -ENOBUFS ? err : 0;
}

_Static_assert(STACK_NR_REGS == UNWIND_NR_REGS, "a leaf frame's registers");

static struct stack_copy stack_of(const struct abi_stack *stack)
{
	return (struct stack_copy){
		.ip = stack->ip,
		.sp = stack->sp,
		.fp = stack->fp,
		.extra = stack->extra,
		.ip_exact = stack->ip_exact,
		.extra_known = stack->extra_known,
		.sp_lost = stack->sp_lost,
		.pac_mask = pacmask_get(),
		.leaf = stack->has_leaf ? (const uint64_t *)stack->leaf : NULL,
	};
}

static const struct abi_stack *stack_at(const struct drain *drain, size_t i)
{
	return (const void *)(drain->messages.at + drain->stacks.at[i]);
}

/* What a copy is looked for by. */
struct copy_key {
	uint64_t id;
	uint32_t event;
};

static uint64_t code_of(const struct copy_key *key)
{
	return hash_combine(hash_u64(key->id), key->event);
}

static bool same_copy(const void *ctx, uint32_t value, const void *key)
{
	const struct drain *drain = ctx;
	const struct abi_stack *stack = stack_at(drain, drain->copies.at[value]);
	const struct copy_key *wanted = key;

	return stack->id == wanted->id && stack->event == wanted->event;
}

/* A piece of a copy, in the order of the ring. The last copy of an id for one purpose is the one that counts. */
static void add_stack(struct drain *drain, size_t position)
{
	const struct abi_stack *stack = (const void *)(drain->messages.at + position);
	const struct copy_key key = {stack->id, stack->event};
	uint32_t i;

	vec_push(&drain->stacks, position);
	if (stack->event != ABI_EVENT_SHADOW && stack->piece)
		return;
	i = hash_find(&drain->by_id, code_of(&key), same_copy, drain, &key);
	if (i != HASH_NONE) {
		drain->copies.at[i] = drain->stacks.nr - 1;
		return;
	}
	hash_insert(&drain->by_id, code_of(&key), drain->copies.nr);
	vec_push(&drain->copies, drain->stacks.nr - 1);
}

/*
 * The copy of a stack (event: for which purpose) that belongs to a record. Its pieces were sent just
 * before it, in their order, but other CPUs write too.
 */
static bool find_copy(const struct drain *drain, uint64_t id, uint32_t event,
		      struct drain_bytes *bytes, struct stack_copy *copy)
{
	const struct copy_key key = {id, event};
	const struct abi_stack *stack;
	uint32_t found = hash_find(&drain->by_id, code_of(&key), same_copy, drain, &key);
	uint32_t nr_pieces = 0;
	size_t hole;

	if (found == HASH_NONE)
		return false;
	*copy = stack_of(stack_at(drain, drain->copies.at[found]));
	bytes->nr = 0;
	for (size_t i = drain->copies.at[found]; i < drain->stacks.nr; i++) {
		stack = stack_at(drain, i);
		if (stack->id != id || stack->event != event)
			continue;
		if (stack->piece != nr_pieces++ || stack->sp - copy->sp < bytes->nr ||
		    stack->sp - copy->sp > STACK_COPY_BYTES)
			break; /* the ring had no room for what was in between */
		hole = stack->sp - copy->sp - bytes->nr;
		vec_reserve(bytes, hole + stack->len_bytes);
		memset(bytes->at + bytes->nr, 0, hole);
		bytes->nr += hole;
		memcpy(bytes->at + bytes->nr, stack->stack, stack->len_bytes);
		bytes->nr += stack->len_bytes;
		copy->is_cut = stack->has_more;
	}
	copy->bytes = bytes->at;
	copy->len_bytes = bytes->nr;
	return true;
}

/* The shadow stack that belongs to a record, which was sent just before it. */
static void find_shadow(struct drain *drain, uint64_t id, struct shadow_stack *shadow)
{
	const struct copy_key key = {id, ABI_EVENT_SHADOW};
	uint32_t found = hash_find(&drain->by_id, code_of(&key), same_copy, drain, &key);
	size_t position;

	if (found == HASH_NONE)
		return;
	position = drain->stacks.at[drain->copies.at[found]];
	shadowstack_read((const void *)(drain->messages.at + position),
			 drain->messages.at[position - 1] * sizeof(*drain->messages.at),
			 drain->shadow, shadow);
}

static void deliver_record(struct drain *drain, const struct abi_record *in,
			   const struct session_sink *sink)
{
	const uint64_t *ips = (const uint64_t *)in->ips; /* __u64 has another name */
	struct stack_copy copy, capture;
	struct record out = {
		.id = in->id,
		.tgid = in->tgid,
		.tid = in->tid,
		.start_ns = in->start_ns,
		.time_ns = in->time_ns,
		.size_bytes = in->size_bytes,
		.unloads = in->unloads,
		.collections = in->collections,
		.kernel_ips = ips,
		.nr_kernel = in->nr_kernel,
		.user_ips = ips + in->nr_kernel,
		.nr_user = in->nr_user,
		.end = in->user_end < ABI_NR_STACK_ENDS ? ends[in->user_end] : END_NO_RULE,
	};

	if (out.end == END_UNKNOWN_CODE &&
	    find_copy(drain, out.id, ABI_EVENT_STACK, &drain->copy, &copy))
		out.copy = &copy;
	if (find_copy(drain, out.id, ABI_EVENT_LEAF, &drain->capture, &capture))
		out.capture = &capture;
	find_shadow(drain, out.id, &out.shadow);
	memcpy(out.comm, in->comm, sizeof(out.comm));
	out.comm[sizeof(out.comm) - 1] = '\0';
	sink->record(sink->ctx, &out);
}

/* Is one of so many messages, the first of which is at, the record of this id? */
static bool has_record(const struct drain_words *messages, size_t at, uint64_t id)
{
	for (; at < messages->nr; at += messages->at[at] + 1) {
		const struct abi_record *record = (const void *)(messages->at + at + 1);

		if (record->event == ABI_EVENT_RECORD && record->id == id)
			return true;
	}
	return false;
}

/*
 * Makes what has come in what is delivered; more may come in meanwhile. A program may have sent a
 * copy, and not yet the record it belongs to: such copies stay, at the beginning of what is to come.
 * There are few programs under way, so only the last messages are looked at.
 */
static void take_incoming(struct drain *drain)
{
	struct drain_words done = drain->messages, *messages = &drain->messages;
	size_t tail[LAST_MESSAGES] = {0}, nr = 0;

	*messages = drain->incoming;
	drain->incoming = done;
	for (size_t at = 0; at < messages->nr; at += messages->at[at] + 1)
		tail[nr++ % LAST_MESSAGES] = at;
	for (size_t i = nr < LAST_MESSAGES ? 0 : nr - LAST_MESSAGES; i < nr; i++) {
		size_t at = tail[i % LAST_MESSAGES];
		const struct abi_stack *stack = (const void *)(messages->at + at + 1);

		if (stack->event != ABI_EVENT_RECORD && stack->event != ABI_EVENT_TEXT &&
		    !has_record(messages, at, stack->id))
			put_aside(drain, messages->at + at + 1,
				  messages->at[at] * sizeof(*messages->at));
	}
}

static void deliver_text(struct drain *drain, size_t at, const struct session_sink *sink)
{
	struct runtime_text text;

	if (sink->text &&
	    shadowstack_read_text((const void *)(drain->messages.at + at + 1),
				  drain->messages.at[at] * sizeof(*drain->messages.at), &text))
		sink->text(sink->ctx, &text);
}

static void deliver_messages(struct drain *drain, const struct session_sink *sink)
{
	take_incoming(drain);
	for (size_t at = 0; at < drain->messages.nr; at += drain->messages.at[at] + 1) {
		const struct abi_record *record = (const void *)(drain->messages.at + at + 1);

		if (record->event == ABI_EVENT_TEXT)
			deliver_text(drain, at, sink);
		else if (record->event != ABI_EVENT_RECORD)
			add_stack(drain, at + 1);
		else
			deliver_record(drain, record, sink);
	}
	drain->messages.nr = drain->stacks.nr = drain->copies.nr = 0;
	hash_release(&drain->by_id);
}

int drain_open(struct drain *drain, int events_fd, size_t ring_bytes, const int counts_fds[2],
	       bool keeps_lives, volatile uint32_t *epoch)
{
	drain->ring_bytes = ring_bytes;
	drain->counts_fds[0] = counts_fds[0];
	drain->counts_fds[1] = counts_fds[1];
	drain->epoch = epoch;
	drain->ids = xcalloc(BATCH, sizeof(*drain->ids));
	drain->keeps_lives = keeps_lives;
	drain->counts = xcalloc(BATCH, keeps_lives ? sizeof(struct abi_life_count)
						   : sizeof(struct abi_count));
	drain->ring = ring_buffer__new(events_fd, on_message, drain, NULL);
	return drain->ring ? 0 : fail(-errno, "cannot map the ring buffer of the BPF programs");
}

static void wait_for_running_programs(void)
{
	struct timespec tenth = {.tv_nsec = 100 * 1000 * 1000};

	/* nohz_full kernels refuse it: then wait longer than any tick's program runs. */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		nanosleep(&tenth, NULL);
}

void drain_absorb(struct drain *drain)
{
	if (drain->incoming.nr < MOST_INCOMING_BYTES / sizeof(*drain->incoming.at))
		read_ring(drain);
}

int drain_collect(struct drain *drain, bool is_last)
{
	int err;

	/* Else one that began before the end would read the new epoch, which nobody collects. */
	if (is_last)
		wait_for_running_programs();
	drain->old_epoch = *drain->epoch & 1;
	__atomic_store_n(drain->epoch, drain->old_epoch ^ 1, __ATOMIC_SEQ_CST);
	wait_for_running_programs();
	err = read_ring(drain);
	return err ? fail(err, "cannot read the ring buffer of the BPF programs") : 0;
}

/* Number i of a batch. */
static void deliver_count(const struct drain *drain, uint32_t i, const struct session_sink *sink)
{
	const struct abi_life_count *lives = drain->counts;
	const struct abi_count *plain = drain->counts;
	const struct abi_count *in = drain->keeps_lives ? &lives[i].count : &plain[i];
	struct count out = {
		.id = drain->ids[i], .nr_taken = in->nr_taken, .nr_freed = in->nr_freed};

	if (drain->keeps_lives)
		out.life = lives_of(&lives[i]);
	sink->count(sink->ctx, &out);
}

static int deliver_counts(struct drain *drain, const struct session_sink *sink)
{
	struct bpf_map_batch_opts opts = {.sz = sizeof(opts)};
	int fd = drain->counts_fds[drain->old_epoch], err;
	uint32_t position, nr;
	bool first = true;

	do {
		nr = BATCH;
		err = bpf_map_lookup_and_delete_batch(fd, first ? NULL : &position, &position,
						      drain->ids, drain->counts, &nr, &opts);
		if (err && err != -ENOENT)
			return fail(err, "cannot read the sample counts of the BPF programs");
		for (uint32_t i = 0; i < nr; i++)
			deliver_count(drain, i, sink);
		first = false;
	} while (!err);
	return 0;
}

int drain_deliver(struct drain *drain, const struct session_sink *sink)
{
	deliver_messages(drain, sink);
	return deliver_counts(drain, sink);
}

void drain_release(struct drain *drain)
{
	ring_buffer__free(drain->ring);
	vec_release(&drain->incoming);
	vec_release(&drain->messages);
	vec_release(&drain->stacks);
	vec_release(&drain->copies);
	hash_release(&drain->by_id);
	vec_release(&drain->copy);
	vec_release(&drain->capture);
	free(drain->ids);
	free(drain->counts);
}
