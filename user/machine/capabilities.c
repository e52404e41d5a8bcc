// SPDX-License-Identifier: BSD-2-Clause
/*
 * Capabilities, each by its name. CAP_BPF and CAP_PERFMON are needed for everything; the others for processes and
 * files of other users. CAP_SYS_ADMIN stands for CAP_BPF, CAP_PERFMON and CAP_CHECKPOINT_RESTORE, as in the kernel
 * (include/linux/capability.h).
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "machine/checks.h"
#include "process/opener.h"
#include "process/opener_serve.h"
#include "process/procfs.h"

#define PROCESSES_TRIED 256
#define SILENT_TRIED	3 /* each takes OPENER_STALL_NS */

#define SUDO_OR(name) "run cprof with sudo, or give it " name " (" PRIVILEGES ")"

bool has_capability(unsigned int capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	if (syscall(SYS_capget, &header, data))
		return false;
	return data[capability / 32].effective >> capability % 32 & 1;
}

static bool has_or_admin(unsigned int capability)
{
	return has_capability(capability) || has_capability(CAP_SYS_ADMIN);
}

/* The kernel takes CAP_DAC_OVERRIDE for CAP_DAC_READ_SEARCH, too. */
static bool reads_files_of_others(void)
{
	return has_capability(CAP_DAC_READ_SEARCH) || has_capability(CAP_DAC_OVERRIDE);
}

/* A missing one is named in the reason. */
static void set_value(struct machine_finding *finding, bool is_there)
{
	snprintf(finding->value, sizeof(finding->value), "%s", is_there ? "yes" : "");
}

void check_cap_bpf(struct machine_finding *finding)
{
	bool bpf = has_or_admin(CAP_BPF), perfmon = has_or_admin(CAP_PERFMON);

	set_value(finding, bpf);
	if (!bpf && !perfmon)
		finding_set(finding, MACHINE_CANNOT, MACHINE_EVERY,
			    SUDO_OR("CAP_BPF and CAP_PERFMON"),
			    "profiling other processes needs root: CAP_BPF and CAP_PERFMON are "
			    "missing");
	else if (!bpf)
		finding_set(finding, MACHINE_CANNOT, MACHINE_EVERY, SUDO_OR("CAP_BPF"),
			    "CAP_BPF is missing, without which no BPF program can be loaded");
}

/* A capability of every command: what its lack means, if it is missing. */
static void check_one(struct machine_finding *finding, bool is_there, enum machine_verdict verdict,
		      const char *remedy, const char *why)
{
	set_value(finding, is_there);
	if (!is_there)
		finding_set(finding, verdict, MACHINE_EVERY, remedy, "%s", why);
}

void check_cap_perfmon(struct machine_finding *finding)
{
	check_one(finding, has_or_admin(CAP_PERFMON), MACHINE_CANNOT, SUDO_OR("CAP_PERFMON"),
		  "CAP_PERFMON is missing, without which BPF programs may not read stacks, nor "
		  "perf events see other "
		  "processes");
}

static void note_mapping(void *ctx, const struct map_event *map)
{
	(void)map;
	*(bool *)ctx = true;
}

/* Does the opener see the mappings of one that another user runs? Processes that hold the lock of theirs are given up. */
static bool sees_one_of_others(struct opener *opener, const uint32_t *tgids, size_t nr)
{
	bool sees = false;

	for (size_t i = 0, nr_refused = 0, nr_silent = 0;
	     i < nr && !sees && nr_refused < PROCESSES_TRIED && nr_silent < SILENT_TRIED; i++) {
		char path[64];
		struct stat st;
		int err;

		snprintf(path, sizeof(path), "/proc/%u", tgids[i]);
		if (stat(path, &st) || st.st_uid == geteuid())
			continue;
		err = opener_each_map(opener, tgids[i], note_mapping, &sees);
		nr_refused += err != 0; /* a kernel thread has none, and says nothing */
		nr_silent += err == -ETIMEDOUT;
	}
	return sees;
}

/* Newer kernels show mappings to CAP_PERFMON, too; before, only to CAP_SYS_PTRACE. */
static bool sees_mappings_of_others(void)
{
	uint32_t *tgids scoped(freep) = NULL, missing;
	struct opener *opener;
	bool sees = false;
	size_t nr = 0;

	if (opener_open(opener_serve, &opener))
		return false;
	if (!opener_handshake(opener, &missing) && !procfs_list("/proc", &tgids, &nr))
		sees = sees_one_of_others(opener, tgids, nr);
	opener_close(opener);
	return sees;
}

void check_cap_sys_ptrace(struct machine_finding *finding)
{
	bool is_there = has_capability(CAP_SYS_PTRACE);
	const char *why = "CAP_SYS_PTRACE is missing: processes of other users cannot be "
			  "inspected; -p refuses them, "
			  "and with -a their code has no names";

	if (!is_there && sees_mappings_of_others())
		why = "CAP_SYS_PTRACE is missing: files of other users' containers, and deleted "
		      "ones, cannot be "
		      "opened, so their code has no names";
	check_one(finding, is_there, MACHINE_LOSS, SUDO_OR("CAP_SYS_PTRACE"), why);
}

void check_cap_dac_read_search(struct machine_finding *finding)
{
	check_one(finding, reads_files_of_others(), MACHINE_LOSS, SUDO_OR("CAP_DAC_READ_SEARCH"),
		  "CAP_DAC_READ_SEARCH is missing: files that this user may not read, and deleted "
		  "files of other "
		  "users' processes, have no names");
}

void check_cap_checkpoint_restore(struct machine_finding *finding)
{
	check_one(finding, has_or_admin(CAP_CHECKPOINT_RESTORE), MACHINE_LOSS,
		  SUDO_OR("CAP_CHECKPOINT_RESTORE"),
		  "CAP_CHECKPOINT_RESTORE is missing: deleted and replaced files that are still "
		  "mapped cannot be "
		  "opened, so their code has no names");
}

/* Those that matter only where a trial fails without them. */
static void set_unless_tried(struct machine_finding *finding, bool is_there, const char *what)
{
	set_value(finding, is_there);
	if (!is_there)
		finding_set(finding, MACHINE_INFO, 0, "", "missing; %s", what);
}

void check_cap_syslog(struct machine_finding *finding)
{
	set_unless_tried(finding, has_capability(CAP_SYSLOG),
			 "see \"kernel symbols\" below for what it costs");
}

void check_cap_sys_resource(struct machine_finding *finding)
{
	set_unless_tried(finding, has_capability(CAP_SYS_RESOURCE),
			 "matters before Linux 5.11 only; see \"memlock limit\" below");
}

void check_cap_ipc_lock(struct machine_finding *finding)
{
	set_unless_tried(finding, has_capability(CAP_IPC_LOCK),
			 "matters where perf events of other programs of this user have used up "
			 "kernel.perf_event_mlock_kb");
}

void check_cap_sys_nice(struct machine_finding *finding)
{
	set_unless_tried(finding, has_capability(CAP_SYS_NICE),
			 "where others leave cprof no CPU, it cannot raise its priority");
}

void check_cap_setuid(struct machine_finding *finding)
{
	set_unless_tried(finding, has_capability(CAP_SETUID),
			 "see \"user nobody\" below for what it costs");
}

void check_cap_setgid(struct machine_finding *finding)
{
	set_unless_tried(finding, has_capability(CAP_SETGID),
			 "see \"user nobody\" below for what it costs");
}

void check_cap_sys_admin(struct machine_finding *finding)
{
	set_unless_tried(finding, has_capability(CAP_SYS_ADMIN),
			 "not needed unless a line below says so");
}

const char *machine_lacks_for_files(void)
{
	static char text[128];
	const char *names[3];
	size_t nr = 0;

	if (!has_capability(CAP_SYS_PTRACE))
		names[nr++] = "CAP_SYS_PTRACE";
	if (!reads_files_of_others())
		names[nr++] = "CAP_DAC_READ_SEARCH";
	if (!has_or_admin(CAP_CHECKPOINT_RESTORE))
		names[nr++] = "CAP_CHECKPOINT_RESTORE";
	text[0] = '\0';
	for (size_t i = 0; i < nr; i++) {
		strcat(text, !i ? "" : i + 1 < nr ? ", " : " and ");
		strcat(text, names[i]);
	}
	if (nr)
		strcat(text, nr > 1 ? " are missing" : " is missing");
	return text;
}
