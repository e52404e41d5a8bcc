// SPDX-License-Identifier: BSD-2-Clause
/* Folded stacks, a line each: what flame graphs are drawn from. */
#include "fuzz/reader.h"
#include "input/folded.h"

FUZZ_READER(folded_detect)
