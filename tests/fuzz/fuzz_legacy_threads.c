// SPDX-License-Identifier: BSD-2-Clause
/* Stacks of threads, from gperftools: text. */
#include "fuzz/reader.h"
#include "input/legacy.h"

FUZZ_READER(legacy_threads_detect)
