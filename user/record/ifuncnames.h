/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names for the implementations of IFUNCs, from the GOTs of running processes.
 *
 * libc's memmove is an IFUNC: at run time it is one of several functions, such as __memmove_avx512_unaligned_erms, whose
 * names are not in .dynsym. Where libc is stripped these are the hottest functions without a name. The GOT of a process
 * says which function memmove is there (object/gotslots.h). It is read while the process lives: at its first sample in a
 * file that has such slots, and again later where some were not filled yet.
 *
 * What a process has in its GOT names code in that process alone: it can write there what it likes. An address counts
 * if it is in an executable segment of the same file.
 */
#ifndef CPROF_RECORD_IFUNCNAMES_H
#define CPROF_RECORD_IFUNCNAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/workbudget.h"
#include "process/files.h"
#include "process/task.h"
#include "sandbox/parser.h"
#include "stream.h"

#define IFUNCNAMES_MAX_READINGS 65536 /* of one file in one image */
#define IFUNCNAMES_MAX_READS	8 /* of these slots, each time after twice the time of the last */

struct ifuncnames;

/* All borrowed. */
struct ifuncnames *ifuncnames_new(struct tasks *tasks, struct files *files, struct parser *parser);
void ifuncnames_free(struct ifuncnames *names); /* NULL is fine */

/*
 * Reads the slots of the files that the record's user stack is in, if it is time to. Call it for records that are kept
 * (struct process is_sampled), while budget is not over.
 */
void ifuncnames_look(struct ifuncnames *names, const struct record *record,
		     struct workbudget *budget);

/* Is anything known of this file in image, so that ifuncnames_find() may find a name? */
bool ifuncnames_has(const struct ifuncnames *names, const struct image *image, uint32_t file);
/* The IFUNC whose implementation in image begins at elf_addr start of file; NULL: none. Borrowed. */
const char *ifuncnames_find(const struct ifuncnames *names, const struct image *image,
			    uint32_t file, uint64_t start);

#endif
