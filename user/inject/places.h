/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a process has mapped the very files that this process has mapped itself, and so where it has their functions.
 *
 * It is asked of a thread that lives: when the first one has ended (pthread_exit() in main), the files of /proc/PID are
 * those of a zombie, and empty.
 */
#ifndef CPROF_INJECT_PLACES_H
#define CPROF_INJECT_PLACES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A line of a maps file. */
struct map_line {
	uint64_t start, limit, offset;
	char access[5];
	char file[40];	  /* device and inode */
	const char *path; /* "": it is of no file */
	bool is_stack;	  /* the first thread's */
};

typedef void map_fn(void *ctx, const struct map_line *line);

/* Calls fn for each mapping. -ESRCH: no thread of the process lives. */
int places_maps(pid_t pid, map_fn *fn, void *ctx);
/* "/proc/PID/task/TID/file", of a thread that lives. -ESRCH: there is none. */
int places_path(pid_t pid, const char *file, char *path, size_t path_bytes);

/* Reads memory, by a thread that lives. Returns how much could be read from there on, or -1. */
ssize_t places_read(pid_t tid, uint64_t from, void *to, size_t bytes);

/* Writes the file that this process has mapped at here, in the form of struct map_line. "": nothing is mapped. */
void places_file_of(const void *here, char file[40]);
/* Finds the address in pid of what this process has at here. -ENOENT: pid has not mapped that file; -ESRCH: no thread of pid lives. */
int places_address(pid_t pid, const void *here, uint64_t *address);

/* The address of a function of the C library in this process. NULL: there is none. */
const void *places_own_function(const char *name);
/* The size of this function in bytes. 0: it is not known. */
size_t places_own_function_bytes(const char *name);
/* The address of a function of the C library in pid. 0: it has another library, or none, or is gone. */
uint64_t places_function(pid_t pid, const char *name);
/* The address in pid that signal handlers return to, `mov $15, %rax; syscall`. 0: it is not known. */
uint64_t places_restorer(pid_t pid);

#endif
