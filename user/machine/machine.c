// SPDX-License-Identifier: BSD-2-Clause
/*
 * The table of the checks. Their order is that in which a run must meet them: what explains a refusal stands before
 * what is refused, so that the first finding of "cannot" is the cause and not one of its effects.
 */
#include "machine/machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/checks.h"

static const struct check {
	const char *name;
	check_fn run;
	bool is_first;	      /* cheap, and made before every run */
	const char *needs[3]; /* checks without whose success it would only repeat their finding */
} checks[] = {
	{.name = "kernel", .run = check_kernel, .is_first = true},
	{.name = "BTF", .run = check_btf, .is_first = true},
	{.name = "pid namespace", .run = check_pid_namespace, .is_first = true},
	{.name = "CAP_BPF", .run = check_cap_bpf, .is_first = true},
	{.name = "CAP_PERFMON", .run = check_cap_perfmon, .is_first = true},
	{.name = "CAP_SYS_PTRACE", .run = check_cap_sys_ptrace},
	{.name = "CAP_DAC_READ_SEARCH", .run = check_cap_dac_read_search},
	{.name = "CAP_CHECKPOINT_RESTORE", .run = check_cap_checkpoint_restore},
	{.name = "CAP_SYSLOG", .run = check_cap_syslog},
	{.name = "CAP_SYS_RESOURCE", .run = check_cap_sys_resource},
	{.name = "CAP_IPC_LOCK", .run = check_cap_ipc_lock},
	{.name = "CAP_SYS_NICE", .run = check_cap_sys_nice},
	{.name = "CAP_SETUID", .run = check_cap_setuid},
	{.name = "CAP_SETGID", .run = check_cap_setgid},
	{.name = "CAP_SYS_ADMIN", .run = check_cap_sys_admin},
	{.name = "lockdown", .run = check_lockdown, .is_first = true},
	{.name = "seccomp", .run = check_seccomp},
	{.name = "user nobody", .run = check_nobody},
	{.name = "landlock", .run = check_landlock},
	{.name = "memlock limit", .run = check_memlock, .is_first = true, .needs = {"CAP_BPF"}},
	{.name = "unprivileged bpf", .run = check_unprivileged_bpf},
	{.name = "bpf(2)",
	 .run = check_bpf,
	 .is_first = true,
	 .needs = {"BTF", "CAP_BPF", "CAP_PERFMON"}},
	{.name = "perf_event_paranoid", .run = check_paranoid},
	{.name = "perf_event_open(2)",
	 .run = check_events,
	 .is_first = true,
	 .needs = {"CAP_PERFMON"}},
	{.name = "sample rate limit", .run = check_sample_rate},
	{.name = "sampling CPU limit", .run = check_cpu_time},
	{.name = "kernel symbols", .run = check_kallsyms},
	{.name = "probe privilege",
	 .run = check_probe_privilege,
	 .is_first = true,
	 .needs = {"bpf(2)"}},
	/* The last that fork: while a process keeps the kernel waiting for a probe, nobody can. */
	{.name = "uprobes", .run = check_uprobes, .needs = {"bpf(2)"}},
	{.name = "multi-uprobe links", .run = check_uprobe_multi, .needs = {"bpf(2)"}},
	{.name = "uprobe sessions", .run = check_uprobe_session, .needs = {"bpf(2)"}},
	{.name = "tracefs", .run = check_tracefs},
};

#define NR_CHECKS (sizeof(checks) / sizeof(checks[0]))

size_t machine_nr_checks(void)
{
	return NR_CHECKS;
}

const char *machine_check_name(size_t check)
{
	return checks[check].name;
}

/* The first check that it needs and that failed, or was not made itself. NULL: none. */
static const char *first_failed_need(const struct check *check)
{
	struct machine_finding needed;

	for (size_t i = 0; i < sizeof(check->needs) / sizeof(check->needs[0]); i++) {
		if (!check->needs[i])
			continue;
		machine_check_named(check->needs[i], &needed);
		if (needed.verdict == MACHINE_CANNOT || needed.was_skipped)
			return check->needs[i];
	}
	return NULL;
}

void machine_check(size_t check, struct machine_finding *finding)
{
	const char *need = first_failed_need(&checks[check]);

	*finding = (struct machine_finding){.verdict = MACHINE_OK, .was_skipped = need};
	if (need)
		finding_set(finding, MACHINE_INFO, 0, "", "not tried, see %s", need);
	else
		checks[check].run(finding);
}

void machine_check_named(const char *name, struct machine_finding *finding)
{
	for (size_t i = 0; i < NR_CHECKS; i++)
		if (!strcmp(checks[i].name, name)) {
			machine_check(i, finding);
			return;
		}
	abort();
}

bool machine_first_refusal(unsigned int uses, struct kernel_features *features,
			   struct machine_finding *finding)
{
	for (size_t i = 0; i < NR_CHECKS; i++) {
		if (!checks[i].is_first)
			continue;
		machine_check(i, finding);
		if (finding->verdict == MACHINE_CANNOT && finding->uses & uses)
			return true;
	}
	features_find(features); /* check_bpf() has found them out */
	return false;
}

void finding_set(struct machine_finding *finding, enum machine_verdict verdict, unsigned int uses,
		 const char *remedy, const char *why, ...)
{
	va_list ap;

	finding->verdict = verdict;
	finding->uses = uses;
	va_start(ap, why);
	vsnprintf(finding->why, sizeof(finding->why), why, ap);
	va_end(ap);
	snprintf(finding->remedy, sizeof(finding->remedy), "%s", remedy);
}
