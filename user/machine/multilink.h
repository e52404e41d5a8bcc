/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layout of BPF_LINK_CREATE for multi and session uprobe links, which the headers of libbpf 1.1 do not have yet.
 *
 * Source: the kernel's include/uapi/linux/bpf.h, union bpf_attr, link_create.uprobe_multi.
 */
#ifndef CPROF_MACHINE_MULTILINK_H
#define CPROF_MACHINE_MULTILINK_H

#include <stdint.h>

#define LINK_CREATE	     28
#define ATTACH_MULTI	     48
#define ATTACH_SESSION	     57
#define FLAG_MULTI_AT_RETURN 1u

struct multi_link {
	uint32_t program_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t nr, multi_flags, pid, pad;
};

_Static_assert(sizeof(struct multi_link) == 64, "the layout is the kernel's");

#endif
