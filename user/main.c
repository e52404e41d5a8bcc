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
	{"record", cmd_record, "sample stacks on the CPU, to show where the time goes"},
	{"heap", cmd_heap, "sample malloc and free, to show what allocates and what holds memory"},
	{"info", cmd_info, "show what a profile contains"},
	{"lint", cmd_lint,
	 "report what pprof, Parca, Pyroscope or speedscope would reject or drop"},
	{"merge", cmd_merge,
	 "merge profiles into one; scale or split a profile, or drop sample types"},
	{"diff", cmd_diff, "compare two profiles, function by function"},
	{"top", cmd_top, "list the values of a profile, flat and cum, by function, line ..."},
	{"tree", cmd_tree, "print the call tree of a profile"},
	{"peek", cmd_peek, "print the callers and callees of matching functions"},
	{"flame", cmd_flame, "draw a profile, or the difference of two, as a flame graph"},
	{"convert", cmd_convert,
	 "convert a profile to another format: folded, speedscope, gecko, text ..."},
	{"check", cmd_check, "detect regressions between two sets of profiles (a gate for CI)"},
	{"bench", cmd_bench, "profile two commands in alternation, and check for a regression"},
	{"doctor", cmd_doctor, "check whether cprof can record on this machine, and what to do"},
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
	fputs("usage: cprof COMMAND [options]\n"
	      "\n"
	      "Profile any running process without restarting it; show, compare and convert "
	      "profiles.\n"
	      "\n",
	      out);
	for (size_t i = 0; i < NR_COMMANDS; i++)
		fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].summary);
	fputs("\n"
	      "See cprof help COMMAND for the options of a command, and cprof version for the "
	      "version.\n",
	      out);
}

/* As an option's listing is, in two fields (base/optiontext.h). */
static void list_commands(void)
{
	for (size_t i = 0; i < NR_COMMANDS; i++)
		printf("%s\t%s\n", commands[i].name, commands[i].summary);
	puts("report\talias of top\n"
	     "help\tshow the options of a command\n"
	     "version\tprint the version");
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
		warn("'%s' is not a cprof command. Did you mean cprof %s?", safe, meant);
	else if (*name == '-')
		warn("unknown option %s: give a command first (see cprof --help).", safe);
	else if (!access(name, F_OK))
		warn("'%s' is not a cprof command. To show a profile, use cprof top %s", safe,
		     safe);
	else
		warn("'%s' is not a cprof command (see cprof --help).", safe);
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
