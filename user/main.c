// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "cmd.h"
#include "exit.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{"record", cmd_record, "where the CPU time goes: sample stacks on the CPU"},
	{"heap", cmd_heap, "who allocates and who holds the memory: sample malloc and free"},
	{"info", cmd_info, "what is in a profile"},
	{"lint", cmd_lint, "which consumer would reject or lose what of it"},
	{"merge", cmd_merge, "several profiles into one; or one scaled, split, with fewer values"},
	{"diff", cmd_diff, "what takes more than before, and what less, function by function"},
	{"top", cmd_top, "where the values of a profile are: flat and cum, by function, line ..."},
	{"tree", cmd_tree, "the calls of a profile from the root, indented"},
	{"peek", cmd_peek, "callers and callees of the functions that match"},
	{"flame", cmd_flame, "a profile, or what changed since another, as a flame graph"},
	{"convert", cmd_convert, "a profile in other formats: folded, speedscope, gecko, text ..."},
	{"check", cmd_check, "has it become slower, or larger? A gate for CI"},
	{"bench", cmd_bench, "two commands, profiled by turns and checked"},
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *out)
{
	fputs("usage: cprof COMMAND [options]\n\n"
	      "A system-wide profiler: any process, no restart, pprof files.\n\n",
	      out);
	for (size_t i = 0; i < NR_COMMANDS; i++)
		fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].summary);
	fputs("\ncprof COMMAND --help tells more; cprof --version, the version\n", out);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(name, commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	if (!strcmp(name, "--version")) {
		puts("cprof " CPROF_VERSION);
		return EXIT_DONE;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
		print_help(stdout);
		return EXIT_DONE;
	}
	if (*name)
		warn("there is no command '%s' (see cprof --help).",
		     text_escape(name, (char[512]){0}, 512));
	else
		print_help(stderr);
	return EXIT_USAGE;
}
