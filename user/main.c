// SPDX-License-Identifier: BSD-2-Clause
/* Finds the subcommand in one table, runs it, and returns its exit code. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/suggest.h"
#include "base/text.h"
#include "cli/arghelp.h"
#include "cli/args.h"
#include "cli/stdstreams.h"
#include "cmd.h"
#include "exit.h"

static int cmd_help(int argc, char **argv);
static int cmd_version(int argc, char **argv);

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
	const char *also; /* other names, separated by blanks; NULL: none */
} commands[] = {
	{"record", cmd_record, "sample stacks on the CPU, to show where the time goes", NULL},
	{"heap", cmd_heap, "sample malloc and free, to show what allocates and what holds memory",
	 NULL},
	{"info", cmd_info, "show what a profile contains", NULL},
	{"lint", cmd_lint, "report what pprof, Parca, Pyroscope or speedscope would reject or drop",
	 NULL},
	{"merge", cmd_merge,
	 "merge profiles into one; scale or split a profile, or drop sample types", NULL},
	{"symbolize", cmd_symbolize,
	 "name the code in profiles later, or elsewhere, from binaries and debug files", NULL},
	{"diff", cmd_diff, "compare two profiles, function by function", NULL},
	{"top", cmd_top, "list the values of a profile, flat and cum, by function, line ...",
	 "report"}, /* perf's word */
	{"tree", cmd_tree, "print the call tree of a profile", NULL},
	{"peek", cmd_peek, "print the callers and callees of matching functions", NULL},
	{"flame", cmd_flame, "draw a profile, or the difference of two, as a flame graph", NULL},
	{"convert", cmd_convert,
	 "convert a profile to another format: folded, speedscope, gecko ...", NULL},
	{"check", cmd_check, "detect regressions between two sets of profiles (a gate for CI)",
	 NULL},
	{"bench", cmd_bench, "profile two commands in alternation, and check for a regression",
	 NULL},
	{"doctor", cmd_doctor, "check whether cprof can record on this machine, and what to do",
	 NULL},
	{"help", cmd_help, "show the options of a command", "--help -h"},
	{"version", cmd_version, "print the version", "--version -V"},
};

#define NR_COMMANDS    ARRAY_SIZE(commands)
#define SUMMARY_COLUMN 12
#define NR_LAST	       2 /* help and version: --help names them below its list */

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

static const struct command *command_of(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < NR_COMMANDS; i++) {
		if (!strcmp(name, commands[i].name))
			return &commands[i];
		for (const char *also = commands[i].also; also && *also;
		     also += strspn(also, " ")) {
			size_t also_len = strcspn(also, " ");

			if (len == also_len && !strncmp(name, also, len))
				return &commands[i];
			also += also_len;
		}
	}
	return NULL;
}

static void print_help(FILE *out)
{
	fputs("usage: cprof COMMAND [options]\n\n", out);
	arghelp_wrap(out,
		     "Profile any running process without restarting it; show, compare and convert "
		     "profiles.\n",
		     0, 0);
	for (size_t i = 0; i < NR_COMMANDS - NR_LAST; i++)
		arghelp_wrap(out, commands[i].summary, fprintf(out, "  %-9s ", commands[i].name),
			     SUMMARY_COLUMN);
	arghelp_wrap(out,
		     "\nSee cprof help COMMAND for the options of a command, and cprof version for "
		     "the version.",
		     0, 0);
}

/* Lists the commands in two columns, like options (cli/arghelp.h). */
static void list_commands(void)
{
	for (size_t i = 0; i < NR_COMMANDS; i++) {
		printf("%s\t%s\n", commands[i].name, commands[i].summary);
		if (commands[i].also && *commands[i].also != '-')
			printf("%s\talias of %s\n", commands[i].also, commands[i].name);
	}
}

/* What was meant by a command that there is not; NULL: no idea. */
static const char *meant_by(const char *name)
{
	struct suggestion suggestion = suggestion_for(name, strlen(name));

	for (size_t i = 0; i < ARRAY_SIZE(synonyms); i++)
		if (!strcmp(name, synonyms[i].theirs))
			return synonyms[i].ours;
	for (size_t i = 0; i < NR_COMMANDS; i++) {
		suggestion_offer(&suggestion, commands[i].name);
		if (commands[i].also && *commands[i].also != '-')
			suggestion_offer(&suggestion, commands[i].also);
	}
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

/* Does what --help of the command does; without a command, lists all. */
static int help_on(const struct arg_list *names)
{
	const struct command *command = names->nr ? command_of(names->at[0]) : NULL;
	char *arguments[] = {(char *)(command ? command->name : NULL), (char[]){"--help"}, NULL};

	if (command)
		return command->run(2, arguments);
	if (names->nr)
		return no_such_command(names->at[0]);
	print_help(stdout);
	return EXIT_DONE;
}

static int cmd_help(int argc, char **argv)
{
	struct args args scoped(args_release) = {
		.command = "help",
		.operands = "[COMMAND]",
		.about = "Show the options of COMMAND, or the list of commands.",
	};
	enum exit_code code;

	return args_begin(&args, argc, argv, &code) ? help_on(&args.operand) : (int)code;
}

static int cmd_version(int argc, char **argv)
{
	struct args args scoped(args_release) = {
		.command = "version",
		.operands = "",
		.about = "Print the version of cprof.",
	};
	enum exit_code code;

	if (args_begin(&args, argc, argv, &code))
		puts("cprof " CPROF_VERSION);
	return code;
}

static int run_command(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct command *command = command_of(name);

	if (command)
		return command->run(argc - 1, argv + 1);
	if (*name && strcmp(name, ARGS_LISTING) != 0)
		return no_such_command(name);
	if (*name) {
		list_commands();
		return EXIT_DONE;
	}
	print_help(stderr);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	stdstreams_open();
	stdstreams_take_size_limit_as_error();
	return stdstreams_finish(run_command(argc, argv));
}
