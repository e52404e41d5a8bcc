/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps libbpf from replacing bpf_probe_read_user() and its like where the kernel refuses bpf_probe_read_kernel(). */
#ifndef CPROF_COLLECT_USERREADS_H
#define CPROF_COLLECT_USERREADS_H

/* Applies to all BPF objects that are opened from now on: their programs must not call bpf_probe_read() or bpf_probe_read_str(). */
void userreads_keep(void);

#endif
