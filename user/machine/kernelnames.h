/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names in the kernel's BTF (Documentation/bpf/btf.rst): of its types, their members, its functions, and the values
 * of its enums. Whether there is a name tells whether the kernel has a feature, which distributions backport, or leave
 * out, whatever the version is.
 *
 * Rejected: libbpf's btf__find_by_name_kind(), and relocations in a small BPF program. libbpf copies and indexes all of
 * the BTF for them, 5 MB, and once more for cprof's own programs: 11 of the 97 ms that a run took to start.
 */
#ifndef CPROF_MACHINE_KERNELNAMES_H
#define CPROF_MACHINE_KERNELNAMES_H

#include <stdbool.h>
#include <stddef.h>

#define KERNELNAMES_PATH "/sys/kernel/btf/vmlinux"

/* The caller owns it, and releases it also after an error. */
struct kernelnames {
	char *strings; /* each between two NULs */
	size_t len_bytes;
};

/* Reads the names from a file of BTF, KERNELNAMES_PATH. 0, -errno, -EBADMSG: it is none. */
int kernelnames_read(const char *path, struct kernelnames *names);
/* Whether there is such a name. Names of more than 64 bytes are not looked for: false. */
bool kernelnames_has(const struct kernelnames *names, const char *name);
void kernelnames_release(struct kernelnames *names);

#endif
