// SPDX-License-Identifier: BSD-2-Clause
/*
 * HotSpot generates its interpreter at its start: a codelet for each bytecode, and some for what is between. The frame of a
 * method is made by code that is entered with the caller's sp in r13, and looks like this (in words from rbp on):
 *
 *	 1	return address
 *	 0	caller's rbp
 *	-1	caller's sp
 *	-3	Method
 *	-8	the bytecode that calls (in Java 8 at -7), while others run; the running method has it in r13
 *
 * While it is made, the Method is in rbx. A method that a callee returns to reads its bytecode from its frame again.
 *
 * On arm64 the words are at the same places from x29 on, but for the bytecode, at -9. The caller's sp is in x13, or since Java 20 in x19;
 * the running method has its bytecode in x22, and one that is entered its Method in x12.
 *
 * What is known of codelets and stands in none of the VM's tables is here.
 */
#include "runtime/hotspotinterp.h"

#include <string.h>

#include "object/a64.h"
#include "object/arch.h"

#define MAX_CODELETS 4096
#define WORD	     8
#define SENDER_REG   13 /* r13 */

/*
 * class InterpreterCodelet, which the VM does not list: what it is (a string), its size, then its code
 * behind padding of zeros, which do nothing to the stack where they are taken for instructions.
 */
#define CODELET_SIZE_AT	     8
#define CODELET_HEADER_BYTES 16

static enum codelet_kind kind_of(const struct blob_reader *reader, uint64_t description)
{
	static const char *const resumed[] = {"return entry point", "earlyret entry point",
					      "deoptimization entry point", "exception handling"};
	char text[64];

	if (!description || description >= ARCH_USER_LIMIT)
		return CODELET_OTHER;
	memory_string(reader->memory, description, text, sizeof(text));
	if (strstr(text, "method entry point"))
		return CODELET_METHOD;
	if (!strcmp(text, "slow signature handler") || !strncmp(text, "result handlers", 15))
		return CODELET_CALLED;
	for (size_t i = 0; i < sizeof(resumed) / sizeof(resumed[0]); i++)
		if (strstr(text, resumed[i]))
			return CODELET_RESUMED;
	return CODELET_OTHER;
}

/* Along the queue of codelets; to its end only if each has a size that leads there. */
void codelets_read(const struct blob_reader *reader, uint64_t start, struct codelets *codelets)
{
	uint64_t queue, at, end;

	if (!vm_load(&reader->structs, reader->memory, VM_INTERPRETER_CODE, 0, &queue) ||
	    !vm_load(&reader->structs, reader->memory, VM_QUEUE_BUFFER, queue, &at) ||
	    !vm_load(&reader->structs, reader->memory, VM_QUEUE_END, queue, &end))
		return;
	end += at;
	for (size_t i = 0; i < MAX_CODELETS && at < end && at >= start; i++) {
		uint8_t header[CODELET_HEADER_BYTES];
		uint64_t description;
		int32_t size;

		if (!memory_read(reader->memory, at, header, sizeof(header)))
			return;
		memcpy(&description, header, sizeof(description));
		memcpy(&size, header + CODELET_SIZE_AT, sizeof(size));
		if (size < CODELET_HEADER_BYTES || (uint64_t)size > end - at)
			return;
		vec_push(codelets, (struct codelet){at + CODELET_HEADER_BYTES, at + (uint32_t)size,
						    kind_of(reader, description)});
		at += (uint32_t)size;
	}
}

/* Rows ------------------------------------------------------------------------------------------- */

static int16_t bcp_off(const struct vmstructs *vm, bool is_arm64)
{
	bool is_8 = vm->fields[VM_NMETHOD_SCOPES_DATA].known &&
		    !vm->fields[VM_NMETHOD_IMMUTABLE].known;

	return is_8 ? -7 * WORD : is_arm64 ? -9 * WORD : -8 * WORD;
}

/* A method is entered with its caller's sp in it. */
static bool is_sender(uint8_t reg, bool is_arm64)
{
	return is_arm64 ? reg == 13 || reg == 19 : reg == SENDER_REG;
}

static struct unwind_rule describe(const struct blob_reader *reader, enum codelet_kind kind,
				   struct unwind_rule rule)
{
	bool is_arm64 = reader->memory->arch == &arch_arm64;

	if (rule.kind == UNWIND_DEREF && rule.cfa_reg == (is_arm64 ? A64_FP : X86_REG_FP)) {
		rule.kind = UNWIND_INTERPRETED;
		rule.deref_off = bcp_off(&reader->structs, is_arm64);
		if (kind == CODELET_RESUMED)
			rule.deref_off |= UNWIND_BCP_IN_FRAME;
	} else if (rule.kind == UNWIND_FRAME && is_sender(rule.cfa_reg, is_arm64)) {
		rule.deref_off = 1;
	}
	return rule;
}

static void add_row(struct blob *to, uint32_t offset, struct unwind_rule rule)
{
	if (!to->rows.nr || memcmp(&to->rows.at[to->rows.nr - 1].rule, &rule, sizeof(rule)) != 0)
		vec_push(&to->rows, (struct blob_row){offset, rule});
}

/* Rows are cut where codelets begin and end. */
void codelets_describe(const struct blob_reader *reader, const struct codelets *codelets,
		       struct blob *blob)
{
	uint64_t code = blob->head.code;
	struct blob described = {0};
	size_t k = 0;

	for (size_t i = 0; i < blob->rows.nr; i++) {
		const struct blob_row *row = &blob->rows.at[i];
		uint64_t at = code + row->offset;
		uint64_t end = i + 1 < blob->rows.nr ? code + row[1].offset : blob->head.code_limit;

		while (at < end) {
			enum codelet_kind kind = CODELET_OTHER;
			uint64_t next = end;

			while (k < codelets->nr && codelets->at[k].limit <= at)
				k++;
			if (k < codelets->nr && codelets->at[k].start <= at) {
				kind = codelets->at[k].kind;
				next = codelets->at[k].limit;
			} else if (k < codelets->nr) {
				next = codelets->at[k].start;
			}
			add_row(&described, (uint32_t)(at - code),
				describe(reader, kind, row->rule));
			at = next < end ? next : end;
		}
	}
	vec_release(&blob->rows);
	memcpy(&blob->rows, &described.rows, sizeof(blob->rows));
}
