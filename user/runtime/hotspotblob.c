// SPDX-License-Identifier: BSD-2-Clause
/*
 * How a blob's code is unwound:
 *
 *	nmethod		a compiled method: frames of the size that its header says
 *	Interpreter	rbp frames; its entries are found as codelets whose description says so
 *	others		from their code, entered at its start, where branches lead, and where the
 *			VM's table of stub routines points to
 *
 * What is known of HotSpot and stands in none of its tables is here: names of blobs, and the jump that ends a
 * method's life.
 */
#include "runtime/hotspotblob.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "object/a64.h"
#include "runtime/hotspotinterp.h"
#include "unwind/a64jit.h"
#include "unwind/stackflow.h"

#define MAX_NAMES	4096
#define MAX_FRAME_WORDS (1u << 20)
#define WORD		8

void blob_release(struct blob *blob)
{
	vec_release(&blob->rows);
	vec_release(&blob->named);
}

void blob_reader_release(struct blob_reader *reader)
{
	vec_release(&reader->names);
}

/* Blobs' headers --------------------------------------------------------------------------------- */

static enum blob_kind kind_of_name(const char *name)
{
	/* More is written into these all the time, and none of it has a frame. */
	static const char *const frameless[] = {"vtable", "InlineCacheBuffer",
						"native signature handlers"};
	/* Compilers' threads come and go, and with them these: methods are put where they were. */
	static const char *const scratch[] = {"C1 temporary CodeBuffer", "Compile::scratch_buffer"};

	if (!strcmp(name, "nmethod") || !strcmp(name, "native nmethod"))
		return BLOB_NMETHOD;
	for (size_t i = 0; i < sizeof(frameless) / sizeof(frameless[0]); i++)
		if (!strncmp(name, frameless[i], strlen(frameless[i])))
			return BLOB_FRAMELESS;
	for (size_t i = 0; i < sizeof(scratch) / sizeof(scratch[0]); i++)
		if (!strcmp(name, scratch[i]))
			return BLOB_SCRATCH;
	return strstr(name, "forward_exception") ? BLOB_INHERITED : BLOB_STUB;
}

/* Names are constants of libjvm: each is read once. */
static enum blob_kind kind_at(struct blob_reader *reader, uint64_t name)
{
	struct kind_name kind = {.addr = name};
	char text[64];

	vec_for_each(&reader->names, known)
		if (known->addr == name)
			return known->kind;
	if (reader->names.nr == MAX_NAMES)
		return BLOB_STUB;
	memory_string(reader->memory, name, text, sizeof(text));
	kind.kind = kind_of_name(text);
	vec_push(&reader->names, kind);
	return kind.kind;
}

/* 0 where it is not known. */
static uint64_t get(const struct blob_reader *reader, const struct raw_head *raw,
		    enum vm_field_id id)
{
	uint64_t value = 0;

	vm_get(&reader->structs, id, raw->bytes, raw->len_bytes, &value);
	return value;
}

/* An address, stored as such or as an offset from the blob. */
static uint64_t get_place(const struct blob_reader *reader, const struct raw_head *raw,
			  enum vm_field_id pointer, enum vm_field_id offset)
{
	uint64_t value;

	if (vm_get(&reader->structs, pointer, raw->bytes, raw->len_bytes, &value))
		return value;
	return raw->addr + get(reader, raw, offset);
}

static void read_nmethod_head(const struct blob_reader *reader, const struct raw_head *raw,
			      struct blob_head *head)
{
	uint64_t entry;

	head->compile_id = (uint32_t)get(reader, raw, VM_NMETHOD_COMPILE_ID);
	head->osr = get(reader, raw, VM_NMETHOD_OSR);
	if (!vm_get(&reader->structs, VM_NMETHOD_METHOD, raw->bytes, raw->len_bytes, &head->method))
		head->method = get(reader, raw, VM_COMPILED_METHOD);
	if (!vm_get(&reader->structs, VM_NMETHOD_VERIFIED, raw->bytes, raw->len_bytes,
		    &head->verified) &&
	    vm_get(&reader->structs, VM_NMETHOD_VERIFIED_OFFSET, raw->bytes, raw->len_bytes,
		   &entry))
		head->verified = head->code + entry;
}

bool block_read_head(const struct vmstructs *structs, const uint8_t *bytes, size_t len_bytes,
		     uint64_t *nr_segments)
{
	uint64_t length = 0, used = 0;

	if (!vm_get(structs, VM_BLOCK_LENGTH, bytes, len_bytes, &length) ||
	    !vm_get(structs, VM_BLOCK_USED, bytes, len_bytes, &used) || !(used & 1) || !length)
		return false;
	*nr_segments = length;
	return true;
}

bool blob_read_head(struct blob_reader *reader, const struct raw_head *raw, struct blob_head *head)
{
	uint64_t frame_words = get(reader, raw, VM_BLOB_FRAME_SIZE);

	head->name = get(reader, raw, VM_BLOB_NAME);
	head->code = get_place(reader, raw, VM_BLOB_CODE_BEGIN, VM_BLOB_CODE_OFFSET);
	head->code_limit = get_place(reader, raw, VM_BLOB_CODE_END, VM_BLOB_DATA_OFFSET);
	if (head->code < raw->addr || head->code_limit > head->limit ||
	    head->code >= head->code_limit || head->code_limit - head->code > STACKFLOW_MAX_BYTES)
		return false;
	if (frame_words < MAX_FRAME_WORDS)
		head->frame_bytes = (uint32_t)frame_words * WORD;
	head->kind = kind_at(reader, head->name);
	if (reader->interpreter - head->code < head->code_limit - head->code)
		head->kind = BLOB_INTERPRETER;
	if (head->kind != BLOB_NMETHOD)
		return true;
	if ((int64_t)get(reader, raw, VM_NMETHOD_STATE) < 0) /* not installed yet */
		return false;
	read_nmethod_head(reader, raw, head);
	return true;
}

bool blob_is_there(struct blob_reader *reader, const struct blob *blob, uint8_t *bytes,
		   struct raw_head *raw)
{
	struct blob_head head = {.start = blob->head.start, .limit = blob->head.limit};
	size_t block_bytes = reader->structs.block_header_bytes;

	*raw = (struct raw_head){.addr = head.start + block_bytes,
				 .bytes = bytes + block_bytes,
				 .len_bytes = reader->header_bytes};
	return memory_read(reader->memory, head.start, bytes, block_bytes + raw->len_bytes) &&
	       block_read_head(&reader->structs, bytes, block_bytes, &head.nr_segments) &&
	       blob_read_head(reader, raw, &head) && !memcmp(&head, &blob->head, sizeof(head));
}

/* Names that were returned ----------------------------------------------------------------------- */

static size_t nr_named_before(const struct blob *blob, uint32_t offset)
{
	return vec_partition(&blob->named, range, range->start <= offset);
}

bool blob_was_named(const struct blob *blob, uint64_t ip)
{
	uint32_t offset = (uint32_t)(ip - blob->head.code);
	size_t nr = nr_named_before(blob, offset);

	return nr && offset < blob->named.at[nr - 1].limit;
}

void blob_note_named(struct blob *blob, uint64_t start, uint64_t limit)
{
	struct blob_range range = {(uint32_t)(start - blob->head.code),
				   (uint32_t)(limit - blob->head.code)};
	size_t nr = nr_named_before(blob, range.start);

	vec_push(&blob->named, range);
	memmove(&blob->named.at[nr + 1], &blob->named.at[nr],
		(blob->named.nr - 1 - nr) * sizeof(range));
	blob->named.at[nr] = range;
}

/* Blobs' code ------------------------------------------------------------------------------------ */

struct entries {
	struct stackflow_entry *at;
	size_t nr, cap;
};

static void entries_release(struct entries *entries)
{
	vec_release(entries);
}

static void codelets_release(struct codelets *codelets)
{
	vec_release(codelets);
}

static bool is_arm64(const struct blob_reader *reader)
{
	return reader->memory->arch == &arch_arm64;
}

static void add_entry(struct entries *entries, const struct blob_head *head, uint64_t addr,
		      bool sender_in_r13)
{
	if (addr - head->code < head->code_limit - head->code)
		vec_push(entries, (struct stackflow_entry){addr - head->code, sender_in_r13});
}

/* Adds the addresses in the VM's table of stub routines. */
static void add_stub_entries(const struct blob_reader *reader, const struct blob_head *head,
			     struct entries *entries)
{
	struct memory_piece pieces[VM_MAX_STUB_FIELDS];
	uint64_t addrs[VM_MAX_STUB_FIELDS];
	size_t nr = reader->structs.nr_stub_fields;

	for (size_t i = 0; i < nr; i++)
		pieces[i] = (struct memory_piece){
			.addr = reader->structs.stub_fields[i], .to = &addrs[i], .len_bytes = WORD};
	reader->memory->read(reader->memory->ctx, pieces, nr);
	for (size_t i = 0; i < nr; i++)
		if (pieces[i].was_read)
			add_entry(entries, head, addrs[i], false);
}

static void add_codelet_entries(const struct blob_head *head, const struct codelets *codelets,
				struct entries *entries)
{
	vec_for_each(codelets, codelet)
		if (codelet->kind == CODELET_METHOD || codelet->kind == CODELET_CALLED)
			add_entry(entries, head, codelet->start, codelet->kind == CODELET_METHOD);
}

/*
 * A method that is not to be called any more has a jump (5 bytes) in place of its first instruction,
 * which most often is the probe of the stack's guard pages: mov %eax,-0x14000(%rsp), 7 bytes. Frames
 * that were there before live on. On arm64 it is in place of a nop.
 */
static void add_behind_jump(const struct blob_reader *reader, const struct blob_head *head,
			    const uint8_t *code, struct entries *entries)
{
	uint64_t offset = head->verified - head->code, len_bytes = head->code_limit - head->code;

	if (is_arm64(reader)) {
		if (offset < len_bytes && len_bytes - offset > A64_BYTES && !(offset & 3) &&
		    a64_decode(a64_word(code + offset)).class == A64_B)
			add_entry(entries, head, head->verified + A64_BYTES, false);
		return;
	}
	if (offset < len_bytes && len_bytes - offset > 7 && code[offset] == 0xe9 &&
	    code[offset + 6] == 0xff)
		add_entry(entries, head, head->verified + 7, false);
}

static void find_entries(const struct blob_reader *reader, const struct blob_head *head,
			 const uint8_t *code, const struct codelets *codelets,
			 struct entries *entries)
{
	switch (head->kind) {
	case BLOB_INTERPRETER:
		add_codelet_entries(head, codelets, entries);
		break;
	case BLOB_NMETHOD:
		add_entry(entries, head, head->code, false);
		add_entry(entries, head, head->verified, false);
		add_behind_jump(reader, head, code, entries);
		add_entry(entries, head, head->osr, false);
		break;
	case BLOB_INHERITED:
		break;
	default:
		add_entry(entries, head, head->code, false);
		add_stub_entries(reader, head, entries);
	}
}

static void add_blob_row(void *ctx, const struct unwind_row *row)
{
	struct blob *blob = ctx;

	vec_push(&blob->rows,
		 (struct blob_row){(uint32_t)(row->elf_addr - blob->head.code), row->rule});
}

/*
 * Of code that is not looked into: false for other code. Whatever runs where a compiler wrote came after it, so a sample there is
 * a reason to look again.
 */
static bool only_rule(const struct blob_reader *reader, enum blob_kind kind,
		      struct unwind_rule *rule)
{
	*rule = (struct unwind_rule){.kind = UNWIND_UNKNOWN};
	if (kind == BLOB_FRAMELESS && is_arm64(reader))
		*rule = (struct unwind_rule){
			.kind = UNWIND_FRAME,
			.cfa_reg = A64_SP,
			.how = unwind_how_pack(UNWIND_SAME, UNWIND_IN_REG),
			.ra_off = A64_LR,
		};
	else if (kind == BLOB_FRAMELESS)
		*rule = (struct unwind_rule){
			.kind = UNWIND_FRAME,
			.cfa_reg = X86_REG_SP,
			.cfa_off = WORD,
			.how = unwind_how_pack(UNWIND_SAME, UNWIND_AT_CFA),
			.ra_off = -WORD,
		};
	return kind == BLOB_FRAMELESS || kind == BLOB_SCRATCH;
}

bool blob_analyze(struct blob_reader *reader, struct blob *blob)
{
	static const enum stackflow_kind kinds[] = {
		[BLOB_STUB] = STACKFLOW_STUB,
		[BLOB_INHERITED] = STACKFLOW_STUB,
		[BLOB_NMETHOD] = STACKFLOW_COMPILED,
		[BLOB_INTERPRETER] = STACKFLOW_INTERPRETER,
	};
	size_t len_bytes = blob->head.code_limit - blob->head.code;
	uint8_t *bytes scoped(freep) = xmalloc(len_bytes);
	struct entries entries scoped(entries_release) = {0};
	struct codelets codelets scoped(codelets_release) = {0};
	struct stackflow_code code = {.bytes = bytes,
				      .len_bytes = len_bytes,
				      .addr = blob->head.code,
				      .frame_bytes = blob->head.frame_bytes};
	struct unwind_rule rule;
	uint64_t hash;

	if (!memory_read(reader->memory, blob->head.code, bytes, len_bytes))
		return false;
	hash = hash_bytes(bytes, len_bytes, 0);
	blob->confirmed = blob->rows.nr && hash == blob->code_hash;
	if (blob->confirmed)
		return true;
	blob->code_hash = hash;
	blob->rows.nr = 0;
	reader->nr_analyzed++;
	if (only_rule(reader, blob->head.kind, &rule)) {
		vec_push(&blob->rows, (struct blob_row){0, rule});
		return true;
	}
	if (blob->head.kind == BLOB_INTERPRETER)
		codelets_read(reader, blob->head.start, &codelets);
	find_entries(reader, &blob->head, bytes, &codelets, &entries);
	code.kind = kinds[blob->head.kind];
	code.entries = entries.at;
	code.nr_entries = entries.nr;
	if (is_arm64(reader))
		a64jit_rows(&code, add_blob_row, blob);
	else
		stackflow_rows(&code, add_blob_row, blob);
	if (blob->head.kind == BLOB_INTERPRETER)
		codelets_describe(reader, &codelets, blob);
	return true;
}

void blob_find(const struct blob *blob, uint32_t offset, struct unwind_rule *rule)
{
	/* At least one: the first row's offset is 0. */
	size_t nr = vec_partition(&blob->rows, row, row->offset <= offset);

	*rule = blob->rows.at[nr - 1].rule;
}
