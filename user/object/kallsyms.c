// SPDX-License-Identifier: BSD-2-Clause
/*
 * A line of /proc/kallsyms is what nm(1) would print, with the module in brackets after a tab:
 *
 *	ffffffff81000300 T asm_exc_nmi
 *	ffffffffc0201000 t ftrace_trampoline\t[__builtin__ftrace]
 *
 * vmlinux comes first and sorted, then the modules in the order they were loaded, ftrace's
 * trampolines, kprobes', BPF programs. (kernel/kallsyms.c: s_show().) There are no sizes. What ends
 * a function is the next symbol of any kind, be it data or padding, and the end of the kernel's text:
 *
 *	_text ... _etext | rodata ... | _sinittext ... _einittext | bss ... |	 modules, BPF
 *	names		   no names	names				   names, each of a
 *									   bounded reach
 *
 * __pfx_foo is the 16 bytes before foo that patching keeps free; there are as many of those as there
 * are functions, so their names are not kept.
 *
 * Read through one buffer of 64 KiB: the text is 5 to 20 MB, a third of it addresses and types.
 */
#include "object/kallsyms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strtab.h"
#include "base/vec.h"

#define BUFFER_BYTES   (64u << 10)
#define NAME_MAX_BYTES 1024u	  /* the kernel's KSYM_NAME_LEN is 512 */
#define TEXT_MAX_BYTES (1u << 30) /* twenty times of any kernel's */
#define NAME_NONE      UINT32_MAX /* ends what is before it, and is nothing itself */

struct entry {
	uint64_t addr;
	uint32_t name;	 /* offset in names, or NAME_NONE */
	uint32_t module; /* strtab id */
	uint8_t rank;	 /* 0 no function, 1 a mark, 2 local, 3 weak, 4 global */
};

struct kallsyms {
	vec_of(struct entry) entries; /* sorted by address, then from the worst to the best */
	vec_of(char) names;	      /* NUL-terminated, one after the other */
	struct strtab modules;
	size_t nr_named;
};

struct line {
	uint64_t addr;
	char type;
	const char *name, *module;
	size_t name_len, module_len;
};

/* Parsing ---------------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The line at p, without its newline. */
static bool parse_line(const char *p, const char *end, struct line *line)
{
	const char *start = p, *tab;

	*line = (struct line){.module = ""};
	for (; p < end && hex_digit(*p) >= 0; p++)
		line->addr = line->addr << 4 | (uint64_t)hex_digit(*p);
	if (p == start || p - start > 16 || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return false;
	line->type = p[1];
	line->name = p + 3;
	tab = memchr(line->name, '\t', (size_t)(end - line->name));
	line->name_len = (size_t)((tab ? tab : end) - line->name);
	if (tab) {
		if (end - tab < 4 || tab[1] != '[' || end[-1] != ']')
			return false;
		line->module = tab + 2;
		line->module_len = (size_t)(end - 1 - line->module);
	}
	return line->name_len && line->name_len <= NAME_MAX_BYTES &&
	       line->module_len <= NAME_MAX_BYTES &&
	       !memchr(line->name, '\0', (size_t)(end - line->name));
}

/* The ends of sections share their addresses with functions, and are none. */
static bool is_mark(const struct line *line)
{
	static const char *const marks[] = {"_text", "_stext", "_etext", "_sinittext",
					    "_einittext"};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strlen(marks[i]) == line->name_len &&
		    !memcmp(marks[i], line->name, line->name_len))
			return true;
	return false;
}

static uint8_t rank_of(const struct line *line)
{
	if (!strchr("tTwW", line->type))
		return 0;
	if (is_mark(line))
		return 1;
	return line->type == 'T' ? 4 : line->type == 't' ? 2 : 3;
}

/* No function's name: padding before one, or an assembler's or ARM's label. */
static bool is_padding(const struct line *line)
{
	const char *name = line->name;

	return (line->name_len > 6 && (!memcmp(name, "__pfx_", 6) || !memcmp(name, "__cfi_", 6))) ||
	       (line->name_len > 1 && ((name[0] == '.' && name[1] == 'L') || name[0] == '$'));
}

static void add_line(struct kallsyms *kallsyms, const struct line *line)
{
	struct entry entry = {.addr = line->addr, .name = NAME_NONE, .rank = rank_of(line)};
	size_t used = kallsyms->names.nr;

	entry.module = strtab_intern_len(&kallsyms->modules, line->module, line->module_len);
	if (is_padding(line))
		entry.rank = 0;
	if (entry.rank) {
		entry.name = (uint32_t)used;
		vec_reserve(&kallsyms->names, line->name_len + 1);
		memcpy(kallsyms->names.at + used, line->name, line->name_len);
		kallsyms->names.at[used + line->name_len] = '\0';
		kallsyms->names.nr += line->name_len + 1;
		kallsyms->nr_named++;
	}
	vec_push(&kallsyms->entries, entry);
}

/* Takes the whole lines of the buffer; returns how many bytes they were. */
static size_t parse_lines(struct kallsyms *kallsyms, const char *buffer, size_t len, bool *has_addr)
{
	const char *p = buffer, *end = buffer + len, *newline;

	while ((newline = memchr(p, '\n', (size_t)(end - p)))) {
		struct line line;

		if (parse_line(p, newline, &line)) {
			*has_addr |= line.addr != 0;
			add_line(kallsyms, &line);
		}
		p = newline + 1;
	}
	return (size_t)(p - buffer);
}

static int read_text(int fd, struct kallsyms *kallsyms, bool *has_addr)
{
	char *buffer scoped(freep) = xmalloc(BUFFER_BYTES + 1);
	uint64_t off = 0;
	size_t used = 0;

	for (;;) {
		ssize_t nr = pread(fd, buffer + used, BUFFER_BYTES - used, (off_t)off);
		size_t taken;

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr < 0)
			return -EIO;
		off += (uint64_t)nr;
		used += (size_t)nr;
		/* The last line may lack its newline. */
		if (!nr && used)
			buffer[used++] = '\n';
		taken = parse_lines(kallsyms, buffer, used, has_addr);
		if (!nr)
			return 0;
		if (off > TEXT_MAX_BYTES)
			return -EINVAL;
		/* A line that fills the buffer is none: its rest is skipped as a line of its own. */
		if (!taken && used == BUFFER_BYTES)
			taken = used;
		used -= taken;
		memmove(buffer, buffer + taken, used);
	}
}

/* Index ------------------------------------------------------------------------------------------ */

static const char *name_of(const struct kallsyms *kallsyms, const struct entry *entry)
{
	return kallsyms->names.at + entry->name;
}

/* By address, then from the worst name to the best, as in symtab.h. */
static int compare(const void *a, const void *b, void *ctx)
{
	const struct entry *x = a, *y = b;
	const char *x_name, *y_name;
	size_t x_under, y_under, x_len, y_len;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (!x->rank)
		return 0;
	x_name = name_of(ctx, x);
	y_name = name_of(ctx, y);
	x_under = strspn(x_name, "_");
	y_under = strspn(y_name, "_");
	if (x_under != y_under)
		return x_under < y_under ? 1 : -1;
	x_len = strlen(x_name);
	y_len = strlen(y_name);
	if (x_len != y_len)
		return x_len < y_len ? 1 : -1;
	return strcmp(y_name, x_name);
}

/* What lies in vmlinux outside of its text is data that calls itself text, or a mark like _etext. */
static void drop_outside_of_text(struct kallsyms *kallsyms)
{
	uint64_t etext = 0, sinittext = 0, einittext = 0;

	if (!kallsyms_lookup(kallsyms, "_etext", &etext))
		return;
	if (!kallsyms_lookup(kallsyms, "_sinittext", &sinittext) ||
	    !kallsyms_lookup(kallsyms, "_einittext", &einittext))
		sinittext = einittext = 0;
	vec_for_each(&kallsyms->entries, entry)
		if (!entry->module && entry->addr >= etext &&
		    !(entry->addr >= sinittext && entry->addr < einittext))
			entry->rank = 0;
}

int kallsyms_read(int fd, struct kallsyms **kallsyms)
{
	struct kallsyms *read = xcalloc(1, sizeof(*read));
	bool has_addr = false;
	int err = read_text(fd, read, &has_addr);

	if (!err && read->entries.nr && !has_addr)
		err = -EPERM;
	if (!err && !read->nr_named)
		err = -EINVAL;
	if (err) {
		kallsyms_free(read);
		return err;
	}
	qsort_r(read->entries.at, read->entries.nr, sizeof(*read->entries.at), compare, read);
	drop_outside_of_text(read);
	*kallsyms = read;
	return 0;
}

void kallsyms_free(struct kallsyms *kallsyms)
{
	if (!kallsyms)
		return;
	vec_release(&kallsyms->entries);
	vec_release(&kallsyms->names);
	strtab_release(&kallsyms->modules);
	free(kallsyms);
}

size_t kallsyms_nr(const struct kallsyms *kallsyms)
{
	return kallsyms->nr_named;
}

bool kallsyms_find(const struct kallsyms *kallsyms, uint64_t addr, struct kernel_symbol *symbol)
{
	size_t nr_before = vec_partition(&kallsyms->entries, other, other->addr <= addr);
	const struct entry *entry, *next;

	if (!nr_before)
		return false;
	/* The best of the nearest address, if it is a function at all. */
	entry = &kallsyms->entries.at[nr_before - 1];
	next = nr_before < kallsyms->entries.nr ? entry + 1 : NULL;
	if (!entry->rank)
		return false;
	/* In the kernel itself the next symbol is enough. Elsewhere a module may end before it. */
	if ((entry->module || !next || next->module) && addr - entry->addr >= KALLSYMS_REACH_BYTES)
		return false;
	*symbol = (struct kernel_symbol){.addr = entry->addr,
					 .name = name_of(kallsyms, entry),
					 .module = strtab_get(&kallsyms->modules, entry->module)};
	return true;
}

bool kallsyms_lookup(const struct kallsyms *kallsyms, const char *name, uint64_t *addr)
{
	for (size_t i = 0; i < kallsyms->entries.nr; i++) {
		const struct entry *entry = &kallsyms->entries.at[i];

		if (!entry->module && entry->name != NAME_NONE &&
		    !strcmp(name_of(kallsyms, entry), name)) {
			*addr = entry->addr;
			return true;
		}
	}
	return false;
}
