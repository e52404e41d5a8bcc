/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the control group that keeps a process frozen: docker pause and systemctl freeze stop all tasks of a group, and
 * of the groups below it.
 *
 * Groups are looked for where systems mount them. Nothing is found of one that is mounted elsewhere, or that is outside of
 * cprof's own namespace of control groups. The kernel provides these files, so reading them never blocks.
 */
#ifndef CPROF_PROCESS_FREEZER_H
#define CPROF_PROCESS_FREEZER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct freezer {
	char setting
		[PATH_MAX]; /* the file that freezes the group; a group's name may hold any character but '/' and '\n' */
	const char *thaws; /* what to write there: "0", "THAWED"; static */
};

/*
 * Whether a control group keeps tgid frozen; *freezer is then about the nearest that does. proc_root and cgroup_root are
 * "/proc" and "/sys/fs/cgroup", or folders that look like them (tests).
 */
bool freezer_find(const char *proc_root, const char *cgroup_root, uint32_t tgid,
		  struct freezer *freezer);

#endif
