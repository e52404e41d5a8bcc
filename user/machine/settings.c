// SPDX-License-Identifier: BSD-2-Clause
/* What is read from files: the kernel and its types, sysctls, mounts, the pid namespace. */
#include <fcntl.h>
#include <linux/btf.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/smallfile.h"
#include "machine/checks.h"
#include "machine/kernelnames.h"

#define PROC_PID_INIT_INO 0xeffffffcu /* include/linux/proc_ns.h */
#define DEFAULT_HZ	  99
#define SYMBOLS_LOOKED_AT 1000

void check_kernel(struct machine_finding *finding)
{
	char release[64] = "";
	unsigned int major = 0, minor = 0;

	smallfile_line("/proc/sys/kernel/osrelease", release, sizeof(release));
	snprintf(finding->value, sizeof(finding->value), "Linux %s", release);
	if (sscanf(release, "%u.%u", &major, &minor) != 2 || major * 1000 + minor >= 5010)
		return;
	finding_set(finding, MACHINE_CANNOT, MACHINE_EVERY, "boot Linux 5.10 or later",
		    "Linux %u.%u is too old", major, minor);
	finding->lacks_kernel = true;
}

void check_btf(struct machine_finding *finding)
{
	int fd scoped(closep) = open(KERNELNAMES_PATH, O_RDONLY | O_CLOEXEC);
	uint16_t magic = 0;

	if (fd >= 0 && read(fd, &magic, sizeof(magic)) == sizeof(magic) && magic == BTF_MAGIC) {
		snprintf(finding->value, sizeof(finding->value), KERNELNAMES_PATH);
		return;
	}
	finding_set(finding, MACHINE_CANNOT, MACHINE_EVERY,
		    "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y, as distributions build it; "
		    "where only a container hides it, docker run -v /sys:/sys:ro",
		    "this kernel has no BTF (" KERNELNAMES_PATH
		    "), its own description of its types");
	finding->lacks_kernel = true;
}

/* BPF sees the kernel's own pids; in another pid namespace the user's would mean other processes. */
void check_pid_namespace(struct machine_finding *finding)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == PROC_PID_INIT_INO) {
		snprintf(finding->value, sizeof(finding->value), "the host's");
		return;
	}
	finding_set(finding, MACHINE_CANNOT, MACHINE_EVERY,
		    "run cprof on the host, or with docker run --pid=host --privileged",
		    "this is a separate pid namespace, whose pids differ from the kernel's");
}

void check_unprivileged_bpf(struct machine_finding *finding)
{
	static const char *const texts[] = {"allowed", "disabled until reboot", "disabled"};
	long value = smallfile_number("/proc/sys/kernel/unprivileged_bpf_disabled", -1);

	if (value >= 0 && value <= 2)
		snprintf(finding->value, sizeof(finding->value), "%ld, %s", value, texts[value]);
	if (!value && !has_capability(CAP_BPF))
		finding_set(finding, MACHINE_INFO, 0, "",
			    "unprivileged BPF cannot trace, so CAP_BPF is needed nonetheless");
}

/* The kernel lowers the limit itself when it finds that samples take too long. */
void check_sample_rate(struct machine_finding *finding)
{
	long value = smallfile_number("/proc/sys/kernel/perf_event_max_sample_rate", -1);

	if (value >= 0)
		snprintf(finding->value, sizeof(finding->value), "%ld Hz", value);
	if (value >= 0 && value < DEFAULT_HZ)
		finding_set(finding, MACHINE_LOSS, MACHINE_RECORD,
			    "sudo sysctl kernel.perf_event_max_sample_rate=100000",
			    "the kernel may throttle even the default rate of %d Hz", DEFAULT_HZ);
}

void check_cpu_time(struct machine_finding *finding)
{
	long value = smallfile_number("/proc/sys/kernel/perf_cpu_time_max_percent", -1);

	if (value == 0 || value == 100)
		snprintf(finding->value, sizeof(finding->value), "%ld, no limit", value);
	else if (value > 0)
		snprintf(finding->value, sizeof(finding->value),
			 "%ld %%, beyond which the kernel lowers the sample rate limit", value);
}

/* Some symbols really are at 0, those of variables of each CPU; but not all of the first ones. */
static bool shows_addresses(FILE *symbols)
{
	char *line scoped(freep) = NULL;
	size_t cap = 0;

	for (int i = 0; i < SYMBOLS_LOOKED_AT && getline(&line, &cap, symbols) > 0; i++)
		if (strtoull(line, NULL, 16))
			return true;
	return false;
}

void check_kallsyms(struct machine_finding *finding)
{
	long restricted = smallfile_number("/proc/sys/kernel/kptr_restrict", 0);
	FILE *symbols scoped(fclosep) = fopen("/proc/kallsyms", "re");

	snprintf(finding->value, sizeof(finding->value), "kernel.kptr_restrict %ld", restricted);
	if (symbols && shows_addresses(symbols))
		return;
	if (!symbols)
		finding_set(finding, MACHINE_LOSS, MACHINE_RECORD,
			    "boot a kernel built with CONFIG_KALLSYMS=y",
			    "kernel functions have no names: /proc/kallsyms cannot be read");
	else if (restricted >= 2)
		finding_set(
			finding, MACHINE_LOSS, MACHINE_RECORD, "sudo sysctl kernel.kptr_restrict=1",
			"kernel functions have no names: kernel.kptr_restrict is %ld", restricted);
	else
		finding_set(finding, MACHINE_LOSS, MACHINE_RECORD,
			    "run cprof with sudo, or give it CAP_SYSLOG",
			    "kernel functions have no names: CAP_SYSLOG is missing, without which "
			    "/proc/kallsyms shows no addresses");
}

static bool is_mounted(const char *fs_type)
{
	FILE *mounts scoped(fclosep) = fopen("/proc/self/mounts", "re");
	char *line scoped(freep) = NULL, type[64];
	size_t cap = 0;

	while (mounts && getline(&line, &cap, mounts) > 0)
		if (sscanf(line, "%*s %*s %63s", type) == 1 && !strcmp(type, fs_type))
			return true;
	return false;
}

/* Reported although cprof does not need it: other tracers do, so that a user may suspect it. */
void check_tracefs(struct machine_finding *finding)
{
	snprintf(finding->value, sizeof(finding->value),
		 "tracefs %smounted, debugfs %smounted; neither is needed",
		 is_mounted("tracefs") ? "" : "not ", is_mounted("debugfs") ? "" : "not ");
}
