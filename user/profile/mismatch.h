/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Says in words why two profiles cannot be merged: their sample types or their period types differ.
 */
#ifndef CPROF_PROFILE_MISMATCH_H
#define CPROF_PROFILE_MISMATCH_H

#include <stddef.h>

#include "profile/model.h"

/*
 * NULL if added may be added to merged; else why not, in text (of text_bytes), fit for a terminal and for a place
 * behind the name of what was added: "its period type (...) differs from that before (...)".
 */
const char *mismatch_describe(const struct profile *merged, const struct profile *added, char *text,
			      size_t text_bytes);

#endif
