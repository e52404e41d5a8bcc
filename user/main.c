// SPDX-License-Identifier: BSD-2-Clause
/* From argv to an exit code: finds the subcommand in one table and runs it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/optiontext.h"
#include "base/suggest.h"
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

/* What other profilers call it; NULL: ours is a command of its own and needs no advice. */
static const struct synonym {
	const char *theirs, *ours;
} synonyms[] = {
	{"annotate", "top --by line"},
	{"attach", "record -p PID"},
	{"compare", "diff"},
	{"cpu", "record"},
	{"graph", "flame"},
	{"list", "top --by line"},
	{"memory", "heap"},
	{"profile", "record"},
	{"script", "convert --to text"},
	{"show", "top"},
	{"stat", "info"},
	{"svg", "flame -o x.svg"},
	{"view", "top"},
};

#define NR_SYNONYMS (sizeof(synonyms) / sizeof(synonyms[0]))

static const struct command *command_of(const char *name)
{
	if (!strcmp(name, "report")) /* perf's word */
		name = "top";
	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	return NULL;
}

static void print_help(FILE *out)
{
	fputs("usage: cprof COMMAND [options]\n\n"
	      "A system-wide profiler: any process, no restart, pprof files.\n\n",
	      out);
	for (size_t i = 0; i < NR_COMMANDS; i++)
		fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].summary);
	fputs("\ncprof help COMMAND tells more; cprof version, the version\n", out);
}

/* As an option's listing is, in two fields (base/optiontext.h). */
static void list_commands(void)
{
	for (size_t i = 0; i < NR_COMMANDS; i++)
		printf("%s\t%s\n", commands[i].name, commands[i].summary);
	puts("report\tthe same as top\nhelp\thow to use a command\nversion\twhich version this is");
}

/* What was meant by a command that there is not; NULL: no idea. */
static const char *meant_by(const char *name)
{
	struct suggestion suggestion = suggestion_for(name, strlen(name));

	for (size_t i = 0; i < NR_SYNONYMS; i++)
		if (!strcmp(name, synonyms[i].theirs))
			return synonyms[i].ours;
	for (size_t i = 0; i < NR_COMMANDS; i++)
		suggestion_offer(&suggestion, commands[i].name);
	suggestion_offer(&suggestion, "report");
	suggestion_offer(&suggestion, "help");
	suggestion_offer(&suggestion, "version");
	return suggestion.best;
}

static int no_such_command(const char *name)
{
	const char *meant = meant_by(name);
	char safe[512];

	text_escape(name, safe, sizeof(safe));
	if (meant)
		warn("there is no command '%s'. Did you mean cprof %s?", safe, meant);
	else if (*name == '-')
		warn("unknown option %s: a command comes first (see cprof --help).", safe);
	else if (!access(name, F_OK))
		warn("there is no command '%s'. To see what is in a file: cprof top %s", safe,
		     safe);
	else
		warn("there is no command '%s' (see cprof --help).", safe);
	return EXIT_USAGE;
}

static int help_on(const char *name)
{
	const struct command *command = name ? command_of(name) : NULL;
	char *arguments[] = {(char *)name, (char[]){"--help"}, NULL};

	if (command)
		return command->run(2, arguments);
	if (name && strcmp(name, "help") != 0 && strcmp(name, "version") != 0)
		return no_such_command(name);
	print_help(stdout);
	return EXIT_DONE;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct command *command = command_of(name);

	if (command)
		return command->run(argc - 1, argv + 1);
	if (!strcmp(name, "version") || !strcmp(name, "--version") || !strcmp(name, "-V")) {
		puts("cprof " CPROF_VERSION);
		return EXIT_DONE;
	}
	if (!strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h"))
		return help_on(argc > 2 ? argv[2] : NULL);
	if (!strcmp(name, OPTION_LISTING)) {
		list_commands();
		return EXIT_DONE;
	}
	if (*name)
		return no_such_command(name);
	print_help(stderr);
	return EXIT_USAGE;
}
