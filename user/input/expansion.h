/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Refuses a profile that is small as a file and huge once its stacks are written out.
 *
 * A stack names locations by their ids, and a location stands once in the file with all functions that are
 * inlined there. So a file of 9 KB can say "a million inlined functions, a hundred times": every command that
 * walks over stacks, and every format that writes them, would do a hundred million steps. Names multiply in the
 * same way.
 *
 * A honest file is far below these limits, however large it is: they grow with the locations that its
 * stacks name.
 */
#ifndef CPROF_INPUT_EXPANSION_H
#define CPROF_INPUT_EXPANSION_H

#include "input/input.h"

/* Frames of all stacks, inlined ones counted: so many in any case, and so many on average for a location. */
#define EXPANSION_FREE_FRAMES	      (4ul << 20)
#define EXPANSION_FRAMES_PER_LOCATION 16
#define EXPANSION_MAX_FRAMES	      (1ul << 30)
/* Bytes of the names, files and mappings of all frames and of the labels of all samples; the same. */
#define EXPANSION_FREE_BYTES	     (1ul << 30)
#define EXPANSION_BYTES_PER_LOCATION 4096

/* 0, or -EFBIG with *error filled. */
int expansion_check(const struct profile *profile, struct input_error *error);

#endif
