/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stands in for libbpf's header of this name when BPF code is compiled for the host: with
 * -Itests/bpf/shim the .bpf.c files compile unchanged, and their helpers are the functions of
 * shim/host.c and shim/map.c instead of the kernel's.
 *
 * A map definition keeps libbpf's shape: a struct of pointers whose types say everything and whose
 * values nobody reads. So its first member, `type`, is free to point at the host's map.
 */
#ifndef CPROF_TESTS_BPF_HELPERS_H
#define CPROF_TESTS_BPF_HELPERS_H

#include <stddef.h>

#include <linux/types.h>

#define SEC(name)
#define __hidden
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#undef __noinline
#define __noinline	      __attribute__((noinline))
#define barrier_var(variable) __asm__ volatile("" : "+r"(variable))

#define __uint(name, value)  int(*name)[value]
#define __type(name, type)   __typeof__(type) *name
#define __array(name, value) __typeof__(value) *name[]

struct task_struct;

/* The names are kept free for libbpf's own functions, which the shim has too (shim/libbpf.c). */
#define bpf_map_lookup_elem(map, key)		    host_map_lookup(map, key)
#define bpf_map_update_elem(map, key, value, flags) host_map_update(map, key, value, flags)
#define bpf_map_delete_elem(map, key)		    host_map_delete(map, key)
#define bpf_ringbuf_output(map, data, bytes, flags) host_ring_output(map, data, bytes, flags)
#define bpf_ringbuf_query(map, what)		    host_ring_query(map, what)

void *host_map_lookup(const void *map, const void *key);
long host_map_update(const void *map, const void *key, const void *value, __u64 flags);
long host_map_delete(const void *map, const void *key);
long host_ring_output(const void *map, const void *data, __u64 len_bytes, __u64 flags);
__u64 host_ring_query(const void *map, __u64 what);

__u64 bpf_get_attach_cookie(void *ctx);
__u64 bpf_get_func_ip(void *ctx);
long bpf_tail_call(void *ctx, void *programs, __u32 index);
long bpf_probe_read_user(void *to, __u32 len_bytes, const void *from);
long bpf_probe_read_kernel(void *to, __u32 len_bytes, const void *from);
long bpf_get_stack(void *ctx, void *to, __u32 len_bytes, __u64 flags);
long bpf_get_current_comm(void *to, __u32 len_bytes);
__u64 bpf_get_current_pid_tgid(void);
__u64 bpf_get_current_task(void);
struct task_struct *bpf_get_current_task_btf(void);
long bpf_task_pt_regs(struct task_struct *task);
__u64 bpf_ktime_get_ns(void);
__u32 bpf_get_prandom_u32(void);

#endif
