/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tracing program is an ordinary function of its arguments, with bpf_ before its name: libc has an
 * on_exit() too. See bpf_helpers.h beside this.
 */
#ifndef CPROF_TESTS_BPF_TRACING_H
#define CPROF_TESTS_BPF_TRACING_H

#define BPF_PROG(name, ...) bpf_##name(__VA_ARGS__)

#endif
