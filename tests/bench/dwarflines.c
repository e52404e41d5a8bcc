// SPDX-License-Identifier: BSD-2-Clause
/*
 * Prints what object/dwarf.h says of addresses, of Go programs what object/golines.h says, in the form of `llvm-symbolizer --inlines --no-demangle`.
 *
 *	dwarflines FILE [ALT] <ADDRESSES	hexadecimal, one a line; ALT: its alternate file, or one of split units
 *	dwarflines -c FILE [ALT] <ADDRESSES	counts the frames, prints none
 *
 * On stderr: the addresses a second of CPU time, opening included, the peak of resident memory, and what is anonymous of it.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fileview.h"
#include "base/vec.h"
#include "object/dwarf.h"
#include "object/golines.h"
#include "object/gopclntab.h"
#include "object/object.h"

struct answers {
	char **texts; /* by address; NULL: none */
};

static void keep(void *ctx, size_t i, const struct source_frame *frames, size_t nr)
{
	struct answers *answers = ctx;
	size_t len = 0;
	FILE *out = open_memstream(&answers->texts[i], &len);

	for (size_t frame = 0; frame < nr; frame++)
		fprintf(out, "%s\n%s:%" PRIu32 "\n", frames[frame].name ? frames[frame].name : "??",
			*frames[frame].file ? frames[frame].file : "??", frames[frame].line);
	fclose(out);
}

static struct elf_file *open_file(const char *path)
{
	struct elf_file *file;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || elf_file_open(fd, &file)) {
		fprintf(stderr, "dwarflines: cannot read %s\n", path);
		exit(2);
	}
	return file;
}

static struct dwarf_source *open_source(const char *path, const char *alt_path)
{
	struct elf_file *file = open_file(path), *alt = alt_path ? open_file(alt_path) : NULL;
	struct dwarf_source *source = dwarf_source_new(file, NULL);

	if (!source || (alt && dwarf_source_set_alt(source, alt, NULL) &&
			dwarf_source_set_split(source, alt, NULL))) {
		fputs("dwarflines: no DWARF, or not its alternate file or split units\n", stderr);
		exit(2);
	}
	elf_file_close(file);
	elf_file_close(alt);
	return source;
}

/* false: it is not Go's. */
static bool ask_go(const char *path, const uint64_t *addrs, size_t nr, source_frames_fn fn,
		   void *ctx)
{
	struct objects *objects = objects_new();
	struct object *object = objects_get(objects, 0, open(path, O_RDONLY | O_CLOEXEC));
	bool is_go = object_elf(object) && gopclntab_is_there(object_elf(object));

	if (is_go)
		golines_find(object_gopclntab(object), object_elf(object), addrs, nr, fn, ctx);
	objects_free(objects);
	return is_go;
}

static void ask_dwarf(const char *path, const char *alt_path, const uint64_t *addrs, size_t nr,
		      source_frames_fn fn, void *ctx)
{
	struct dwarf_source *source = open_source(path, alt_path);

	dwarf_source_frames(source, addrs, nr, true, NULL, fn, ctx);
	dwarf_source_free(source);
}

/* "VmHWM" counts file pages too, RssAnon is what is there now of memory of its own. */
static void print_memory(void)
{
	FILE *in = fopen("/proc/self/status", "r");
	char line[256];

	while (in && fgets(line, sizeof(line), in))
		if (!strncmp(line, "VmHWM", 5) || !strncmp(line, "RssAnon", 7))
			fputs(line, stderr);
	if (in)
		fclose(in);
}

static void count(void *ctx, size_t i, const struct source_frame *frames, size_t nr)
{
	(void)i;
	(void)frames;
	*(size_t *)ctx += nr;
}

int main(int argc, char **argv)
{
	vec_of(uint64_t) addrs = {0};
	source_frames_fn fn;
	struct answers answers;
	size_t nr_frames = 0;
	void *ctx;
	uint64_t addr, began_ns, took_ns;
	bool counts = argc > 1 && !strcmp(argv[1], "-c");

	if (counts) {
		argc--;
		argv++;
	}
	if (argc < 2) {
		fputs("usage: dwarflines [-c] FILE [ALT] <ADDRESSES\n", stderr);
		return 2;
	}
	while (scanf("%" SCNx64, &addr) == 1)
		vec_push(&addrs, addr);
	fileview_guard();
	began_ns = clock_process_cpu_ns();
	answers.texts = xcalloc(addrs.nr, sizeof(*answers.texts));
	fn = counts ? count : keep;
	ctx = counts ? (void *)&nr_frames : &answers;
	if (!ask_go(argv[1], addrs.at, addrs.nr, fn, ctx))
		ask_dwarf(argv[1], argc > 2 ? argv[2] : NULL, addrs.at, addrs.nr, fn, ctx);
	took_ns = clock_process_cpu_ns() - began_ns;
	fprintf(stderr, "%zu addresses, %.0f a second", addrs.nr,
		(double)addrs.nr * 1e9 / (double)took_ns);
	if (counts)
		fprintf(stderr, ", %zu frames", nr_frames);
	fputc('\n', stderr);
	print_memory();
	for (size_t i = 0; i < addrs.nr && !counts; i++) {
		printf("%s\n", answers.texts[i] ? answers.texts[i] : "??\n??:0\n");
		free(answers.texts[i]);
	}
	free(answers.texts);
	vec_release(&addrs);
	return 0;
}
