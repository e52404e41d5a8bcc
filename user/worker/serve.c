// SPDX-License-Identifier: BSD-2-Clause
/*
 * One request after the other, so there is no state but the files and the JVMs. The worker believes main, but checks what would have it
 * read out of bounds: that costs nothing.
 *
 * Replies are put together in one block before they are sent: a table of 18 MB is copied once more for that, in 5 ms.
 */
#include "worker/serve.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "object/altlink.h"
#include "object/debuglink.h"
#include "object/dynsym.h"
#include "object/gopclntab.h"
#include "object/gotslots.h"
#include "object/object.h"
#include "probes/allocator.h"
#include "runtime/loop.h"
#include "runtime/perl.h"
#include "runtime/php.h"
#include "runtime/unread.h"
#include "runtime/v8.h"
#include "runtime/python.h"
#include "runtime/ruby.h"
#include "runtime/vmstructs.h"
#include "sandbox/transfer.h"
#include "unwind/tablebuild.h"
#include "worker/addrnames.h"
#include "worker/jvms.h"
#include "worker/lines.h"
#include "worker/jitsyms.h"
#include "worker/names.h"
#include "worker/payload.h"
#include "worker/functions.h"
#include "worker/splits.h"

struct worker {
	int socket;
	struct objects *objects;
	vec_of(int) fds; /* the objects' */
	vec_of(uint32_t) keys;
	struct addrnames addrnames;
	struct jvms *jvms;
	struct lines lines;
	struct payload payload; /* of the reply */
};

static void append(struct worker *worker, const void *bytes, size_t len_bytes)
{
	payload_append(&worker->payload, bytes, len_bytes);
}

static void forget_all(struct worker *worker)
{
	addrnames_forget(&worker->addrnames);
	lines_forget(&worker->lines);
	objects_free(worker->objects);
	worker->objects = objects_new();
	vec_for_each(&worker->fds, fd)
		closep(fd);
	worker->fds.nr = worker->keys.nr = 0;
}

/* The object of key, which may be behind *fd; takes that over where it is new. NULL: there is none. */
static struct object *find_object(struct worker *worker, uint32_t key, int *fd)
{
	if (key == MESSAGE_VDSO)
		return objects_vdso(worker->objects);
	vec_for_each(&worker->keys, known)
		if (*known == key)
			return objects_get(worker->objects, key, -1);
	if (*fd < 0)
		return NULL;
	if (worker->keys.nr == SERVE_MAX_FILES)
		forget_all(worker);
	vec_push(&worker->keys, key);
	vec_push(&worker->fds, *fd);
	*fd = -1;
	return objects_get(worker->objects, key, worker->fds.at[worker->fds.nr - 1]);
}

/* Answers ---------------------------------------------------------------------------------------- */

_Static_assert((int)MESSAGE_NR_UNREAD == (int)NR_UNREAD_RUNTIMES, "the same list");

static void put_pieces(const struct loop_piece *pieces, uint64_t ranges[MESSAGE_MAX_LOOPS][2])
{
	_Static_assert(LOOP_MAX_PIECES == MESSAGE_MAX_LOOPS, "all of them are sent");
	for (size_t i = 0; i < LOOP_MAX_PIECES; i++) {
		ranges[i][0] = pieces[i].start;
		ranges[i][1] = pieces[i].limit;
	}
}

static void describe_runtime(struct object *object, struct message_runtime *about)
{
	struct loop_piece loops[LOOP_MAX_PIECES] = {{0}};
	struct python_file python;
	struct ruby_file ruby;

	if (python_find(object, &python)) {
		about->runtime = ABI_RUNTIME(ABI_RUNTIME_PYTHON, python.layout.version);
		about->layout.python = python.layout;
		put_pieces(python.loops, about->loops);
	} else if (php_find(object, &about->layout.php)) {
		about->runtime = ABI_RUNTIME(ABI_RUNTIME_PHP, about->layout.php.version);
		loop_find(object, "execute_ex", loops);
		put_pieces(loops, about->loops);
	} else if (perl_find(object, &about->layout.perl)) {
		about->runtime = ABI_RUNTIME(ABI_RUNTIME_PERL, about->layout.perl.version);
		loop_find(object, PERL_LOOP, loops);
		put_pieces(loops, about->loops);
	} else if (ruby_find(object, &ruby)) {
		about->runtime = ABI_RUNTIME(ABI_RUNTIME_RUBY, ruby.layout.version);
		about->layout.ruby = ruby.layout;
		put_pieces(ruby.loops.exec, about->loops);
		put_pieces(ruby.loops.core, about->inner);
	} else if (v8_find(object, &about->layout.v8)) {
		about->runtime = ABI_RUNTIME(ABI_RUNTIME_V8, about->layout.v8.version);
		return; /* and so none that is not read */
	}
	about->unread = unread_find(object);
}

static int answer_file(struct worker *worker, struct object *object, struct message *reply)
{
	const struct elf_file *elf = object_elf(object);
	struct segments segments = elf_file_segments(elf);
	struct message_file about = {0};
	struct debuglink link;
	struct altlink alt;
	struct elf_section section;

	_Static_assert(ALTLINK_PATH_BYTES == MESSAGE_ALT_BYTES &&
			       BUILD_ID_HEX_BYTES <= MESSAGE_BUILD_ID_BYTES,
		       "what is read may be sent");

	/* Go's compiler keeps frame pointers in everything it makes, and writes no .eh_frame. */
	about.is_go = gopclntab_is_there(elf);
	describe_runtime(object, &about.runtime);
	if (elf_file_section(elf, ".interp", &section) && section.bytes)
		snprintf(about.interp, sizeof(about.interp), "%.*s", (int)section.len_bytes,
			 (const char *)section.bytes);
	if (!altlink_read(elf, &alt)) {
		memcpy(about.altlink, alt.path, sizeof(about.altlink));
		memcpy(about.altlink_id, alt.id, sizeof(alt.id));
	}
	if (!debuglink_read(elf, &link)) {
		memcpy(about.debuglink, link.name, sizeof(about.debuglink));
		about.debuglink_crc = link.crc;
	}
	strncpy(about.build_id, object_build_id(object), sizeof(about.build_id) - 1);
	append(worker, &about, sizeof(about));
	for (size_t i = 0; i < segments.nr; i++) {
		const struct elf_segment *segment = &segments.at[i];

		append(worker,
		       &(struct message_segment){segment->elf_addr, segment->mem_bytes,
						 segment->file_off, segment->file_bytes,
						 segment->executable},
		       sizeof(struct message_segment));
	}
	reply->nr = segments.nr;
	return 0;
}

/* The descriptor of a file that find_object() has found. -1: it is the vdso. */
static int fd_of(const struct worker *worker, uint32_t key)
{
	for (size_t i = 0; i < worker->keys.nr; i++)
		if (worker->keys.at[i] == key)
			return worker->fds.at[i];
	return -1;
}

/* What the code of another machine would mean here is nonsense; its names may be read. */
static bool is_of_this_machine(const struct object *object)
{
	const struct arch *arch = elf_file_arch(object_elf(object));

	return arch && arch->machine == unwind_arch_here()->e_machine;
}

static int answer_sites(struct worker *worker, struct object *object, struct message *reply)
{
	struct allocator allocator = {0};

	if (is_of_this_machine(object))
		allocator_find(object, fd_of(worker, reply->key), &allocator);
	append(worker, &(struct message_sites){allocator.is_go, allocator.is_nameless},
	       sizeof(struct message_sites));
	for (size_t i = 0; i < allocator.nr; i++) {
		const struct alloc_site *from = &allocator.sites[i];
		struct message_site site = {.file_off = from->file_off,
					    .semaphore_off = from->semaphore_off,
					    .shape = from->shape,
					    .is_leaf = from->is_leaf,
					    .offset = allocator.offsets[i]};

		strncpy(site.function, allocator.names[i], sizeof(site.function) - 1);
		append(worker, &site, sizeof(site));
	}
	reply->nr = allocator.nr;
	return 0;
}

/* Opens the file a second time, so that the megabytes of .eh_frame are freed when that is closed. */
static int answer_table(struct worker *worker, struct object *object)
{
	struct unwind_table *table = NULL;
	struct elf_file *again;
	int err = is_of_this_machine(object) ? elf_file_reopen(object_elf(object), &again)
					     : -ENOEXEC;

	if (err)
		return err;
	err = unwind_table_from_elf(again, &table);
	elf_file_close(again);
	if (!err)
		err = payload_append_table(&worker->payload, table, MESSAGE_TABLE_BYTES);
	if (table)
		addrnames_keep(&worker->addrnames, object, &table->starts);
	unwind_table_free(table);
	return err;
}

/* payload: what is asked for, the companion that is needed, the time there is for lines, the addresses. */
static int answer_names(struct worker *worker, struct object *object, const uint64_t *payload,
			struct message *reply)
{
	const uint64_t *elf_addrs = payload + MESSAGE_NAMES_ABOUT;
	struct names *names;
	int err = lines_use_companion(&worker->lines, payload[1]);

	if (err)
		return err;
	lines_limit(&worker->lines, payload[2]);
	names = names_new(*payload, reply->nr);
	if (names_wants_lines(names))
		lines_find(&worker->lines, object, elf_addrs, reply->nr,
			   *payload & MESSAGE_NAMES_INLINED, names);
	for (uint32_t i = 0; i < reply->nr; i++) {
		struct names_symbol found = {0};

		addrnames_find(&worker->addrnames, object, elf_addrs[i], &found);
		if (!names_add(names, &found))
			break;
	}
	reply->nr = names_finish(names, &worker->payload);
	names_free(names);
	return 0;
}

static int answer_variables(struct worker *worker, struct object *object, struct message *reply)
{
	for (; reply->nr < VM_NR_VARIABLES; reply->nr++) {
		uint64_t elf_addr;

		if (!dynsym_variable(object_elf(object), vm_variables[reply->nr], &elf_addr))
			elf_addr = 0;
		append(worker, &elf_addr, sizeof(elf_addr));
	}
	return 0;
}

static int answer_crc(struct worker *worker, struct message *reply)
{
	uint32_t crc;
	int err = debuglink_crc(fd_of(worker, reply->key), &crc);

	if (err)
		return err;
	append(worker, &(uint64_t){crc}, sizeof(uint64_t));
	reply->nr = 1;
	return 0;
}

static int answer_slots(struct worker *worker, struct object *object, struct message *reply)
{
	struct gotslots slots = {0};

	_Static_assert(GOTSLOTS_MAX == MESSAGE_MAX_SLOTS &&
			       GOTSLOTS_NAME_BYTES == MESSAGE_SLOT_NAME_BYTES,
		       "what is found is what may be sent");
	gotslots_read(&slots, object_elf(object));
	vec_for_each(&slots.all, slot)
		append(worker,
		       &(struct message_slot){slot->elf_addr, slot->initial, slot->name_bytes, 0},
		       sizeof(struct message_slot));
	vec_for_each(&slots.all, slot)
		append(worker, slot->name, slot->name_bytes);
	reply->nr = slots.all.nr;
	gotslots_release(&slots);
	return 0;
}

/* payload: the companion that is needed, the addresses. */
static int answer_splits(struct worker *worker, struct object *object, const uint64_t *payload,
			 size_t nr)
{
	int err = lines_use_companion(&worker->lines, *payload);

	if (!err)
		splits_answer(&worker->lines, object, payload + MESSAGE_SPLITS_ABOUT, nr,
			      &worker->payload);
	return err;
}

/* As the kernel reads it (binfmt_script): 256 bytes, of which the name ends at a blank. */
static int answer_script(struct worker *worker, int fd)
{
	struct message_script script = {{0}};
	char line[MESSAGE_INTERP_BYTES], *name = line + 2;
	ssize_t len = pread(fd, line, sizeof(line) - 1, 0);

	if (len < 3 || memcmp(line, "#!", 2))
		return -ENOEXEC;
	line[len] = '\0';
	name += strspn(name, " \t");
	name[strcspn(name, " \t\n")] = '\0';
	if (!*name)
		return -ENOEXEC;
	strcpy(script.interp, name);
	append(worker, &script, sizeof(script));
	return 0;
}

static int answer_companion(struct worker *worker, const struct message *request,
			    const void *payload, int *fd)
{
	struct message_companion about;

	if (request->len_bytes != sizeof(about))
		return -EINVAL;
	memcpy(&about, payload, sizeof(about));
	about.id[sizeof(about.id) - 1] = '\0';
	return lines_keep_companion(&worker->lines, &about, fd);
}

/* Requests --------------------------------------------------------------------------------------- */

static int answer(struct worker *worker, const struct message *request, const void *payload,
		  int *fd, struct message *reply)
{
	struct object *object;

	if (request->kind == MESSAGE_PERF_MAP || request->kind == MESSAGE_JITDUMP)
		return jitsyms_answer(request, payload, *fd, &worker->payload, reply);
	if (request->kind == MESSAGE_COMPANION)
		return answer_companion(worker, request, payload, fd);
	if (request->kind == MESSAGE_SCRIPT)
		return answer_script(worker, *fd);
	if (request->kind == MESSAGE_FUNCTION)
		return functions_answer(request, payload, &worker->payload, reply);
	if (request->kind >= MESSAGE_LOOK && request->kind != MESSAGE_SPLITS)
		return jvms_answer(worker->jvms, request, payload, *fd, &worker->payload, reply);
	object = find_object(worker, request->key, fd);
	if (!object)
		return -EBADF;
	if (object_error(object) || !object_elf(object))
		return -ENOEXEC;
	switch (request->kind) {
	case MESSAGE_FILE:
		return answer_file(worker, object, reply);
	case MESSAGE_TABLE:
		return answer_table(worker, object);
	case MESSAGE_SITES:
		return answer_sites(worker, object, reply);
	case MESSAGE_NAMES:
		if (!request->nr || request->nr > MESSAGE_MAX_NAMES ||
		    request->len_bytes != (MESSAGE_NAMES_ABOUT + request->nr) * sizeof(uint64_t))
			return -EINVAL;
		reply->nr = request->nr;
		return answer_names(worker, object, payload, reply);
	case MESSAGE_SPLITS:
		if (!request->nr || request->nr > MESSAGE_MAX_NAMES ||
		    request->len_bytes != (MESSAGE_SPLITS_ABOUT + request->nr) * sizeof(uint64_t))
			return -EINVAL;
		reply->nr = request->nr;
		return answer_splits(worker, object, payload, reply->nr);
	case MESSAGE_CRC:
		return answer_crc(worker, reply);
	case MESSAGE_SLOTS:
		return answer_slots(worker, object, reply);
	case MESSAGE_VARIABLES:
		return answer_variables(worker, object, reply);
	default:
		return -EINVAL;
	}
}

/* false: there is nobody to answer. */
static bool serve_one(struct worker *worker)
{
	uint64_t payload[(MESSAGE_REQUEST_BYTES) / sizeof(uint64_t)]; /* aligned */
	struct message request, reply;
	int fd scoped(closep) = -1;

	if (transfer_receive(worker->socket, &request, sizeof(request), &fd, NULL) ||
	    request.len_bytes > sizeof(payload) ||
	    transfer_receive(worker->socket, payload, request.len_bytes, NULL, NULL))
		return false;
	reply = (struct message){
		.kind = request.kind, .key = request.key, .serial = request.serial};
	worker->payload.nr = 0;
	reply.status = answer(worker, &request, payload, &fd, &reply);
	if (reply.status) {
		reply.nr = 0;
		worker->payload.nr = 0;
	}
	reply.len_bytes = worker->payload.nr;
	return !transfer_send(worker->socket, &reply, worker->payload.at, -1, NULL);
}

void serve(int socket)
{
	struct worker worker = {.socket = socket, .objects = objects_new(), .jvms = jvms_new()};

	while (serve_one(&worker))
		if (worker.payload.cap > MESSAGE_NAMES_BYTES) /* a large table's */
			vec_release(&worker.payload);
	forget_all(&worker);
	lines_release(&worker.lines);
	objects_free(worker.objects);
	jvms_free(worker.jvms);
	vec_release(&worker.fds);
	vec_release(&worker.keys);
	addrnames_release(&worker.addrnames);
	vec_release(&worker.payload);
}
