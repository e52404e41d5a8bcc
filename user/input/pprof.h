/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads profile.proto. What pprof's own package takes is taken, what it refuses is refused, but said
 * better. Not taken from it: it refuses groups, which are skipped here; and a label's value may not be
 * a second, empty string of the table there (such a label says nothing, and is left out).
 *
 * Source: proto/profile.proto; pprof's profile/{encode,profile}.go (CheckValid).
 */
#ifndef CPROF_INPUT_PPROF_H
#define CPROF_INPUT_PPROF_H

#include "input/reader.h"

int pprof_read(const struct source *source, struct profile *profile, struct input_error *error);

#endif
