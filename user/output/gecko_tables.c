// SPDX-License-Identifier: BSD-2-Clause
/* The tables that all threads share: functions, frames, stacks, resources, and the strings at last. */
#include "output/gecko_state.h"

#include <string.h>

#include "base/text.h"

/* Columns ---------------------------------------------------------------------------------------- */

void gecko_put_column(struct gecko *gecko, const char *name, size_t nr, gecko_cell_fn put_cell)
{
	json_key(&gecko->json, name), json_array(&gecko->json);
	for (size_t i = 0; i < nr; i++)
		put_cell(gecko, i);
	json_end(&gecko->json);
}

static void put_zero(struct gecko *gecko, size_t row)
{
	(void)row;
	json_int(&gecko->json, 0);
}

static void put_minus_one(struct gecko *gecko, size_t row)
{
	(void)row;
	json_int(&gecko->json, -1);
}

static void put_one(struct gecko *gecko, size_t row)
{
	(void)row;
	json_int(&gecko->json, 1);
}

static void put_null(struct gecko *gecko, size_t row)
{
	(void)row;
	json_null(&gecko->json);
}

static void put_false(struct gecko *gecko, size_t row)
{
	(void)row;
	json_bool(&gecko->json, false);
}

static void put_row(struct gecko *gecko, size_t row)
{
	json_uint(&gecko->json, row);
}

static void put_text(struct gecko *gecko, const char *text)
{
	json_uint(&gecko->json, strtab_intern(&gecko->strings, text));
}

const char *gecko_lib_path(const struct gecko *gecko, size_t row)
{
	return strtab_get(&gecko->libs, row + 1);
}

/* Shared tables ---------------------------------------------------------------------------------- */

void gecko_put_length(struct gecko *gecko, size_t nr)
{
	json_key(&gecko->json, "length"), json_uint(&gecko->json, nr);
}

static void put_func_name(struct gecko *gecko, size_t row)
{
	const struct frame *func = &gecko->funcs.at[row];

	put_text(gecko, *func->function ? func->function : func->name);
}

static void put_func_resource(struct gecko *gecko, size_t row)
{
	const char *path = gecko->funcs.at[row].mapping;

	/* Every mapping's path is in libs: this adds none. */
	json_int(&gecko->json, (int64_t)strtab_intern(&gecko->libs, path) - 1);
}

static void put_func_source(struct gecko *gecko, size_t row)
{
	const char *file = gecko->funcs.at[row].file;

	*file ? json_uint(&gecko->json, row) : json_null(&gecko->json);
}

static void put_source_name(struct gecko *gecko, size_t row)
{
	put_text(gecko, gecko->funcs.at[row].file);
}

static void put_funcs(struct gecko *gecko)
{
	size_t nr = gecko->funcs.nr;

	json_key(&gecko->json, "funcTable"), json_object(&gecko->json);
	gecko_put_length(gecko, nr);
	gecko_put_column(gecko, "name", nr, put_func_name);
	gecko_put_column(gecko, "isJS", nr, put_false);
	gecko_put_column(gecko, "relevantForJS", nr, put_false);
	gecko_put_column(gecko, "resource", nr, put_func_resource);
	gecko_put_column(gecko, "source", nr, put_func_source);
	gecko_put_column(gecko, "lineNumber", nr, put_null);
	gecko_put_column(gecko, "columnNumber", nr, put_null);
	json_end(&gecko->json);
	/* A row for each function, so that no second index is needed; those without a file are "". */
	json_key(&gecko->json, "sources"), json_object(&gecko->json);
	gecko_put_length(gecko, nr);
	gecko_put_column(gecko, "id", nr, put_null);
	gecko_put_column(gecko, "filename", nr, put_source_name);
	gecko_put_column(gecko, "startLine", nr, put_one);
	gecko_put_column(gecko, "startColumn", nr, put_one);
	gecko_put_column(gecko, "sourceMapURL", nr, put_null);
	json_end(&gecko->json);
}

static void put_frame_func(struct gecko *gecko, size_t row)
{
	json_uint(&gecko->json, gecko->func_of[row]);
}

static void put_frame_line(struct gecko *gecko, size_t row)
{
	int64_t line = gecko->frames.at[row].line;

	line > 0 ? json_int(&gecko->json, line) : json_null(&gecko->json);
}

static void put_frame_category(struct gecko *gecko, size_t row)
{
	const char *path = gecko->frames.at[row].mapping;

	json_int(&gecko->json, !*path			      ? CATEGORY_OTHER
			       : !strncmp(path, "[kernel", 7) ? CATEGORY_KERNEL
							      : CATEGORY_USER);
}

static void put_frames(struct gecko *gecko)
{
	size_t nr = gecko->frames.nr;

	json_key(&gecko->json, "frameTable"), json_object(&gecko->json);
	gecko_put_length(gecko, nr);
	gecko_put_column(gecko, "address", nr, put_minus_one);
	gecko_put_column(gecko, "inlineDepth", nr, put_zero);
	gecko_put_column(gecko, "category", nr, put_frame_category);
	gecko_put_column(gecko, "subcategory", nr, put_zero);
	gecko_put_column(gecko, "func", nr, put_frame_func);
	gecko_put_column(gecko, "nativeSymbol", nr, put_null);
	gecko_put_column(gecko, "innerWindowID", nr, put_zero);
	gecko_put_column(gecko, "line", nr, put_frame_line);
	gecko_put_column(gecko, "column", nr, put_null);
	json_end(&gecko->json);
}

static void put_stack_frame(struct gecko *gecko, size_t row)
{
	json_uint(&gecko->json, gecko->tree.at[row].frame);
}

static void put_stack_prefix(struct gecko *gecko, size_t row)
{
	uint32_t parent = gecko->tree.at[row].parent;

	parent == STACKTREE_NONE ? json_null(&gecko->json) : json_uint(&gecko->json, parent);
}

static void put_lib_name(struct gecko *gecko, size_t row)
{
	put_text(gecko, text_base_name(gecko_lib_path(gecko, row)));
}

static void put_string(struct gecko *gecko, size_t row)
{
	json_string(&gecko->json, strtab_get(&gecko->strings, row));
}

void gecko_put_shared(struct gecko *gecko)
{
	struct json *json = &gecko->json;
	size_t nr = gecko->tree.nr;

	json_key(json, "shared"), json_object(json);
	json_key(json, "stackTable"), json_object(json);
	gecko_put_length(gecko, nr);
	gecko_put_column(gecko, "frame", nr, put_stack_frame);
	gecko_put_column(gecko, "prefix", nr, put_stack_prefix);
	json_end(json);
	put_frames(gecko);
	put_funcs(gecko);
	nr = gecko->lib_mapping.nr;
	json_key(json, "resourceTable"), json_object(json);
	gecko_put_length(gecko, nr);
	gecko_put_column(gecko, "lib", nr, put_row);
	gecko_put_column(gecko, "name", nr, put_lib_name);
	gecko_put_column(gecko, "host", nr, put_null);
	gecko_put_column(gecko, "type", nr, put_one); /* a library */
	json_end(json);
	json_key(json, "nativeSymbols"), json_object(json);
	gecko_put_length(gecko, 0);
	gecko_put_column(gecko, "libIndex", 0, NULL);
	gecko_put_column(gecko, "address", 0, NULL);
	gecko_put_column(gecko, "name", 0, NULL);
	gecko_put_column(gecko, "functionSize", 0, NULL);
	json_end(json);
	gecko_put_column(gecko, "stringArray", strtab_nr(&gecko->strings), put_string);
	json_end(json);
}
