/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time. Everything is in nanoseconds. CLOCK_MONOTONIC is the clock of the BPF programs
 * (bpf_ktime_get_ns), of the side-band events and of a process's start; CLOCK_REALTIME is only
 * written into profiles.
 */
#ifndef CPROF_BASE_CLOCK_H
#define CPROF_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define NSEC_PER_SEC 1000000000ull

uint64_t clock_monotonic_ns(void);
uint64_t clock_realtime_ns(void);
/* What the calling thread has spent on the CPU. */
uint64_t clock_thread_cpu_ns(void);
uint64_t clock_process_cpu_ns(void); /* of all threads */
/* CLOCK_BOOTTIME minus CLOCK_MONOTONIC: what to subtract from a start time in /proc/PID/stat. */
uint64_t clock_suspended_ns(void);

/*
 * "30s", "500ms", "1.5m", "2h", "250us"; a bare number is seconds. 0, negative, empty, infinite or
 * trailing text: -EINVAL. More than a year: -ERANGE.
 */
int clock_parse_duration(const char *s, uint64_t *duration_ns);

#endif
