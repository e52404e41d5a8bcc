/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The checks and what they share. Private to machine/, where machine.c has the table of the checks.
 *
 * A check gets a finding that is all zeros, that is MACHINE_OK.
 */
#ifndef CPROF_MACHINE_CHECKS_H
#define CPROF_MACHINE_CHECKS_H

#include <stddef.h>

#include "machine/machine.h"

#define PRIVILEGES "PRIVILEGES in cprof-record(1)"

typedef void (*check_fn)(struct machine_finding *finding);

/* The checks, in the order of the table. */
void check_kernel(struct machine_finding *finding);
void check_btf(struct machine_finding *finding);
void check_pid_namespace(struct machine_finding *finding);
void check_cap_bpf(struct machine_finding *finding);
void check_cap_perfmon(struct machine_finding *finding);
void check_cap_sys_ptrace(struct machine_finding *finding);
void check_cap_dac_read_search(struct machine_finding *finding);
void check_cap_checkpoint_restore(struct machine_finding *finding);
void check_cap_syslog(struct machine_finding *finding);
void check_cap_sys_resource(struct machine_finding *finding);
void check_cap_ipc_lock(struct machine_finding *finding);
void check_cap_sys_nice(struct machine_finding *finding);
void check_cap_setuid(struct machine_finding *finding);
void check_cap_setgid(struct machine_finding *finding);
void check_cap_sys_admin(struct machine_finding *finding);
void check_lockdown(struct machine_finding *finding);
void check_seccomp(struct machine_finding *finding);
void check_memlock(struct machine_finding *finding);
void check_unprivileged_bpf(struct machine_finding *finding);
void check_bpf(struct machine_finding *finding);
void check_paranoid(struct machine_finding *finding);
void check_events(struct machine_finding *finding);
void check_sample_rate(struct machine_finding *finding);
void check_cpu_time(struct machine_finding *finding);
void check_kallsyms(struct machine_finding *finding);
void check_probe_privilege(struct machine_finding *finding);
void check_uprobes(struct machine_finding *finding);
void check_uprobe_multi(struct machine_finding *finding);
void check_uprobe_session(struct machine_finding *finding);
void check_tracefs(struct machine_finding *finding);
void check_nobody(struct machine_finding *finding);
void check_landlock(struct machine_finding *finding);

/* Fills *finding: what is concerned, why (a format), and the remedy. */
void finding_set(struct machine_finding *finding, enum machine_verdict verdict, unsigned int uses,
		 const char *remedy, const char *why, ...) __attribute__((format(printf, 5, 6)));

/* Whether the capability (linux/capability.h) is effective. */
bool has_capability(unsigned int capability);
/* Whether a seccomp filter is in force, which may refuse system calls. */
bool has_seccomp_filter(void);
/* Explains why the system call named call failed with err (-errno), with why for other reasons. */
void finding_of_refusal(struct machine_finding *finding, unsigned int uses, const char *call,
			int err, const char *why);
/* The kernel's features, probed once. 0, or the -errno of loading or running the BPF program that probes them. */
int features_find(struct kernel_features *features);

#endif
