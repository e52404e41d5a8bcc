// SPDX-License-Identifier: BSD-2-Clause
/*
 * What Go's runtime keeps of a function (_func in runtime/runtime2.go):
 *
 *	entry	name  args  deferreturn  pcsp  pcfile  pcln  npcdata  unit  [start line]  id, flag, -, nfuncdata
 *	pcdata[npcdata]		offsets of tables by pc
 *	funcdata[nfuncdata]	data, by offset or, until Go 1.17, by address
 *
 * entry has 8 bytes until Go 1.17, all others 4; the start line is there from Go 1.20 on. A table by pc (runtime's
 * pcvalue()) is a list of pairs of variable-length numbers: how much the value changes, and for how many bytes of code
 * it is so. There is one each for the file (an index in the unit's list of names), the line, and the inlined call.
 *
 * An inlined call says the callee's name and an instruction of the caller whose line is that of the call, which
 * may itself be inlined. So the frames of an address are the lines of a few instructions of one function.
 */
#include "object/golines.h"

#include <string.h>

#include "object/gotable.h"

#define PCDATA_INLINED	 2
#define FUNCDATA_INLINED 3
#define NOTHING		 UINT32_MAX

/* Deeper chains of calls are not Go's: its compiler stops inlining long before. */
#define MAX_CALLS 1024
/* Pairs that one golines_find() reads; 512 addresses in the largest functions there are take a tenth. */
#define MAX_PAIRS (256u << 20)

struct function {
	struct gopclntab_function about;
	uint32_t files, lines, calls; /* tables, from pcs_off; 0: there is none */
	uint32_t unit, start_line;
	uint64_t tree; /* elf_addr of the inlined calls; 0: there is none */
};

struct call {
	uint32_t name, start_line;
	uint64_t caller; /* elf_addr of the instruction */
};

struct golines {
	const struct gopclntab *names;
	struct gotable table;
	const struct elf_file *file;
	uint64_t pairs_left;
};

/* The function ------------------------------------------------------------------------------------ */

/* The number at an offset from functions_off. */
static bool read_at(const struct golines *lines, uint64_t off, size_t width_bytes, uint64_t *number)
{
	const struct gotable *table = &lines->table;
	uint64_t room = table->len_bytes - table->functions_off;

	if (off > room || room - off < width_bytes)
		return false;
	*number = gotable_number(table->bytes + table->functions_off + off, width_bytes);
	return true;
}

/* at: where the pointers or offsets of data are. */
static bool read_tree(const struct golines *lines, uint64_t at, uint64_t *tree)
{
	const struct gotable *table = &lines->table;
	size_t width = gotable_address_bytes(table);

	if (width == GO_POINTER_BYTES)
		at += -(table->elf_addr + table->functions_off + at) % GO_POINTER_BYTES;
	if (!read_at(lines, at + FUNCDATA_INLINED * width, width, tree))
		return false;
	if (width == GO_POINTER_BYTES)
		return true;
	*tree = *tree == NOTHING ? 0 : gopclntab_data(lines->names) + *tree;
	return !*tree || gopclntab_data(lines->names);
}

static bool read_function(const struct golines *lines, uint64_t elf_addr, struct function *function)
{
	size_t width = gotable_address_bytes(&lines->table);
	bool has_start = lines->table.magic == GO_MAGIC_1_20;
	uint64_t at, files, numbers, nr_pcdata, unit, start = 0, nr_data, calls = 0;

	*function = (struct function){0};
	if (!gopclntab_function(lines->names, elf_addr, &function->about))
		return false;
	at = function->about.details + width + 12;
	if (!read_at(lines, at + 4, 4, &files) || !read_at(lines, at + 8, 4, &numbers) ||
	    !read_at(lines, at + 12, 4, &nr_pcdata) || !read_at(lines, at + 16, 4, &unit) ||
	    (has_start && !read_at(lines, at + 20, 4, &start)))
		return false;
	at += has_start ? 24 : 20;
	if (!read_at(lines, at + 3, 1, &nr_data) ||
	    (nr_pcdata > PCDATA_INLINED &&
	     !read_at(lines, at + 4 + 4 * PCDATA_INLINED, 4, &calls)) ||
	    (nr_data > FUNCDATA_INLINED &&
	     !read_tree(lines, at + 4 + 4 * nr_pcdata, &function->tree)))
		return false;
	function->files = files;
	function->lines = numbers;
	function->calls = calls;
	function->unit = unit;
	function->start_line = start <= INT32_MAX ? start : 0;
	return true;
}

/* Values by pc ------------------------------------------------------------------------------------ */

/* The bytes of the tables by pc that are left. */
struct pairs {
	const uint8_t *at, *limit;
};

static bool read_varint(struct pairs *pairs, uint32_t *value)
{
	*value = 0;
	for (unsigned int shift = 0; pairs->at < pairs->limit && shift < 35; shift += 7) {
		uint8_t byte = *pairs->at++;

		*value |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* What the table at off says of an address; -1: nothing. */
static int32_t value_at(struct golines *lines, const struct function *function, uint32_t off,
			uint64_t elf_addr)
{
	const struct gotable *table = &lines->table;
	struct pairs pairs = {table->bytes + table->pcs_off, table->bytes + table->functions_off};
	uint64_t pc = function->about.start;
	uint32_t value = UINT32_MAX, change, len_bytes;

	if (!off || off >= (size_t)(pairs.limit - pairs.at))
		return -1;
	for (pairs.at += off; lines->pairs_left; lines->pairs_left--) {
		if (!read_varint(&pairs, &change) || (!change && pc != function->about.start) ||
		    !read_varint(&pairs, &len_bytes))
			return -1;
		value += change & 1 ? ~(change >> 1) : change >> 1;
		pc += (uint64_t)len_bytes * table->instruction_bytes;
		if (elf_addr < pc)
			return (int32_t)value;
	}
	return -1;
}

/* The index of the file, in its unit's list, is that of its name in the list of all. */
static const char *file_name(const struct golines *lines, uint32_t unit, int32_t index)
{
	const struct gotable *table = &lines->table;
	uint64_t at = ((uint64_t)unit + (uint32_t)index) * sizeof(uint32_t), name;
	const uint8_t *files = table->bytes + table->files_off;
	size_t files_bytes = table->pcs_off - table->files_off;

	if (at + sizeof(uint32_t) > table->files_off - table->units_off)
		return NULL;
	name = gotable_number(table->bytes + table->units_off + at, sizeof(uint32_t));
	if (name >= files_bytes || !memchr(files + name, '\0', files_bytes - name))
		return NULL;
	return (const char *)files + name;
}

/* Both or none, as in Go's own. */
static void read_line(struct golines *lines, const struct function *function, uint64_t elf_addr,
		      struct source_frame *frame)
{
	int32_t file = value_at(lines, function, function->files, elf_addr);
	int32_t line = value_at(lines, function, function->lines, elf_addr);
	const char *name = file < 0 || line < 0 ? NULL : file_name(lines, function->unit, file);

	frame->file = name ? name : "";
	frame->line = name ? (uint32_t)line : 0;
}

/* Inlined calls ----------------------------------------------------------------------------------- */

/* Until 1.19: parent, id, file, line, name, caller. Then: id, name, caller, start line. All of 4 bytes but the first two. */
static bool read_call(const struct golines *lines, const struct function *function, uint32_t index,
		      struct call *call)
{
	bool has_start = lines->table.magic == GO_MAGIC_1_20;
	uint32_t words[5];
	size_t size = has_start ? 16 : 20;

	if (!function->tree ||
	    !elf_file_read(lines->file, function->tree + (uint64_t)index * size, words, size))
		return false;
	*call = (struct call){
		.name = has_start ? words[1] : words[3],
		.caller = function->about.start + (has_start ? words[2] : words[4]),
	};
	if (has_start && words[3] <= INT32_MAX)
		call->start_line = words[3];
	return true;
}

/* Returns the next frame to fill; in a chain that does not fit, the last one, which gets the outermost frame. */
static struct source_frame *next_frame(struct source_frame *frames, size_t *nr)
{
	if (*nr < SOURCE_MAX_FRAMES)
		++*nr;
	return &frames[*nr - 1];
}

/* Returns the number of frames. 0: nothing is known, or a call of the chain is not. */
static size_t read_frames(struct golines *lines, uint64_t elf_addr, struct source_frame *frames)
{
	struct function function;
	size_t nr = 0;

	if (!read_function(lines, elf_addr, &function))
		return 0;
	for (size_t nr_calls = 0; nr_calls <= MAX_CALLS && lines->pairs_left; nr_calls++) {
		int32_t index = value_at(lines, &function, function.calls, elf_addr);
		struct source_frame *frame = next_frame(frames, &nr);
		struct call call;

		read_line(lines, &function, elf_addr, frame);
		frame->name = function.about.name;
		frame->start_line = function.start_line;
		if (index < 0)
			return nr;
		if (!read_call(lines, &function, (uint32_t)index, &call))
			return 0;
		frame->name = gopclntab_name(lines->names, call.name);
		frame->start_line = call.start_line;
		if (!frame->name || !*frame->name)
			return 0;
		elf_addr = call.caller;
	}
	return 0;
}

/* All --------------------------------------------------------------------------------------------- */

static bool has_parts(const struct gotable *table)
{
	return table->units_off <= table->files_off && table->files_off <= table->pcs_off &&
	       table->pcs_off <= table->functions_off;
}

void golines_find(const struct gopclntab *table, const struct elf_file *file,
		  const uint64_t *elf_addrs, size_t nr, source_frames_fn emit, void *ctx)
{
	struct golines lines = {.names = table, .pairs_left = MAX_PAIRS};
	struct source_frame frames[SOURCE_MAX_FRAMES];
	struct elf_file *own;

	if (!table || !file || elf_file_reopen(file, &own))
		return;
	lines.file = own;
	if (gotable_find(own, &lines.table) && has_parts(&lines.table))
		for (size_t i = 0; i < nr; i++) {
			size_t nr_frames = read_frames(&lines, elf_addrs[i], frames);

			if (nr_frames > 1 || (nr_frames && *frames[0].file))
				emit(ctx, i, frames, nr_frames);
		}
	elf_file_close(own);
}
