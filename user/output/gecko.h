/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a profile as profiler.firefox.com reads it: the "processed profile format", JSON, one sample
 * type. A thread for each pid and tid that the samples' labels name; one table of strings, functions,
 * frames and stacks for all of them.
 *
 *	meta		what the page shows beside it: program, start, categories
 *	libs		the mappings
 *	shared		stringArray; funcTable (name, file, lib); frameTable (func, line);
 *			stackTable (frame, prefix): the tree of calls, a row a node
 *	threads[]	samples: a row of stackTable and a weight each
 *
 * A pprof has no times: samples of a time stand one after another, each as long as its value, others
 * 1 ms apart. Weights are "tracing-ms", "bytes" or "samples", and may be negative.
 *
 * Version 62 of the format; the page upgrades older ones by itself and refuses newer ones, so that
 * this is good for as long as the page is. Rejected: the raw "gecko" format, which has no weights.
 *
 * Source: github.com/firefox-devtools/profiler, src/types/profile.ts, docs-developer/CHANGELOG-formats.md.
 */
#ifndef CPROF_OUTPUT_GECKO_H
#define CPROF_OUTPUT_GECKO_H

#include <stdint.h>

#include "base/textout.h"
#include "profile/model.h"

/* type: position of the sample type. -E2BIG: too many stacks; -errno of the sink. */
int gecko_encode(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx);

#endif
