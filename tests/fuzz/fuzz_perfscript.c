// SPDX-License-Identifier: BSD-2-Clause
/* What perf script prints. */
#include "fuzz/reader.h"
#include "input/perfscript.h"

FUZZ_READER(perfscript_detect)
