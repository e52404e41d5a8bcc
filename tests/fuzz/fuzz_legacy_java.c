// SPDX-License-Identifier: BSD-2-Clause
/* What Java programs wrote: samples, and what stands for what behind them. */
#include "fuzz/reader.h"
#include "input/legacy.h"

FUZZ_READER(legacy_java_detect)
