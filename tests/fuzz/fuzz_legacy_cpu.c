// SPDX-License-Identifier: BSD-2-Clause
/* gperftools' CPU profiles: binary words, a memory map behind them. */
#include "fuzz/reader.h"
#include "input/legacy.h"

FUZZ_READER(legacy_cpu_detect)
