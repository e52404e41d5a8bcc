// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The map of the counters; stats.bpf.h has all that is done with it. */
#include "stats.bpf.h"

struct stats_map stats SEC(".maps");
