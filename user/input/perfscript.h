/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the text of `perf script`:
 *
 *	python3 20618/20619 [001] 5213.123456:   10101010 cpu-clock:pppH:
 *	        55d0c0de1234 helper+0x14 (/usr/bin/app)
 *	        7f3a5c0a1234 inner (inlined)
 *	        7f3a5c0a1234 outer+0x1c (/usr/lib/x86_64-linux-gnu/libfoo.so.1)
 *
 * comm, pid[/tid], [cpu], seconds, period, event; then the stack, leaf first, and an empty line. cpu,
 * tid and period may be missing, and a stack of one frame may be on the line of its event.
 *
 * Sample types: samples/count, and for each event with periods one more with their sum (cpu/nanoseconds for
 * cpu-clock and task-clock, EVENT/count for others). Labels: pid, tid (numbers) and comm. 1 is subtracted
 * from the addresses of callers, so that they lie within the call. A frame without a symbol is named after
 * its file, "[libfoo.so.1]".
 *
 * Source: perf-script(1), and its output (linux/tools/perf/builtin-script.c).
 */
#ifndef CPROF_INPUT_PERFSCRIPT_H
#define CPROF_INPUT_PERFSCRIPT_H

#include "input/reader.h"

/* A reader as in input/reader.h. Fails with -EBADMSG or -EFBIG, and fills *error. */
bool perfscript_detect(const struct source *source);
int perfscript_read(const struct source *source, struct profile *profile,
		    struct input_error *error);

#endif
