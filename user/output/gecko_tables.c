// SPDX-License-Identifier: BSD-2-Clause
/* The tables that all threads share: functions, frames, stacks, resources, and the strings at last. */
#include "output/gecko_state.h"

#include <string.h>

#include "base/text.h"

/* Tables ------------------------------------------------------------------------------------------ */

void gecko_put_table(struct gecko *gecko, const char *key, size_t nr,
		     const struct gecko_column *columns)
{
	struct json *json = &gecko->json;

	json_key(json, key), json_object(json);
	json_key(json, "length"), json_uint(json, nr);
	for (; columns->name; columns++) {
		json_key(json, columns->name), json_array(json);
		for (size_t i = 0; i < nr; i++)
			columns->put_cell(gecko, i);
		json_end(json);
	}
	json_end(json);
}

void gecko_put_empty(struct gecko *gecko, const char *key)
{
	json_key(&gecko->json, key), json_array(&gecko->json), json_end(&gecko->json);
}

/* Cells ------------------------------------------------------------------------------------------- */

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

static void put_stack_frame(struct gecko *gecko, size_t row)
{
	json_uint(&gecko->json, prefixtree_key(&gecko->tree.stacks, row + 1));
}

static void put_stack_prefix(struct gecko *gecko, size_t row)
{
	uint32_t parent = prefixtree_parent(&gecko->tree.stacks, row + 1);

	parent == PREFIXTREE_ROOT ? json_null(&gecko->json) : json_uint(&gecko->json, parent - 1);
}

static void put_lib_name(struct gecko *gecko, size_t row)
{
	put_text(gecko, text_base_name(gecko_lib_path(gecko, row)));
}

/* What all threads share -------------------------------------------------------------------------- */

static const struct gecko_column stack_columns[] = {
	{"frame", put_stack_frame}, {"prefix", put_stack_prefix}, {NULL, NULL}};
static const struct gecko_column frame_columns[] = {{"address", put_minus_one},
						    {"inlineDepth", put_zero},
						    {"category", put_frame_category},
						    {"subcategory", put_zero},
						    {"func", put_frame_func},
						    {"nativeSymbol", put_null},
						    {"innerWindowID", put_zero},
						    {"line", put_frame_line},
						    {"column", put_null},
						    {NULL, NULL}};
static const struct gecko_column func_columns[] = {
	{"name", put_func_name},      {"isJS", put_false},
	{"relevantForJS", put_false}, {"resource", put_func_resource},
	{"source", put_func_source},  {"lineNumber", put_null},
	{"columnNumber", put_null},   {NULL, NULL}};
static const struct gecko_column source_columns[] = {
	{"id", put_null},	  {"filename", put_source_name}, {"startLine", put_one},
	{"startColumn", put_one}, {"sourceMapURL", put_null},	 {NULL, NULL}};
static const struct gecko_column resource_columns[] = {{"lib", put_row},
						       {"name", put_lib_name},
						       {"host", put_null},
						       {"type", put_one}, /* a library */
						       {NULL, NULL}};
static const struct gecko_column symbol_columns[] = {{"libIndex", NULL},
						     {"address", NULL},
						     {"name", NULL},
						     {"functionSize", NULL},
						     {NULL, NULL}};

void gecko_put_shared(struct gecko *gecko)
{
	struct json *json = &gecko->json;

	json_key(json, "shared"), json_object(json);
	gecko_put_table(gecko, "stackTable", prefixtree_nr(&gecko->tree.stacks) - 1, stack_columns);
	gecko_put_table(gecko, "frameTable", gecko->frames.nr, frame_columns);
	gecko_put_table(gecko, "funcTable", gecko->funcs.nr, func_columns);
	/* A row for each function, so that no second index is needed; those without a file are "". */
	gecko_put_table(gecko, "sources", gecko->funcs.nr, source_columns);
	gecko_put_table(gecko, "resourceTable", gecko->lib_mapping.nr, resource_columns);
	gecko_put_table(gecko, "nativeSymbols", 0, symbol_columns);
	json_key(json, "stringArray"), json_array(json); /* last: the tables add to it */
	for (size_t i = 0; i < strtab_nr(&gecko->strings); i++)
		json_string(json, strtab_get(&gecko->strings, i));
	json_end(json);
	json_end(json);
}
