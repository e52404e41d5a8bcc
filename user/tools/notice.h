/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Warnings about a profile that cannot show what is asked for: a line on stderr, and then the rest of
 * it is shown.
 */
#ifndef CPROF_TOOLS_NOTICE_H
#define CPROF_TOOLS_NOTICE_H

#include <stdint.h>

#include "profile/frames.h"

/* Most of it is an interpreter's loop (profile/interpreter.h). */
void notice_interpreter(const struct profile *profile, uint32_t type);

/* It has no lines, files, mappings or addresses, and that is what rows are to be. */
void notice_missing(const struct profile *profile, enum frame_by by);

#endif
