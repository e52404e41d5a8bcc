/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads profile.proto. Accepts and rejects the same files as pprof's own package, with a message that says
 * where. Two things differ: pprof rejects groups, which are skipped here; and it rejects a label whose value
 * is a second empty string of the table, which is left out here.
 *
 * Source: proto/profile.proto; pprof's profile/{encode,profile}.go (CheckValid).
 */
#ifndef CPROF_INPUT_PPROF_H
#define CPROF_INPUT_PPROF_H

#include "input/reader.h"

/* A reader as in input/reader.h. Fails with -EBADMSG or -EFBIG, and fills *error. It has no signature to detect. */
int pprof_read(const struct source *source, struct profile *profile, struct input_error *error);

#endif
