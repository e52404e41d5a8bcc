// SPDX-License-Identifier: BSD-2-Clause
/*
 * Prints what object/dwarf.h says of addresses, in the form of `llvm-symbolizer --inlines --no-demangle`.
 *
 *	dwarflines FILE [ALT] <ADDRESSES	hexadecimal, one a line; ALT: the file of .gnu_debugaltlink
 *
 * On stderr: the addresses a second, the time of opening included, and the peak of anonymous memory.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/vec.h"
#include "object/dwarf.h"

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

/* "VmHWM" counts file pages too; what was read is in memory of its own here, so that is the same. */
static void print_memory(void)
{
	FILE *in = fopen("/proc/self/status", "r");
	char line[256];

	while (in && fgets(line, sizeof(line), in))
		if (!strncmp(line, "VmHWM", 5) || !strncmp(line, "RssFile", 7))
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
	struct elf_file *file, *alt = NULL;
	vec_of(uint64_t) addrs = {0};
	struct dwarf_source *source;
	struct answers answers;
	size_t nr_frames = 0;
	uint64_t addr, began_ns, took_ns;

	if (argc < 2) {
		fputs("usage: dwarflines FILE [ALT] <ADDRESSES\n", stderr);
		return 2;
	}
	while (scanf("%" SCNx64, &addr) == 1)
		vec_push(&addrs, addr);
	began_ns = clock_process_cpu_ns();
	file = open_file(argv[1]);
	source = dwarf_source_new(file);
	if (argc > 2)
		alt = open_file(argv[2]);
	if (!source || (alt && dwarf_source_set_alt(source, alt))) {
		fputs("dwarflines: no DWARF, or not its alternate file\n", stderr);
		return 2;
	}
	dwarf_source_frames(source, addrs.at, addrs.nr, true, NULL, count, &nr_frames);
	took_ns = clock_process_cpu_ns() - began_ns;
	fprintf(stderr, "%zu addresses, %zu frames, %.0f addresses a second\n", addrs.nr, nr_frames,
		(double)addrs.nr * 1e9 / (double)took_ns);
	print_memory();
	answers.texts = xcalloc(addrs.nr, sizeof(*answers.texts));
	dwarf_source_frames(source, addrs.at, addrs.nr, true, NULL, keep, &answers);
	for (size_t i = 0; i < addrs.nr; i++) {
		printf("%s\n", answers.texts[i] ? answers.texts[i] : "??\n??:0\n");
		free(answers.texts[i]);
	}
	free(answers.texts);
	vec_release(&addrs);
	dwarf_source_free(source);
	elf_file_close(file);
	elf_file_close(alt);
	return 0;
}
