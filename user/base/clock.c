// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads clocks with clock_gettime(), which needs no system call for most of them, and parses durations with
 * strtod(), after ruling out the forms that a duration must not have (hex, exponents, "inf", "nan").
 */
#include "base/clock.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LONGEST_SECONDS (366.0 * 24 * 3600)

static uint64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_thread_cpu_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_process_cpu_ns(void)
{
	return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t clock_realtime_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

/* Who loses the CPU between two clocks reads too much: the least of several times is right. */
uint64_t clock_suspended_ns(void)
{
	uint64_t least_ns = UINT64_MAX;

	for (int i = 0; i < 3; i++) {
		uint64_t monotonic = read_clock(CLOCK_MONOTONIC), boot = read_clock(CLOCK_BOOTTIME);
		uint64_t ns = boot > monotonic ? boot - monotonic : 0;

		least_ns = ns < least_ns ? ns : least_ns;
	}
	return least_ns;
}

int64_t clock_realtime_offset_ns(void)
{
	return (int64_t)(read_clock(CLOCK_REALTIME) - read_clock(CLOCK_BOOTTIME));
}

int clock_parse_duration(const char *s, uint64_t *duration_ns)
{
	static const struct {
		const char *suffix;
		double seconds;
	} units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"m", 60}, {"h", 3600}};
	char *end;
	double value;

	/* strtod would also take "inf", "nan", hex and leading blanks. */
	if (!isdigit((unsigned char)*s) && *s != '.')
		return -EINVAL;
	if (s[strcspn(s, "xXeE")])
		return -EINVAL;
	value = strtod(s, &end);
	if (end == s || !(value > 0))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].suffix))
			continue;
		value *= units[i].seconds;
		if (value > LONGEST_SECONDS)
			return -ERANGE;
		*duration_ns = (uint64_t)(value * 1e9);
		return *duration_ns ? 0 : -EINVAL;
	}
	return -EINVAL;
}
