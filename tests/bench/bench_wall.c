/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What it costs that another process parses the targets' files: unwind tables and names, by calls of object/ in this
 * process and through the parser (sandbox/parser.h).
 *
 *	build/bench/bench_wall [FILE...]
 *
 * A line for each file and thing: its name, "table" or "names", how many FDEs or addresses, and the milliseconds in this
 * process and through the parser, each the best of five. Names are of random addresses (the same ones in both),
 * symbols included in the time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "object/demangle.h"
#include "object/object.h"
#include "sandbox/parser.h"
#include "unwind/tablebuild.h"
#include "worker/serve.h"

#define NR_RUNS	 5
#define NR_ADDRS 20480

struct subject {
	int fd;
	uint64_t elf_addrs[NR_ADDRS];
	size_t nr_fdes;
};

static struct parser *parser;
static uint32_t nr_keys; /* a file that has no key yet is not known to the parser */

static void fail(const char *what, int err)
{
	fprintf(stderr, "bench_wall: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void choose_addrs(struct subject *subject)
{
	const struct elf_segment *code = NULL;
	struct elf_file *file;
	int err = elf_file_open(subject->fd, &file);

	if (err)
		fail("elf_file_open", err);
	for (size_t i = 0; !code && i < elf_file_nr_segments(file); i++)
		if (elf_file_segment(file, i)->executable)
			code = elf_file_segment(file, i);
	srandom(1);
	for (size_t i = 0; code && i < NR_ADDRS; i++)
		subject->elf_addrs[i] =
			code->elf_addr +
			(uint64_t)random() % (code->file_bytes ? code->file_bytes : 1);
	elf_file_close(file);
}

/* What is timed -------------------------------------------------------------------------------------- */

static void table_here(struct subject *subject)
{
	struct unwind_table *table = NULL;
	struct elf_file *file;
	int err = elf_file_open(subject->fd, &file);

	if (!err)
		err = unwind_table_from_elf(file, &table);
	if (err)
		fail("unwind_table_from_elf", err);
	subject->nr_fdes = table->stats.nr_fdes;
	unwind_table_free(table);
	elf_file_close(file);
}

static void table_there(struct subject *subject)
{
	struct unwind_table *table = NULL;
	int err = parser_table(parser, nr_keys++, subject->fd, &table);

	if (err)
		fail("parser_table", err);
	unwind_table_free(table);
}

static void names_here(struct subject *subject)
{
	struct objects *objects = objects_new();
	struct object *object = objects_get(objects, 0, subject->fd);
	struct symbol symbol;
	uint64_t start;

	for (size_t i = 0; i < NR_ADDRS; i++)
		if (gopclntab_find(object_gopclntab(object), subject->elf_addrs[i], &start))
			continue;
		else if (symtab_find(object_symtab(object), subject->elf_addrs[i], &symbol))
			free(demangle(symbol.name));
		else
			functab_find(object_functab(object), subject->elf_addrs[i], &start);
	objects_free(objects);
}

static void names_there(struct subject *subject)
{
	const struct parser_code code = {.key = nr_keys++, .fd = subject->fd};
	struct parser_named named;

	for (size_t i = 0; i < NR_ADDRS; i += named.nr) {
		size_t nr = NR_ADDRS - i < MESSAGE_MAX_NAMES ? NR_ADDRS - i : MESSAGE_MAX_NAMES;
		int err = parser_names(parser, &code, &subject->elf_addrs[i], nr, &named);

		if (err)
			fail("parser_names", err);
		free(named.names);
	}
}

static double best_ms(struct subject *subject, void (*fn)(struct subject *subject))
{
	uint64_t best_ns = UINT64_MAX;

	for (int i = 0; i < NR_RUNS; i++) {
		uint64_t start_ns = clock_monotonic_ns(), ns;

		fn(subject);
		ns = clock_monotonic_ns() - start_ns;
		best_ns = ns < best_ns ? ns : best_ns;
	}
	return (double)best_ns / 1e6;
}

static void bench(const char *path)
{
	struct subject *subject scoped(freep) = xcalloc(1, sizeof(*subject));
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	double here, there;

	subject->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (subject->fd < 0)
		return;
	choose_addrs(subject);
	here = best_ms(subject, table_here);
	there = best_ms(subject, table_there);
	printf("%s table %zu %.3f %.3f\n", name, subject->nr_fdes, here, there);
	here = best_ms(subject, names_here);
	there = best_ms(subject, names_there);
	printf("%s names %d %.3f %.3f\n", name, NR_ADDRS, here, there);
	close(subject->fd);
}

int main(int argc, char **argv)
{
	static const char *const usual[] = {
		"/usr/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/bin/node",
		"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
	};
	const struct peer_options options = {.serve = serve};
	uint32_t missing;
	int err = parser_open(&options, &parser);

	if (!err)
		err = parser_meet(parser, &missing);
	if (err)
		fail("parser_open", err);
	if (argc > 1)
		for (int i = 1; i < argc; i++)
			bench(argv[i]);
	else
		for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
			bench(usual[i]);
	parser_close(parser);
	return 0;
}
