// SPDX-License-Identifier: BSD-2-Clause
/*
 * A line program is a little machine's code. Running it gives the rows of the line table, in sequences whose addresses
 * ascend:
 *
 *	set_address 0x1000		address	file	line
 *	+3 lines, emit		->	0x1000	1	4
 *	+4 bytes, +1 line, emit	->	0x1004	1	5	an address has the last row at or before it
 *	+9 bytes, end_sequence	->	0x100d			the end; nothing here is at a line
 *
 * (DWARF 5, section 6.2.) A table would have 24 bytes for each row, tens of megabytes for a large file, of which a profile
 * needs a few hundred rows. So each row is compared with the next address that is looked for, and forgotten.
 *
 * How good an answer is is known at the end of its sequence only: sequences can overlap (code that the linker dropped, or
 * that it merged), and then the shortest counts. So what a sequence says is noted beside the answers until it ends.
 */
#include "object/dwarflines.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/alloc.h"

#define NAMES_MAX (1u << 20) /* directories, and files */

struct name {
	const char *text;
	uint64_t dir;
	char *path; /* NULL: not asked for yet */
};

typedef vec_of(struct name) name_vec;

struct dwarflines {
	struct dwarfunit unit; /* the version and the sizes are those of the line program */
	const char *comp_dir;
	struct dwarfcursor program;
	uint8_t min_bytes, line_range, opcode_base;
	int8_t line_base;
	uint8_t operands[256];
	name_vec dirs, files;
	struct arena paths;
};

struct noted {
	size_t i;
	uint32_t file, line;
};

/* The machine, and what its sequence found so far. */
struct run {
	struct dwarflines *lines;
	struct dwarfcursor cursor;
	uint64_t addr, row_addr, low, high;
	uint32_t file, line, row_file, row_line;
	bool in_sequence;
	struct dwarfquery *queries;
	size_t nr, next;
	vec_of(struct noted) noted;
	dwarfrange_vec *ranges;
};

/* Header ----------------------------------------------------------------------------------------- */

static void read_old_names(struct dwarflines *lines, struct dwarfcursor *cursor)
{
	const char *text;

	while ((text = dwarfcursor_string(cursor)) && *text && lines->dirs.nr < NAMES_MAX)
		vec_push(&lines->dirs, (struct name){.text = text});
	while ((text = dwarfcursor_string(cursor)) && *text && lines->files.nr < NAMES_MAX) {
		vec_push(&lines->files,
			 (struct name){.text = text, .dir = dwarfcursor_uleb(cursor)});
		dwarfcursor_uleb(cursor);
		dwarfcursor_uleb(cursor);
	}
}

/* A table of DWARF 5: first what each entry consists of, then the entries. */
static void read_names(struct dwarflines *lines, struct dwarfcursor *cursor, name_vec *names)
{
	struct dwarfattr parts[256];
	unsigned int nr_parts = dwarfcursor_u8(cursor);
	uint64_t nr;

	for (unsigned int i = 0; i < nr_parts; i++) {
		parts[i].name = (uint16_t)dwarfcursor_uleb(cursor);
		parts[i].form = (uint16_t)dwarfcursor_uleb(cursor);
	}
	nr = dwarfcursor_uleb(cursor);
	if (!nr_parts || nr > NAMES_MAX || nr > dwarfcursor_left(cursor))
		nr = 0;
	while (nr-- && !cursor->is_bad && dwarfwork_spend(lines->unit.file->work, nr_parts)) {
		struct name name = {0};

		for (unsigned int i = 0; i < nr_parts; i++) {
			struct dwarfvalue value = dwarfunit_read(&lines->unit, cursor, &parts[i]);

			if (parts[i].name == DW_LNCT_path)
				name.text = dwarfunit_string(&lines->unit, &value);
			else if (parts[i].name == DW_LNCT_directory_index)
				name.dir = value.number;
		}
		vec_push(names, name);
	}
}

static bool read_sizes(struct dwarflines *lines, struct dwarfcursor *cursor, uint8_t version)
{
	lines->min_bytes = dwarfcursor_u8(cursor);
	if (version >= 4)
		dwarfcursor_u8(
			cursor); /* operations in an instruction: 1 on every machine without VLIW */
	dwarfcursor_u8(cursor);
	lines->line_base = (int8_t)dwarfcursor_u8(cursor);
	lines->line_range = dwarfcursor_u8(cursor);
	lines->opcode_base = dwarfcursor_u8(cursor);
	for (unsigned int i = 1; i < lines->opcode_base; i++)
		lines->operands[i] = dwarfcursor_u8(cursor);
	return lines->line_range && lines->opcode_base;
}

static bool read_header(struct dwarflines *lines)
{
	struct dwarfshape *shape = &lines->unit.shape;
	struct dwarfcursor cursor =
		dwarffile_cursor(lines->unit.file, DWARF_LINE, lines->unit.stmt_list.number);
	uint64_t len_bytes = dwarfcursor_length(&cursor, &shape->offset_bytes);

	if (len_bytes > dwarfcursor_left(&cursor))
		return false;
	cursor.end = cursor.at + len_bytes;
	shape->version = (uint8_t)dwarfcursor_u16(&cursor);
	if (shape->version < 2 || shape->version > 5)
		return false;
	if (shape->version == 5) {
		shape->addr_bytes = dwarfcursor_u8(&cursor);
		dwarfcursor_u8(&cursor);
	}
	len_bytes = dwarfcursor_sized(&cursor, shape->offset_bytes);
	if (len_bytes > dwarfcursor_left(&cursor))
		return false;
	lines->program = (struct dwarfcursor){cursor.at + len_bytes, cursor.end, false};
	cursor.end = lines->program.at;
	if (!dwarfwork_spend(lines->unit.file->work, len_bytes) ||
	    !read_sizes(lines, &cursor, shape->version))
		return false;
	if (shape->version < 5) {
		read_old_names(lines, &cursor);
	} else {
		read_names(lines, &cursor, &lines->dirs);
		read_names(lines, &cursor, &lines->files);
	}
	return true;
}

struct dwarflines *dwarflines_new(const struct dwarfunit *unit)
{
	struct dwarflines *lines;

	if (!unit->stmt_list.form)
		return NULL;
	lines = xcalloc(1, sizeof(*lines));
	lines->unit = *unit;
	lines->comp_dir = dwarfunit_string(unit, &unit->comp_dir);
	if (read_header(lines))
		return lines;
	dwarfwork_note_unread(unit->file->work);
	dwarflines_free(lines);
	return NULL;
}

void dwarflines_free(struct dwarflines *lines)
{
	if (!lines)
		return;
	vec_release(&lines->dirs);
	vec_release(&lines->files);
	arena_release(&lines->paths);
	free(lines);
}

/* Paths ------------------------------------------------------------------------------------------ */

/* Each part is measured once: it may be of a view of a file that is written to (base/fileview.h). */
static char *join(struct dwarflines *lines, const char *parts[3])
{
	size_t lens[3], len = 0;
	char *path, *to;

	for (size_t i = 0; i < 3; i++) {
		lens[i] = parts[i] ? strlen(parts[i]) : 0;
		len += lens[i] + 1;
	}
	path = to = arena_alloc(&lines->paths, len + 1);
	for (size_t i = 0; i < 3; i++) {
		if (!lens[i])
			continue;
		if (to != path && to[-1] != '/')
			*to++ = '/';
		to = mempcpy(to, parts[i], lens[i]);
	}
	return path;
}

const char *dwarflines_path(struct dwarflines *lines, uint64_t file)
{
	const char *parts[3] = {NULL};
	struct name *name;
	uint64_t dir;

	if (!lines)
		return "";
	if (lines->unit.shape.version < 5)
		file--; /* counted from 1 */
	if (file >= lines->files.nr || !lines->files.at[file].text)
		return "";
	name = &lines->files.at[file];
	if (name->path)
		return name->path;
	parts[2] = name->text;
	/* Before DWARF 5, directory 0 is the compiler's own, and is not in the table. */
	dir = lines->unit.shape.version < 5 ? name->dir - 1 : name->dir;
	if (*name->text != '/') {
		parts[1] = dir < lines->dirs.nr ? lines->dirs.at[dir].text : NULL;
		if (!parts[1] || *parts[1] != '/')
			parts[0] = lines->comp_dir;
	}
	name->path = join(lines, parts);
	return name->path;
}

/* Program ---------------------------------------------------------------------------------------- */

/* The addresses from the last row up to addr have that row. */
static void close_row(struct run *run, uint64_t addr)
{
	size_t i = run->next;

	if (addr <= run->row_addr)
		return;
	/* Rows nearly always ascend; after one that does not, look anew. */
	if ((i < run->nr && run->queries[i].elf_addr < run->row_addr) ||
	    (i && run->queries[i - 1].elf_addr >= run->row_addr)) {
		size_t low = 0, high = run->nr;

		while (low < high) {
			size_t mid = low + (high - low) / 2;

			if (run->queries[mid].elf_addr < run->row_addr)
				low = mid + 1;
			else
				high = mid;
		}
		i = low;
	}
	for (; i < run->nr && run->queries[i].elf_addr < addr; i++)
		vec_push(&run->noted, (struct noted){i, run->row_file, run->row_line});
	run->next = i;
	/* Rows that run to and fro would note the same addresses for ever. */
	if (run->noted.nr > 2 * run->nr)
		dwarfcursor_fail(&run->cursor);
}

static void emit(struct run *run)
{
	if (run->in_sequence)
		close_row(run, run->addr);
	if (!run->in_sequence || run->addr < run->low)
		run->low = run->addr;
	if (!run->in_sequence || run->addr > run->high)
		run->high = run->addr;
	run->in_sequence = true;
	run->row_addr = run->addr;
	run->row_file = run->file;
	run->row_line = run->line;
}

static void begin_sequence(struct run *run)
{
	run->addr = 0;
	run->file = run->line = 1;
	run->in_sequence = false;
	run->noted.nr = 0;
}

static void keep(struct dwarfquery *query, const struct noted *noted, uint64_t width)
{
	if (query->line_width && query->line_width <= width)
		return;
	query->line_width = width;
	query->file = noted->file;
	query->line = noted->line;
}

static void end_sequence(struct run *run)
{
	uint64_t width;

	emit(run);
	width = run->high - run->low;
	if (dwarfunit_is_code(&run->lines->unit, run->low)) {
		vec_for_each(&run->noted, noted)
			keep(&run->queries[noted->i], noted, width);
		if (run->ranges && width)
			vec_push(run->ranges, (struct dwarfrange){run->low, run->high});
	}
	begin_sequence(run);
}

static void run_extended(struct run *run)
{
	uint64_t len_bytes = dwarfcursor_uleb(&run->cursor);
	struct dwarfcursor args = run->cursor;
	struct name name = {0};

	dwarfcursor_skip(&run->cursor, len_bytes);
	if (!len_bytes || run->cursor.is_bad)
		return;
	args.end = run->cursor.at;
	switch (dwarfcursor_u8(&args)) {
	case DW_LNE_end_sequence:
		end_sequence(run);
		break;
	case DW_LNE_set_address:
		run->addr = dwarfcursor_sized(&args, (unsigned int)dwarfcursor_left(&args));
		break;
	case DW_LNE_define_file:
		name.text = dwarfcursor_string(&args);
		name.dir = dwarfcursor_uleb(&args);
		if (run->lines->files.nr < NAMES_MAX)
			vec_push(&run->lines->files, name);
		break;
	}
}

static void run_standard(struct run *run, uint8_t opcode)
{
	const struct dwarflines *lines = run->lines;

	switch (opcode) {
	case DW_LNS_copy:
		emit(run);
		return;
	case DW_LNS_advance_pc:
		run->addr += dwarfcursor_uleb(&run->cursor) * lines->min_bytes;
		return;
	case DW_LNS_advance_line:
		run->line += (uint32_t)dwarfcursor_sleb(&run->cursor);
		return;
	case DW_LNS_set_file:
		run->file = (uint32_t)dwarfcursor_uleb(&run->cursor);
		return;
	case DW_LNS_const_add_pc:
		run->addr += (uint64_t)((255 - lines->opcode_base) / lines->line_range) *
			     lines->min_bytes;
		return;
	case DW_LNS_fixed_advance_pc:
		run->addr += dwarfcursor_u16(&run->cursor);
		return;
	}
	for (unsigned int i = lines->operands[opcode]; i; i--)
		dwarfcursor_uleb(&run->cursor);
}

static void run_program(struct run *run)
{
	const struct dwarflines *lines = run->lines;

	run->cursor = lines->program;
	if (!dwarfwork_spend(lines->unit.file->work, dwarfcursor_left(&run->cursor)))
		return;
	begin_sequence(run);
	while (run->cursor.at < run->cursor.end) {
		uint8_t opcode = *run->cursor.at++;

		if (opcode >= lines->opcode_base) {
			unsigned int by = opcode - lines->opcode_base;

			run->addr += (uint64_t)(by / lines->line_range) * lines->min_bytes;
			run->line += (uint32_t)(lines->line_base + (int)(by % lines->line_range));
			emit(run);
		} else if (opcode) {
			run_standard(run, opcode);
		} else {
			run_extended(run);
		}
	}
	if (run->cursor.is_bad)
		dwarfwork_note_unread(lines->unit.file->work);
	vec_release(&run->noted);
}

void dwarflines_find(struct dwarflines *lines, struct dwarfquery *queries, size_t nr)
{
	struct run run = {.lines = lines, .queries = queries, .nr = nr};

	run_program(&run);
}

void dwarflines_ranges(struct dwarflines *lines, dwarfrange_vec *to)
{
	struct run run = {.lines = lines, .ranges = to};

	run_program(&run);
}
