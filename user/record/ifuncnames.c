// SPDX-License-Identifier: BSD-2-Clause
/*
 *	files		the slots of each file, asked of the parser once
 *	readings	(image, file): when its slots were read, and the choice that was found there
 *	choices		(start, name) of a file, sorted; most processes have the same one, which is stored once
 *
 * A process may exec, or map something else there, between the look at what it is and the reading of its memory; the
 * kernel announces that later. So a reading counts only if by all that is known when a name is asked for, the image and
 * the mapping were still there when the reading was done.
 */
#include "record/ifuncnames.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "process/mapping.h"
#include "process/opener.h"
#include "process/remote.h"

#define REST_NS	    10000000ull /* after the first read */
#define CHOICE_NONE UINT32_MAX
#define MAX_CHOICES 65536
#define SLOT_BYTES  sizeof(uint64_t)

struct file_slots {
	bool is_known;
	struct reply_slot *slots; /* owned */
	size_t nr;
	struct segments segments; /* borrowed from the parser */
};

struct named {
	uint64_t start;
	uint32_t name; /* of strings */
	uint32_t
		rank; /* of names for the same start the one with the highest is meant; 0 in a choice */
};

struct choice {
	struct named *at; /* sorted by start */
	size_t nr;
};

struct reading {
	const struct image *image;
	uint32_t file;
	uint32_t nr_reads;
	uint64_t map_start, read_ns; /* of the choice */
	uint64_t due_ns;	     /* UINT64_MAX: all is read */
	uint32_t choice;
};

struct ifuncnames {
	struct tasks *tasks;
	struct files *files;
	struct parser *parser;
	vec_of(struct file_slots) by_file;
	vec_of(struct reading) readings;
	struct hash reading_index;
	vec_of(struct choice) choices;
	struct hash choice_index;
	struct arena arena; /* of choices */
	struct strtab strings;
};

/* A look at the slots of one record's files. */
struct look {
	struct ifuncnames *names;
	struct image *image;
	const struct record *record;
	struct workbudget *budget;
};

struct ifuncnames *ifuncnames_new(struct tasks *tasks, struct files *files, struct parser *parser)
{
	struct ifuncnames *names = xcalloc(1, sizeof(*names));

	names->tasks = tasks;
	names->files = files;
	names->parser = parser;
	return names;
}

void ifuncnames_free(struct ifuncnames *names)
{
	if (!names)
		return;
	vec_for_each(&names->by_file, known)
		free(known->slots);
	vec_release(&names->by_file);
	vec_release(&names->readings);
	hash_release(&names->reading_index);
	vec_release(&names->choices);
	hash_release(&names->choice_index);
	arena_release(&names->arena);
	strtab_release(&names->strings);
	free(names);
}

/* The slots of a file -------------------------------------------------------------------------------- */

static bool keep_up(void *ctx)
{
	workbudget_is_over(ctx); /* it notices when the time is up */
	return false;
}

/* Borrowed until the next call. */
static const struct file_slots *slots_of(struct look *look, uint32_t file)
{
	struct ifuncnames *names = look->names;
	const struct reply_file *elf;
	struct file_slots *known;
	int fd;

	while (names->by_file.nr <= file)
		vec_push(&names->by_file, (struct file_slots){0});
	known = &names->by_file.at[file];
	if (known->is_known)
		return known;
	known->is_known = true;
	parser_while_waiting(names->parser, (struct peer_idle){keep_up, look->budget});
	fd = files_fd(names->files, file);
	elf = parser_file(names->parser, file, fd);
	if (elf && !parser_slots(names->parser, file, fd, &known->slots, &known->nr))
		known->segments = elf->segments;
	return known;
}

static bool is_code(struct segments segments, uint64_t elf_addr)
{
	for (size_t i = 0; i < segments.nr; i++)
		if (segments.at[i].executable &&
		    elf_addr - segments.at[i].elf_addr < segments.at[i].mem_bytes)
			return true;
	return false;
}

/* Choices ---------------------------------------------------------------------------------------- */

static int compare_named(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Sorted, each start once, with its best name. How many are left. */
static size_t tidy(struct named *all, size_t nr)
{
	size_t nr_kept = 0;

	qsort(all, nr, sizeof(*all), compare_named);
	for (size_t i = 0; i < nr; i++) {
		if (i + 1 < nr && all[i + 1].start == all[i].start)
			continue;
		all[nr_kept] = all[i];
		all[nr_kept++].rank = 0;
	}
	return nr_kept;
}

static bool same_choice(const void *ctx, uint32_t value, const void *key)
{
	const struct choice *a = &((const struct ifuncnames *)ctx)->choices.at[value], *b = key;

	return a->nr == b->nr && !memcmp(a->at, b->at, a->nr * sizeof(*a->at));
}

static uint32_t enter_choice(struct ifuncnames *names, struct named *all, size_t nr)
{
	struct choice choice = {all, nr ? tidy(all, nr) : 0};
	size_t bytes = choice.nr * sizeof(*all);
	uint64_t code = hash_bytes(all, bytes, hash_key());
	uint32_t i;

	if (!choice.nr)
		return CHOICE_NONE;
	i = hash_find(&names->choice_index, code, same_choice, names, &choice);
	if (i != HASH_NONE || names->choices.nr >= MAX_CHOICES)
		return i == HASH_NONE ? CHOICE_NONE : i;
	choice.at = memcpy(arena_alloc(&names->arena, bytes), all, bytes);
	i = names->choices.nr;
	vec_push(&names->choices, choice);
	hash_insert(&names->choice_index, code, i);
	return i;
}

/* Reading ---------------------------------------------------------------------------------------- */

static void read_memory(struct ifuncnames *names, uint32_t tgid, struct memory_piece *pieces,
			size_t nr)
{
	struct opener *opener = files_opener(names->files);

	if (opener)
		opener_read(opener, tgid, pieces, nr);
	else
		remote_read(tgid, pieces, nr);
}

/* What is in the slots. *is_whole: each is filled. Returns the choice. */
static uint32_t read_slots(struct look *look, const struct file_slots *file, uint64_t bias,
			   bool *is_whole)
{
	struct memory_piece pieces[MESSAGE_MAX_SLOTS];
	uint64_t values[MESSAGE_MAX_SLOTS];
	struct named named[MESSAGE_MAX_SLOTS];
	size_t nr = 0;

	for (size_t i = 0; i < file->nr; i++)
		pieces[i] = (struct memory_piece){.addr = bias + file->slots[i].elf_addr,
						  .to = &values[i],
						  .len_bytes = SLOT_BYTES};
	read_memory(look->names, look->record->tgid, pieces, file->nr);
	*is_whole = true;
	for (size_t i = 0; i < file->nr; i++) {
		uint64_t initial = file->slots[i].initial;

		if (!pieces[i].was_read || !values[i] || values[i] == initial ||
		    values[i] == bias + initial)
			*is_whole = false;
		else if (is_code(file->segments, values[i] - bias))
			named[nr++] = (struct named){
				values[i] - bias,
				strtab_intern(&look->names->strings, file->slots[i].name), i};
	}
	return enter_choice(look->names, named, nr);
}

static bool same_reading(const void *ctx, uint32_t value, const void *key)
{
	const struct reading *a = &((const struct ifuncnames *)ctx)->readings.at[value], *b = key;

	return a->image == b->image && a->file == b->file;
}

static uint64_t code_of(const struct reading *reading)
{
	return hash_combine(hash_combine((uintptr_t)reading->image, reading->file), 0);
}

/* NULL: there is none. */
static struct reading *find_reading(const struct ifuncnames *names, const struct image *image,
				    uint32_t file)
{
	const struct reading key = {.image = image, .file = file};
	uint32_t i = hash_find(&names->reading_index, code_of(&key), same_reading, names, &key);

	return i == HASH_NONE ? NULL : &names->readings.at[i];
}

/* NULL: there are too many. */
static struct reading *reading_of(struct ifuncnames *names, const struct image *image,
				  uint32_t file)
{
	struct reading *found = find_reading(names, image, file);
	struct reading reading = {.image = image, .file = file, .choice = CHOICE_NONE};

	if (found || names->readings.nr >= IFUNCNAMES_MAX_READINGS)
		return found;
	hash_insert(&names->reading_index, code_of(&reading), names->readings.nr);
	vec_push(&names->readings, reading);
	return &names->readings.at[names->readings.nr - 1];
}

/* A read of nothing, as of a process that has just ended, leaves what was read before. */
static void read_again(struct look *look, const struct file_slots *file, const struct mapping *map,
		       uint64_t bias, struct reading *reading)
{
	bool is_whole;
	uint32_t choice = read_slots(look, file, bias, &is_whole);
	uint64_t now_ns = clock_monotonic_ns();

	reading->due_ns = is_whole || ++reading->nr_reads == IFUNCNAMES_MAX_READS
				  ? UINT64_MAX
				  : now_ns + (REST_NS << reading->nr_reads);
	if (choice == CHOICE_NONE)
		return;
	reading->choice = choice;
	reading->read_ns = now_ns;
	reading->map_start = map->start;
}

static void look_in(struct look *look, const struct mapping *map)
{
	const struct file_slots *file = slots_of(look, map->file);
	struct ifuncnames *names = look->names;
	struct reading *reading;
	uint64_t now_ns, elf_addr;

	if (!file->nr || segments_addr(file->segments, map->file_off, &elf_addr))
		return;
	now_ns = clock_monotonic_ns();
	reading = reading_of(names, look->image, map->file);
	if (!reading || now_ns < reading->due_ns ||
	    look->image != tasks_image(names->tasks, look->record->tgid, 0, now_ns))
		return;
	read_again(look, file, map, map->start - elf_addr, reading);
}

void ifuncnames_look(struct ifuncnames *names, const struct record *record,
		     struct workbudget *budget)
{
	const struct mapping *map = NULL;
	struct look look = {
		.names = names,
		.image = tasks_image(names->tasks, record->tgid, record->start_ns, record->time_ns),
		.record = record,
		.budget = budget};

	for (uint32_t i = 0; i < record->nr_user && !workbudget_is_over(budget); i++) {
		uint64_t ip = IP_ADDRESS(record->user_ips[i]);

		if (map && ip >= map->start && ip < map->limit)
			continue;
		map = mappings_find(&look.image->mappings, ip, record->time_ns);
		if (map && map->file != FILE_NONE && map->until_ns == UINT64_MAX)
			look_in(&look, map);
	}
}

/* Finding ---------------------------------------------------------------------------------------- */

/* Had the process not ended, nor executed another program, nor mapped something else there when it was read? */
static bool was_there(const struct reading *reading)
{
	const struct image *image = reading->image;
	const struct process *process = image->process;
	const struct mapping *map;

	if (process->exited_ns && !process->lives_on && process->exited_ns <= reading->read_ns)
		return false;
	for (size_t i = 0; i + 1 < process->images.nr; i++)
		if (process->images.at[i] == image &&
		    process->images.at[i + 1]->since_ns <= reading->read_ns)
			return false;
	map = mappings_find(&image->mappings, reading->map_start, reading->read_ns);
	return map && map->file == reading->file && map->since_ns <= reading->read_ns &&
	       map->until_ns > reading->read_ns;
}

bool ifuncnames_has(const struct ifuncnames *names, const struct image *image, uint32_t file)
{
	const struct reading *reading = find_reading(names, image, file);

	return reading && reading->choice != CHOICE_NONE;
}

const char *ifuncnames_find(const struct ifuncnames *names, const struct image *image,
			    uint32_t file, uint64_t start)
{
	const struct reading *reading = find_reading(names, image, file);
	const struct choice *choice;
	const struct named *found;

	if (!reading || reading->choice == CHOICE_NONE)
		return NULL;
	choice = &names->choices.at[reading->choice];
	found = bsearch(&(struct named){.start = start}, choice->at, choice->nr, sizeof(*found),
			compare_named);
	return found && was_there(reading) ? strtab_get(&names->strings, found->name) : NULL;
}
