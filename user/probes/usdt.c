// SPDX-License-Identifier: BSD-2-Clause
/*
 * A note of .note.stapsdt (SystemTap's <sys/sdt.h>), behind a head of three lengths and the owner "stapsdt":
 *
 *	8 bytes each	address of the probe; address of the section .stapsdt.base when this was written; of the semaphore
 *	strings		provider, name, arguments
 *
 * A program that was prelinked has moved its addresses by as much as its base has, but not those in the notes.
 */
#include "probes/usdt.h"

#include <string.h>

struct head {
	uint32_t owner_bytes, about_bytes, type;
};

struct addresses {
	uint64_t probe, base, semaphore;
};

#define USDT_TYPE  3
#define USDT_OWNER "stapsdt"
#define MAX_NOTES  4096

static const struct wanted {
	const char *provider, *name, *function;
	bool has_three; /* arguments, or one */
	enum alloc_shape shape;
} wanted[] = {
	{"otel_memory", "alloc", "otel_memory_alloc", true, SHAPE_SAMPLED},
	{"otel_memory", "free", "otel_memory_free", false, SHAPE_SAMPLED_FREE},
	{"cprof_heap", "moved", "cprof_heap_moved", false, SHAPE_MOVED},
};

#define NR_WANTED (sizeof(wanted) / sizeof(wanted[0]))

/* What is left of a section. */
struct notes_reader {
	const uint8_t *at;
	size_t len_bytes;
};

/* Takes bytes off, with the padding behind them. NULL: there are not as many. */
static const uint8_t *take(struct notes_reader *rest, size_t len_bytes)
{
	size_t padded = (len_bytes + 3) & ~(size_t)3;
	const uint8_t *at = rest->at;

	if (len_bytes > rest->len_bytes)
		return NULL;
	if (padded > rest->len_bytes)
		padded = rest->len_bytes;
	rest->at += padded;
	rest->len_bytes -= padded;
	return at;
}

/* Takes a string off. NULL: it does not end. */
static const char *take_string(struct notes_reader *rest)
{
	const char *text = (const char *)rest->at;
	size_t len = strnlen(text, rest->len_bytes);

	if (len == rest->len_bytes)
		return NULL;
	rest->at += len + 1;
	rest->len_bytes -= len + 1;
	return text;
}

static const struct wanted *wanted_of(const struct arch *arch, struct notes_reader *strings)
{
	const char *provider = take_string(strings);
	const char *name = provider ? take_string(strings) : NULL;
	const char *arguments = name ? take_string(strings) : NULL;

	for (size_t i = 0; arguments && i < NR_WANTED; i++)
		if (!strcmp(provider, wanted[i].provider) && !strcmp(name, wanted[i].name) &&
		    !strcmp(arguments,
			    wanted[i].has_three ? arch->sdt_arguments : arch->sdt_argument))
			return &wanted[i];
	return NULL;
}

/* Finds the file offset of an address. false: there is none, or segments overlap there, so that the offset has another address, too. */
static bool find_place(const struct elf_file *elf, uint64_t elf_addr, uint64_t *file_off)
{
	uint64_t back;

	return !elf_file_offset(elf, elf_addr, file_off) && !elf_file_addr(elf, *file_off, &back) &&
	       back == elf_addr;
}

/* Adds the probe of a note, if it is wanted; how far the file's addresses were moved is known from the base. */
static void add(const struct elf_file *elf, struct notes_reader about, struct allocator *allocator)
{
	struct alloc_site *site = &allocator->sites[allocator->nr];
	const uint8_t *bytes = take(&about, sizeof(struct addresses));
	const struct wanted *probe;
	struct elf_section base;
	struct addresses at;
	uint64_t moved;

	if (!bytes)
		return;
	memcpy(&at, bytes, sizeof(at));
	probe = wanted_of(elf_file_arch(elf), &about);
	if (!probe || !at.semaphore || !elf_file_section_named(elf, ".stapsdt.base", &base))
		return;
	moved = base.elf_addr - at.base;
	*site = (struct alloc_site){.shape = probe->shape};
	if (!find_place(elf, at.probe + moved, &site->file_off) ||
	    !find_place(elf, at.semaphore + moved, &site->semaphore_off))
		return;
	allocator->names[allocator->nr] = probe->function;
	allocator->offsets[allocator->nr++] = 0;
}

/* A bit for each of the probes that there are. */
static unsigned int shapes_of(const struct allocator *allocator)
{
	unsigned int shapes = 0;

	for (size_t i = 0; i < allocator->nr; i++)
		shapes |= 1u << allocator->sites[i].shape;
	return shapes;
}

bool usdt_find(const struct elf_file *elf, struct allocator *allocator)
{
	struct elf_section section;
	struct notes_reader notes;

	if (!elf_file_arch(elf) || !elf_file_section(elf, ".note.stapsdt", &section) ||
	    !section.bytes)
		return false;
	notes = (struct notes_reader){section.bytes, section.len_bytes};
	for (int i = 0; i < MAX_NOTES && allocator->nr < ALLOC_MAX_SITES; i++) {
		const uint8_t *bytes = take(&notes, sizeof(struct head)), *owner, *about;
		struct head head;

		if (!bytes)
			break;
		memcpy(&head, bytes, sizeof(head));
		owner = take(&notes, head.owner_bytes);
		about = owner ? take(&notes, head.about_bytes) : NULL;
		if (!about)
			break;
		if (head.type == USDT_TYPE && head.owner_bytes == sizeof(USDT_OWNER) &&
		    !memcmp(owner, USDT_OWNER, sizeof(USDT_OWNER)))
			add(elf, (struct notes_reader){about, head.about_bytes}, allocator);
	}
	if (shapes_of(allocator) ==
	    (1u << SHAPE_SAMPLED | 1u << SHAPE_SAMPLED_FREE | 1u << SHAPE_MOVED))
		return true;
	allocator->nr = 0;
	return false;
}
