// SPDX-License-Identifier: BSD-2-Clause
/*
 * The worker reads the VM (sandbox/jvmparser.h); here is decided when it looks. A look costs a millisecond or so for each
 * ten thousand pieces of code, and more for what is new. Its occasions are
 *
 *	a sample in code that is not known, taken after the last look	(compiled since)
 *	a second without a look						(freed, and used again)
 *
 *	code that is gone when its name is asked for	(the same, noticed earlier)
 *	a stack that breaks off in the code cache	(the same, and other code is there already: its rules are not known)
 *
 * and between two there is a rest of several times what the last one took. A sample that was taken
 * before the last look and is in no code by it was in code that is gone: looking again does not help.
 * Code that lies idle is analyzed by and by, at looks of the second kind; what samples are in, at once.
 *
 * A question to the worker takes some 50 us, so what it said is kept: the tables, which BPF has too, and the rules of
 * pieces of code that are newer than these (feed/jvmcode.h).
 */
#include "feed/jvm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "feed/codemap.h"
#include "feed/jvmcode.h"
#include "feed/jvmheaps.h"
#include "process/opener.h"
#include "process/remote.h"
#include "sandbox/jvmparser.h"

#define REST_TIMES	 4 /* between looks for samples: at most a fifth of the time goes to them */
#define PACK_REST_TIMES	 20  /* between tables for BPF */
#define IDLE_REST_TIMES	 100 /* between others: a hundredth */
#define IDLE_INTERVAL_NS NSEC_PER_SEC
#define LOOK_BYTES	 (1u << 20) /* of code that is analyzed when it is time to look: 20 ms */
#define UNREAD_NS	 (2 * NSEC_PER_SEC) /* memory that cannot be read for this time is given up */
#define MOST_NAME_BYTES	 (32u << 20)
#define BREAK_REST_NS	 (NSEC_PER_SEC / 10) /* before a look for stacks that break off */
#define METHODS_NS \
	(NSEC_PER_SEC / 20) /* a method may be another one by then: its class was unloaded */

/* A part of the code cache as of the last look. */
struct code_range {
	uint64_t start, limit;
};

struct jvm {
	const struct codemap_rooms *rooms;
	struct jvm_subject subject;
	bool is_known;	  /* the worker has seen it */
	bool is_hopeless; /* and will not */
	bool is_changed;  /* some code has no table yet */
	bool has_news;	  /* vmas are to be written */
	struct code_range ranges[MESSAGE_MAX_HEAPS];
	struct jvmheaps heaps;
	struct jvmcode code;
	size_t name_bytes;
	uint64_t unread_ns;	/* since when its memory cannot be read; 0: it can */
	uint64_t looked_ns;	/* when the last look began that saw all */
	uint64_t rested_ns;	/* when the next one may, for a sample */
	uint64_t repack_ns;	/* when tables may be made again */
	uint64_t due_ns;	/* when it may for no reason */
	uint64_t named_ns;	/* since when names are not asked for twice */
	uint64_t named_unloads; /* and of samples with this count */
	struct jvm_counters counters;
};

/* libjvm's file is at hand now; its memory is read later. */
static void note_variables(struct jvm *jvm, uint32_t libjvm, uint64_t bias)
{
	uint64_t *ips = jvm->subject.variables;

	if (parser_variables(jvm->rooms->parser, libjvm, files_fd(jvm->rooms->files, libjvm), ips))
		return;
	for (size_t i = 0; i < MESSAGE_NR_VARIABLES; i++)
		if (ips[i])
			ips[i] += bias;
}

struct jvm *jvm_new(const struct codemap_rooms *rooms, uint32_t tgid, uint32_t libjvm,
		    uint64_t bias)
{
	struct jvm *jvm = xcalloc(1, sizeof(*jvm));

	jvm->rooms = rooms;
	jvm->subject.tgid = tgid;
	jvm->subject.instance = clock_monotonic_ns();
	jvm->subject.memory_fd = -1;
	note_variables(jvm, libjvm, bias);
	return jvm;
}

void jvm_settle(struct jvm *jvm)
{
	jvmheaps_settle(&jvm->heaps, jvm->rooms->tablecache);
}

void jvm_free(struct jvm *jvm)
{
	if (!jvm)
		return;
	jvmheaps_release(&jvm->heaps, jvm->rooms->tablecache);
	jvmcode_clear(&jvm->code);
	closep(&jvm->subject.memory_fd);
	free(jvm);
}

/* Asking ----------------------------------------------------------------------------------------- */

/* Can the worker be asked now? */
static bool may_ask(struct jvm *jvm)
{
	struct opener *opener = files_opener(jvm->rooms->files);

	if (jvm->is_hopeless || !tablecache_may_ask(jvm->rooms->tablecache))
		return false;
	if (jvm->subject.memory_fd < 0)
		jvm->subject.memory_fd = opener ? opener_memory(opener, jvm->subject.tgid)
						: remote_open(jvm->subject.tgid);
	return jvm->subject.memory_fd >= 0;
}

/* What the worker, or this process where it is a thread of it, worked since then. */
static uint64_t took_ns(const struct jvm *jvm, uint64_t began_ns, uint64_t began_cpu_ns)
{
	uint64_t cpu_ns = parser_cpu_ns(jvm->rooms->parser);

	return cpu_ns > began_cpu_ns ? cpu_ns - began_cpu_ns : clock_monotonic_ns() - began_ns;
}

static void give_up(struct jvm *jvm)
{
	jvm->is_hopeless = jvm->has_news = true;
}

/* Can its memory not be read for long? */
static bool is_unread(struct jvm *jvm)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!jvm->unread_ns)
		jvm->unread_ns = now_ns;
	return now_ns - jvm->unread_ns >= UNREAD_NS;
}

/* There is no answer: is there one later? */
static void on_failure(struct jvm *jvm, int err)
{
	switch (err) {
	case -EIO:
		if (!is_unread(jvm))
			return;
		/* fall through */
	case -EFBIG:
		parser_leave_out_jvm(jvm->rooms->parser, jvm->subject.tgid, err);
		/* fall through */
	case -ETIME: /* it was left out */
	case -EPIPE:
	case -EBADMSG:
		detail("JVM %u: its memory is not read any more: %s", jvm->subject.tgid,
		       strerror(-err));
		give_up(jvm);
		break;
	default:
		jvm->unread_ns = 0;
	}
}

static void place_heaps(struct jvm *jvm, struct reply_look *look)
{
	for (size_t i = 0; i < look->nr_heaps; i++) {
		struct reply_heap *heap = &look->heaps[i];

		jvm->ranges[i] = (struct code_range){heap->start, heap->reserved};
		jvm->has_news |= jvmheaps_place(&jvm->heaps, jvm->rooms->tablecache, i, heap);
	}
}

static void on_first_look(struct jvm *jvm, const struct reply_look *look, uint64_t took)
{
	jvm->is_known = true;
	if (*look->missing)
		give_up(jvm);
	if (jvm->is_hopeless)
		detail("JVM %u: its compiled code is unwound by frame pointers, since %s is "
		       "missing",
		       jvm->subject.tgid, look->missing);
	else
		detail("JVM %u: %zu code blobs, %zu KB; %zu of them analyzed in %.1f ms",
		       jvm->subject.tgid, look->nr_blobs, look->code_bytes / 1024,
		       look->nr_analyzed, took / 1e6);
}

static void set_times(struct jvm *jvm, const struct jvm_wish *wish, uint64_t took)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (wish->what & MESSAGE_LOOK_PACK)
		jvm->repack_ns = now_ns + PACK_REST_TIMES * took;
	if (!(wish->what & MESSAGE_LOOK_READ))
		return;
	if (!wish->max_bytes)
		jvm->rested_ns = now_ns + REST_TIMES * took;
	jvm->due_ns = now_ns + IDLE_REST_TIMES * took + IDLE_INTERVAL_NS;
}

static void ask(struct jvm *jvm, struct jvm_wish *wish)
{
	uint64_t began_ns = clock_monotonic_ns(), began_cpu_ns, took;
	struct reply_look look scoped(reply_look_release) = {0};
	int err;

	if (!may_ask(jvm))
		return;
	jvmheaps_generations(&jvm->heaps, wish->generations);
	began_cpu_ns = parser_cpu_ns(jvm->rooms->parser);
	err = parser_look(jvm->rooms->parser, &jvm->subject, wish, &look);
	took = took_ns(jvm, began_ns, began_cpu_ns);
	set_times(jvm, wish, took);
	if (err)
		return on_failure(jvm, err);
	jvm->unread_ns = 0;
	if (wish->what & MESSAGE_LOOK_READ && !look.is_partial)
		jvm->looked_ns = began_ns;
	if (!jvm->is_known)
		on_first_look(jvm, &look, took);
	if (look.is_changed || wish->what & MESSAGE_LOOK_PACK)
		jvmcode_clear(&jvm->code);
	jvm->is_changed = look.is_changed;
	if (jvm->counters.unloads_at != look.counters.unloads_at)
		jvm->has_news = true;
	jvm->counters = look.counters;
	place_heaps(jvm, &look);
}

/* A heap's table is made anew for whatever is new in it, and a heap may be large: so not too often. */
bool jvm_sync(struct jvm *jvm, bool look_now)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct jvm_wish wish = {0};
	bool has_news;

	if (look_now || now_ns >= jvm->due_ns)
		wish = (struct jvm_wish){.what = MESSAGE_LOOK_READ, .max_bytes = LOOK_BYTES};
	if (now_ns >= jvm->repack_ns && (wish.what || jvm->is_changed))
		wish.what |= MESSAGE_LOOK_PACK;
	if (wish.what)
		ask(jvm, &wish);
	has_news = jvm->has_news;
	jvm->has_news = false;
	return has_news;
}

struct jvm_counters jvm_counters(const struct jvm *jvm)
{
	return jvm->counters;
}

/* Rules ------------------------------------------------------------------------------------------ */

static bool is_in_code(const struct jvm *jvm, uint64_t ip)
{
	for (size_t i = 0; i < MESSAGE_MAX_HEAPS; i++)
		if (ip - jvm->ranges[i].start < jvm->ranges[i].limit - jvm->ranges[i].start)
			return true;
	return false;
}

/* Asks for the code at ip, which is noted. */
static void ask_code(struct jvm *jvm, uint64_t ip)
{
	struct reply_code *piece = NULL;
	int err;

	if (!may_ask(jvm))
		return;
	err = parser_code(jvm->rooms->parser, &jvm->subject, ip, &piece);
	if (!err && ip - piece->start < piece->limit - piece->start) {
		jvmcode_add(&jvm->code, piece);
		jvm->is_changed = true;
		return;
	}
	free(piece);
	if (!err || err == -ENOENT)
		jvmcode_add_unknown(&jvm->code, ip);
	else
		on_failure(jvm, err);
}

/* Is the rule known? May ask for it. */
static bool find_now(struct jvm *jvm, uint64_t ip, struct unwind_rule *rule)
{
	struct unwind_rule found = {.kind = UNWIND_UNKNOWN};

	if (!is_in_code(jvm, ip))
		return false;
	if (!jvmcode_find(&jvm->code, ip, &found) && !jvmheaps_find(&jvm->heaps, ip, &found)) {
		ask_code(jvm, ip);
		jvmcode_find(&jvm->code, ip, &found);
	}
	if (found.kind == UNWIND_UNKNOWN)
		return false;
	*rule = found;
	return true;
}

void jvm_find(struct jvm *jvm, uint64_t ip, uint64_t time_ns, struct unwind_rule *rule)
{
	struct jvm_wish wish = {.what = MESSAGE_LOOK_READ};

	if (find_now(jvm, ip, rule) || jvm->is_hopeless || time_ns <= jvm->looked_ns ||
	    clock_monotonic_ns() < jvm->rested_ns)
		return;
	ask(jvm, &wish);
	find_now(jvm, ip, rule);
}

/* Names ------------------------------------------------------------------------------------------ */

static size_t text_bytes(const struct reply_method *method)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < method->nr_frames; i++)
		bytes += strlen(method->frames[i].name) + strlen(method->frames[i].file);
	return bytes;
}

/* What a sample was in has gone from the code cache, so other code may be there, by tables that are not its own. */
static bool is_gone(const struct reply_method *method)
{
	return !IP_IS_METHOD(method->start) && !strcmp(method->frames[0].name, CODE_IS_GONE);
}

/* Looks as soon as a table may be made again, and not before at_ns. */
static void look_by(struct jvm *jvm, uint64_t at_ns)
{
	if (at_ns < jvm->repack_ns)
		at_ns = jvm->repack_ns;
	if (at_ns < jvm->due_ns)
		jvm->due_ns = at_ns;
}

/* May the walk have gone by the rules of other code? A step by wrong rules leads to no code, so it is the last but one. */
static bool breaks_off_in_code(const struct jvm *jvm, const struct record *record)
{
	uint32_t first = record->nr_user > 2 ? record->nr_user - 2 : 0;

	switch (record->end) {
	case END_ROOT:
	case END_NO_USER:
	case END_TOO_DEEP:
	case END_BEYOND_COPY:
	case END_UNKNOWN_CODE:
	case END_NO_REGISTERS:
	case END_FOREIGN:
		return false;
	default:
		for (uint32_t i = first; i < record->nr_user; i++)
			if (is_in_code(jvm, IP_ADDRESS(record->user_ips[i])))
				return true;
		return false;
	}
}

void jvm_check(struct jvm *jvm, const struct record *record)
{
	if (record->time_ns > jvm->looked_ns && breaks_off_in_code(jvm, record))
		look_by(jvm, jvm->looked_ns + BREAK_REST_NS);
}

static void add_names(struct jvm *jvm, const struct reply_method *methods, size_t nr,
		      uint64_t time_ns, struct jitsyms *code)
{
	struct jitframe frames[MESSAGE_MAX_FRAMES];

	for (size_t i = 0; i < nr && jvm->name_bytes < MOST_NAME_BYTES; i++) {
		const struct reply_method *method = &methods[i];
		size_t nr_names = strtab_nr(&code->names);

		if (is_gone(method))
			look_by(jvm, 0);
		for (uint32_t k = 0; k < method->nr_frames; k++) {
			const struct reply_method_frame *frame = &method->frames[k];

			frames[k] = (struct jitframe){frame->name, frame->file, frame->line,
						      frame->start_line};
		}
		jitsyms_add_frames(code, method->start, method->limit, time_ns, frames,
				   method->nr_frames);
		jvm->name_bytes +=
			sizeof(struct jitsym) + method->nr_frames * sizeof(struct jitname);
		if (strtab_nr(&code->names) > nr_names)
			jvm->name_bytes += text_bytes(method);
	}
}

void jvm_name(struct jvm *jvm, const struct record *record, struct jitsyms *code)
{
	const struct jvm_sample sample = {record->time_ns, record->unloads, record->collections};
	const uint64_t *ips = record->user_ips;
	struct reply_method *methods scoped(freep) = NULL;
	uint64_t asked[MESSAGE_MAX_NAMES];
	size_t nr_asked = 0, nr_methods;
	int err;

	if (clock_monotonic_ns() - jvm->named_ns > METHODS_NS ||
	    record->unloads != jvm->named_unloads) {
		jvmcode_forget_names(&jvm->code);
		jvm->named_ns = clock_monotonic_ns();
		jvm->named_unloads = record->unloads;
	}
	for (uint32_t i = 0; i < record->nr_user && nr_asked < MESSAGE_MAX_NAMES; i++) {
		bool is_method = IP_IS_METHOD(ips[i]);
		uint64_t ip = is_method ? ips[i] : ip_named(ips[i], i > 0);

		if ((is_method || is_in_code(jvm, ip)) && jvmcode_asks_name(&jvm->code, ip))
			asked[nr_asked++] = ip;
	}
	if (!nr_asked || !may_ask(jvm))
		return;
	err = parser_methods(jvm->rooms->parser, &jvm->subject, &sample, asked, nr_asked, &methods,
			     &nr_methods);
	if (err)
		on_failure(jvm, err);
	else
		add_names(jvm, methods, nr_methods, record->time_ns, code);
}

/* Vmas ------------------------------------------------------------------------------------------- */

void jvm_describe(const struct jvm *jvm, uint64_t start, uint64_t limit, struct unwind_vma *vma)
{
	bool is_waited_for = !jvm->heaps.placed.nr && !jvm->is_hopeless;

	*vma = (struct unwind_vma){.start = start,
				   .limit = limit,
				   .table = is_waited_for ? TABLE_UNBUILT : TABLE_NO_CFI};
	jvmheaps_describe(&jvm->heaps, vma);
}
