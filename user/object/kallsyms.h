/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of kernel addresses, from /proc/kallsyms: vmlinux, modules and BPF programs.
 *
 * A function extends to the next symbol, and never out of its module or past _etext (_einittext for init
 * code). Where a module ends is not in the text, so a function in one, BPF programs included, extends at
 * most KALLSYMS_REACH_BYTES. Data symbols and __pfx_ and __cfi_ padding are never found; they only end the
 * function before them. Addresses are all zero where kptr_restrict hides them: -EPERM then, since a
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
 * fd is an open /proc/kallsyms, read from its start; stays the caller's. Lines of another form
 * are skipped. -EPERM: all addresses are 0; -EIO; -EINVAL: no function in it, or no end to it.
 */
int kallsyms_read(int fd, struct kallsyms **kallsyms);
void kallsyms_free(struct kallsyms *kallsyms);
/* The number of functions, aliases included. */
size_t kallsyms_nr(const struct kallsyms *kallsyms);

struct kernel_symbol {
	uint64_t addr;
	const char *name;   /* borrowed */
	const char *module; /* "ext4", "bpf"; "" for the kernel itself */
};
/* The function that addr lies in. false: none (user space, a gap, unloaded since). */
bool kallsyms_find(const struct kallsyms *kallsyms, uint64_t addr, struct kernel_symbol *symbol);
/* The address of a function or a mark (_text, _etext) of the kernel itself, by name. false: none. */
bool kallsyms_lookup(const struct kallsyms *kallsyms, const char *name, uint64_t *addr);

#endif
