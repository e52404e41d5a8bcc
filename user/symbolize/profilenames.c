// SPDX-License-Identifier: BSD-2-Clause
/*
 * Names the code of profiles from the files of this machine, by build-id.
 *
 * One pass over the locations says what to ask, a second one takes the answers: the parser is asked for all of them at
 * once, the heaviest first.
 */
#include "symbolize/profilenames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profile/algebra.h"
#include "profile/renaming.h"
#include "symbolize/codenames.h"

#define PAGE_BYTES 4096ull

struct profilenames {
	struct localfiles *files;
	struct fetcher *fetcher; /* NULL: nothing is downloaded */
	struct codenames *codenames;
	struct strtab strings;
	unsigned int wanted; /* of enum renaming_need */
};

/* What is asked about a location. */
struct question {
	uint32_t location, file;
	uint64_t elf_addr;
};

/* One profile. */
struct round {
	struct profilenames *names;
	struct profile *profile;
	struct profilenames_counts *counts;
	uint64_t *weights; /* of locations */
	uint32_t *files;   /* of mappings; FILE_UNKNOWN: not looked for yet */
	uint64_t *missing; /* of mappings: addresses without a name whose file is not here */
	vec_of(struct question) questions;
};

#define FILE_UNKNOWN  (FILE_NONE - 1)
#define FILE_CHANGED  (FILE_NONE - 2)
#define FILE_VDSO     (FILE_NONE - 3) /* this kernel's: for the parser, PARSER_VDSO */
#define IS_FILE(file) ((file) <= FILE_VDSO)

struct profilenames *profilenames_new(struct parser *parser, struct localfiles *files,
				      struct debugfile_dirs dirs,
				      const struct profilenames_options *options)
{
	struct profilenames *names = xcalloc(1, sizeof(*names));
	const struct codefiles found = localfiles_access(files);

	names->files = files;
	names->fetcher = dirs.fetcher;
	names->wanted = RENAMING_NAME | RENAMING_SYMBOL | (options->lines ? RENAMING_LINES : 0) |
			(options->lines && options->inlines ? RENAMING_INLINES : 0);
	names->codenames = codenames_new(&found, parser, &names->strings);
	codenames_look_in(names->codenames, dirs);
	codenames_ask_for(names->codenames,
			  (options->lines ? MESSAGE_NAMES_LINES : 0) |
				  (options->lines && options->inlines ? MESSAGE_NAMES_INLINED : 0));
	codenames_until(names->codenames, options->until_ns);
	codenames_use_cache(names->codenames, options->cache);
	return names;
}

void profilenames_free(struct profilenames *names)
{
	if (!names)
		return;
	codenames_free(names->codenames);
	strtab_release(&names->strings);
	free(names);
}

char *profilenames_say_missing(const struct profilenames *names, enum codenames_missing what)
{
	return codenames_say_missing(names->codenames, what);
}

/* Addresses --------------------------------------------------------------------------------------- */

static uint64_t page_floor(uint64_t addr)
{
	return addr & ~(PAGE_BYTES - 1);
}

/* A debug file keeps the segments of its file, without what was in them. */
static bool is_hollow(const struct segments *segments)
{
	for (size_t i = 0; i < segments->nr; i++)
		if (segments->at[i].executable && segments->at[i].file_bytes)
			return false;
	return true;
}

static bool is_in(const struct elf_segment *segment, uint64_t elf_addr)
{
	return elf_addr >= page_floor(segment->elf_addr) &&
	       (elf_addr < segment->elf_addr || elf_addr - segment->elf_addr < segment->mem_bytes);
}

/* By the place of the segment that the mapping must be; of several, by the one that is not moved. */
static bool hollow_addr(const struct segments *segments, const struct profile_mapping *mapping,
			uint64_t address, uint64_t *elf_addr)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < segments->nr; i++) {
		const struct elf_segment *segment = &segments->at[i];
		uint64_t start = page_floor(segment->elf_addr);
		uint64_t limit = page_floor(segment->elf_addr + segment->mem_bytes - 1);

		if (!segment->executable || !segment->mem_bytes)
			continue;
		if (mapping->start == start && is_in(segment, address)) {
			*elf_addr = address;
			return true;
		}
		if (page_floor(mapping->limit - mapping->start - 1) != limit - start)
			continue;
		*elf_addr = address - mapping->start + start;
		nr += is_in(segment, *elf_addr) ? 1 : 2;
	}
	return nr == 1;
}

bool profilenames_elf_addr(const struct segments *segments, const struct profile_mapping *mapping,
			   uint64_t address, uint64_t *elf_addr)
{
	bool is_whole = !mapping->start && !mapping->file_off &&
			(!mapping->limit || mapping->limit == UINT64_MAX);
	const struct elf_segment *segment;
	uint64_t file_off;

	if (is_whole) { /* nothing is known of where it was: as pprof, addresses are the file's */
		*elf_addr = address;
		return true;
	}
	if (address < mapping->start || address >= mapping->limit)
		return false;
	if (is_hollow(segments))
		return hollow_addr(segments, mapping, address, elf_addr);
	if (__builtin_add_overflow(address - mapping->start, mapping->file_off, &file_off))
		return false;
	segment = segments_at(*segments, file_off);
	return segment && segment->executable && !segments_addr(*segments, file_off, elf_addr);
}

/* Questions --------------------------------------------------------------------------------------- */

static const char *string(const struct round *round, uint32_t id)
{
	return strtab_get(&round->profile->strings, id);
}

/* What the samples in which a location is have of the main type. */
static void weigh(struct round *round)
{
	const struct profile *profile = round->profile;
	uint32_t type = profile->nr_types ? profile_main_type(profile) : 0;

	for (size_t i = 0; profile->nr_types && i < profile->samples.nr; i++) {
		const struct profile_sample *sample = &profile->samples.at[i];
		int64_t value = sample->values[type];
		uint64_t weight = value < 0 ? -(uint64_t)value : (uint64_t)value;

		for (uint32_t k = 0; k < sample->nr_locations; k++) {
			uint64_t *sum = &round->weights[sample->locations[k] - 1];

			if (__builtin_add_overflow(*sum, weight, sum))
				*sum = UINT64_MAX;
		}
	}
}

static bool is_vdso(const struct round *round, const struct profile_mapping *mapping)
{
	return mapping->build_id && !strcmp(string(round, mapping->path), "[vdso]");
}

/* Every process has the kernel's own; a profile may be of another kernel. */
static uint32_t find_vdso(struct round *round, const char *build_id)
{
	const struct reply_file *vdso = codenames_file(round->names->codenames, PARSER_VDSO);

	return vdso && !strcmp(vdso->build_id, build_id) ? FILE_VDSO : FILE_NONE;
}

/* What downloads take is not of the time for names. */
static uint32_t find_local(struct round *round, const char *path, const char *build_id)
{
	struct fetcher *fetcher = round->names->fetcher;
	uint64_t before_ns = fetcher ? fetcher_waited_ns(fetcher) : 0;
	uint32_t file = localfiles_find(round->names->files, path, build_id);

	if (fetcher)
		codenames_wait(round->names->codenames, fetcher_waited_ns(fetcher) - before_ns);
	return file;
}

static uint32_t find_file(struct round *round, const struct profile_mapping *mapping)
{
	const char *path = string(round, mapping->path);
	char *build_id scoped(freep) = xstrdup(string(round, mapping->build_id));
	const struct profile *profile = round->profile;
	uint32_t file;

	for (char *c = build_id; *c; c++)
		if (*c >= 'A' && *c <= 'F')
			*c += 'a' - 'A';
	if (is_vdso(round, mapping))
		return find_vdso(round, build_id);
	file = *path || *build_id ? find_local(round, path, build_id) : FILE_NONE;
	if (file != FILE_NONE && !*build_id && profile->time_ns &&
	    localfiles_changed_ns(round->names->files, file) > profile->time_ns)
		return FILE_CHANGED;
	return file;
}

static uint32_t file_of(struct round *round, const struct profile_location *location)
{
	uint32_t *file = &round->files[location->mapping - 1];

	if (*file == FILE_UNKNOWN)
		*file = find_file(round, &round->profile->mappings.at[location->mapping - 1]);
	return *file;
}

/* Is that of interest, or is the mapping one that has no file: "[vdso]", "//anon"? */
static bool may_have_file(const struct round *round, const struct profile_mapping *mapping)
{
	const char *path = string(round, mapping->path), *base = text_base_name(path);

	if (*base == '[')
		return is_vdso(round, mapping);
	return strncmp(path, "//", 2) != 0 && (*path == '/' || mapping->build_id);
}

static void count_missing(struct round *round, uint32_t mapping, uint32_t file, unsigned int need)
{
	struct profilenames_counts *counts = round->counts;
	uint32_t most = counts->missing;

	if (!(need & RENAMING_SYMBOL))
		return;
	if (file == FILE_CHANGED) {
		counts->nr_changed++;
		return;
	}
	counts->nr_missing++;
	round->missing[mapping - 1]++;
	if (!most || round->missing[mapping - 1] > round->missing[most - 1])
		counts->missing = mapping;
}

static void ask_about(struct round *round, uint32_t i)
{
	const struct profile_location *location = &round->profile->locations.at[i];
	unsigned int need = renaming_needs(round->profile, location) & round->names->wanted;
	struct question question = {.location = i};
	const struct profile_mapping *mapping;
	const struct reply_file *elf;

	if (!need)
		return;
	mapping = &round->profile->mappings.at[location->mapping - 1];
	if (!may_have_file(round, mapping) || (!mapping->build_id && !(need & RENAMING_NAME)))
		return;
	round->counts->nr_asked++;
	if (!codenames_has_time(round->names->codenames)) {
		round->counts->nr_left_out++;
		return;
	}
	question.file = file_of(round, location);
	if (!IS_FILE(question.file)) {
		count_missing(round, location->mapping, question.file, need);
		return;
	}
	if (question.file == FILE_VDSO)
		question.file = PARSER_VDSO;
	elf = codenames_file(round->names->codenames, question.file);
	if (!elf ||
	    !profilenames_elf_addr(&elf->segments, mapping, location->address, &question.elf_addr))
		return;
	codenames_expect(round->names->codenames, question.file, question.elf_addr,
			 round->weights[i]);
	vec_push(&round->questions, question);
}

/* Answers ----------------------------------------------------------------------------------------- */

struct chain {
	struct renaming_frame frames[MESSAGE_MAX_FRAMES];
	uint32_t nr;
	char *made_up; /* owned */
};

static void chain_release(struct chain *chain)
{
	free(chain->made_up);
}

/* The outermost frame has the name of the address. */
static void name_outermost(struct round *round, const struct question *question,
			   const struct codename *name, struct chain *chain)
{
	const struct profile_location *location = &round->profile->locations.at[question->location];
	const char *path = string(round, round->profile->mappings.at[location->mapping - 1].path);
	struct renaming_frame *outermost = &chain->frames[chain->nr - 1];

	if (name->state == CODENAME_SYMBOL) {
		outermost->name = strtab_get(&round->names->strings, name->display);
		outermost->system_name = strtab_get(&round->names->strings, name->raw);
		return;
	}
	chain->made_up = xasprintf(
		"%.*s+0x%" PRIx64, (int)(path_len_undeleted(path) - (text_base_name(path) - path)),
		text_base_name(path),
		name->state == CODENAME_START ? name->start : question->elf_addr);
	outermost->name = chain->made_up;
	outermost->system_name = "";
}

static void make_chain(struct round *round, const struct question *question,
		       const struct codename *name, struct chain *chain)
{
	const struct strtab *strings = &round->names->strings;
	const struct codename_frame *frames = NULL;

	*chain = (struct chain){.nr = name->nr_frames ? name->nr_frames : 1};
	chain->frames[0].path = "";
	if (name->nr_frames)
		frames = codenames_frames(round->names->codenames, name->frames);
	for (uint32_t i = 0; frames && i < name->nr_frames; i++)
		chain->frames[i] =
			(struct renaming_frame){.name = strtab_get(strings, frames[i].display),
						.system_name = strtab_get(strings, frames[i].raw),
						.path = strtab_get(strings, frames[i].file),
						.line = frames[i].line,
						.start_line = frames[i].start_line};
	name_outermost(round, question, name, chain);
}

static void count_answer(struct round *round, const struct question *question, unsigned int got)
{
	const struct profile_location *location = &round->profile->locations.at[question->location];
	struct profilenames_counts *counts = round->counts;

	counts->nr_named += got & RENAMING_SYMBOL ? 1 : 0;
	counts->nr_made_up += (got & (RENAMING_NAME | RENAMING_SYMBOL)) == RENAMING_NAME;
	counts->nr_lined += got & (RENAMING_LINES | RENAMING_INLINES) ? 1 : 0;
	if (got && !round->profile->mappings.at[location->mapping - 1].build_id)
		counts->nr_by_path++;
}

static void take_answer(struct round *round, const struct question *question)
{
	struct codename name =
		codenames_find(round->names->codenames, question->file, question->elf_addr);
	struct chain chain scoped(chain_release);

	make_chain(round, question, &name, &chain);
	if (name.state == CODENAME_NO_TIME || name.is_cut)
		round->counts->nr_left_out++;
	if (name.state > CODENAME_SYMBOL)
		return;
	count_answer(round, question,
		     renaming_apply(round->profile,
				    &round->profile->locations.at[question->location], chain.frames,
				    chain.nr));
}

void profilenames_add(struct profilenames *names, struct profile *profile,
		      struct profilenames_counts *counts)
{
	size_t nr_mappings = profile->mappings.nr;
	uint64_t *weights scoped(freep) = xcalloc(profile->locations.nr + 1, sizeof(*weights));
	uint64_t *missing scoped(freep) = xcalloc(nr_mappings + 1, sizeof(*missing));
	uint32_t *files scoped(freep) = xcalloc(nr_mappings + 1, sizeof(*files));
	struct round round = {.names = names,
			      .profile = profile,
			      .counts = counts,
			      .weights = weights,
			      .files = files,
			      .missing = missing};

	*counts = (struct profilenames_counts){0};
	for (size_t i = 0; i < nr_mappings; i++)
		files[i] = FILE_UNKNOWN;
	weigh(&round);
	for (uint32_t i = 0; i < profile->locations.nr; i++)
		ask_about(&round, i);
	vec_for_each(&round.questions, question)
		take_answer(&round, question);
	vec_release(&round.questions);
	renaming_finish(profile);
}
