// SPDX-License-Identifier: BSD-2-Clause
/*
 * A compiler notes what its code was made of at some places of it: those where the VM may look at a frame, as calls are.
 *
 *	PcDescs		{pc offset, scope offset}, by pc; the first and the last are marks
 *	                                |
 *	scopes		... sender's offset, method, bci + 1, what else is in the frame | ...
 *	                          |            |
 *	                          +-> earlier  +-> index of a Method in the metadata, from 1 on
 *
 * The scope without a sender (0) is that of the compiled method itself. That is checked: what was read by the wrong coding
 * of integers, or has changed while it was read, does not lead there.
 *
 * Between two places the later one is taken, as the VM's own profilers do. For a return address, less one, that is exact: its
 * desc is behind the call. For the leaf it is what comes next, which is another line now and then. Behind the last
 * desc, where a method returns, that one is taken.
 *
 * Where these parts are has changed: behind the code until Java 22, of which the scopes have an address of their own since
 * Java 9, and in memory of their own since.
 */
#include "runtime/hotspotscopes.h"

#include "runtime/vmints.h"

#define WORD	       8
#define MAX_PC_BYTES   64
#define MAX_PCS	       (1u << 20)
#define MAX_DATA_BYTES (64u << 20)
#define MAX_METADATA   (1u << 20)
#define SCOPE_INTS     3

/* Addresses of the parts. */
struct parts {
	uint64_t pcs, pcs_limit;
	uint64_t scopes, scopes_limit;
	uint64_t metadata;
};

static bool get(const struct blob_reader *reader, const struct raw_head *raw, enum vm_field_id id,
		uint64_t *value)
{
	return vm_get(&reader->structs, id, raw->bytes, raw->len_bytes, value);
}

/* Since Java 23. */
static bool find_immutable(const struct blob_reader *reader, const struct raw_head *raw,
			   struct parts *parts)
{
	uint64_t start, size, pcs, scopes;

	if (!get(reader, raw, VM_NMETHOD_IMMUTABLE, &start) ||
	    !get(reader, raw, VM_NMETHOD_IMMUTABLE_SIZE, &size) ||
	    !get(reader, raw, VM_NMETHOD_SCOPES_PCS, &pcs) ||
	    !get(reader, raw, VM_NMETHOD_SCOPES_DATA, &scopes))
		return false;
	parts->pcs = start + pcs;
	parts->pcs_limit = parts->scopes = start + scopes;
	parts->scopes_limit = start + size;
	return true;
}

static bool find_behind_code(const struct blob_reader *reader, const struct raw_head *raw,
			     struct parts *parts)
{
	uint64_t pcs, limit, scopes;

	if (!get(reader, raw, VM_NMETHOD_SCOPES_PCS, &pcs) ||
	    !get(reader, raw, VM_NMETHOD_DEPENDENCIES, &limit))
		return false;
	if (get(reader, raw, VM_NMETHOD_SCOPES_DATA, &scopes))
		parts->scopes = raw->addr + scopes;
	else if (!get(reader, raw, VM_COMPILED_SCOPES_DATA, &parts->scopes))
		return false;
	parts->pcs = parts->scopes_limit = raw->addr + pcs;
	parts->pcs_limit = raw->addr + limit;
	return true;
}

static bool find_metadata(const struct blob_reader *reader, const struct raw_head *raw,
			  bool is_immutable, struct parts *parts)
{
	uint64_t start, offset, data = 0;

	if (get(reader, raw, VM_NMETHOD_METADATA, &offset)) {
		if (is_immutable && !get(reader, raw, VM_BLOB_DATA_OFFSET, &data))
			return false;
		parts->metadata = raw->addr + data + offset;
		return true;
	}
	if (!get(reader, raw, VM_BLOB_MUTABLE, &start) ||
	    !get(reader, raw, VM_BLOB_RELOCATION_SIZE, &offset))
		return false;
	parts->metadata = start + (offset + WORD - 1) / WORD * WORD;
	return true;
}

static bool find_parts(const struct blob_reader *reader, const struct raw_head *raw,
		       struct parts *parts)
{
	bool is_immutable = find_immutable(reader, raw, parts);

	return (is_immutable || find_behind_code(reader, raw, parts)) &&
	       find_metadata(reader, raw, is_immutable, parts) && parts->pcs < parts->pcs_limit &&
	       parts->scopes < parts->scopes_limit &&
	       parts->scopes_limit - parts->scopes <= MAX_DATA_BYTES;
}

/* PcDescs ---------------------------------------------------------------------------------------- */

struct pc_desc {
	int64_t pc;	/* offset in the code */
	uint64_t scope; /* offset in the scopes; 0: none */
};

static bool read_pc_desc(const struct blob_reader *reader, const struct parts *parts, uint64_t i,
			 struct pc_desc *desc)
{
	size_t len_bytes = reader->structs.pc_bytes;
	uint8_t bytes[MAX_PC_BYTES];
	uint64_t pc;

	if (!memory_read(reader->memory, parts->pcs + i * len_bytes, bytes, len_bytes) ||
	    !vm_get(&reader->structs, VM_PC_OFFSET, bytes, len_bytes, &pc) ||
	    !vm_get(&reader->structs, VM_PC_SCOPE, bytes, len_bytes, &desc->scope))
		return false;
	desc->pc = (int64_t)pc;
	return true;
}

/* Finds the first PcDesc after pc, and the one before it, which is at pc or before. false: the table cannot be read. */
static bool find_pc_desc(const struct blob_reader *reader, const struct parts *parts, int64_t pc,
			 struct pc_desc *desc, struct pc_desc *before)
{
	size_t len_bytes = reader->structs.pc_bytes;
	uint64_t low = 0, high;

	if (!len_bytes || len_bytes > MAX_PC_BYTES)
		return false;
	high = (parts->pcs_limit - parts->pcs) / len_bytes;
	if (!high || high > MAX_PCS || !read_pc_desc(reader, parts, high - 1, desc) ||
	    desc->pc <= pc)
		return false;
	high--;
	*before = (struct pc_desc){-1, 0};
	while (low < high) {
		uint64_t mid = low + (high - low) / 2;
		struct pc_desc read;

		if (!read_pc_desc(reader, parts, mid, &read))
			return false;
		if (read.pc > pc) {
			*desc = read;
			high = mid;
		} else {
			*before = read;
			low = mid + 1;
		}
	}
	return true;
}

/* Scopes ----------------------------------------------------------------------------------------- */

static bool read_ints(const struct blob_reader *reader, const struct parts *parts, uint64_t offset,
		      enum vm_coding coding, uint32_t values[SCOPE_INTS])
{
	uint64_t len_bytes = parts->scopes_limit - parts->scopes;
	uint8_t bytes[SCOPE_INTS * VM_INT_MAX_BYTES];
	struct vm_ints ints = {.bytes = bytes, .coding = coding};

	if (!offset || offset >= len_bytes)
		return false;
	len_bytes -= offset;
	ints.nr = len_bytes < sizeof(bytes) ? len_bytes : sizeof(bytes);
	if (!memory_read(reader->memory, parts->scopes + offset, bytes, ints.nr))
		return false;
	for (size_t i = 0; i < SCOPE_INTS; i++)
		if (!vm_ints_next(&ints, &values[i]))
			return false;
	return true;
}

/* Reads the scopes from one to that of the compiled method. The scope of a sender was written before. */
static bool read_chain(const struct blob_reader *reader, const struct parts *parts, uint64_t offset,
		       enum vm_coding coding, uint64_t compiled, struct hotspot_scopes *scopes)
{
	for (scopes->nr = 0; scopes->nr < HOTSPOT_MAX_FRAMES;) {
		struct hotspot_scope *scope = &scopes->at[scopes->nr];
		uint32_t ints[SCOPE_INTS];

		if (!read_ints(reader, parts, offset, coding, ints) || !ints[1] ||
		    ints[1] > MAX_METADATA || ints[0] >= offset ||
		    !memory_read(reader->memory, parts->metadata + (ints[1] - 1) * WORD,
				 &scope->method, WORD))
			return false;
		scope->bci = ints[2] ? ints[2] - 1 : 0; /* 0 is the method's entry */
		scopes->nr++;
		if (!ints[0])
			return scope->method == compiled;
		offset = ints[0];
	}
	return false;
}

bool hotspot_scopes_read(const struct blob_reader *reader, const struct raw_head *raw,
			 const struct blob_head *head, uint64_t ip, struct hotspot_scopes *scopes)
{
	struct pc_desc desc, before;
	struct parts parts;

	if (!find_parts(reader, raw, &parts) ||
	    !find_pc_desc(reader, &parts, (int64_t)(ip - head->code), &desc, &before))
		return false;
	scopes->nr = 0;
	scopes->start = head->code + (before.pc > 0 ? (uint64_t)before.pc : 0);
	scopes->limit = head->code_limit - head->code < (uint64_t)desc.pc
				? head->code_limit
				: head->code + (uint64_t)desc.pc;
	if (!desc.scope) /* behind the last one */
		desc.scope = before.scope;
	if (!desc.scope)
		return true;
	for (int coding = 0; coding < NR_VM_CODINGS; coding++)
		if (read_chain(reader, &parts, desc.scope, (enum vm_coding)coding, head->method,
			       scopes))
			return true;
	return false;
}
