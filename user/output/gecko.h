/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a profile as profiler.firefox.com reads it: the "processed profile format", JSON, one sample type.
 * There is a thread for each pid and tid in the labels; all share the tables of strings, functions, frames
 * and stacks.
 *
 *	meta		what the page shows beside it: program, start, categories
 *	libs		the mappings
 *	shared		stringArray; funcTable (name, file, lib); frameTable (func, line);
 *			stackTable (frame, prefix): the call tree, one row per node
 *	threads[]	samples: for each, a row of stackTable and a weight
 *
 * A pprof file has no timestamps: samples with a time unit follow one another, each as long as its value; others
 * are 1 ms apart. Weights are "tracing-ms", "bytes" or "samples", and may be negative.
 *
 * Version 62 of the format; the page upgrades older versions and rejects newer ones, so that
 * this version stays readable. Rejected: the raw "gecko" format, which has no weights.
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
