// SPDX-License-Identifier: BSD-2-Clause
/* perf_event_open(2), tried: the event that samples a CPU, opened and closed; and the setting that may refuse it. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/smallfile.h"
#include "machine/checks.h"

#define PARANOID_PATH "/proc/sys/kernel/perf_event_paranoid"
#define MAX_CPUS      8192

/* What each level takes from users without CAP_PERFMON; 3 exists on Debian's and Android's kernels. */
void check_paranoid(struct machine_finding *finding)
{
	static const char *const texts[] = {
		"all events, without privileges", "no raw tracepoints without CAP_PERFMON",
		"no events of a whole CPU without CAP_PERFMON",
		"no kernel profiling without CAP_PERFMON", "no events without CAP_PERFMON"};
	long level = smallfile_number(PARANOID_PATH, 99);
	long at = level < -1 ? -1 : level > 3 ? 3 : level;

	if (level != 99)
		snprintf(finding->value, sizeof(finding->value), "%ld, %s", level, texts[at + 1]);
}

/* On the first CPU that is online. */
static int try_event(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 10000000,
		.disabled = 1,
	};

	for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
		int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd < 0 && errno == ENODEV)
			continue;
		if (fd < 0)
			return -errno;
		close(fd);
		return 0;
	}
	return -ENODEV;
}

void check_events(struct machine_finding *finding)
{
	long level = smallfile_number(PARANOID_PATH, 0);
	int err = try_event();

	if (!err) {
		snprintf(finding->value, sizeof(finding->value), "a cpu-clock event was opened");
		return;
	}
	finding_of_refusal(finding, MACHINE_EVERY, "perf_event_open(2)", err,
			   "no perf event of a whole CPU can be opened");
	if (level >= 2 && (err == -EACCES || err == -EPERM) && !has_seccomp_filter())
		finding_set(finding, MACHINE_CANNOT, MACHINE_EVERY,
			    "run cprof with sudo, or sudo sysctl kernel.perf_event_paranoid=2",
			    "kernel.perf_event_paranoid is %ld, and refuses perf events", level);
}
