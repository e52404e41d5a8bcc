/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What unwind tables cost: bytes, and the time to build them.
 *
 *	build/bench/bench_tables [FILE|DIRECTORY...]
 *
 * Without arguments: libc, node, libLLVM-14, and all that is an ELF file with unwind information
 * under /usr/lib. A file's time is the best of five builds with its pages in memory, a directory's
 * is the sum over its files, each built once, after it was read.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "object/elf.h"
#include "unwind/tablebuild.h"

struct figures {
	size_t nr_wide; /* rows */
	size_t nr_files, nr_fdes, nr_rows, nr_pages, nr_extended, max_extended, nr_bytes;
	size_t nr_unsupported, nr_damaged;
	uint64_t build_ns;
};

static struct figures total; /* of the directory that nftw() walks */

static void print(const char *name, const struct figures *figures)
{
	printf("%-34s %6zu %8zu %9zu %6.2f %7zu %6zu %6zu %10zu %7.1f %8.2f %6zu %4zu\n", name,
	       figures->nr_files, figures->nr_fdes, figures->nr_rows,
	       figures->nr_rows ? 100.0 * (double)figures->nr_wide / (double)figures->nr_rows : 0,
	       figures->nr_pages, figures->nr_extended, figures->max_extended, figures->nr_bytes,
	       figures->nr_fdes ? (double)figures->nr_bytes / (double)figures->nr_fdes : 0,
	       (double)figures->build_ns / 1e6, figures->nr_unsupported, figures->nr_damaged);
}

static size_t count_unsupported(const struct unwind_table *table)
{
	size_t nr = 0;

	for (uint32_t i = 0; i < table->nr_rows; i++)
		nr += unwind_row_rule(table->rows[i]) ==
		      (UNWIND_RULE_EXTENDED | UNWIND_EXTENDED_UNSUPPORTED);
	return nr;
}

/* Rows whose rule is neither inline nor one of those that every table has. */
static size_t count_wide(const struct unwind_table *table)
{
	size_t nr = 0;

	for (uint32_t i = 0; i < table->nr_rows; i++)
		nr += (unwind_row_rule(table->rows[i]) & UNWIND_RULE_EXTENDED) &&
		      (table->rows[i] & UNWIND_EXTENDED_MASK) >= UNWIND_NR_FIXED_EXTENDED;
	return nr;
}

static void add(struct figures *figures, const struct unwind_table *table, uint64_t build_ns)
{
	figures->nr_files++;
	figures->nr_fdes += table->stats.nr_fdes;
	figures->nr_rows += table->nr_rows;
	figures->nr_wide += count_wide(table);
	figures->nr_pages += table->nr_pages;
	figures->nr_extended += table->nr_extended;
	if (table->nr_extended > figures->max_extended)
		figures->max_extended = table->nr_extended;
	figures->nr_bytes += unwind_table_bytes(table);
	figures->nr_unsupported += count_unsupported(table);
	figures->nr_damaged += table->stats.nr_damaged;
	figures->build_ns += build_ns;
}

/* So that what is timed is building, not the disk. */
static void touch(const struct cfi_section *section)
{
	const volatile char *bytes = section->bytes;

	for (size_t i = 0; i < section->len_bytes; i += 4096)
		(void)bytes[i];
}

static int measure(const char *path, unsigned nr_runs, struct figures *figures)
{
	int fd scoped(closep) = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct unwind_table *table = NULL;
	struct ehframe_input input;
	uint64_t best_ns = UINT64_MAX;
	struct elf_file *file;

	if (fd < 0)
		return -errno;
	if (elf_file_open(fd, &file))
		return -ENOEXEC;
	if (ehframe_input_from_elf(file, &input)) {
		elf_file_close(file);
		return -ENOENT;
	}
	touch(&input.section);
	for (unsigned i = 0; i < nr_runs; i++) {
		uint64_t start_ns = clock_monotonic_ns(), ns;

		unwind_table_free(table);
		table = NULL;
		if (unwind_table_new(&input, &table))
			break;
		ns = clock_monotonic_ns() - start_ns;
		best_ns = ns < best_ns ? ns : best_ns;
	}
	if (table)
		add(figures, table, best_ns);
	unwind_table_free(table);
	elf_file_close(file);
	return 0;
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)ftw;
	if (type == FTW_F && S_ISREG(st->st_mode))
		measure(path, 1, &total);
	return 0;
}

static void bench(const char *path)
{
	struct figures figures = {0};
	struct stat st;

	if (stat(path, &st))
		return;
	if (S_ISDIR(st.st_mode)) {
		total = figures;
		nftw(path, visit, 32, FTW_PHYS);
		print(path, &total);
	} else if (!measure(path, 5, &figures)) {
		const char *slash = strrchr(path, '/');

		print(slash ? slash + 1 : path, &figures);
	}
}

int main(int argc, char **argv)
{
	static const char *const usual[] = {
		"/usr/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/bin/node",
		"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
		"/usr/lib",
	};
	struct rusage usage;

	printf("%-34s %6s %8s %9s %6s %7s %6s %6s %10s %7s %8s %6s %4s\n", "", "files", "FDEs",
	       "rows", "wide%", "pages", "extended rules", "most", "bytes", "per FDE", "build ms",
	       "unsup", "bad");
	if (argc > 1)
		for (int i = 1; i < argc; i++)
			bench(argv[i]);
	else
		for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
			bench(usual[i]);
	getrusage(RUSAGE_SELF, &usage);
	printf("peak memory, mapped file pages included: %ld MB\n", usage.ru_maxrss / 1024);
	return 0;
}
