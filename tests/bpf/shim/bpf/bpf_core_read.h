/* SPDX-License-Identifier: BSD-2-Clause */
/* CO-RE on the host: structs are as vmlinux.h has them. See bpf_helpers.h beside this. */
#ifndef CPROF_TESTS_BPF_CORE_READ_H
#define CPROF_TESTS_BPF_CORE_READ_H

#define BPF_CORE_READ(from, field) ((from)->field)
#define BPF_CORE_READ_INTO(to, from, field) \
	__builtin_memcpy(to, &(from)->field, sizeof((from)->field))

#define BPF_CORE_READ_BITFIELD(from, field)	   ((from)->field)
#define BPF_CORE_READ_BITFIELD_PROBED(from, field) ((from)->field)
#define bpf_core_field_exists(...)		   1
#define bpf_core_type_exists(type)		   1
#define bpf_core_type_size(type)		   sizeof(type)

/* Does the running kernel have this helper? The test says. */
#define bpf_core_enum_value_exists(type, value) host_has_helper(value)

_Bool host_has_helper(int helper);

#endif
