// SPDX-License-Identifier: BSD-2-Clause
/* Heap profiles of gperftools and jemalloc, growth and fragmentation: text. */
#include "fuzz/reader.h"
#include "input/legacy.h"

FUZZ_READER(legacy_heap_detect)
