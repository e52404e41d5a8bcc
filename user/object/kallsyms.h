/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kernel addresses to names, from the text of /proc/kallsyms: vmlinux, modules and BPF programs.
 *
 * A name reaches to the next symbol, and never out of its module or past _etext (_einittext for init
 * code). Where a module ends is not in the text, so a name in one, BPF programs included, reaches at
 * most KALLSYMS_REACH_BYTES. Data symbols and __pfx_ and __cfi_ padding never win, they only end what
 * lies before them. Addresses are all zero where kptr_restrict hides them: -EPERM then, since a
 * profile with wrong names is worse than one with none.
 */
#ifndef CPROF_OBJECT_KALLSYMS_H
#define CPROF_OBJECT_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KALLSYMS_REACH_BYTES (64u << 10)

struct kallsyms;

/*
 * fd is an open /proc/kallsyms, read from its start; stays the caller's. Lines that are not of its
 * form are skipped. -EPERM: all addresses are 0; -EIO; -EINVAL: no function in it, or no end to it.
 */
int kallsyms_read(int fd, struct kallsyms **kallsyms);
void kallsyms_free(struct kallsyms *kallsyms);
/* How many functions, aliases included. */
size_t kallsyms_nr(const struct kallsyms *kallsyms);

struct kernel_symbol {
	uint64_t addr;
	const char *name;   /* borrowed */
	const char *module; /* "ext4", "bpf"; "" for the kernel itself */
};
/* The function that addr lies in. false: none (user space, a gap, unloaded since). */
bool kallsyms_find(const struct kallsyms *kallsyms, uint64_t addr, struct kernel_symbol *symbol);
/* A function or mark of the kernel itself by name: _text, _etext. */
bool kallsyms_lookup(const struct kallsyms *kallsyms, const char *name, uint64_t *addr);

#endif
