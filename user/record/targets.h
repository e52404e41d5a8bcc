/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes that -p names or that were launched: checked before the run, watched until they end. A launched command
 * that is no target itself, but says how long the run lasts, is watched beside them.
 */
#ifndef CPROF_RECORD_TARGETS_H
#define CPROF_RECORD_TARGETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct target {
	uint32_t tgid;
	int pidfd; /* -1: it has ended */
};

struct targets {
	vec_of(struct target) all;
	struct target timer; /* the run ends with it; tgid 0: there is none */
};

/* Checks that pid can be profiled. -ESRCH, -EINVAL or another -errno, printed with what pid is instead. */
int targets_check(const char *proc_root, uint32_t pid);
/* Watches tgid from now on. -errno, printed. */
int targets_add(struct targets *targets, uint32_t tgid);
/* Watches tgid, which is no target, too: the run ends when it does. -errno, printed. */
int targets_end_with(struct targets *targets, uint32_t tgid);
/* Whether that process has ended. */
bool targets_are_over(const struct targets *targets);
/* Whether any of the targets still runs. */
bool targets_any_left(const struct targets *targets);
/* Sleeps until a descriptor (-1: none) is readable or a watched process ends, at most until wake_ns (CLOCK_MONOTONIC). */
void targets_wait(struct targets *targets, int first_fd, int second_fd, uint64_t wake_ns);
void targets_release(struct targets *targets);

#endif
