/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subcommands. To add one: a file cmd_NAME.c with its function, a line here, a row in main.c.
 * argv[0] is the subcommand's name; the result is cprof's exit code (exit.h).
 */
#ifndef CPROF_CMD_H
#define CPROF_CMD_H

int cmd_record(int argc, char **argv);
int cmd_heap(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_lint(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_flame(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_tree(int argc, char **argv);
int cmd_peek(int argc, char **argv);
int cmd_convert(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_symbolize(int argc, char **argv);

#endif
