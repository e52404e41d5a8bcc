// SPDX-License-Identifier: BSD-2-Clause
/* Counts by stack, of Go's older tools (goroutines, threads created): text. */
#include "fuzz/reader.h"
#include "input/legacy.h"

FUZZ_READER(legacy_count_detect)
