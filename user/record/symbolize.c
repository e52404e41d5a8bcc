// SPDX-License-Identifier: BSD-2-Clause
/*
 * Three numbers name one instruction, and a profile wants the third:
 *
 *	ip		0x7f3a5c0a1234	where this process had it (another one has it elsewhere)
 *	file_off	0x0a0234	ip - mapping.start + mapping.file_off
 *	elf_addr	0x0a1234	file_off - p_offset + p_vaddr of the segment it is in
 *
 * With elf_addr one libc is one libc, whatever the address space layout. record/filemap.h says which
 * mapping goes with it, symbolize_place.c where an ip is, symbolize_name.c finds the names.
 */
#include "record/symbolize_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/codenames.h"
#include "record/filemap.h"
#include "record/processfiles.h"

#define PAGE_BYTES 4096ull
/* The upper half of the address space on every 64-bit Linux. */
#define KERNEL_START (1ull << 63)

struct symbolizer *symbolizer_new(struct tasks *tasks, struct files *files, struct parser *parser)
{
	struct symbolizer *symbolizer = xcalloc(1, sizeof(*symbolizer));
	const struct codefiles found = processfiles(files);

	symbolizer->tasks = tasks;
	symbolizer->files = files;
	symbolizer->names = codenames_new(&found, parser, &symbolizer->strings);
	symbolizer->jitsyms = jitsymnames_new(parser);
	return symbolizer;
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	codenames_free(symbolizer->names);
	jitsymnames_free(symbolizer->jitsyms);
	vec_release(&symbolizer->findings);
	hash_release(&symbolizer->index);
	vec_release(&symbolizer->chains);
	hash_release(&symbolizer->chain_index);
	strtab_release(&symbolizer->strings);
	free(symbolizer);
}

void symbolizer_ask_for(struct symbolizer *symbolizer, bool lines, bool inlines)
{
	codenames_ask_for(symbolizer->names,
			  (lines ? MESSAGE_NAMES_LINES : 0) |
				  (lines && inlines ? MESSAGE_NAMES_INLINED : 0));
}

void symbolizer_hurry_when(struct symbolizer *symbolizer, bool (*is_hurried)(void))
{
	codenames_hurry_when(symbolizer->names, is_hurried);
	jitsymnames_hurry_when(symbolizer->jitsyms, is_hurried);
}

void symbolizer_use_kallsyms(struct symbolizer *symbolizer,
			     const struct kallsyms *(*read)(void *ctx), void *ctx)
{
	symbolizer->read_kallsyms = read;
	symbolizer->kallsyms_ctx = ctx;
}

void symbolizer_use_kernelcode(struct symbolizer *symbolizer, struct kernelcode *kernelcode)
{
	symbolizer->kernelcode = kernelcode;
}

void symbolizer_use_cache(struct symbolizer *symbolizer, struct namecache *cache)
{
	codenames_use_cache(symbolizer->names, cache);
}

void symbolizer_until(struct symbolizer *symbolizer, uint64_t until_ns)
{
	codenames_until(symbolizer->names, until_ns);
}

void symbolizer_look_in(struct symbolizer *symbolizer, struct debugfile_dirs dirs)
{
	codenames_look_in(symbolizer->names, dirs);
}

void symbolizer_use_ifuncs(struct symbolizer *symbolizer, const struct ifuncnames *ifuncnames)
{
	symbolizer->ifuncnames = ifuncnames;
}

size_t symbolizer_nr_unnamed(const struct symbolizer *symbolizer)
{
	return symbolizer->nr_unnamed;
}

size_t symbolizer_nr_closed(const struct symbolizer *symbolizer, const char **file,
			    const char **why)
{
	if (symbolizer->nr_closed) {
		*file = files_path(symbolizer->files, symbolizer->closed_file);
		*why = files_why(symbolizer->files, symbolizer->closed_file);
	}
	return symbolizer->nr_closed;
}

char *symbolizer_say_missing(const struct symbolizer *symbolizer, enum codenames_missing what)
{
	return codenames_say_missing(symbolizer->names, what);
}

/* Mappings --------------------------------------------------------------------------------------- */

static struct profile_mapping file_mapping(struct symbolizer *symbolizer, struct profile *profile,
					   uint32_t file, uint64_t file_off,
					   const struct mapping *map)
{
	struct filemap_file described = {codenames_file(symbolizer->names, file),
					 files_path(symbolizer->files, file)};

	return filemap_of_file(profile, &described, file_off, map);
}

static struct profile_mapping kernel_mapping(struct profile *profile)
{
	return filemap_of_name(profile, "[kernel.kallsyms]", KERNEL_START, UINT64_MAX);
}

static struct profile_mapping frame_mapping(struct profile *profile, uint32_t runtime)
{
	static const char *const names[ABI_NR_RUNTIMES] = {[ABI_RUNTIME_PYTHON] = "python",
							   [ABI_RUNTIME_PHP] = "php",
							   [ABI_RUNTIME_V8] = "v8",
							   [ABI_RUNTIME_RUBY] = "ruby",
							   [ABI_RUNTIME_PERL] = "perl"};
	uint32_t version = ABI_RUNTIME_VERSION(runtime);
	char name[32];

	snprintf(name, sizeof(name), "[%s %u.%u]", names[ABI_RUNTIME_KIND(runtime)], version >> 8,
		 version & 0xff);
	return filemap_of_name(profile, name, 0, 1ull << 32);
}

static struct profile_mapping mapping_of(struct symbolizer *symbolizer, struct profile *profile,
					 const struct finding *finding, const struct mapping *map)
{
	static const struct mapping none;

	map = map ? map : &none;
	switch (finding->address.space) {
	case SPACE_VDSO:
		return filemap_of_vdso(profile, codenames_file(symbolizer->names, PARSER_VDSO),
				       map->limit - map->start);
	case SPACE_KERNEL:
		return kernel_mapping(profile);
	case SPACE_UNKNOWN:
		/* Garbage can be any number; pprof knows this range as "not relocated". */
		return filemap_of_name(profile, "[unknown]", 0, UINT64_MAX);
	case SPACE_ANON:
	case SPACE_JIT:
		return filemap_of_name(profile,
				       strtab_get(tasks_names(symbolizer->tasks), map->name),
				       map->start, map->limit);
	case SPACE_NOTE:
		return filemap_of_name(profile, "[cprof]", 0, 1ull << 32);
	case SPACE_METHOD:
		return filemap_of_name(profile, "[java]", 0, 1ull << 32);
	case SPACE_FRAME:
		return frame_mapping(profile, finding->address.base >> 32);
	default:
		return file_mapping(symbolizer, profile, finding->address.space,
				    finding->address.position, map);
	}
}

/* Locations -------------------------------------------------------------------------------------- */

/* The function of a finding itself, or of a frame of it that was inlined. frame: NULL where no line is known. */
static uint32_t enter_function(struct symbolizer *symbolizer, struct profile *profile,
			       const struct finding *finding, const struct codename_frame *frame)
{
	bool is_inlined = frame && frame->raw;
	uint32_t raw = is_inlined ? frame->raw : finding->raw;
	struct profile_function function = {0};

	function.name =
		profile_string(profile, strtab_get(&symbolizer->strings,
						   is_inlined ? frame->display : finding->display));
	if (raw)
		function.system_name =
			profile_string(profile, strtab_get(&symbolizer->strings, raw));
	if (frame) {
		function.path =
			profile_string(profile, strtab_get(&symbolizer->strings, frame->file));
		function.start_line = frame->start_line;
	}
	return profile_function_id(profile, &function);
}

static uint32_t enter_lines(struct symbolizer *symbolizer, struct profile *profile,
			    const struct finding *finding, struct profile_line *lines)
{
	const struct codename_frame *frames = NULL;

	if (!finding->nr_frames) {
		lines[0] = (struct profile_line){
			.function = enter_function(symbolizer, profile, finding, NULL)};
		return 1;
	}
	frames = codenames_frames(symbolizer->names, finding->frames);
	for (uint32_t i = 0; i < finding->nr_frames; i++)
		lines[i] = (struct profile_line){
			.function = enter_function(symbolizer, profile, finding, &frames[i]),
			.line = frames[i].line};
	return finding->nr_frames;
}

static void count_left_out(struct symbolizer *symbolizer, const struct profile *profile,
			   const struct finding *finding)
{
	struct symbolizer_left_out *left_out = &symbolizer->left_out;

	if (left_out->serial != profile->serial)
		*left_out = (struct symbolizer_left_out){.serial = profile->serial};
	left_out->nr_all += IS_FILE(finding->address.space) || finding->address.space == SPACE_VDSO;
	left_out->nr += finding->is_left_out;
}

void symbolize_note_left_out(const struct symbolizer *symbolizer, struct profile *profile)
{
	const struct symbolizer_left_out *left_out = &symbolizer->left_out;
	char *text scoped(freep) = codenames_say_left_out(left_out->nr, left_out->nr_all);

	if (left_out->serial == profile->serial && left_out->nr)
		vec_push(&profile->comments, profile_string(profile, text));
}

/* map is the mapping that place was found in; NULL for the spaces that have none. */
static uint32_t locate(struct symbolizer *symbolizer, struct profile *profile,
		       const struct code_address *address, const struct mapping *map)
{
	struct finding *finding = symbolize_find(symbolizer, address, map);
	struct profile_line lines[MESSAGE_MAX_FRAMES];
	struct profile_location location = {.lines = lines};
	struct profile_mapping mapping;

	if (finding->serial == profile->serial)
		return finding->location;
	count_left_out(symbolizer, profile, finding);
	mapping = mapping_of(symbolizer, profile, finding, map);
	location.address = finding->elf_addr;
	if (location.address >= mapping.limit) /* a damaged file: where it is counts for more */
		location.address = mapping.limit - 1;
	if (location.address < mapping.start)
		location.address = mapping.start;
	location.nr_lines = enter_lines(symbolizer, profile, finding, lines);
	location.mapping = profile_mapping_id(profile, &mapping);
	filemap_note_lines(profile, &location);
	finding->location = profile_location_id(profile, &location);
	finding->serial = profile->serial;
	return finding->location;
}

uint32_t symbolize_user(struct symbolizer *symbolizer, struct profile *profile, struct image *image,
			uint64_t ip, uint64_t time_ns, bool is_caller)
{
	const struct mapping *map;
	struct code_address address =
		symbolize_place(symbolizer, image, ip, time_ns, is_caller, false, &map);

	return locate(symbolizer, profile, &address, map);
}

/* The word that tells code which is made at run time from what else is at its ip. */
static uint32_t announced_name(struct symbolizer *symbolizer, uint64_t ip, uint64_t time_ns)
{
	const char *name = "";

	if (!symbolizer->kernelcode)
		return 0;
	switch (kernelcode_find(symbolizer->kernelcode, ip, time_ns, &name)) {
	case KERNELCODE_KNOWN:
		return strtab_intern(&symbolizer->strings, name);
	case KERNELCODE_NOT_YET:
		return KERNEL_NO_NAME;
	default:
		return 0;
	}
}

uint32_t symbolize_kernel(struct symbolizer *symbolizer, struct profile *profile, uint64_t ip,
			  uint64_t time_ns, bool is_return_address)
{
	struct code_address address = {.space = SPACE_KERNEL};

	address.position = is_return_address && ip ? ip - 1 : ip;
	if (address.position < KERNEL_START)
		address.space = SPACE_UNKNOWN;
	else
		address.base = announced_name(symbolizer, address.position, time_ns);
	return locate(symbolizer, profile, &address, NULL);
}

struct code_address symbolize_note_address(struct symbolizer *symbolizer, const char *text)
{
	return (struct code_address){.space = SPACE_NOTE,
				     .position = (uint32_t)hash_bytes(text, strlen(text), 0),
				     .base = strtab_intern(&symbolizer->strings, text)};
}

uint32_t symbolize_note(struct symbolizer *symbolizer, struct profile *profile, const char *text)
{
	struct code_address address = symbolize_note_address(symbolizer, text);

	return locate(symbolizer, profile, &address, NULL);
}

bool symbolize_has_time(const struct symbolizer *symbolizer)
{
	return codenames_has_time(symbolizer->names);
}

static bool same_frame(const struct codename_frame *a, const struct codename_frame *b)
{
	return a->raw == b->raw && a->file == b->file && a->line == b->line &&
	       a->start_line == b->start_line;
}

/* Names it where it is met for the first time. */
static void set_frame(struct symbolizer *symbolizer, struct finding *finding,
		      const struct framename *frame)
{
	uint32_t name = strtab_intern(&symbolizer->strings, frame->name);
	struct codename_frame named = {.raw = name,
				       .display = name,
				       .file = strtab_intern(&symbolizer->strings, frame->file),
				       .line = frame->line,
				       .start_line = frame->start_line};

	if (finding->nr_frames &&
	    same_frame(codenames_frames(symbolizer->names, finding->frames), &named))
		return;
	finding->raw = finding->display = name;
	finding->frames = codenames_add_frame(symbolizer->names, &named);
	finding->nr_frames = 1;
	/* The same for the same function of another process. */
	finding->elf_addr = symbolize_frame_addr(frame->name, frame->file, frame->line);
}

uint32_t symbolize_frame(struct symbolizer *symbolizer, struct profile *profile,
			 const struct framename *frame)
{
	struct code_address address = {
		.space = SPACE_FRAME,
		.position = (uint64_t)frame->function << 32 | frame->line,
		.base = (uint64_t)frame->runtime << 32 | frame->start_line,
	};

	set_frame(symbolizer, symbolize_find(symbolizer, &address, NULL), frame);
	return locate(symbolizer, profile, &address, NULL);
}

/* The mapping of the lowest address that is a file's, of those there are or were. */
static const struct mapping *first_file(const struct mappings *mappings)
{
	const struct mapping *first = NULL;

	for (size_t i = 0; i < mappings->now.nr; i++)
		if (mappings->now.at[i].file != FILE_NONE)
			return &mappings->now.at[i];
	for (size_t i = 0; i < mappings->past.nr; i++)
		if (mappings->past.at[i].file != FILE_NONE &&
		    (!first || mappings->past.at[i].start < first->start))
			first = &mappings->past.at[i];
	return first;
}

void symbolize_main_mapping(struct symbolizer *symbolizer, struct profile *profile,
			    struct image *image)
{
	const struct mapping *map = first_file(&image->mappings);
	char *name scoped(freep) = NULL;
	struct profile_mapping mapping;

	if (map) {
		mapping = file_mapping(symbolizer, profile, map->file, map->file_off, map);
	} else {
		/* A kernel thread, or gone before it was looked at: as ps(1) names what has no file. */
		name = xasprintf("[%.*s]", COMM_BYTES, image->comm);
		mapping = (struct profile_mapping){.path = profile_string(profile, name),
						   .limit = PAGE_BYTES,
						   .has_functions = true};
	}
	profile_set_main_mapping(profile, profile_mapping_id(profile, &mapping));
}

void symbolize_kernel_mapping(struct profile *profile)
{
	struct profile_mapping kernel = kernel_mapping(profile);

	profile_set_main_mapping(profile, profile_mapping_id(profile, &kernel));
}
