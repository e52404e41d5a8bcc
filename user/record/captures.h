/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes what each stack walk began with and what it found, so that tests can compare it with another unwinder.
 *
 * `cprof record --captures FILE` writes it, tests/unwind/dwfl_compare.c reads it. Every sample is then a record of its own,
 * and up to 64 KB of its stack are copied.
 *
 * The file is a sequence of struct capture, each followed by
 *
 *	nr_ips	    8 bytes each: the stack as it is written, leaf first; the first nr_bpf are BPF's
 *	stack_bytes the stack from sp on
 *	maps_bytes  text, a line for each executable mapping: "START LIMIT FILE_OFF PATH", in hex
 */
#ifndef CPROF_RECORD_CAPTURES_H
#define CPROF_RECORD_CAPTURES_H

#include <stdint.h>

#include "process/task.h"
#include "stream.h"
#include "unwind_abi.h"

#define CAPTURE_MAGIC 0x3170616370666370ull

struct capture {
	uint64_t magic;
	uint64_t regs[STACK_NR_REGS]; /* by DWARF number */
	uint64_t ip;
	uint64_t time_ns;
	uint32_t tgid;
	uint32_t end; /* enum stack_end, of the finished walk */
	uint32_t nr_bpf, nr_ips;
	uint32_t stack_bytes, maps_bytes;
};

_Static_assert(sizeof(struct capture) == 48 + 8 * STACK_NR_REGS, "a file format");

struct captures;

/* Creates the file. tasks, files and path are borrowed until captures_close(). -errno, printed. */
int captures_open(const char *path, struct tasks *tasks, const struct files *files,
		  struct captures **captures);
/* sent: a record with a capture, as BPF sent it; whole: the same with its walk finished. */
void captures_write(struct captures *captures, const struct record *sent,
		    const struct record *whole);
/* Ends the file: 0, or -errno of the first failure to write it, printed. NULL is fine. */
int captures_close(struct captures *captures);

#endif
