/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asks the opener (process/opening.h has the design) for what belongs to other processes.
 *
 * A question that gets no answer for OPENER_STALL_NS ends with -ETIMEDOUT. A task that had OPENER_MAX_STALLS of these is
 * not asked about again. Once a question about a file had no answer, those about files of its device end after
 * OPENER_HURRIED_NS (a file system that does not answer holds thousands of files), and once OPENER_LOST_NS were lost in
 * all, all do. So processes that were made to be in the way cost a bounded time. An opener that waits for a CPU is
 * waited for.
 *
 * An opener that dies is replaced, and asked again once.
 */
#ifndef CPROF_PROCESS_OPENER_H
#define CPROF_PROCESS_OPENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/openmapped.h"
#include "process/opening.h"
#include "sandbox/peer.h"
#include "stream.h"

#define OPENER_STALL_NS	  1000000000ull
#define OPENER_MAX_STALLS 3
#define OPENER_LOST_NS	  10000000000ull
#define OPENER_HURRIED_NS 50000000ull

struct opener;

/* Forks it. Call it while the process has one thread and holds nothing. serve is opener_serve() but in tests. -errno. */
int opener_open(keeper_serve_fn serve, struct opener **opener);
void opener_close(struct opener *opener); /* NULL is fine */
/*
 * Forks a new one where it was asked something already (BPF knows those that are forked after it was loaded), and says what
 * it could not give up (sandbox/confine.h). -errno: there is none that answers.
 */
int opener_handshake(struct opener *opener, uint32_t *missing);
/* Called while it is waited for, every 2 ms or more often; must not ask anything itself. Valid until the next call. */
void opener_while_waiting(struct opener *opener, void (*look)(void *ctx), void *ctx);

/* Does what mapped_open() does, in the opener. -ETIMEDOUT: no answer. */
int opener_file(struct opener *opener, const struct mapped_file *file, struct mapped_ways *ways);
/*
 * Calls fn with the executable mappings of a task, in the order of their addresses, at most MAPPINGS_MAX. -ESRCH: no such
 * task; -EACCES; -ETIMEDOUT; others. fn may have been called before an error.
 */
int opener_each_map(struct opener *opener, uint32_t task, opening_map_fn fn, void *ctx);
/* A descriptor of its memory, for reading, that the caller owns; to read it may wait for ever. -errno. */
int opener_memory(struct opener *opener, uint32_t tgid);
/* Do what beneath_open() and beneath_open_perf_map() do, in the opener. */
int opener_beneath(struct opener *opener, uint32_t tgid, const char *path);
int opener_perf_map(struct opener *opener, uint32_t tgid);
/*
 * Does what file_open_vetted() does, with any inode, for an absolute path of the host; in this process, if opener is NULL.
 * *is_copy: the descriptor is of a copy in memory (process/filecopy.h). NULL: nobody wants to know.
 */
int opener_of_host(struct opener *opener, const char *path, bool *is_copy);
/* Does what remote_read() does, in the opener. */
void opener_read(struct opener *opener, uint32_t tgid, struct memory_piece *pieces, size_t nr);
/* Does what traits_exe() does, in the opener. */
int opener_exe(struct opener *opener, uint32_t tgid, char *path, size_t path_bytes);

/* The number of tasks that gave no answer, and the i-th of them. */
size_t opener_nr_stuck(const struct opener *opener);
uint32_t opener_stuck(const struct opener *opener, size_t i);

/* The same as parser_parent(), parser_is_lost(), parser_set_nice() and parser_cpu_ns(), for the opener. */
uint32_t opener_parent(const struct opener *opener);
bool opener_is_lost(const struct opener *opener);
void opener_set_nice(const struct opener *opener, int nice);
uint64_t opener_cpu_ns(const struct opener *opener);

#endif
