/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Warns that a profile cannot show what was requested: one line on stderr, before the profile is shown.
 */
#ifndef CPROF_TOOLS_NOTICE_H
#define CPROF_TOOLS_NOTICE_H

#include <stdint.h>

#include "profile/frames.h"

/* Warns if most of the profile is an interpreter's loop (profile/interpreter.h). */
void notice_interpreter(const struct profile *profile, uint32_t type);

/* Warns if rows are to be lines, files, mappings or addresses, and the profile has none. */
void notice_missing(const struct profile *profile, enum frame_by by);

#endif
