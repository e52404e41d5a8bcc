/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A mapped file of this process: the slots through which it calls functions of other files, what it defines, and which
 * files it needs. What points into the file is valid as long as it is mapped: during a call of dl_iterate_phdr().
 */
#ifndef CPROF_INSIDE_SLOTS_H
#define CPROF_INSIDE_SLOTS_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapped_file {
	const char *path;	    /* "" for the program */
	uintptr_t base, begin, end; /* begin, end: of its segments */
	uintptr_t relro, relro_end; /* whole pages, which the loader makes read-only */
	const ElfW(Rela) * tables[2];
	size_t nr[2];
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *gnu_hash, *hash; /* NULL: it has none */
	const ElfW(Dyn) * dynamic;
};

/* false: it has no slots, or is one whose slots are left alone: this library, and the loader. */
bool mapped_file_read(const struct dl_phdr_info *info, struct mapped_file *file);

/* This library. */
bool mapped_file_read_own(struct mapped_file *file);

/* Is this an address within the file? */
bool mapped_file_has(const struct mapped_file *file, const void *address);

/* false: the loader is not done with it: its pages that are read-only later (RELRO) can be written. */
bool mapped_file_is_relocated(const struct mapped_file *file);

/* By what other files' DT_NEEDED call it. */
const char *mapped_file_name(const struct mapped_file *file);

/* Calls fn for each DT_NEEDED, until it returns false. Has it never? */
typedef bool needed_fn(const char *name);
bool mapped_file_each_needed(const struct mapped_file *file, needed_fn *fn);

/* The address of what it exports by this name; NULL: nothing. */
const void *mapped_file_defines(const struct mapped_file *file, const char *name);

/* What it exports by this name is found by nobody any more; who has found it keeps it. Its symbols are not to be in a page of code. */
void mapped_file_withdraw(const struct mapped_file *file, const char *name);

typedef bool slot_fn(const struct mapped_file *file, const char *name, void **slot);

/* Calls fn for each slot, until it returns false. Has it never? */
bool mapped_file_each_slot(const struct mapped_file *file, slot_fn *fn);

/* Slots that are read-only are made writable for the moment. Nothing is done where that fails. */
void mapped_file_write(const struct mapped_file *file, void **slot, void *value);

#endif
