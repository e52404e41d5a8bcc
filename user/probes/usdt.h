/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the probes of a file that samples its allocations by itself: statically defined ones (USDT), which a section of
 * notes tells of.
 *
 * The probes are otel_memory:alloc and otel_memory:free, with the arguments that libcprof-heap.so passes (inside/entries.S),
 * and cprof_heap:moved. A file that does not have all three in this form has none.
 */
#ifndef CPROF_PROBES_USDT_H
#define CPROF_PROBES_USDT_H

#include <stdbool.h>

#include "object/elf.h"
#include "probes/allocator.h"

/* Adds the sites to allocator, which has none yet. false: there are none, and nothing is added. */
bool usdt_find(const struct elf_file *elf, struct allocator *allocator);

#endif
