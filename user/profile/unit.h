/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Formats values with units: 1234567890 nanoseconds is "1.23s", 524288 bytes is "512kB", 7 count is
 * "7". The units, their names and the rounding are pprof's (its internal/measurement), so that the
 * output of both tools can be compared as text. kB is 1024 bytes, as in pprof.
 */
#ifndef CPROF_PROFILE_UNIT_H
#define CPROF_PROFILE_UNIT_H

#include <stddef.h>
#include <stdint.h>

#define UNIT_TEXT_BYTES 48

/*
 * value, counted in `from`, as text in the unit `to`: "ms", "MB" ..., or "auto" for the largest in
 * which it is 1 or more. Unknown units are shown unchanged; "count" is not shown. Always
 * NUL-terminated; returns out.
 */
char *unit_text(int64_t value, const char *from, const char *to, char out[UNIT_TEXT_BYTES]);

/*
 * One unit for a whole column: that of the smallest magnitude (0: there is none), or a larger one if the smallest is
 * negligible beside the largest. Static.
 */
const char *unit_for(int64_t smallest, int64_t largest, const char *from);

/* Whether `from` can be shown in the unit `to`. */
int unit_check(const char *from, const char *to); /* 0 or -EINVAL */

/*
 * How many `to` one `from` is: 1000 for "us" and "nanoseconds"; 1 for a unit and itself, known or
 * not. -EINVAL: one cannot be converted to the other.
 */
int unit_factor(const char *from, const char *to, double *factor);

/* part of whole: "12.34%", "0.5%", "  100%", at least 5 characters. */
char *unit_share(int64_t part, int64_t whole, char out[UNIT_TEXT_BYTES]);

#endif
