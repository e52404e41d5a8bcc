// SPDX-License-Identifier: BSD-2-Clause
/* Contention of locks, as gperftools and Go once wrote it: text. */
#include "fuzz/reader.h"
#include "input/legacy.h"

FUZZ_READER(legacy_contention_detect)
