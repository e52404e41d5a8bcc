/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Clocks and durations, in nanoseconds.
 *
 * CLOCK_MONOTONIC is the clock of the BPF programs (bpf_ktime_get_ns), of the side-band events and of the
 * start times of processes. CLOCK_REALTIME is only written into profiles.
 */
#ifndef CPROF_BASE_CLOCK_H
#define CPROF_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define NSEC_PER_SEC 1000000000ull

/* The time now: CLOCK_MONOTONIC; CLOCK_REALTIME, since the epoch. */
uint64_t clock_monotonic_ns(void);
uint64_t clock_realtime_ns(void);
/* CPU time spent so far: by the calling thread; by all threads of this process. */
uint64_t clock_thread_cpu_ns(void);
uint64_t clock_process_cpu_ns(void);
/*
 * How long the machine has been suspended: CLOCK_BOOTTIME minus CLOCK_MONOTONIC. Subtract it from a start
 * time in /proc/PID/stat to get CLOCK_MONOTONIC.
 */
uint64_t clock_suspended_ns(void);

/*
 * CLOCK_REALTIME minus CLOCK_BOOTTIME. It changes only when somebody sets the clock, all at once or little by little
 * (adjtimex(2)); a suspended machine does not change it.
 */
int64_t clock_realtime_offset_ns(void);

/*
 * Parses a duration: "30s", "500ms", "1.5m", "2h", "250us"; a bare number is seconds. -EINVAL: zero,
 * negative, empty, infinite, or followed by other text. -ERANGE: more than a year. *duration_ns is set on
 * success only.
 */
int clock_parse_duration(const char *s, uint64_t *duration_ns);

#endif
